/// \file
/// v1 naive: one thread per element of src.
///
/// This is the definition, written down. A thread divides its number by the sizes of src, the last dimension first, and
/// gets a coordinate along each dimension. At dimension `dim` it looks the coordinate up in the index. It multiplies
/// the coordinates by the strides of both tensors and adds with an atomic, because another element may go to the same
/// place. The rank is known at run time only, and all numbers have 64 bits, so any tensor works.
///
/// Expect it to be slow by arithmetic: each dimension costs a 64-bit division, a subroutine of dozens of instructions.
/// And an atomic on one half is a loop of compare and swap.
#pragma once

#include "chapters/chapter5_index_add/elements.cuh"

namespace warpbook::chapter5::v1 {

struct Dims {
  int dims;
  int dim;
  std::int64_t rows;
  std::int64_t src_size[kMaxViewDims];
  std::int64_t src_stride[kMaxViewDims];
  std::int64_t dst_stride[kMaxViewDims];
};

inline Dims dims_of(const IndexAddProblem& p) {
  Dims result{};
  result.dims = p.src.dims;
  result.dim = p.dim;
  result.rows = p.rows();
  for (int d = 0; d < p.src.dims; ++d) {
    result.src_size[d] = p.src.sizes[d];
    result.src_stride[d] = p.src.strides[d];
    result.dst_stride[d] = p.dst.strides[d];
  }
  return result;
}

//! [kernel]
template <class T>
__global__ void index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside,
                                 Dims dims, float alpha, std::int64_t count) {
  const std::int64_t element = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= count) return;

  //! [exercise coordinates]
  std::int64_t remaining = element;
  std::int64_t src_offset = 0;
  std::int64_t dst_offset = 0;
  for (int d = dims.dims - 1; d >= 0; --d) {
    const std::int64_t coordinate = remaining % dims.src_size[d];
    remaining = remaining / dims.src_size[d];
    src_offset += coordinate * dims.src_stride[d];
    std::int64_t to = coordinate;
    if (d == dims.dim) {
      to = index[coordinate];
      if (!inside(to, dims.rows, coordinate, outside)) return;
    }
    dst_offset += to * dims.dst_stride[d];
  }
  //! [exercise coordinates]
  atomicAdd(dst + dst_offset, narrow<T>(alpha * widen(src[src_offset])));
}
//! [kernel]

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  constexpr int kThreads = 256;
  if (p.empty()) return cudaSuccess;
  const std::int64_t count = p.src.count();
  return with_type<Types::early>(p.type, [&]<class T>() {
    return launch(index_add_kernel<T>,
                  {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream},
                  static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, dims_of(p),
                  alpha_of<T>(p), count);
  });
}

}  // namespace warpbook::chapter5::v1
