/// \file
/// Cooperative groups: the block, tiles of up to a warp, the threads that go the same way, the cluster, and the grid.
#pragma once

#ifdef __clang__  // To the host's compiler there is nothing here.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda_runtime.h"

namespace cooperative_groups {

#define WARPBOOK_GROUP __attribute__((always_inline, nodebug))

namespace details {

/// The value that the lane `source` of the warp brings; in pieces of 8 bytes.
template <class T> WARPBOOK_GROUP inline T shuffle(unsigned mask, const T& value, unsigned source) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 32, "groups exchange plain values of up to 32 bytes");
  constexpr std::size_t kPieces = (sizeof(T) + 7) / 8;
  std::uint64_t pieces[kPieces] = {};
  __builtin_memcpy(pieces, &value, sizeof(T));
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces[i] = warpbook::emulator::warp_shuffle(mask, pieces[i], source);
  }
  T result;
  __builtin_memcpy(&result, pieces, sizeof(T));
  return result;
}

/// What groups of lanes of one warp have in common. `Group` has `mask()`, the lanes as bits.
template <class Group> class LaneGroup {
public:
  WARPBOOK_GROUP void sync() const { __syncwarp(mask()); }
  WARPBOOK_GROUP unsigned long long num_threads() const { return static_cast<unsigned>(__popc(mask())); }
  WARPBOOK_GROUP unsigned long long size() const { return num_threads(); }
  WARPBOOK_GROUP unsigned long long thread_rank() const {
    return static_cast<unsigned>(__popc(mask() & ((1U << warpbook::emulator::lane_index()) - 1)));
  }
  WARPBOOK_GROUP int any(int predicate) const { return __any_sync(mask(), predicate); }
  WARPBOOK_GROUP int all(int predicate) const { return __all_sync(mask(), predicate); }
  WARPBOOK_GROUP unsigned ballot(int predicate) const { return packed(__ballot_sync(mask(), predicate)); }
  template <class T> WARPBOOK_GROUP unsigned match_any(T value) const {
    return packed(__match_any_sync(mask(), value));
  }
  template <class T> WARPBOOK_GROUP unsigned match_all(T value, int& same) const {
    return packed(__match_all_sync(mask(), value, &same));
  }
  /// The value of the thread of this rank. One that there is not is a lane of the warp that takes no part.
  template <class T> WARPBOOK_GROUP T shfl(T value, int rank) const {
    const auto wanted = static_cast<unsigned>(rank);
    return shuffle(mask(), value, (mask() == ~0U ? wanted : lane_of(wanted)) % 32);
  }
  /// The value of the thread `delta` ranks below or above; the own one where there is none.
  template <class T> WARPBOOK_GROUP T shfl_up(T value, unsigned delta) const {
    const auto rank = static_cast<unsigned>(thread_rank());
    return shuffle(mask(), value, lane_of(delta > rank ? rank : rank - delta));
  }
  template <class T> WARPBOOK_GROUP T shfl_down(T value, unsigned delta) const {
    const auto rank = static_cast<unsigned>(thread_rank());
    const auto count = static_cast<unsigned>(num_threads());
    return shuffle(mask(), value, lane_of(delta >= count - rank ? rank : rank + delta));
  }

protected:
  WARPBOOK_GROUP unsigned mask() const { return static_cast<const Group*>(this)->lanes(); }
  /// The lane of a rank.
  WARPBOOK_GROUP unsigned lane_of(unsigned rank) const { return __fns(mask(), 0, static_cast<int>(rank) + 1); }
  /// Lanes of the warp as ranks of the group.
  WARPBOOK_GROUP unsigned packed(unsigned lanes) const {
    unsigned ranks = 0;
    unsigned rank = 0;
    for (unsigned rest = mask(); rest != 0; rest &= rest - 1, ++rank) {
      ranks |= (lanes >> __builtin_ctz(rest) & 1U) << rank;
    }
    return ranks;
  }
};

}  // namespace details

/// All threads of the block.
class thread_block {
public:
  WARPBOOK_GROUP static void sync() { __syncthreads(); }
  WARPBOOK_GROUP static unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  WARPBOOK_GROUP static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  WARPBOOK_GROUP static unsigned size() { return num_threads(); }
  WARPBOOK_GROUP static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  WARPBOOK_GROUP static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  WARPBOOK_GROUP static dim3 group_dim() { return blockDim; }
  WARPBOOK_GROUP static dim3 dim_threads() { return blockDim; }

private:
  thread_block() = default;
  friend thread_block this_thread_block();
};

WARPBOOK_GROUP inline thread_block this_thread_block() { return {}; }

/// What some cards need of shared memory for tiles of several warps; here it is not touched.
template <unsigned kMaxThreads = 1024> struct __attribute__((aligned(16))) block_tile_memory {
  unsigned char bytes[kMaxThreads / 32 * 16];
};
template <unsigned kMaxThreads>
WARPBOOK_GROUP inline thread_block this_thread_block(block_tile_memory<kMaxThreads>& /*memory*/) {
  return this_thread_block();
}

/// `kSize` neighbours of a warp, a power of two.
template <unsigned kSize, class Parent = void, bool kOfWarps = (kSize > 32)>
class thread_block_tile : public details::LaneGroup<thread_block_tile<kSize, Parent>> {
  static_assert(kSize >= 1 && kSize <= 32 && (kSize & (kSize - 1)) == 0, "tiles have 1, 2, 4, 8, 16 or 32 threads");

public:
  WARPBOOK_GROUP static constexpr unsigned num_threads() { return kSize; }
  WARPBOOK_GROUP static constexpr unsigned size() { return kSize; }
  WARPBOOK_GROUP static unsigned thread_rank() { return warpbook::emulator::lane_index() % kSize; }
  WARPBOOK_GROUP unsigned meta_group_rank() const { return rank_; }
  WARPBOOK_GROUP unsigned meta_group_size() const { return count_; }
  template <class T> WARPBOOK_GROUP T shfl(T value, int rank) const {
    return details::shuffle(lanes(), value, first() + static_cast<unsigned>(rank) % kSize);
  }
  template <class T> WARPBOOK_GROUP T shfl_up(T value, unsigned delta) const {
    return details::shuffle(lanes(), value, first() + (delta > thread_rank() ? thread_rank() : thread_rank() - delta));
  }
  template <class T> WARPBOOK_GROUP T shfl_down(T value, unsigned delta) const {
    const bool inside = delta < kSize - thread_rank();
    return details::shuffle(lanes(), value, first() + (inside ? thread_rank() + delta : thread_rank()));
  }
  template <class T> WARPBOOK_GROUP T shfl_xor(T value, unsigned lane_mask) const {
    const unsigned partner = thread_rank() ^ lane_mask;
    return details::shuffle(lanes(), value, first() + (partner < kSize ? partner : thread_rank()));
  }
  /// A tile of this size, whatever it was made of.
  template <class Other, std::enable_if_t<std::is_void_v<Parent> && !std::is_void_v<Other>, int> = 0>
  WARPBOOK_GROUP thread_block_tile(const thread_block_tile<kSize, Other>& tile)
      : rank_(tile.meta_group_rank()), count_(tile.meta_group_size()) {}
  WARPBOOK_GROUP static unsigned lanes() { return (kSize == 32 ? ~0U : (1U << kSize % 32) - 1) << first(); }

private:
  WARPBOOK_GROUP static unsigned first() { return warpbook::emulator::lane_index() / kSize * kSize; }
  WARPBOOK_GROUP thread_block_tile(unsigned rank, unsigned count) : rank_(rank), count_(count) {}
  template <unsigned kTile> friend thread_block_tile<kTile, thread_block> tiled_partition(const thread_block&);
  template <unsigned kTile, unsigned kOuter, class Outer>
  friend thread_block_tile<kTile, thread_block_tile<kOuter, Outer>>
  tiled_partition(const thread_block_tile<kOuter, Outer>&);

  unsigned rank_;
  unsigned count_;
};

namespace details {
/// The threads of what a tile was made of, where that is a tile.
template <class Parent> struct TileOf {
  static constexpr unsigned kThreads = 0;
};
template <unsigned kSize, class Parent> struct TileOf<thread_block_tile<kSize, Parent>> {
  static constexpr unsigned kThreads = kSize;
};
}  // namespace details

/// Several neighbouring warps of a block.
template <unsigned kSize, class Parent> class thread_block_tile<kSize, Parent, true> {
  static_assert(kSize <= 1024 && (kSize & (kSize - 1)) == 0, "tiles have up to 1024 threads, a power of two");

public:
  WARPBOOK_GROUP static constexpr unsigned num_threads() { return kSize; }
  WARPBOOK_GROUP static constexpr unsigned size() { return kSize; }
  WARPBOOK_GROUP static unsigned thread_rank() { return thread_block::thread_rank() % kSize; }
  WARPBOOK_GROUP static unsigned meta_group_rank() {
    return kOuter == 0 ? of_block() : thread_block::thread_rank() % kOuterOrOne / kSize;
  }
  WARPBOOK_GROUP static unsigned meta_group_size() { return kOuter == 0 ? in_block() : kOuter / kSize; }
  WARPBOOK_GROUP static void sync() {
    const unsigned groups = in_block();
    if (groups == 1)
      __syncthreads();
    else  // Barrier 0 is the block's; 1024 threads in groups of 64 need all 16.
      __warpbook_ptx_named_barrier(of_block() + (groups < 16 ? 1 : 0), kSize, true);
  }

private:
  static constexpr unsigned kOuter = details::TileOf<Parent>::kThreads;
  static constexpr unsigned kOuterOrOne = kOuter == 0 ? 1 : kOuter;
  WARPBOOK_GROUP static unsigned of_block() { return thread_block::thread_rank() / kSize; }
  WARPBOOK_GROUP static unsigned in_block() { return (thread_block::num_threads() + kSize - 1) / kSize; }
};

template <unsigned kTile>
WARPBOOK_GROUP inline thread_block_tile<kTile, thread_block> tiled_partition(const thread_block& block) {
  if constexpr (kTile > 32)
    return {};
  else
    return {block.thread_rank() / kTile, (block.num_threads() + kTile - 1) / kTile};
}

template <unsigned kTile, unsigned kOuter, class Outer>
WARPBOOK_GROUP inline thread_block_tile<kTile, thread_block_tile<kOuter, Outer>>
tiled_partition(const thread_block_tile<kOuter, Outer>& tile) {
  static_assert(kTile <= kOuter, "a tile is made of a group at least as large");
  if constexpr (kTile > 32)
    return {};
  else
    return {tile.thread_rank() % kOuter / kTile, kOuter / kTile};
}

/// The lanes of the warp that came here together.
class coalesced_group : public details::LaneGroup<coalesced_group> {
public:
  WARPBOOK_GROUP unsigned lanes() const { return lanes_; }

private:
  WARPBOOK_GROUP explicit coalesced_group(unsigned lanes) : lanes_(lanes) {}
  friend coalesced_group coalesced_threads();
  template <class Group, class Label> friend coalesced_group labeled_partition(const Group&, Label);
  unsigned lanes_;
};

WARPBOOK_GROUP inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/// The threads of a group of lanes that bring the same label.
template <class Group, class Label>
WARPBOOK_GROUP inline coalesced_group labeled_partition(const Group& group, Label label) {
  return coalesced_group(__match_any_sync(group.lanes(), label));
}
template <class Group> WARPBOOK_GROUP inline coalesced_group binary_partition(const Group& group, bool predicate) {
  return labeled_partition(group, static_cast<int>(predicate));
}

/// A group whose kind is known when it runs: a block, or lanes of a warp.
class thread_group {
public:
  WARPBOOK_GROUP thread_group(const thread_block& /*block*/) {}
  template <unsigned kSize, class Parent>
  WARPBOOK_GROUP thread_group(const thread_block_tile<kSize, Parent>& tile) : lanes_(tile.lanes()) {}
  WARPBOOK_GROUP thread_group(const coalesced_group& group) : lanes_(group.lanes()) {}

  WARPBOOK_GROUP void sync() const {
    if (lanes_ == 0) {
      __syncthreads();
    } else {
      __syncwarp(lanes_);
    }
  }
  WARPBOOK_GROUP unsigned long long num_threads() const {
    return lanes_ == 0 ? thread_block::num_threads() : static_cast<unsigned>(__popc(lanes_));
  }
  WARPBOOK_GROUP unsigned long long size() const { return num_threads(); }
  WARPBOOK_GROUP unsigned long long thread_rank() const {
    return lanes_ == 0 ? thread_block::thread_rank()
                       : static_cast<unsigned>(__popc(lanes_ & ((1U << warpbook::emulator::lane_index()) - 1)));
  }

private:
  WARPBOOK_GROUP explicit thread_group(unsigned lanes) : lanes_(lanes) {}
  friend thread_group tiled_partition(const thread_group&, unsigned);
  unsigned lanes_ = 0;  ///< 0: the block
};

/// `size` neighbours of the group, a power of two up to 32.
WARPBOOK_GROUP inline thread_group tiled_partition(const thread_group& group, unsigned size) {
  const auto rank = static_cast<unsigned>(group.thread_rank());
  const unsigned first = warpbook::emulator::lane_index() - rank % size;
  return thread_group((size >= 32 ? ~0U : (1U << size) - 1) << first % 32);
}

/// All threads of the grid, which wait for each other where it is launched cooperatively.
class grid_group {
public:
  WARPBOOK_GROUP static unsigned long long num_blocks() { return 1ULL * gridDim.x * gridDim.y * gridDim.z; }
  WARPBOOK_GROUP static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  WARPBOOK_GROUP static unsigned long long size() { return num_threads(); }
  WARPBOOK_GROUP static unsigned long long block_rank() {
    return (1ULL * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  WARPBOOK_GROUP static unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  WARPBOOK_GROUP static dim3 group_dim() { return gridDim; }
  WARPBOOK_GROUP static dim3 dim_blocks() { return gridDim; }
  WARPBOOK_GROUP static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  WARPBOOK_GROUP static dim3 dim_clusters() {
    using namespace warpbook::emulator;
    return dim3(gridDim.x / cluster_extent_x(), gridDim.y / cluster_extent_y(), gridDim.z / cluster_extent_z());
  }
  WARPBOOK_GROUP static dim3 cluster_index() {
    using namespace warpbook::emulator;
    return dim3(blockIdx.x / cluster_extent_x(), blockIdx.y / cluster_extent_y(), blockIdx.z / cluster_extent_z());
  }
  WARPBOOK_GROUP static unsigned long long num_clusters() { return num_blocks() / warpbook::emulator::cluster_size(); }
  WARPBOOK_GROUP static unsigned long long cluster_rank() {
    const dim3 clusters = dim_clusters();
    const dim3 at = cluster_index();
    return (1ULL * at.z * clusters.y + at.y) * clusters.x + at.x;
  }
  WARPBOOK_GROUP static bool is_valid() { return warpbook::emulator::is_cooperative_launch(); }
  WARPBOOK_GROUP static void sync() { warpbook::emulator::grid_barrier(); }
};

WARPBOOK_GROUP inline grid_group this_grid() { return {}; }

/// All threads of the blocks of a cluster, which reach each other's shared memory.
class cluster_group {
public:
  /// What `barrier_arrive` gives and `barrier_wait` takes.
  class arrival_token {};
  WARPBOOK_GROUP static void sync() {
    barrier_arrive();
    barrier_wait();
  }
  WARPBOOK_GROUP static arrival_token barrier_arrive() {
    warpbook::emulator::cluster_arrive();
    return {};
  }
  WARPBOOK_GROUP static void barrier_wait() { warpbook::emulator::cluster_wait(); }
  WARPBOOK_GROUP static void barrier_wait(arrival_token&& /*token*/) { warpbook::emulator::cluster_wait(); }
  WARPBOOK_GROUP static dim3 dim_blocks() {
    using namespace warpbook::emulator;
    return dim3(cluster_extent_x(), cluster_extent_y(), cluster_extent_z());
  }
  WARPBOOK_GROUP static dim3 block_index() {
    const dim3 blocks = dim_blocks();
    return dim3(blockIdx.x % blocks.x, blockIdx.y % blocks.y, blockIdx.z % blocks.z);
  }
  WARPBOOK_GROUP static unsigned block_rank() { return warpbook::emulator::cluster_rank(); }
  WARPBOOK_GROUP static unsigned num_blocks() { return warpbook::emulator::cluster_size(); }
  WARPBOOK_GROUP static unsigned num_threads() { return num_blocks() * thread_block::num_threads(); }
  WARPBOOK_GROUP static unsigned size() { return num_threads(); }
  WARPBOOK_GROUP static unsigned thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  WARPBOOK_GROUP static dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
  }
  WARPBOOK_GROUP static dim3 thread_index() {
    const dim3 at = block_index();
    return dim3(at.x * blockDim.x + threadIdx.x, at.y * blockDim.y + threadIdx.y, at.z * blockDim.z + threadIdx.z);
  }
  /// What the block of this rank has where the calling block has `address`.
  template <class T> WARPBOOK_GROUP static T* map_shared_rank(T* address, int rank) {
    return static_cast<T*>(warpbook::emulator::map_to_cluster(address, static_cast<unsigned>(rank)));
  }
  /// The rank of the block whose shared memory an address leads to.
  WARPBOOK_GROUP static unsigned query_shared_rank(const void* address) {
    return warpbook::emulator::cluster_rank_of(address);
  }
};

WARPBOOK_GROUP inline cluster_group this_cluster() { return {}; }

template <class Group> WARPBOOK_GROUP inline void sync(const Group& group) { group.sync(); }

/// One thread of the group calls the function.
template <class Group, class Function, class... Given>
WARPBOOK_GROUP inline void invoke_one(const Group& group, Function&& function, Given&&... given) {
  if (group.thread_rank() == 0) std::forward<Function>(function)(std::forward<Given>(given)...);
}

#undef WARPBOOK_GROUP

}  // namespace cooperative_groups

#endif
