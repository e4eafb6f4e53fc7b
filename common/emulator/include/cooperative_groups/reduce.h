/// \file
/// Reductions over a tile or a group of lanes.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T> struct plus {
  __attribute__((always_inline, nodebug)) T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
  __attribute__((always_inline, nodebug)) T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  __attribute__((always_inline, nodebug)) T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
  __attribute__((always_inline, nodebug)) T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
  __attribute__((always_inline, nodebug)) T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
  __attribute__((always_inline, nodebug)) T operator()(T a, T b) const { return a ^ b; }
};

namespace details {

/// Of several warps: each of its own first, then of their sums.
template <unsigned kSize, class Parent, class T, class Operation>
__attribute__((always_inline, nodebug)) inline T reduce_warps(const thread_block_tile<kSize, Parent>& tile, T value,
                                                              Operation&& operation) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 32, "groups exchange plain values of up to 32 bytes");
  const unsigned lane = warpbook::emulator::lane_index();
  for (unsigned offset = 16; offset > 0; offset /= 2)
    value = operation(value, shuffle(~0U, value, lane ^ offset));
  __shared__ std::aligned_storage_t<32, 16> sums[32];
  const unsigned warp = thread_block::thread_rank() / 32;
  const unsigned first = warp / (kSize / 32) * (kSize / 32);
  if (lane == 0) *reinterpret_cast<T*>(&sums[warp]) = value;
  tile.sync();
  T total = *reinterpret_cast<const T*>(&sums[first]);
  for (unsigned other = 1; other < kSize / 32; ++other)
    total = operation(total, *reinterpret_cast<const T*>(&sums[first + other]));
  tile.sync();
  return total;
}

}  // namespace details

/// The values of all threads of the group combined, for all of them. A tile combines by halving the distance between
/// partners, as a GPU does, so that sums of floats round alike; all its threads must be live.
template <unsigned kSize, class Parent, class T, class Operation>
__attribute__((always_inline, nodebug)) inline T reduce(const thread_block_tile<kSize, Parent>& tile, T value,
                                                        Operation&& operation) {
  if constexpr (kSize > 32) {
    return details::reduce_warps(tile, value, operation);
  } else {
    for (unsigned offset = kSize / 2; offset > 0; offset /= 2) {
      value = operation(value, tile.shfl_xor(value, offset));
    }
    return value;
  }
}

template <class T, class Operation>
__attribute__((always_inline, nodebug)) inline T reduce(const coalesced_group& group, T value, Operation&& operation) {
  T total = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.num_threads(); ++rank) {
    total = operation(total, group.shfl(value, static_cast<int>(rank)));
  }
  return total;
}

}  // namespace cooperative_groups
