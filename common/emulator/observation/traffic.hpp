/// \file
/// What traced blocks ask of the memory system, on its way from the workers that run them to the slices that take it in
/// the blocks' order. It goes in pieces, so that the workers seldom meet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "common/emulator/observation/l2.hpp"

namespace warpbook::emulator {

/// A traced block.
struct TracedBlock {
  std::uint64_t place = 0;   ///< Among the traced ones.
  std::uint64_t number = 0;  ///< In the grid.
  bool counts = false;       ///< What it makes the L2 and the DRAM do is added up.
};

/// What a few blocks that follow each other, and count or do not count alike, ask for beyond their L1s: in order, by
/// slice.
class BlockTraffic {
public:
  static constexpr std::size_t kMostBlocks = 32;      ///< However little they ask for.
  static constexpr std::size_t kMostAccesses = 4096;  ///< More only of the last block.

  /// True where this block may be the next one.
  bool is_followed_by(const TracedBlock& block) const {
    return blocks_ == 0 || (block.place == first_.place + blocks_ && block.number == first_.number + blocks_ &&
                            block.counts == first_.counts);
  }
  /// Adds an access of the block that runs.
  [[gnu::always_inline]] void add(LineAccess access) { accesses_[slice_of(access.line)].push_back(access); }
  /// That block has ended.
  void end_block(const TracedBlock& block);
  /// True where it is time to hand it over.
  bool is_full() const { return blocks_ == kMostBlocks || size() >= kMostAccesses; }
  /// Empties it, and keeps the memory.
  void clear();

  /// Blocks that have ended.
  std::size_t blocks() const { return blocks_; }
  /// The first of them.
  const TracedBlock& first() const { return first_; }
  /// All accesses.
  std::size_t size() const;
  /// Those of a slice, one block's after the other's.
  const std::vector<LineAccess>& accesses(unsigned slice) const { return accesses_[slice]; }
  /// Behind the last one of a block.
  std::size_t end(unsigned slice, std::size_t block) const { return ends_[slice][block]; }

private:
  TracedBlock first_;
  std::size_t blocks_ = 0;
  std::array<std::vector<LineAccess>, kSlices> accesses_;
  std::array<std::array<std::uint32_t, kMostBlocks>, kSlices> ends_;  // of each slice in lines of its own
};

/// A lock that is held for less time than it takes to fall asleep and to wake up: who finds it taken tries for a while.
class BriefLock {
public:
  /// Waits until nobody has it.
  void lock();
  /// Lets others have it.
  void unlock() { mutex_.unlock(); }

private:
  std::mutex mutex_;
};

/// Takes pieces from the workers in any order, and gives each slice all of them in the blocks' order. Each slice goes
/// through them at its own speed.
class TrafficQueue {
public:
  static constexpr std::size_t kAtOnce = 16;  ///< Pieces that a slice takes at a time.
  /// What `take` gives.
  using Pieces = std::array<const BlockTraffic*, kAtOnce>;

  /// A new launch: its first block is awaited.
  void begin();
  /// Takes a piece with at least one block, and leaves an empty one. Returns the slices (a bit each) that have more
  /// than `most` accesses before them, their own and the others'.
  std::uint32_t put(std::unique_ptr<BlockTraffic>& piece, std::uint64_t most);
  /// What a slice has before it, as far as it follows without a gap; 0 where that is nothing, or somebody else is at
  /// it. Whoever gets something has to call `done`.
  std::size_t take(unsigned slice, Pieces& pieces);
  /// The slice is through with what it took.
  void done(unsigned slice, std::size_t count);
  /// No blocks will come before those that are here.
  void close();

private:
  struct Waiting {
    std::unique_ptr<BlockTraffic> piece;
    std::uint64_t accesses;
    unsigned slices_left;
  };
  struct Reader {
    std::uint64_t next = 0;    // piece, counted from the launch's first
    std::uint64_t passed = 0;  // accesses
    bool busy = false;
  };
  void append(std::unique_ptr<BlockTraffic> piece);

  BriefLock lock_;
  std::map<std::uint64_t, std::unique_ptr<BlockTraffic>> early_;  ///< by first block: others come before them
  std::uint64_t next_block_ = 0;
  std::deque<Waiting> pieces_;  ///< in order
  std::uint64_t gone_ = 0;      ///< pieces that all slices have been through
  std::uint64_t accesses_ = 0;  ///< of all pieces in order
  std::array<Reader, kSlices> readers_{};
  std::vector<std::unique_ptr<BlockTraffic>> spare_;
};

}  // namespace warpbook::emulator
