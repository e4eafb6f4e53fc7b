/// \file
/// shifted_rows: words of 16 bytes along contiguous rows of narrow elements, wherever they begin.
///
/// What is read beside a row lies in the array. A view that is read has a contiguous destination: a word in which a row
/// ends takes two pairs. A view that is written has gaps: a word in which a row begins or ends is stored in parts.
#pragma once

#include "chapters/chapter2_strided/v6_carried_index.cuh"

namespace warpbook::chapter2::shifted_rows {

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

__device__ __forceinline__ uint4 shifted(const Pair& pair) {
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

/// The view is one of bytes, its innermost dimension a row of 16 at least. A thread has one pair under way: with two a
/// kernel needs more than the 32 registers with which all of an SM's threads can run.
template <class Index>
__global__ void __launch_bounds__(kThreads, 8)
    read_rows_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ v6::View<Index> view,
                     const __grid_constant__ Packs<Index> whole, std::int64_t src_bytes) {
  v6::Walk<Index> walk;
  if (blockIdx.x == 0 && threadIdx.x < whole.ends) {
    const Index linear = whole.end(threadIdx.x, 16);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }
  const Index word = Index(blockIdx.x) * kThreads + threadIdx.x;
  if (word >= whole.count) return;
  walk.locate(view, whole.head + word * 16);
  auto* const to = reinterpret_cast<uint4*>(dst + whole.head) + word;
  const Index left_in_row = view.sizes[0].divisor - walk.last;
  const int left = left_in_row < 16 ? static_cast<int>(left_in_row) : 16;  // Bytes of the row in the word.
  bool inside = true;
  const Pair row = load_pair(src, walk.offset(view), src_bytes, inside);
  Pair next_row{};
  if (left < 16) {
    walk.advance(view, Index(left), 0);
    next_row = load_pair(src, std::int64_t(walk.offset(view)) - left, src_bytes, inside);
  }
  if (inside) {
    const uint4 bytes = shifted(row);
    *to = left == 16 ? bytes : joined(bytes, shifted(next_row), left);
    return;
  }
  for (int b = 0; b < 16; ++b) {  // At the array's ends: byte by byte.
    walk.locate(view, whole.head + word * 16 + Index(b));
    reinterpret_cast<char*>(to)[b] = src[walk.offset(view)];
  }
}

/// Stores bytes [begin, end) of a word, in pieces of type T.
template <class T> __device__ __forceinline__ void store_part(char* dst, const uint4& word, int begin, int end) {
  const unsigned words[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
  for (int b = 0; b < 16; b += static_cast<int>(sizeof(T))) {
    if (b >= begin && b < end) *reinterpret_cast<T*>(dst + b) = static_cast<T>(words[b / 4] >> (b % 4 * 8));
  }
}

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

inline StridedProblem bytes_of(const StridedProblem& p) {
  StridedProblem q = p;
  const int last = q.view.dims - 1;
  q.element_bytes = 1;
  q.view.sizes[last] *= p.element_bytes;
  for (int d = 0; d < last; ++d) q.view.strides[d] *= p.element_bytes;
  return q;
}

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

inline const char* refuse(const StridedProblem& q) {
  const int last = q.view.dims - 1;
  if (q.view.strides[last] != 1) return "the last dimension is not contiguous";
  return q.into_view || q.view.sizes[last] * q.element_bytes >= 16 ? nullptr : "rows of less than 16 bytes";
}

/// Reads a view's rows, with indices of a type that its bytes fit. `q` is in bytes.
template <class Index> cudaError_t read_rows(const Prepared& q, cudaStream_t stream) {
  const auto whole = packs_of<Index>(q, 16);
  const std::int64_t grid = whole.count == 0 ? 1 : ceil_div<std::int64_t>(whole.count, kThreads);
  return launch(read_rows_kernel<Index>, {.grid = grid, .block = kThreads, .stream = stream},
                reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src),
                v6::View<Index>(q.problem.view, 0), whole, q.problem.view.reach() + 1);
}

/// Writes a view's rows of elements of `element_bytes`. `q` is in bytes.
template <class Index> cudaError_t write_rows(const Prepared& q, int element_bytes, cudaStream_t stream) {
  const std::int64_t row_bytes = q.problem.view.sizes[q.problem.view.dims - 1];
  const std::int64_t all = granule_of(q.problem, 4) | q.problem.view_alignment | q.problem.alignment | row_bytes;
  const TensorView slots = slots_of(q.problem, element_bytes, q.dst);
  const std::int64_t words = slots.count();
  const Rows<Index> rows{static_cast<Index>(words), static_cast<int>(all & -all), row_bytes, q.problem.count()};
  return launch(write_rows_kernel<Index>,
                {.grid = ceil_div<std::int64_t>(words, kThreads), .block = kThreads, .stream = stream},
                reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), v6::View<Index>(slots, 0), rows);
}

/// Moves a simplified problem that is not refused, with indices of a type that its bytes fit.
template <class Index> cudaError_t run_as(const Prepared& q, cudaStream_t stream) {
  const Prepared bytes{bytes_of(q.problem), q.src, q.dst};
  return q.problem.into_view ? write_rows<Index>(bytes, q.problem.element_bytes, stream)
                             : read_rows<Index>(bytes, stream);
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  constexpr std::int64_t kSlack = 16 * kThreads;  // Threads beyond the last word, in bytes.
  const StridedProblem bytes = bytes_of(q.problem);
  const bool narrow = fits_32_bits(bytes.view, kSlack) &&
                      (!q.problem.into_view || fits_32_bits(slots_of(bytes, q.problem.element_bytes, q.dst), kSlack));
  return narrow ? run_as<std::uint32_t>(q, stream) : run_as<std::uint64_t>(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::shifted_rows
