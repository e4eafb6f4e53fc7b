/// \file
/// v7c shifted rows: words of 16 bytes along contiguous rows, wherever they begin.
///
/// In x[:, 1:, 1:] of bytes or halves the rows are contiguous and long, but they begin anywhere, and v7a moves single
/// elements on the view's side. The memory does not mind where a row begins: aligned words cover it all the same. A
/// thread takes 16 bytes that are aligned in the destination, loads the two aligned words of the source that hold them,
/// and shifts the pair by as many bytes as the two sides are apart. Only the ends of a row are stored in parts. What is
/// read beside a row belongs to the view's array and is thrown away; beyond the array's first and last element of the
/// view nothing is read.
///
/// Bytes have no type: one kernel serves all element sizes and both directions.
///
/// Expect 16 bytes a request instead of 1 or 2 on either side for long rows at any alignment, and too many idle words
/// for short ones: rows of less than kLeastBytes, and views whose last dimension is not contiguous, are left to v7b.
/// A trial of the idea was measured on a GPU, this kernel was not yet: README.md.
#pragma once

#include "chapters/chapter2_strided/v7b_repeats.cuh"

namespace warpbook::chapter2::v7c {

inline constexpr int kThreads = 256;
inline constexpr int kWords = 2;  ///< Of a thread; each takes two loads.

/// The rows of a view, in bytes. The dimensions are those outside the rows, innermost first.
template <class Index> struct Rows {
  FastDivisor<Index> slots;  // Words that a row may touch.
  FastDivisor<Index> sizes[kMaxViewDims];
  std::int64_t strides[kMaxViewDims];
  int dims;     // 1 or more.
  int granule;  // Bytes that both sides are always aligned to: 1, 2 or 4.
  std::int64_t row_bytes;
  std::int64_t src_bytes;  // From the first byte to read to behind the last.
  Index words;
};

/// 16 bytes from byte `at` of `src` on, by two aligned loads; the caller sees to it that both lie in the array.
__device__ __forceinline__ uint4 load_shifted(const char* src, std::int64_t at, unsigned misaligned) {
  //! [exercise shift]
  const auto* aligned = reinterpret_cast<const uint4*>(src + at - misaligned);
  const uint4 low = aligned[0];
  if (misaligned == 0) return low;
  const uint4 high = aligned[1];
  unsigned w0 = low.x, w1 = low.y, w2 = low.z, w3 = low.w, w4 = high.x, w5 = high.y, w6 = high.z, w7 = high.w;
  if (misaligned & 8) {  // By two words of 4 bytes, by one, and by the rest in bits.
    w0 = w2, w1 = w3, w2 = w4, w3 = w5, w4 = w6, w5 = w7;
  }
  if (misaligned & 4) {
    w0 = w1, w1 = w2, w2 = w3, w3 = w4, w4 = w5;
  }
  const unsigned bits = (misaligned & 3) * 8;
  return make_uint4(__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits), __funnelshift_r(w2, w3, bits),
                    __funnelshift_r(w3, w4, bits));
  //! [exercise shift]
}

/// Stores bytes [begin, end) of a word, in pieces of type T.
template <class T> __device__ __forceinline__ void store_part(char* dst, const uint4& word, int begin, int end) {
  const unsigned words[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
  for (int b = 0; b < 16; b += static_cast<int>(sizeof(T))) {
    if (b >= begin && b < end) *reinterpret_cast<T*>(dst + b) = static_cast<T>(words[b / 4] >> (b % 4 * 8));
  }
}

//! [kernel]
template <bool into_view, class Index>
__global__ void __launch_bounds__(kThreads)
    rows_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Rows<Index> rows) {
  const Index warp = Index(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const Index first = warp * (32 * kWords) + threadIdx.x % 32;

  uint4 word[kWords];
  char* to[kWords];
  int begin[kWords] = {};
  int end[kWords] = {};
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    if (first + Index(32 * i) >= rows.words) break;
    const auto [row, slot] = rows.slots.divide(first + Index(32 * i));
    std::int64_t place = 0;  // Of the row in the view.
    Index rest = row;
#pragma unroll 1
    for (int d = 0; d < rows.dims - 1; ++d) {
      const auto division = rows.sizes[d].divide(rest);
      place += division.remainder * rows.strides[d];
      rest = division.quotient;
    }
    place += rest * rows.strides[rows.dims - 1];
    const std::int64_t linear = row * rows.row_bytes;
    const std::int64_t src_row = into_view ? linear : place;
    char* const dst_row = dst + (into_view ? place : linear);

    // The word's bytes in the row: the first one may begin before it, the last ones end behind it.
    const auto off = static_cast<int>(reinterpret_cast<std::uintptr_t>(dst_row) % 16);
    const std::int64_t in_row = std::int64_t(slot) * 16 - off;
    if (in_row >= rows.row_bytes) continue;
    to[i] = dst_row + in_row;
    begin[i] = in_row < 0 ? -static_cast<int>(in_row) : 0;
    end[i] = rows.row_bytes - in_row < 16 ? static_cast<int>(rows.row_bytes - in_row) : 16;

    const std::int64_t at = src_row + in_row;
    const auto misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(src + at) % 16);
    const std::int64_t aligned = at - misaligned;
    if (aligned >= 0 && aligned + (misaligned == 0 ? 16 : 32) <= rows.src_bytes) {
      word[i] = load_shifted(src, at, misaligned);
    } else {  // At the array's ends: byte by byte.
      for (int b = begin[i]; b < end[i]; ++b) to[i][b] = src[at + b];
      begin[i] = end[i] = 0;
    }
  }
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    if (end[i] - begin[i] == 16) {
      *reinterpret_cast<uint4*>(to[i]) = word[i];
    } else if (end[i] > begin[i]) {
      if (rows.granule == 4) {
        store_part<std::uint32_t>(to[i], word[i], begin[i], end[i]);
      } else if (rows.granule == 2) {
        store_part<std::uint16_t>(to[i], word[i], begin[i], end[i]);
      } else {
        store_part<std::uint8_t>(to[i], word[i], begin[i], end[i]);
      }
    }
  }
}
//! [kernel]

/// From how many bytes a row on, where they are a matter of shifts.
inline constexpr std::int64_t kLeastBytes = 512;

/// Whether rows of a collapsed problem, in its widest elements, are long and begin anywhere.
inline bool pays(const Prepared& q) {
  const TensorView& view = q.problem.view;
  const int last = view.dims - 1;
  return view.strides[last] == 1 && q.problem.element_bytes <= 2 &&
         view.sizes[last] * q.problem.element_bytes >= kLeastBytes;
}

template <class Index> cudaError_t run_rows(const Prepared& q, std::int64_t slots, cudaStream_t stream) {
  const TensorView& view = q.problem.view;
  const int last = view.dims - 1;
  const std::int64_t bytes = q.problem.element_bytes;
  Rows<Index> rows{};
  rows.slots = FastDivisor<Index>(static_cast<Index>(slots));
  rows.dims = last > 0 ? last : 1;
  rows.sizes[0] = FastDivisor<Index>(1);
  auto all = static_cast<std::uintptr_t>(view.sizes[last] * bytes) | reinterpret_cast<std::uintptr_t>(q.src) |
             reinterpret_cast<std::uintptr_t>(q.dst);
  for (int d = 0; d < last; ++d) {
    rows.sizes[d] = FastDivisor<Index>(static_cast<Index>(view.sizes[last - 1 - d]));
    rows.strides[d] = view.strides[last - 1 - d] * bytes;
    all |= static_cast<std::uintptr_t>(rows.strides[d]);
  }
  rows.granule = all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
  rows.row_bytes = view.sizes[last] * bytes;
  rows.src_bytes = (q.problem.into_view ? q.problem.count() : view.reach() + 1) * bytes;
  const std::int64_t words = view.count() / view.sizes[last] * slots;
  rows.words = static_cast<Index>(words);
  return launch(q.problem.into_view ? rows_kernel<true, Index> : rows_kernel<false, Index>,
                {.grid = ceil_div<std::int64_t>(words, kThreads * kWords), .block = kThreads, .stream = stream},
                reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), rows);
}

/// How many aligned words of 16 bytes a row of the destination may touch.
inline std::int64_t slots_of(const Prepared& q) {
  const TensorView& view = q.problem.view;
  const int last = view.dims - 1;
  const std::int64_t row_bytes = view.sizes[last] * q.problem.element_bytes;
  auto steps = static_cast<std::uint64_t>(q.problem.into_view ? 0 : row_bytes);
  for (int d = 0; q.problem.into_view && d < last; ++d) {
    steps |= static_cast<std::uint64_t>(view.strides[d] * q.problem.element_bytes);
  }
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % 16);
  const std::int64_t off = steps % 16 == 0 ? first : 16 - q.problem.element_bytes;  // All rows', or the worst.
  return ceil_div<std::int64_t>(off + row_bytes, 16);
}

/// Moves rows of a collapsed problem whose last dimension is contiguous.
inline cudaError_t run_shifted(const Prepared& q, cudaStream_t stream) {
  const TensorView& view = q.problem.view;
  const std::int64_t slots = slots_of(q);
  const std::int64_t words = view.count() / view.sizes[view.dims - 1] * slots;
  return words + kThreads * kWords <= INT32_MAX ? run_rows<std::uint32_t>(q, slots, stream)
                                                : run_rows<std::uint64_t>(q, slots, stream);
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  return pays(q) ? run_shifted(q, stream) : v7b::run_prepared(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7c
