#pragma once

#include "chapters/chapter5_index_add/elements.cuh"
#include "common/cuda/fast_division.cuh"

namespace warpbook::chapter5::project {

constexpr int kThreads = 256;

template <class Number> struct Dims {
  int dims;
  int dim;
  std::int64_t rows;
  FastDivisor<Number> src_size[kMaxViewDims];
  Number src_stride[kMaxViewDims];
  Number dst_stride[kMaxViewDims];
};

template <class T, class Number>
__global__ void add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                           const __grid_constant__ Dims<Number> dims, float alpha, Number count) {
  const Number element = Number(blockIdx.x) * kThreads + threadIdx.x;
  if (element >= count) return;
  Number left = element, from = 0, to = 0;
  for (int d = dims.dims - 1; d >= 0; --d) {
    Number coordinate = left;
    if (d > 0) {
      const auto [quotient, remainder] = dims.src_size[d].divide(left);
      left = quotient;
      coordinate = remainder;
    }
    from += coordinate * dims.src_stride[d];
    if (d == dims.dim) {
      const std::int64_t row = index[coordinate];
      if (!inside(row, dims.rows, coordinate, outside)) return;
      coordinate = Number(row);
    }
    to += coordinate * dims.dst_stride[d];
  }
  atomicAdd(dst + to, narrow<T>(alpha * widen(src[from])));
}

template <class Number> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  Dims<Number> dims{};
  dims.dims = p.src.dims;
  dims.dim = p.dim;
  dims.rows = p.rows();
  for (int d = 0; d < p.src.dims; ++d) {
    dims.src_size[d] = FastDivisor<Number>(Number(p.src.sizes[d]));
    dims.src_stride[d] = Number(p.src.strides[d]);
    dims.dst_stride[d] = Number(p.dst.strides[d]);
  }
  return with_type<Types::early>(p.type, [&]<class T>() {
    return launch(add_kernel<T, Number>,
                  {.grid = ceil_div<std::int64_t>(p.src.count(), kThreads), .block = kThreads, .stream = stream},
                  static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, dims, alpha_of<T>(p),
                  Number(p.src.count()));
  });
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  return fits_32_bits(p.src, kThreads) && fits_32_bits(p.dst, kThreads) ? run_as<std::uint32_t>(p, a, stream)
                                                                        : run_as<std::uint64_t>(p, a, stream);
}

}  // namespace warpbook::chapter5::project
