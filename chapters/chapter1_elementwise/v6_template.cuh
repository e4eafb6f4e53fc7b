/// \file
/// v6 template: any function of one to three inputs, arrays that begin anywhere.
///
/// v1 to v5 multiply, take one type, and want 16-byte boundaries. Elementwise operations are a whole class of which
/// only the function differs, so the function becomes a template parameter, as do the types of the output and of each
/// input: a pack has as many elements as 16 bytes of the widest type hold. A function that needs something from device
/// memory (a scale that another kernel has computed) comes as a factory, which each thread asks once for its function.
///
/// Arrays seldom begin at multiples of 16 bytes when they are views: x[1:] does not. The rest of the world then falls
/// back to single elements. Here the output decides: some elements at its head go singly, so that its packs are
/// aligned. Inputs that lie the same way are then aligned too. Any other input is read by aligned 16 bytes all the
/// same, two neighbouring ones, and the pack is cut out of both by a funnel shift. Each aligned piece is asked for
/// twice, by two neighbouring threads, and fetched once: the second request finds it in the L1. What lies at the edges
/// goes singly.
///
/// Expect v5c's time for aligned arrays; for shifted ones twice the load requests, the same bytes from DRAM, and nearly
/// the same time, where single elements take a tenth longer (half).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "chapters/chapter1_elementwise/edges.hpp"
#include "chapters/chapter1_elementwise/elementwise.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter1::v6 {

/// Threads of a block, and packs of each in flight: README.md has the sweep. A shifted pack is two loads of each input.
inline constexpr int kThreads = 128;
template <bool kShifted> inline constexpr int kPacks = kShifted ? 1 : 2;

/// Fewer elements than this go singly rather than shifted: such a launch is over before the shifts would pay, and lasts
/// as long as its longest chain of instructions, which has to be fetched as well.
inline constexpr std::int64_t kLeastShifted = 1 << 18;

/// An output of so many bytes is stored with the hint that it leaves the L2 first: it would not stay there anyway.
inline constexpr std::int64_t kStreamedBytes = 32 << 20;

/// One input, as the kernel sees it.
template <class X> struct Input {
  const X* data = nullptr;
  int shift_bytes = 0;  ///< From a pack boundary to the first pack.
};

/// How the kernel goes through the arrays.
struct Walk {
  std::int64_t packs = 0;
  int head = 0;
  int edge = 0;
  bool streamed = false;  ///< The output is stored with a hint.
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
    const unsigned bits = 8U * static_cast<unsigned>(shift_bytes & 3);
    Words result;
#pragma unroll
    for (int i = 0; i < kWords; ++i) result[i] = __funnelshift_r(w[i], w[i + 1], bits);
    return reinterpret_cast<const W&>(result);
  }
}

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

/// Stores a pack; `streamed`: with the hint that it leaves the L2 first.
template <class P> __device__ __forceinline__ void store(P* to, const P& pack, bool streamed) {
  if (streamed) {
    store_streaming(to, pack);
  } else {
    *to = pack;
  }
}

/// True where f takes two neighbours at a time, as f.pairs(half2, ...) beside f(half, ...).
template <class F, class Z, class... X>
concept TakesPairs = requires(const F& f, typename PairOf<X>::Type... x) {
  { f.pairs(x...) } -> std::same_as<typename PairOf<Z>::Type>;
};

/// f of each element of a pack.
template <class Z, class F, int kWidth, class... X>
__device__ __forceinline__ Pack<Z, kWidth> apply(const F& f, const Pack<X, kWidth>&... x) {
  if constexpr (kWidth % 2 == 0 && TakesPairs<F, Z, X...>) {
    Pack<typename PairOf<Z>::Type, kWidth / 2> z;
#pragma unroll
    for (int k = 0; k < kWidth / 2; ++k) {
      z[k] = f.pairs(reinterpret_cast<const Pack<typename PairOf<X>::Type, kWidth / 2>&>(x)[k]...);
    }
    return reinterpret_cast<const Pack<Z, kWidth>&>(z);
  } else {
    Pack<Z, kWidth> z;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) z[k] = f(x[k]...);
    return z;
  }
}

//! [kernel]
template <bool kShifted, int kWidth, class Factory, class Z, class... X>
__global__ void __launch_bounds__(kThreads) elementwise_kernel(Z* z, Walk walk, Factory factory, Input<X>... x) {
  const auto f = factory();
  // The edges have a block of their own, so that nothing waits for them. The grid's last one: it is small.
  if (walk.edge != 0 && blockIdx.x == gridDim.x - 1) {
    const int k = static_cast<int>(threadIdx.x);
    if (k < walk.edge) {
      const std::int64_t i = k < walk.head ? k : k + walk.packs * kWidth;
      z[i] = f(x.data[i]...);
    }
    return;
  }
  auto* const z_packs = reinterpret_cast<Pack<Z, kWidth>*>(z + walk.head);
  const std::int64_t first = std::int64_t{blockIdx.x} * (kThreads * kPacks<kShifted>)+threadIdx.x;
  if (first >= walk.packs) return;
  Pack<Z, kWidth> result[kPacks<kShifted>];
#pragma unroll
  for (int k = 0; k < kPacks<kShifted>; ++k) {
    // In the last block a thread may lack its second pack. It takes its first one again, so that no branch stands
    // between the loads.
    const std::int64_t next = first + k * kThreads;
    const std::int64_t i = next < walk.packs ? next : first;
    result[k] = apply<Z>(f, load_pack<kShifted, kWidth>(x, walk.head, i)...);
  }
#pragma unroll
  for (int k = 0; k < kPacks<kShifted>; ++k) {
    const std::int64_t i = first + k * kThreads;
    if (i < walk.packs) store(&z_packs[i], result[k], walk.streamed);
  }
}
//! [kernel]

template <bool kShifted, int kWidth, class Factory, class Z, class... X>
cudaError_t launch_cut(const Cut<sizeof...(X)>& cut, const Factory& factory, Z* z, std::int64_t count,
                       cudaStream_t stream, Input<X>... x) {
  const std::int64_t tiles = ceil_div<std::int64_t>(cut.packs, kThreads * kPacks<kShifted>);
  const Walk walk{.packs = cut.packs,
                  .head = cut.head,
                  .edge = cut.edge,
                  .streamed = count * static_cast<std::int64_t>(sizeof(Z)) >= kStreamedBytes};
  return launch(elementwise_kernel<kShifted, kWidth, Factory, Z, X...>,
                {.grid = tiles + (cut.edge != 0 ? 1 : 0), .block = kThreads, .stream = stream}, z, walk, factory, x...);
}

/// As `run`, with another bound for shifting.
template <class Factory, class Z, class... X>
cudaError_t run_from(std::int64_t least_shifted, const Factory& factory, Z* z, std::int64_t count, cudaStream_t stream,
                     const X*... x) {
  constexpr int kWidth = 16 / static_cast<int>(std::max({sizeof(Z), sizeof(X)...}));
  static_assert(4 * kWidth <= kThreads, "a block must have a thread for each element of the edges");
  constexpr int kInputs = sizeof...(X);
  const Placement inputs[kInputs] = {{reinterpret_cast<std::uintptr_t>(x), static_cast<int>(sizeof(X))}...};
  const Cut<kInputs> packs =
      cut<kInputs>(count, kWidth, {reinterpret_cast<std::uintptr_t>(z), static_cast<int>(sizeof(Z))}, inputs);
  if (!packs.shifted()) return launch_cut<false, kWidth>(packs, factory, z, count, stream, Input<X>{x, 0}...);
  if (count < least_shifted) {
    const Cut<kInputs> singles{.packs = count};
    return launch_cut<false, 1>(singles, factory, z, count, stream, Input<X>{x, 0}...);
  }
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return launch_cut<true, kWidth>(packs, factory, z, count, stream, Input<X>{x, packs.shift_bytes[i]}...);
  }(std::index_sequence_for<X...>{});
}

/// Runs z[i] = factory()(x[i]...) for count > 0 elements. Arguments are not checked.
template <class Factory, class Z, class... X>
cudaError_t run(const Factory& factory, Z* z, std::int64_t count, cudaStream_t stream, const X*... x) {
  return run_from(kLeastShifted, factory, z, count, stream, x...);
}

}  // namespace warpbook::chapter1::v6
