/// \file
/// Clusters: blocks that are on the card together, meet at a barrier and reach each other's shared memory.
///
/// One worker at a time runs the blocks of such a launch, so nothing here needs a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// A block of a cluster, to the others.
struct ClusterBlock {
  /// How far it is.
  enum class State : std::uint8_t { to_come, runs, ended };
  State state = State::to_come;               ///< of the block
  bool arrived = false;                       ///< It came to the barrier, and waits for the others.
  BlockContext* context = nullptr;            ///< while it runs
  const std::byte* static_shared = nullptr;   ///< where its `__shared__` arrays begin
  const std::byte* dynamic_shared = nullptr;  ///< and where its dynamic shared memory does
};

/// The blocks of one cluster.
struct Cluster {
  std::vector<ClusterBlock> blocks;  ///< by rank
  std::uint32_t ended = 0;           ///< how many of them
  std::uint32_t phase = 0;           ///< counts the barriers that all blocks came to

  /// A block has come to the barrier, or will not come any more.
  void complete_phase();
};

/// The n-th block that a launch begins: those of a cluster come one after the other.
std::uint64_t nth_block(const LaunchInfo& launch, std::uint64_t n);

/// A block's rank in its cluster.
unsigned rank_in_cluster(const BlockContext& block);

/// The block that this operating system thread begins is one of its cluster.
Cluster& enter_cluster(BlockContext& block);
/// It has ended. Its shared memory stays what it is until the others have, too: who touches it is told.
void leave_cluster(Cluster& cluster, const BlockContext& block);

/// A place in the shared memory of another block of the running block's cluster.
struct ClusterPlace {
  ClusterBlock* block = nullptr;  ///< null: it is none
  unsigned rank = 0;              ///< the block's
  AddressRange range;       ///< the array that holds the address, or nothing
  std::size_t offset = 0;   ///< in the block's shared memory
  bool is_dynamic = false;  ///< `offset` counts from the dynamic one
};
/// Finds an address there.
ClusterPlace find_in_cluster(const BlockContext& block, const void* address);

/// The shared memory of all blocks of the running block's cluster that have begun.
std::vector<AddressRange> cluster_ranges(const BlockContext& block);

}  // namespace warpbook::emulator
