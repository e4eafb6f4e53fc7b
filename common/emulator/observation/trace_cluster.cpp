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
  const auto is_atomic = [](Operation operation) {
    return operation == Operation::atomic || operation == Operation::reduction;
  };
  return (one != Operation::load || other != Operation::load) && !(is_atomic(one) && is_atomic(other));
}

constexpr std::size_t kWord = 4;
constexpr unsigned kOfCluster = 8;  // told apart from what else is found at two instructions

}  // namespace

void BlockWatch::begin_cluster_block() {
  from_cluster_.clear();
  cluster_arrivals_.clear();
  cluster_passed_ = 0;
  first_interval_ = shadow_.interval();
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
    cluster_arrivals_.push_back(shadow_.interval());
    return;
  }
  ++cluster_passed_;
  std::erase_if(from_cluster_, [&](const auto& word) {
    return word.second.write.passed < cluster_passed_ && word.second.read.passed < cluster_passed_;
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
  const ClusterAccess access{pc, shape.operation, shape.bytes, block.thread, block.linear_block, cluster_passed_};
  if (!hands_over_ && !owner->hands_over_) meet_owner(*owner, place, address, access);
  const std::size_t offset = owner->offset_of(place);
  for (std::size_t word = offset / kWord; word * kWord < offset + shape.bytes; ++word)
    meet_others(*owner, word, address, access);
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

/// What the owner did there, as far as no barrier of the cluster orders it before this access.
void BlockWatch::meet_owner(BlockWatch& owner, const ClusterPlace& place, const void* address,
                            const ClusterAccess& access) {
  const std::uint32_t ordered =
      access.passed == 0
          ? owner.first_interval_ - 1
          : owner.cluster_arrivals_[std::min<std::size_t>(access.passed, owner.cluster_arrivals_.size()) - 1];
  const auto touch = owner.shadow_.touched_since(ordered, owner.offset_of(place), access.bytes, access.operation);
  if (!touch) return;
  const void* const other_pc = owner.kinds_[touch->log].pc;
  if (!is_new_global({access.pc, other_pc}, kOfCluster)) return;
  report_cluster_race(*block_, {access.pc, access.thread, access.operation}, access.block,
                      {other_pc, touch->thread, touch->operation}, place.block->context->linear_block, address);
}

/// What third blocks did there; then this access is noted.
void BlockWatch::meet_others(BlockWatch& owner, std::size_t word, const void* address, const ClusterAccess& access) {
  ClusterWord& known = owner.from_cluster_[word];
  for (const ClusterAccess* other : {&known.write, &known.read})
    if (other->pc != nullptr && other->block != access.block && other->passed >= access.passed && !hands_over_ &&
        conflict(other->operation, access.operation) && is_new_global({access.pc, other->pc}, kOfCluster)) {
      report_cluster_race(*block_, {access.pc, access.thread, access.operation}, access.block,
                          {other->pc, other->thread, other->operation}, other->block, address);
      break;
    }
  (access.operation == Operation::load ? known.read : known.write) = access;
}

/// What other blocks did to what a warp of this one touches, as far as no barrier of the cluster orders it before.
void BlockWatch::meet_cluster(const BlockContext& block, const WarpAccess& access) {
  if (hands_over_) return;
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const std::size_t offset = access.offsets[lane];
    for (std::size_t word = offset / kWord; word * kWord < offset + access.bytes; ++word) {
      const auto known = from_cluster_.find(word);
      if (known == from_cluster_.end()) continue;
      for (const ClusterAccess* other : {&known->second.write, &known->second.read})
        if (other->pc != nullptr && other->passed >= cluster_passed_ && conflict(other->operation, access.operation) &&
            is_new_global({access.pc, other->pc}, kOfCluster))
          report_cluster_race(block, {access.pc, access.warp * kWarpSize + lane, access.operation}, block.linear_block,
                              {other->pc, other->thread, other->operation}, other->block,
                              shared_address(block, offset));
    }
  }
}

}  // namespace warpbook::emulator
