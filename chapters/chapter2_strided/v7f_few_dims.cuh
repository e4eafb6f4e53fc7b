/// \file
/// v7f few dimensions: a division for each element again, and little else.
///
/// v6 to v7b carry the index on, since divisions once were most of an element's instructions. But v5 made a division
/// three of them, while carrying has its own: comparisons that diverge, a copy of the digits for each pack in which a
/// row ends, a loop over the other dimensions. Nsight Compute counted 17.2 M instructions of v7b on a view of windows,
/// and 9.7 M of what torch.compile makes of it (chapter2_trials_3.txt): a thread makes words of 16 bytes, each of their
/// elements placed by divisions, and nothing is carried.
///
/// Nearly all views have few dimensions once they are merged. So the number of dimensions is a template parameter here,
/// as in v2, for one to kMostStaticDims of them: no loop, no branch, and all loads of a thread independent of each
/// other. The elements before the first whole word and behind the last are made by a few threads more, one each. Loads
/// ask the L2 to keep what they read, as the compiler's do and chapter 3's v7k.
///
/// Expect less than v7b's instructions wherever rows are short, and its requests.
#pragma once

#include "chapters/chapter2_strided/v7e_offset_tables.cuh"

namespace warpbook::chapter2::v7f {

inline constexpr int kThreads = 256;
/// Elements that are written together: 16 bytes; of narrow ones 4, or the requests to read would lie in too many lines.
template <class W> inline constexpr int kPack = (sizeof(W) < 4 ? 4 : 16) / static_cast<int>(sizeof(W));
/// Packs of a thread.
template <class W> inline constexpr int kPacks = sizeof(W) < 4 ? 4 : 2;

/// A view of so many dimensions, innermost first.
template <int dims> struct FewDims {
  FastDivisor<std::uint32_t> sizes[dims];  ///< The outermost one's is not needed.
  std::uint32_t strides[dims];

  /// The place of the view's element `linear`.
  __device__ __forceinline__ std::uint32_t place(std::uint32_t linear) const {
    std::uint32_t place = 0;
#pragma unroll
    for (int d = 0; d < dims - 1; ++d) {
      const auto [rest, index] = sizes[d].divide(linear);
      place += index * strides[d];
      linear = rest;
    }
    return place + linear * strides[dims - 1];
  }
};

/// What the kernel writes: whole packs from element `head` on, and `ends` elements before and behind them.
struct Extent {
  std::uint32_t packs;
  std::uint32_t head;
  std::uint32_t ends;
};

//! [kernel]
template <class W, int dims>
__global__ void __launch_bounds__(kThreads)
    few_dims_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ FewDims<dims> view,
                    const __grid_constant__ Extent extent) {
  constexpr int pack = kPack<W>;
  constexpr int packs = kPacks<W>;
  using P = Pack<W, pack>;
  const std::uint32_t first = blockIdx.x * (kThreads * packs) + threadIdx.x;
  W element[packs][pack];
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const std::uint32_t at = first + std::uint32_t(p * kThreads);
    if (at >= extent.packs) break;
#pragma unroll
    for (int j = 0; j < pack; ++j) {
      element[p][j] = load_keeping<true>(src + view.place(extent.head + at * pack + std::uint32_t(j)));
    }
  }
  // Packs are made only now: see v7b.
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const std::uint32_t at = first + std::uint32_t(p * kThreads);
    if (at < extent.packs) {
      P word;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[j] = element[p][j];
      store_whole(reinterpret_cast<P*>(dst + extent.head) + at, word);
    } else if (at - extent.packs < extent.ends) {
      const std::uint32_t end = at - extent.packs;
      const std::uint32_t linear = end < extent.head ? end : end + extent.packs * pack;
      dst[linear] = src[view.place(linear)];
    }
  }
}
//! [kernel]

/// Why the step does not take a collapsed problem in its widest elements; nullptr where it does.
inline const char* refuse(const StridedProblem& p) {
  if (p.into_view) return "a view that is written";
  if (p.element_bytes == 16) return "elements are whole words";
  if (p.view.dims > kMostStaticDims) return "more than 5 dimensions";
  return fits_32_bits(p.view, 16 * kThreads) ? nullptr : "2^31 elements or more";
}

/// Calls `f(few)` with the view as kernels take it. It has kMostStaticDims dimensions at most.
template <class F> cudaError_t with_few_dims(const TensorView& view, F&& f) {
  return with_dims(view.dims, [&]<int dims>() -> cudaError_t {
    if constexpr (dims == 0) {
      return cudaErrorInvalidValue;  // Refused.
    } else {
      FewDims<dims> few{};
      for (int d = 0; d < dims; ++d) {
        few.sizes[d] = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(view.sizes[dims - 1 - d]));
        few.strides[d] = static_cast<std::uint32_t>(view.strides[dims - 1 - d]);
      }
      return f(few);
    }
  });
}

/// Moves a problem that is not refused.
inline cudaError_t run_few_dims(const Prepared& q, cudaStream_t stream) {
  const TensorView& view = q.problem.view;
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() -> cudaError_t {
    if constexpr (bytes == 16) {
      return cudaErrorInvalidValue;  // Refused.
    } else {
      using W = Word<bytes>;
      constexpr int pack = kPack<W>;
      const std::int64_t count = view.count();
      const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) / bytes % pack);
      const std::int64_t head = off == 0 ? 0 : std::min(pack - off, count);
      const std::int64_t packs = (count - head) / pack;
      const std::int64_t ends = count - packs * pack;
      const Extent extent{static_cast<std::uint32_t>(packs), static_cast<std::uint32_t>(head),
                          static_cast<std::uint32_t>(ends)};
      return with_few_dims(view, [&]<int dims>(const FewDims<dims>& few) {
        return launch(
            few_dims_kernel<W, dims>,
            {.grid = ceil_div<std::int64_t>(packs + ends, kThreads * kPacks<W>), .block = kThreads, .stream = stream},
            reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), few, extent);
      });
    }
  });
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  return refuse(q.problem) == nullptr ? run_few_dims(q, stream) : v7e::run_prepared(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7f
