#include "common/emulator/observation/traffic.hpp"

#include <algorithm>
#include <utility>

namespace warpbook::emulator {

void BlockTraffic::end_block(const TracedBlock& block) {
  if (blocks_ == 0) first_ = block;
  for (unsigned slice = 0; slice < kSlices; ++slice)
    ends_[slice][blocks_] = static_cast<std::uint32_t>(accesses_[slice].size());
  ++blocks_;
}

std::size_t BlockTraffic::size() const {
  std::size_t sum = 0;
  for (const std::vector<LineAccess>& slice : accesses_) sum += slice.size();
  return sum;
}

void BlockTraffic::clear() {
  blocks_ = 0;
  for (std::vector<LineAccess>& slice : accesses_) slice.clear();
}

void BriefLock::lock() {
  constexpr unsigned kTries = 1000;  // some microseconds
  for (unsigned i = 0; i < kTries; ++i) {
    if (mutex_.try_lock()) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __builtin_arm_isb(15);  // its `yield` waits for nothing
#endif
  }
  mutex_.lock();
}

void TrafficQueue::begin() {
  const std::lock_guard lock(lock_);
  next_block_ = gone_ = accesses_ = 0;
  readers_.fill({});
}

std::uint32_t TrafficQueue::put(std::unique_ptr<BlockTraffic>& piece, std::uint64_t most) {
  std::unique_lock lock(lock_);
  if (piece->first().place == next_block_) {
    append(std::move(piece));
    while (!early_.empty() && early_.begin()->first == next_block_)
      append(std::move(early_.extract(early_.begin()).mapped()));
  } else {
    early_.emplace(piece->first().place, std::move(piece));
  }
  piece = nullptr;
  if (!spare_.empty()) {
    piece = std::move(spare_.back());
    spare_.pop_back();
  }
  std::uint32_t behind = 0;
  for (unsigned slice = 0; slice < kSlices; ++slice)
    if (accesses_ - readers_[slice].passed > most) behind |= 1U << slice;
  lock.unlock();
  if (piece == nullptr) piece = std::make_unique<BlockTraffic>();
  piece->clear();
  return behind;
}

void TrafficQueue::append(std::unique_ptr<BlockTraffic> piece) {
  const std::uint64_t accesses = piece->size();
  next_block_ = piece->first().place + piece->blocks();
  accesses_ += accesses;
  pieces_.push_back({std::move(piece), accesses, kSlices});
}

std::size_t TrafficQueue::take(unsigned slice, Pieces& pieces) {
  const std::lock_guard lock(lock_);
  Reader& reader = readers_[slice];
  if (reader.busy) return 0;
  const auto first = static_cast<std::size_t>(reader.next - gone_);
  const std::size_t count = std::min(kAtOnce, pieces_.size() - first);
  for (std::size_t i = 0; i < count; ++i) pieces[i] = pieces_[first + i].piece.get();
  reader.busy = count != 0;
  return count;
}

void TrafficQueue::done(unsigned slice, std::size_t count) {
  const std::lock_guard lock(lock_);
  Reader& reader = readers_[slice];
  for (auto i = static_cast<std::size_t>(reader.next - gone_); count > 0; ++i, --count) {
    --pieces_[i].slices_left;
    reader.passed += pieces_[i].accesses;
    ++reader.next;
  }
  reader.busy = false;
  for (; !pieces_.empty() && pieces_.front().slices_left == 0; ++gone_) {
    spare_.push_back(std::move(pieces_.front().piece));
    pieces_.pop_front();
  }
}

void TrafficQueue::close() {
  const std::lock_guard lock(lock_);
  while (!early_.empty()) append(std::move(early_.extract(early_.begin()).mapped()));
}

}  // namespace warpbook::emulator
