/// \file
/// v7b shifted rows: words of 16 bytes along contiguous rows, wherever they begin.
///
/// In x[:, 1:, 1:] of halves the rows are long and contiguous, but they begin anywhere, so v7a loads single halves.
/// Memory does not mind where a row begins: aligned words cover it all the same. Each thread takes an aligned word of
/// the result, loads the two aligned words of the source that hold its bytes, and shifts the pair. A word in which a
/// row ends takes two pairs, the row's and the next row's. What is read beside a row lies in the view's array and is
/// thrown away.
///
/// Bytes have no type: one kernel serves all element sizes.
///
/// Expect 16 bytes per lane and request, at any alignment, and the speed of a copy.
#pragma once

#include "chapters/chapter2_strided/v7a_wide_words.cuh"

namespace warpbook::chapter2::v7b {

inline constexpr int kThreads = 256;

/// 16 bytes of the source that begin anywhere, as two aligned words.
struct Pair {
  uint4 low;
  uint4 high;
  unsigned misaligned;
};

//! [kernel]
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
//! [kernel]

/// The same view of bytes.
inline StridedProblem bytes_of(const StridedProblem& p) {
  StridedProblem q = p;
  const int last = q.view.dims - 1;
  q.element_bytes = 1;
  q.view.sizes[last] *= p.element_bytes;
  for (int d = 0; d < last; ++d) q.view.strides[d] *= p.element_bytes;
  return q;
}

/// Why the step does not take a simplified problem; nullptr where it does.
inline const char* refuse(const StridedProblem& q) {
  const int last = q.view.dims - 1;
  if (q.into_view) return "a view that is written";
  if (q.view.strides[last] != 1) return "the last dimension is not contiguous";
  return q.view.sizes[last] * q.element_bytes >= 16 ? nullptr : "rows of less than 16 bytes";
}

/// Moves a simplified problem that is not refused, with indices of a type that its bytes fit.
template <class Index> cudaError_t run_as(const Prepared& p, cudaStream_t stream) {
  const Prepared q{bytes_of(p.problem), p.src, p.dst};
  const auto whole = packs_of<Index>(q, 16);
  const std::int64_t grid = whole.count == 0 ? 1 : ceil_div<std::int64_t>(whole.count, kThreads);
  return launch(read_rows_kernel<Index>, {.grid = grid, .block = kThreads, .stream = stream},
                reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src),
                v6::View<Index>(q.problem.view, 0), whole, q.problem.view.reach() + 1);
}

/// Moves a simplified problem that is not refused.
inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  return fits_32_bits(bytes_of(q.problem).view, 16 * kThreads) ? run_as<std::uint32_t>(q, stream)
                                                               : run_as<std::uint64_t>(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::v7b
