/// \file
/// written_rows: v7b's shifted words, into a view's rows.
///
/// The rows of a view that is written have gaps between them. A thread takes 16 bytes of a row that are aligned in the
/// destination, and makes them of a pair of the source. A word in which a row begins or ends is stored in parts.
#pragma once

#include "chapters/chapter2_strided/v7b_shifted_rows.cuh"

namespace warpbook::chapter2::written_rows {

inline constexpr int kThreads = 256;

/// Stores bytes [begin, end) of a word, in pieces of type T.
template <class T> __device__ __forceinline__ void store_part(char* dst, const uint4& word, int begin, int end) {
  const unsigned words[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
  for (int b = 0; b < 16; b += static_cast<int>(sizeof(T))) {
    if (b >= begin && b < end) *reinterpret_cast<T*>(dst + b) = static_cast<T>(words[b / 4] >> (b % 4 * 8));
  }
}

/// What the kernel needs to know.
template <class Index> struct Rows {
  Index words;
  int granule;  // Bytes that both sides are always aligned to: 1, 2 or 4.
  std::int64_t row_bytes;
  std::int64_t src_bytes;
};

//! [kernel]
/// The view's innermost dimension are the words that a row may touch; all steps are in bytes.
template <class Index>
__global__ void __launch_bounds__(kThreads, 8)
    write_rows_kernel(char* __restrict__ dst, const char* __restrict__ src,
                      const __grid_constant__ v6::View<Index> view, const __grid_constant__ Rows<Index> rows) {
  const Index word = Index(blockIdx.x) * kThreads + threadIdx.x;
  if (word >= rows.words) return;
  v6::Walk<Index> walk;
  walk.locate(view, word);
  char* const dst_row = dst + (walk.offset(view) - walk.last * view.strides[0]);
  // The word's bytes in the row: the first one may begin before it, the last ones end behind it.
  const auto off = static_cast<int>(reinterpret_cast<std::uintptr_t>(dst_row) % 16);
  const std::int64_t in_row = std::int64_t(walk.last) * 16 - off;
  if (in_row >= rows.row_bytes) return;
  const int begin = in_row < 0 ? -static_cast<int>(in_row) : 0;
  const int end = rows.row_bytes - in_row < 16 ? static_cast<int>(rows.row_bytes - in_row) : 16;
  char* const to = dst_row + in_row;
  const std::int64_t from = view.sizes[0].divide(word).quotient * rows.row_bytes + in_row;
  bool inside = true;
  const uint4 bytes = v7b::shifted(v7b::load_pair(src, from, rows.src_bytes, inside));
  if (!inside) {  // At the array's ends: byte by byte.
    for (int b = begin; b < end; ++b) to[b] = src[from + b];
  } else if (end - begin == 16) {
    *reinterpret_cast<uint4*>(to) = bytes;
  } else if (rows.granule == 4) {
    store_part<std::uint32_t>(to, bytes, begin, end);
  } else if (rows.granule == 2) {
    store_part<std::uint16_t>(to, bytes, begin, end);
  } else {
    store_part<std::uint8_t>(to, bytes, begin, end);
  }
}
//! [kernel]

/// What all rows' begins and lengths are multiples of, in bytes, up to `most`; both sides' begins are not counted.
inline std::int64_t granule_of(const StridedProblem& bytes, std::int64_t most) {
  std::int64_t all = most;
  for (int d = 0; d < bytes.view.dims - 1; ++d) all |= bytes.view.strides[d];
  return all & -all;
}

/// A view's rows in words of 16 bytes that are aligned in the destination, as many as a row may touch. `p` is the
/// problem in bytes.
inline TensorView slots_of(const StridedProblem& p, int element_bytes, const std::byte* dst) {
  TensorView view = p.view;
  const int last = view.dims - 1;
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % 16);
  const std::int64_t off = granule_of(p, 16) == 16 ? first : 16 - element_bytes;  // All rows', or the worst.
  view.sizes[last] = ceil_div<std::int64_t>(off + view.sizes[last], 16);
  view.strides[last] = 16;
  return view;
}

/// Why the kernel does not take a simplified problem; nullptr where it does.
inline const char* refuse(const StridedProblem& q) {
  if (!q.into_view) return "a view that is read";
  return q.view.strides[q.view.dims - 1] == 1 ? nullptr : "the last dimension is not contiguous";
}

/// Moves a simplified problem that is not refused, with indices of a type that its bytes fit.
template <class Index> cudaError_t run_as(const Prepared& q, cudaStream_t stream) {
  const StridedProblem bytes = v7b::bytes_of(q.problem);
  const std::int64_t row_bytes = bytes.view.sizes[bytes.view.dims - 1];
  const std::int64_t all = granule_of(bytes, 4) | q.problem.view_alignment | q.problem.alignment | row_bytes;
  const TensorView slots = slots_of(bytes, q.problem.element_bytes, q.dst);
  const std::int64_t words = slots.count();
  const Rows<Index> rows{static_cast<Index>(words), static_cast<int>(all & -all), row_bytes, bytes.count()};
  return launch(write_rows_kernel<Index>,
                {.grid = ceil_div<std::int64_t>(words, kThreads), .block = kThreads, .stream = stream},
                reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), v6::View<Index>(slots, 0), rows);
}

/// Moves a simplified problem that is not refused.
inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  constexpr std::int64_t kSlack = 16 * kThreads;  // Threads beyond the last word, in bytes.
  const StridedProblem bytes = v7b::bytes_of(q.problem);
  return fits_32_bits(slots_of(bytes, q.problem.element_bytes, q.dst), kSlack) && fits_32_bits(bytes.view, kSlack)
             ? run_as<std::uint32_t>(q, stream)
             : run_as<std::uint64_t>(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::written_rows
