/// \file
/// short_rows: v7b where there is nothing to divide: rows of one element, and few bytes in contiguous rows. The block's
/// two dimensions are words and entries, since a launch of some microseconds waits for its instructions, too.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/v7b_vector_atomics.cuh"

namespace warpbook::chapter5::short_rows {

/// Words that are all under way at once on a large GPU.
inline constexpr std::int64_t kMostWords = 1 << 18;

template <class T, int n>
__global__ void __launch_bounds__(v7b::kThreads)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, std::int64_t rows,
                     std::int64_t entries, std::int64_t words, std::int64_t dst_row_stride, std::int64_t src_row_stride,
                     Sum<T> alpha, std::int64_t dst_length) {
  const std::int64_t entry = std::int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  const std::int64_t word = std::int64_t(blockIdx.y) * blockDim.x + threadIdx.x;
  if (entry >= entries || word >= words) return;
  const std::int64_t to = index[entry];
  auto value = load_streaming(reinterpret_cast<const Pack<T, n>*>(src + entry * src_row_stride) + word);
  if (!inside(to, rows, entry, outside)) return;
  v7b::scale(value, alpha);
  v7b::add_word<T, n>(dst, to * dst_row_stride + word * n, dst_length, value);
}

/// Elements that one instruction adds, and so a thread.
inline int added_at_once(const IndexAddProblem& p) {
  return refuse_other_sums(p) == nullptr ? 16 / element_bytes(p.type) : 1;
}

inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = v7b::refuse(p)) return reason;
  if (p.row_elements() == 1) return nullptr;
  const RowDims row = row_dims(p);
  if (row.dims != 1 || row.dim[0].dst_stride != 1 || row.dim[0].src_stride != 1) return "rows must be contiguous";
  const int elements = added_at_once(p);
  if (elements > 1 && word_elements(p, row, 16) == 1) return "rows must be of whole words of 16 bytes";
  return p.entries() * (p.row_elements() / elements) <= kMostWords ? nullptr : "the words must be few";
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  const auto run = [&]<int n>(dim3 block) {
    const std::int64_t words = p.row_elements() / n;
    return launch(index_add_kernel<T, n>,
                  {.grid = {ceil_div<std::int64_t>(p.entries(), block.y), ceil_div<std::int64_t>(words, block.x)},
                   .block = block,
                   .stream = stream},
                  static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, p.rows(),
                  p.entries(), words, p.dst.strides[p.dim], p.src.strides[p.dim], alpha_of<T>(p), p.dst.reach() + 1);
  };
  if (p.row_elements() == 1) return run.template operator()<1>({1, v7b::kThreads});
  constexpr int kElements = kHasWideAtomics<T> ? 16 / sizeof(T) : 1;
  const auto warps = static_cast<unsigned>(ceil_div<std::int64_t>(p.row_elements(), 32 * kElements));
  return run.template operator()<kElements>({std::min(warps * 32, unsigned{v7b::kThreads})});
}

}  // namespace warpbook::chapter5::short_rows
