/// \file
/// v5 any alignment: arrays that begin anywhere still go by 16 bytes.
///
/// v3 and v4 refuse views such as x[1:], and v1 and v2 move them element by element, half as fast for halves. Here the
/// output decides: its first elements go singly, up to a 16-byte boundary, and its packs begin there. An input that
/// lies otherwise is read by aligned words all the same: two neighbouring ones, out of which a funnel shift cuts the
/// pack. Two threads ask for each word, but the second request finds it in the L1. The edges get a block of their own.
///
/// Expect v4's time for aligned arrays. For others expect twice the load requests and the same bytes from memory:
/// nearly v4's time.
#pragma once

#include <cstddef>

#include "chapters/chapter1_elementwise/v4_in_order.cuh"

namespace warpbook::chapter1::v5 {

using v3::FullPack;
using v3::kPerPack;
using v3::multiply_pack;

/// Threads of a block: at least one for each element of the edges.
inline constexpr int kThreads = 256;

template <class X> struct Input {
  const X* data = nullptr;
  int shift_bytes = 0;  ///< From a pack boundary to the first pack.
};

/// The word that begins `shift_bytes` (0 to its size - 1) behind the beginning of `low`, which `high` follows.
template <class W> __device__ __forceinline__ W shifted_word(W low, W high, int shift_bytes) {
  if constexpr (sizeof(W) < 4) {
    const std::uint32_t both = std::uint32_t{high} << (8 * sizeof(W)) | low;
    return static_cast<W>(both >> (8 * shift_bytes));
  } else {
    constexpr int kWords = sizeof(W) / 4;
    using Words = Pack<std::uint32_t, kWords>;
    std::uint32_t w[2 * kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      w[i] = reinterpret_cast<const Words&>(low)[i];
      w[kWords + i] = reinterpret_cast<const Words&>(high)[i];
    }
    // By 8 bytes, by 4, by less: an index into w that is known at run time only would send it to memory.
#pragma unroll
    for (int step = kWords / 2; step > 0; step /= 2) {
      if ((shift_bytes & (4 * step)) != 0) {
#pragma unroll
        for (int i = 0; i + step < 2 * kWords; ++i) w[i] = w[i + step];
      }
    }
    Words result;
#pragma unroll
    for (int i = 0; i < kWords; ++i) result[i] = __funnelshift_r(w[i], w[i + 1], 8 * (shift_bytes & 3));
    return reinterpret_cast<const W&>(result);
  }
}

//! [load]
/// Pack number i of an input whose first pack begins at element `head`.
template <bool kShifted, int kWidth, class X>
__device__ __forceinline__ Pack<X, kWidth> load_pack(const Input<X>& input, int head, std::int64_t i) {
  using P = Pack<X, kWidth>;
  using W = Word<sizeof(P)>;
  if constexpr (!kShifted) return reinterpret_cast<const P*>(input.data + head)[i];
  const auto* const boundary = reinterpret_cast<const std::byte*>(input.data + head) - input.shift_bytes;
  const auto* const words = reinterpret_cast<const W*>(boundary) + i;
  const int next = input.shift_bytes != 0 ? 1 : 0;  // Not a branch around the load: it would wait for the one before.
  const W word = shifted_word<W>(words[0], words[next], input.shift_bytes);
  return reinterpret_cast<const P&>(word);
}
//! [load]

//! [kernel]
template <bool kShifted, class T>
__global__ void multiply_kernel(T* __restrict__ z, Walk walk, Input<T> x, Input<T> y) {
  constexpr int kWidth = kPerPack<T>;
  if (walk.edge != 0 && blockIdx.x == gridDim.x - 1) {  // The edges' own block, so that no pack waits for them.
    const int k = threadIdx.x;
    if (k < walk.edge) {
      const std::int64_t i = walk.edge_element(k, kWidth);
      z[i] = x.data[i] * y.data[i];
    }
    return;
  }
  auto* const z_packs = reinterpret_cast<FullPack<T>*>(z + walk.head);
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < walk.packs) {
    z_packs[i] =
        multiply_pack<T>(load_pack<kShifted, kWidth>(x, walk.head, i), load_pack<kShifted, kWidth>(y, walk.head, i));
  }
}
//! [kernel]

template <class X> Placement placement(const X* data) {
  return {reinterpret_cast<std::uintptr_t>(data), int(sizeof(X))};
}

template <class T> cudaError_t run(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const Placement inputs[] = {placement(x), placement(y)};
  const Cut<2> packs = cut(count, kPerPack<T>, placement(z), inputs);
  return launch(packs.shifted() ? multiply_kernel<true, T> : multiply_kernel<false, T>,
                {.grid = ceil_div<std::int64_t>(packs.packs, kThreads) + (packs.edge != 0 ? 1 : 0),
                 .block = kThreads,
                 .stream = stream},
                z, packs, {x, packs.shift_bytes[0]}, {y, packs.shift_bytes[1]});
}

}  // namespace warpbook::chapter1::v5
