/// \file
/// few_dims: v5's divisions for every element, several packs per thread. With a known number of dimensions there is no
/// loop and no branch, and all loads are independent. torch.compile makes the same of such views.
#pragma once

#include "chapters/chapter2_strided/strided.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter2::few_dims {

inline constexpr int kThreads = 256;
/// Elements that are written together: 16 bytes; 4 bytes of narrow ones, or a request would touch too many lines.
template <class W> inline constexpr int kPack = (sizeof(W) < 4 ? 4 : 16) / static_cast<int>(sizeof(W));
template <class W> inline constexpr int kPacks = sizeof(W) < 4 ? 4 : 2;

template <int dims> struct View {
  FastDivisor<std::uint32_t> sizes[dims];
  std::uint32_t strides[dims];

  explicit View(const TensorView& view) {
    for (int d = 0; d < dims; ++d) {
      sizes[d] = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(view.sizes[dims - 1 - d]));
      strides[d] = static_cast<std::uint32_t>(view.strides[dims - 1 - d]);
    }
  }

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

template <class W, int dims>
__global__ void __launch_bounds__(kThreads)
    few_dims_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View<dims> view,
                    const __grid_constant__ Packs<std::uint32_t> whole) {
  constexpr int pack = kPack<W>;
  constexpr int packs = kPacks<W>;
  using P = Pack<W, pack>;
  const std::uint32_t first = blockIdx.x * (kThreads * packs) + threadIdx.x;
  W element[packs][pack];
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const std::uint32_t at = first + p * kThreads;
    if (at >= whole.count) break;
#pragma unroll
    for (int j = 0; j < pack; ++j) element[p][j] = load_keeping<true>(src + view.place(whole.head + at * pack + j));
  }
  // Packs are made only now: a load that is waited for above would hold up those behind it.
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const std::uint32_t at = first + p * kThreads;
    if (at < whole.count) {
      P word;
#pragma unroll
      for (int j = 0; j < pack; ++j) word[j] = element[p][j];
      store_whole(reinterpret_cast<P*>(dst + whole.head) + at, word);
    } else if (at - whole.count < whole.ends) {
      const std::uint32_t linear = whole.end(at - whole.count, pack);
      dst[linear] = src[view.place(linear)];
    }
  }
}

inline const char* refuse(const StridedProblem& q) {
  if (q.into_view) return "a view that is written";
  if (q.element_bytes == 16) return "elements are whole words";
  if (q.view.dims > kMostStaticDims) return "more than 5 dimensions";
  return fits_32_bits(q.view, 16 * kThreads) ? nullptr : "2^31 elements or more";
}

/// Calls `f(View<dims>(view))`. The view has kMostStaticDims dimensions at most.
template <class F> cudaError_t with_view(const TensorView& view, F&& f) {
  return with_dims(view.dims, [&]<int dims>() -> cudaError_t {
    if constexpr (dims == 0) {
      return cudaErrorInvalidValue;
    } else {
      return f(View<dims>(view));
    }
  });
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() -> cudaError_t {
    if constexpr (bytes == 16) {
      return cudaErrorInvalidValue;
    } else {
      using W = Word<bytes>;
      const auto whole = packs_of<std::uint32_t>(q, kPack<W>);
      const std::int64_t grid = ceil_div<std::int64_t>(whole.count + whole.ends, kThreads * kPacks<W>);
      return with_view(q.problem.view, [&]<int dims>(const View<dims>& view) {
        return launch(few_dims_kernel<W, dims>, {.grid = grid, .block = kThreads, .stream = stream},
                      reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), view, whole);
      });
    }
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::few_dims
