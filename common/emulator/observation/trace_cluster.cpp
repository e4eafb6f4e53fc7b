// What blocks of a cluster do to each other's shared memory. One worker at a time runs them, so a block may look at
// what is known of another one.

#include <algorithm>
#include <bit>

#include "common/emulator/execution/shared_memory.hpp"
#include "common/emulator/observation/checks.hpp"
#include "common/emulator/observation/trace.hpp"

namespace warpbook::emulator {
namespace {

bool conflict(Operation one, Operation other) {
  return (one != Operation::load || other != Operation::load) && !(is_atomic(one) && is_atomic(other));
}

constexpr std::size_t kWord = 4;
constexpr unsigned kOfCluster = 8;  // told apart from what else is found at two instructions

/// Which bytes of a word are among those from `offset` on.
std::uint32_t bytes_in(std::size_t word, std::size_t offset, std::size_t bytes) {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < kWord; ++i)
    if (word * kWord + i >= offset && word * kWord + i < offset + bytes) mask |= 1U << i;
  return mask;
}

/// Keeps an access beside those of other kinds: a later atomic does not undo that a store before it was in the way.
template <class Word, class Access> void note(Word& word, const Access& access) {
  auto& known = word[access.operation == Operation::store ? 0U : access.operation == Operation::load ? 2U : 1U];
  const std::uint32_t before = known.pc == access.pc && known.thread == access.thread && known.block == access.block &&
                                       known.arrived == access.arrived
                                   ? known.mask
                                   : 0U;
  known = access;
  known.mask |= before;
}

}  // namespace

void BlockWatch::begin_cluster_block() {
  from_cluster_.clear();
  in_cluster_.clear();
  cluster_arrived_ = 0;
  cluster_passed_ = 0;
  hands_over_ = false;
}

void BlockWatch::cluster_barrier(const BlockContext& block, bool arrives) {
  settle_stores(block);
  if (racing_) {
    const auto number = static_cast<std::uint32_t>(block.linear_block);
    checks_->races->fence(number);
    checks_->races->synchronise(number, interval_, arrives);
  }
  if (arrives) {
    flush_all(block);
    ++cluster_arrived_;
    return;
  }
  ++cluster_passed_;
  for (ClusterWords* words : {&from_cluster_, &in_cluster_})
    std::erase_if(*words, [&](const auto& word) {
      return std::all_of(word.second.begin(), word.second.end(),
                         [&](const ClusterAccess& access) { return access.arrived < cluster_passed_; });
    });
}

/// An access to the shared memory of another block of the cluster, which is there.
void BlockWatch::check_cluster(const BlockContext& block, const void* address, AccessShape shape, const void* pc) {
  const ClusterPlace place = find_in_cluster(block, address);
  auto* const owner = static_cast<BlockWatch*>(place.block->context->observer_data);
  if (owner == nullptr || !block.traced || !place.block->context->traced) return;
  const bool reads = shape.operation != Operation::store && (shape.atomic & kOverwrites) == 0;
  if (reads && owner->is_unwritten(place, shape.bytes) && is_new_global({pc, nullptr}))
    report_uninitialised(block, {pc, block.thread, shape.operation}, shape.bytes, address, nullptr);
  const std::size_t offset = owner->offset_of(place);
  for (std::size_t word = offset / kWord; word * kWord < offset + shape.bytes; ++word) {
    const ClusterAccess access{
        pc, shape.operation, block.thread, block.linear_block, cluster_arrived_, bytes_in(word, offset, shape.bytes)};
    if (const auto own = owner->in_cluster_.find(word);
        own != owner->in_cluster_.end() && !hands_over_ && !owner->hands_over_)
      meet_word(own->second, address, access);
    ClusterWord& known = owner->from_cluster_[word];
    if (!hands_over_) meet_word(known, address, access);
    note(known, access);
  }
  if (shape.operation != Operation::load) owner->shadow_.write_from_beyond(offset, shape.bytes);
}

bool BlockWatch::is_unwritten(const ClusterPlace& place, std::size_t bytes) const {
  if (!shadow_.nobody_wrote(offset_of(place), bytes)) return false;
  // What a warp has stored comes to the shadow when its lanes meet.
  const std::byte* const begin = place.is_dynamic ? place.block->dynamic_shared : place.block->static_shared;
  return std::all_of(begin + place.offset, begin + place.offset + bytes,
                     [](std::byte byte) { return byte == std::byte{kPoison}; });
}

std::size_t BlockWatch::offset_of(const ClusterPlace& place) const {
  return place.offset +
         (place.is_dynamic ? static_cast<std::size_t>(static_shared_.end - static_shared_.begin) : std::size_t{0});
}

/// What was done there that no barrier of the cluster orders before this access.
void BlockWatch::meet_word(const ClusterWord& known, const void* address, const ClusterAccess& access) {
  for (const ClusterAccess& other : known) {
    if (other.pc == nullptr || other.block == access.block || other.arrived < cluster_passed_ ||
        (other.mask & access.mask) == 0 || !conflict(other.operation, access.operation) ||
        !is_new_global({access.pc, other.pc}, kOfCluster))
      continue;
    report_cluster_race(*block_, {access.pc, access.thread, access.operation}, access.block,
                        {other.pc, other.thread, other.operation}, other.block, address);
    return;
  }
}

/// What a warp did to its own block's shared memory.
void BlockWatch::meet_cluster(const BlockContext& block, const WarpAccess& access) {
  if (hands_over_) return;
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const std::size_t offset = access.offsets[lane];
    for (std::size_t word = offset / kWord; word * kWord < offset + access.bytes; ++word) {
      const ClusterAccess own{access.pc,          access.operation, access.warp * kWarpSize + lane,
                              block.linear_block, cluster_arrived_, bytes_in(word, offset, access.bytes)};
      note(in_cluster_[word], own);
      if (const auto known = from_cluster_.find(word); known != from_cluster_.end())
        meet_word(known->second, shared_address(block, offset), own);
    }
  }
}

}  // namespace warpbook::emulator
