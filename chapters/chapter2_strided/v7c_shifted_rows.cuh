/// \file
/// v7c shifted rows: words of 16 bytes along contiguous rows, wherever they begin.
///
/// In x[:, 1:, 1:] of bytes or halves the rows are contiguous and long, but they begin anywhere, and v7a moves single
/// elements on the view's side. The memory does not mind where a row begins: aligned words cover it all the same. A
/// thread takes 16 bytes that are aligned in the destination, loads the two aligned words of the source that hold them,
/// and shifts the pair by as many bytes as the two sides are apart. What is read beside a row belongs to the view's
/// array and is thrown away; beyond the array's first and last element of the view nothing is read.
///
/// A view that is read has a contiguous destination: its words follow each other without a gap, and one in which a row
/// ends is put together from two such pairs, the row's and the next one's. A view that is written has a destination
/// with gaps: there a word in which a row begins or ends is stored in parts.
///
/// Bytes have no type: one kernel each way serves all element sizes. A thread moves a single word: a pair takes eight
/// registers, and with two pairs in flight a kernel needs more than the 32 with which all of an SM's threads can run.
/// __launch_bounds__ holds the compiler to that.
///
/// Expect 16 bytes a request instead of 1 or 2 on either side, at any alignment. Very short rows stay with v7b: words
/// that two rows share take two pairs each.
#pragma once

#include "chapters/chapter2_strided/v7b_repeats.cuh"

namespace warpbook::chapter2::v7c {

inline constexpr int kThreads = 256;

/// 16 bytes of the source that begin anywhere, as two aligned words.
struct Pair {
  uint4 low;
  uint4 high;
  unsigned misaligned;
};

/// Loads the pair that holds 16 bytes from byte `at` of `src` on. Where one of its words does not lie in the array, of
/// `src_bytes`, nothing is loaded and `inside` is cleared.
__device__ __forceinline__ Pair load_pair(const char* src, std::int64_t at, std::int64_t src_bytes, bool& inside) {
  Pair pair{};
  pair.misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(src + at) % 16);
  const std::int64_t aligned = at - pair.misaligned;
  if (aligned < 0 || aligned + (pair.misaligned == 0 ? 16 : 32) > src_bytes) {
    inside = false;
    return pair;
  }
  const auto* words = reinterpret_cast<const uint4*>(src + aligned);
  pair.low = words[0];
  if (pair.misaligned != 0) pair.high = words[1];
  return pair;
}

/// The pair's 16 bytes.
__device__ __forceinline__ uint4 shifted(const Pair& pair) {
  //! [exercise shift]
  unsigned w0 = pair.low.x, w1 = pair.low.y, w2 = pair.low.z, w3 = pair.low.w;
  unsigned w4 = pair.high.x, w5 = pair.high.y, w6 = pair.high.z, w7 = pair.high.w;
  if (pair.misaligned & 8) {  // By two words of 4 bytes, by one, and by the rest in bits.
    w0 = w2, w1 = w3, w2 = w4, w3 = w5, w4 = w6, w5 = w7;
  }
  if (pair.misaligned & 4) {
    w0 = w1, w1 = w2, w2 = w3, w3 = w4, w4 = w5;
  }
  const unsigned bits = pair.misaligned % 4 * 8;
  return make_uint4(__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits), __funnelshift_r(w2, w3, bits),
                    __funnelshift_r(w3, w4, bits));
  //! [exercise shift]
}

/// The first `from_first` bytes of one word, and what follows them of another.
__device__ __forceinline__ uint4 joined(const uint4& first, const uint4& second, int from_first) {
  const auto join = [](unsigned a, unsigned b, int bytes) {
    const unsigned mask = bytes >= 4 ? ~0U : bytes <= 0 ? 0U : (1U << (8 * bytes)) - 1;
    return (a & mask) | (b & ~mask);
  };
  return make_uint4(join(first.x, second.x, from_first), join(first.y, second.y, from_first - 4),
                    join(first.z, second.z, from_first - 8), join(first.w, second.w, from_first - 12));
}

/// What reading a view writes: `words` whole words from byte `head` on, of `bytes` in all.
template <class Index> struct Result {
  Index words;
  Index bytes;
  int head;
  int tail;
  std::int64_t src_bytes;  // From the first byte to read to behind the last.
};

//! [kernel]
/// The view's innermost dimension is a row's bytes, 16 at least.
template <class Index>
__global__ void __launch_bounds__(kThreads, 8)
    read_rows_kernel(char* __restrict__ dst, const char* __restrict__ src,
                     const __grid_constant__ WalkedView<Index> view, const __grid_constant__ Result<Index> result) {
  Walk<Index> walk;
  const int thread = static_cast<int>(threadIdx.x);
  if (blockIdx.x == 0 && thread < result.head + result.tail) {
    const Index linear =
        thread < result.head ? Index(thread) : result.bytes - Index(result.head + result.tail - thread);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }
  const Index word = Index(blockIdx.x) * kThreads + threadIdx.x;
  if (word >= result.words) return;
  walk.locate(view, Index(result.head) + word * 16);
  auto* const to = reinterpret_cast<uint4*>(dst + result.head) + word;
  const Index left_in_row = view.sizes[0].divisor - walk.last;
  const int left = left_in_row < 16 ? static_cast<int>(left_in_row) : 16;  // Bytes of the row in the word.
  bool inside = true;
  const Pair row = load_pair(src, walk.offset(view), result.src_bytes, inside);
  Pair next_row{};
  if (left < 16) {
    walk.advance(view, Index(left), 0);
    next_row = load_pair(src, std::int64_t(walk.offset(view)) - left, result.src_bytes, inside);
  }
  if (inside) {
    const uint4 bytes = shifted(row);
    *to = left == 16 ? bytes : joined(bytes, shifted(next_row), left);
    return;
  }
  for (int b = 0; b < 16; ++b) {  // At the array's ends: byte by byte.
    walk.locate(view, Index(result.head) + word * 16 + Index(b));
    reinterpret_cast<char*>(to)[b] = src[walk.offset(view)];
  }
}
//! [kernel]

/// Stores bytes [begin, end) of a word, in pieces of type T.
template <class T> __device__ __forceinline__ void store_part(char* dst, const uint4& word, int begin, int end) {
  const unsigned words[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
  for (int b = 0; b < 16; b += static_cast<int>(sizeof(T))) {
    if (b >= begin && b < end) *reinterpret_cast<T*>(dst + b) = static_cast<T>(words[b / 4] >> (b % 4 * 8));
  }
}

/// What writing a view's rows needs to know.
template <class Index> struct Rows {
  Index words;
  int granule;  // Bytes that both sides are always aligned to: 1, 2 or 4.
  std::int64_t row_bytes;
  std::int64_t src_bytes;
};

/// The view's innermost dimension are the words that a row may touch; all steps are in bytes.
template <class Index>
__global__ void __launch_bounds__(kThreads, 8)
    write_rows_kernel(char* __restrict__ dst, const char* __restrict__ src,
                      const __grid_constant__ WalkedView<Index> view, const __grid_constant__ Rows<Index> rows) {
  const Index word = Index(blockIdx.x) * kThreads + threadIdx.x;
  if (word >= rows.words) return;
  Walk<Index> walk;
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
  const uint4 bytes = shifted(load_pair(src, from, rows.src_bytes, inside));
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

/// The same view of bytes.
inline TensorView bytes_of(const StridedProblem& p) {
  TensorView view = p.view;
  const int last = view.dims - 1;
  view.sizes[last] *= p.element_bytes;
  for (int d = 0; d < last; ++d) view.strides[d] *= p.element_bytes;
  return view;
}

/// Reads rows of at least 16 bytes.
template <class Index> cudaError_t read_rows(const Prepared& q, cudaStream_t stream) {
  const TensorView view = bytes_of(q.problem);
  const std::int64_t bytes = view.count();
  const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % 16);
  const std::int64_t head = off == 0 ? 0 : 16 - off < bytes ? 16 - off : bytes;
  const std::int64_t words = (bytes - head) / 16;
  const Result<Index> result{static_cast<Index>(words), static_cast<Index>(bytes), static_cast<int>(head),
                             static_cast<int>(bytes - head - words * 16), view.reach() + 1};
  const std::int64_t grid = words == 0 ? 1 : ceil_div<std::int64_t>(words, kThreads);
  return launch(read_rows_kernel<Index>, {.grid = grid, .block = kThreads, .stream = stream},
                reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), walked<Index>(view, 0), result);
}

/// The view of a problem's rows in words of 16 bytes that are aligned in the destination, as many as a row may touch.
inline TensorView slots_of(const StridedProblem& p, const std::byte* dst) {
  TensorView view = bytes_of(p);
  const int last = view.dims - 1;
  std::uint64_t steps = 16;
  for (int d = 0; d < last; ++d) steps |= static_cast<std::uint64_t>(view.strides[d]);
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % 16);
  const std::int64_t off = steps % 16 == 0 ? first : 16 - p.element_bytes;  // All rows', or the worst.
  view.sizes[last] = ceil_div<std::int64_t>(off + view.sizes[last], 16);
  view.strides[last] = 16;
  return view;
}

/// Writes rows.
template <class Index> cudaError_t write_rows(const Prepared& q, cudaStream_t stream) {
  const TensorView bytes = bytes_of(q.problem);
  const int last = bytes.dims - 1;
  auto all = static_cast<std::uintptr_t>(bytes.sizes[last]) | reinterpret_cast<std::uintptr_t>(q.src) |
             reinterpret_cast<std::uintptr_t>(q.dst);
  for (int d = 0; d < last; ++d) all |= static_cast<std::uintptr_t>(bytes.strides[d]);
  const TensorView slots = slots_of(q.problem, q.dst);
  const std::int64_t words = slots.count();
  const Rows<Index> rows{static_cast<Index>(words),
                         all % 4 == 0   ? 4
                         : all % 2 == 0 ? 2
                                        : 1,
                         bytes.sizes[last], bytes.count()};
  return launch(write_rows_kernel<Index>,
                {.grid = ceil_div<std::int64_t>(words, kThreads), .block = kThreads, .stream = stream},
                reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), walked<Index>(slots, 0), rows);
}

/// Moves rows of a collapsed problem whose last dimension is contiguous; those that are read have 16 bytes at least.
inline cudaError_t run_shifted(const Prepared& q, cudaStream_t stream) {
  constexpr std::int64_t kSlack = 16 * kThreads;  // Threads beyond the last word, in bytes.
  if (q.problem.into_view) {
    const TensorView slots = slots_of(q.problem, q.dst);
    return fits_32_bits(slots, kSlack) && fits_32_bits(bytes_of(q.problem), kSlack)
               ? write_rows<std::uint32_t>(q, stream)
               : write_rows<std::uint64_t>(q, stream);
  }
  return fits_32_bits(bytes_of(q.problem), kSlack) ? read_rows<std::uint32_t>(q, stream)
                                                   : read_rows<std::uint64_t>(q, stream);
}

/// From how many bytes a row on words are shifted, where a view is written and where one is read: of halves more where
/// rows are whole words of 4 bytes, which v7a's packs fit. Chosen on an H200, over the chapter's cases and the views of
/// seed 11 of tests/peers, and for bytes on rows of 45 (116.7 instead of 239.0 us; chapter2_trials_6.txt).
inline constexpr std::int64_t kLeastWritten = 512;
inline std::int64_t least_read(int element_bytes, std::int64_t row_bytes) {
  return element_bytes == 1 ? 32 : row_bytes % 4 != 0 ? 64 : 128;
}

/// Whether rows of a collapsed problem, in its widest elements, are long and begin anywhere. Windows are v7b's.
inline bool pays(const Prepared& q) {
  const TensorView& view = q.problem.view;
  const int last = view.dims - 1;
  const int bytes = q.problem.element_bytes;
  const std::int64_t row = view.sizes[last] * bytes;
  return view.strides[last] == 1 && bytes <= 2 &&
         row >= (q.problem.into_view ? kLeastWritten : least_read(bytes, row)) &&
         (q.problem.into_view || !v7b::reads_again(q.problem));
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
