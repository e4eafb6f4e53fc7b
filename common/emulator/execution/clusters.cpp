#include "common/emulator/execution/clusters.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "common/emulator/execution/block_runner.hpp"
#include "common/emulator/execution/shared_memory.hpp"

namespace warpbook::emulator {
namespace {

/// The clusters under way of a launch.
struct Clusters {
  std::uint64_t launch = 0;
  std::map<std::uint64_t, Cluster> under_way;
};

Clusters& clusters() {
  static auto& instance = *new Clusters;
  return instance;
}

std::uint64_t number_of(const BlockContext& block) {
  const dim3& grid = block.launch->grid;
  const dim3& cluster = block.launch->cluster;
  const uint3& at = block.block_index;
  return (std::uint64_t{at.z / cluster.z} * (grid.y / cluster.y) + at.y / cluster.y) * (grid.x / cluster.x) +
         at.x / cluster.x;
}

/// Ends the kernel where a cluster's function is called wrongly.
[[noreturn]] void refuse(const void* pc, const std::string& what, const char* advice) {
  {
    const BlockContext& block = *current_block;
    const Unwatched unwatched;
    const std::string place = observer().locate(pc);
    observer().report("invalid_cluster", pc,
                      "========= " + what + "\n=========     at " + (place.empty() ? "an unknown line" : place) +
                          "\n=========     in kernel " + block.launch->name + ", " + describe_thread(block) +
                          "\n=========     " + advice + "\n");
  }
  abort_kernel(cudaErrorLaunchFailure);
}

}  // namespace

std::uint64_t nth_block(const LaunchInfo& launch, std::uint64_t n) {
  const unsigned size = launch.cluster_blocks();
  if (size == 1) return n;
  const dim3& cluster = launch.cluster;
  const std::uint64_t columns = launch.grid.x / cluster.x;
  const std::uint64_t rows = launch.grid.y / cluster.y;
  const std::uint64_t number = n / size;
  const auto rank = static_cast<unsigned>(n % size);
  const std::uint64_t x = number % columns * cluster.x + rank % cluster.x;
  const std::uint64_t y = number / columns % rows * cluster.y + rank / cluster.x % cluster.y;
  const std::uint64_t z = number / columns / rows * cluster.z + rank / cluster.x / cluster.y;
  return (z * launch.grid.y + y) * launch.grid.x + x;
}

unsigned rank_in_cluster(const BlockContext& block) {
  const dim3& cluster = block.launch->cluster;
  const uint3& at = block.block_index;
  return (at.z % cluster.z * cluster.y + at.y % cluster.y) * cluster.x + at.x % cluster.x;
}

Cluster& enter_cluster(BlockContext& block) {
  Clusters& all = clusters();
  if (all.launch != block.launch->id) {
    all.launch = block.launch->id;
    all.under_way.clear();
  }
  Cluster& cluster = all.under_way[number_of(block)];
  cluster.blocks.resize(block.launch->cluster_blocks());
  cluster.blocks[rank_in_cluster(block)] = {ClusterBlock::State::runs, false, &block, shared_range().begin,
                                            block.dynamic_shared};
  return cluster;
}

void Cluster::complete_phase() {
  const auto has_arrived = [](const ClusterBlock& block) { return block.arrived; };
  const auto is_missing = [](const ClusterBlock& block) {
    return !block.arrived && block.state != ClusterBlock::State::ended;
  };
  if (std::none_of(blocks.begin(), blocks.end(), has_arrived) || std::any_of(blocks.begin(), blocks.end(), is_missing))
    return;
  for (ClusterBlock& block : blocks) block.arrived = false;
  ++phase;
}

void leave_cluster(Cluster& cluster, const BlockContext& block) {
  ClusterBlock& own = cluster.blocks[rank_in_cluster(block)];
  own.state = ClusterBlock::State::ended;
  own.arrived = false;
  ++cluster.ended;
  cluster.complete_phase();
  Turn turn;
  while (cluster.ended < cluster.blocks.size() && turn.outcome == Turn::Outcome::go_on && !launch_has_failed())
    turn = let_others_run(Waiting::stands, block.linear_block, {Watched(&cluster.ended, sizeof cluster.ended)});
}

ClusterPlace find_in_cluster(const BlockContext& block, const void* address) {
  ClusterPlace place;
  if (block.launch->cluster_blocks() == 1) return place;  // and several workers may be here
  const auto found = clusters().under_way.find(number_of(block));
  if (found == clusters().under_way.end()) return place;
  const auto* const at = static_cast<const std::byte*>(address);
  const AddressRange own = shared_range();
  const auto static_bytes = own.end - own.begin;
  for (ClusterBlock& other : found->second.blocks) {
    const auto rank = static_cast<unsigned>(&other - found->second.blocks.data());
    if (other.state == ClusterBlock::State::to_come || rank == rank_in_cluster(block)) continue;
    const std::byte* const dynamic = other.dynamic_shared;
    if (at >= other.static_shared && at < other.static_shared + static_bytes) {
      place = {&other, rank, {}, static_cast<std::size_t>(at - other.static_shared), false};
      std::size_t count = 0;
      const SharedArray* const arrays = shared_arrays(count);
      if (count == 0) place.range = {other.static_shared, other.static_shared + static_bytes};
      for (const SharedArray* array = arrays; array != arrays + count; ++array)
        if (place.offset >= array->offset && place.offset < array->offset + array->bytes)
          place.range = {other.static_shared + array->offset, other.static_shared + array->offset + array->bytes};
      return place;
    }
    if (at >= dynamic && at < dynamic + kMaxDynamicShared) {
      place = {&other,
               rank,
               {dynamic, dynamic + block.launch->dynamic_shared_bytes},
               static_cast<std::size_t>(at - dynamic),
               true};
      return place;
    }
  }
  return place;
}

std::vector<AddressRange> cluster_ranges(const BlockContext& block) {
  std::vector<AddressRange> ranges;
  const AddressRange own = shared_range();
  for (const ClusterBlock& one : clusters().under_way.at(number_of(block)).blocks) {
    if (one.state == ClusterBlock::State::to_come) continue;
    ranges.push_back({one.dynamic_shared, one.dynamic_shared + block.launch->dynamic_shared_bytes});
    ranges.push_back({one.static_shared, one.static_shared + (own.end - own.begin)});
  }
  return ranges;
}

// ---- What kernels call ------------------------------------------------------------------------------------------

unsigned cluster_extent_x() noexcept { return current_block == nullptr ? 1 : current_block->launch->cluster.x; }
unsigned cluster_extent_y() noexcept { return current_block == nullptr ? 1 : current_block->launch->cluster.y; }
unsigned cluster_extent_z() noexcept { return current_block == nullptr ? 1 : current_block->launch->cluster.z; }

unsigned cluster_size() noexcept { return current_block == nullptr ? 1 : current_block->launch->cluster_blocks(); }
unsigned cluster_rank() noexcept { return current_block == nullptr ? 0 : rank_in_cluster(*current_block); }

void cluster_arrive() { current_runner->arrive_at_cluster(); }
void cluster_wait() { current_runner->wait_for_cluster(__builtin_return_address(0)); }

void* map_to_cluster(const void* address, unsigned rank) {
  const void* const pc = __builtin_return_address(0);
  BlockContext& block = *current_block;
  const unsigned count = block.launch->cluster_blocks();
  if (rank >= count)
    refuse(pc, "Block " + std::to_string(rank) + " asked for, of a cluster of " + std::to_string(count),
           "Ranks go from 0 to num_blocks() - 1. Was the kernel launched with the cluster that is meant?");
  const auto* const at = static_cast<const std::byte*>(address);
  const AddressRange own = shared_range();
  const bool is_static = own.contains(address);
  if (!is_static && !is_shared(address))
    refuse(pc, "An address outside of shared memory cannot be mapped to another block",
           "Give the address of a shared array of the calling block.");
  if (rank == rank_in_cluster(block)) return const_cast<void*>(address);
  const ClusterBlock& other = current_runner->cluster_block(rank);
  // It comes: all blocks of a cluster are on the card together.
  while (other.state == ClusterBlock::State::to_come) current_runner->poll({&other.state, sizeof other.state}, pc);
  const std::byte* const there =
      is_static ? other.static_shared + (at - own.begin) : other.dynamic_shared + (at - block.dynamic_shared);
  return const_cast<std::byte*>(there);
}

unsigned cluster_rank_of(const void* address) {
  const ClusterPlace place = find_in_cluster(*current_block, address);
  return place.block != nullptr ? place.rank : rank_in_cluster(*current_block);
}

}  // namespace warpbook::emulator
