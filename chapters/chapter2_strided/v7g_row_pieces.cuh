/// \file
/// v7g row pieces: rows of whole pieces of 8 bytes, wherever they begin.
///
/// Rows of 60 halves, 64 apart, from the fourth on: v7a loads 60 single halves of each, v7c's words of 16 bytes do not
/// divide 120 bytes, so that of 15 words one is put together from two rows, and both were slower than the memory. But 8
/// bytes do divide them: no piece is two rows', and every row of the result begins at a piece.
///
/// So a thread moves two pieces. It finds each by v7f's divisions, loads the two aligned words of 8 bytes that hold it,
/// and shifts the pair, as v7c does. What is read beside a row belongs to the view's array; where it might not, at the
/// array's ends, a piece goes byte by byte.
///
/// Expect an eighth of v7a's requests to read bytes, and the time of the bytes, for rows that are too short for v7c.
#pragma once

#include "chapters/chapter2_strided/v7f_few_dims.cuh"

namespace warpbook::chapter2::v7g {

inline constexpr int kThreads = 256;
inline constexpr int kPieceBytes = 8;
inline constexpr int kPieces = 2;  ///< Of a thread.

/// 8 bytes of the source that begin anywhere, as two aligned words of 8.
struct Pair {
  uint2 low;
  uint2 high;
  unsigned misaligned;
  bool inside;  ///< Both lie in the array; else neither was loaded.
};

/// Loads the pair that holds 8 bytes from byte `at` of `src` on, an array of `src_bytes`.
__device__ __forceinline__ Pair load_pair(const char* src, std::int64_t at, std::int64_t src_bytes) {
  Pair pair{};
  pair.misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(src + at) % kPieceBytes);
  const std::int64_t aligned = at - pair.misaligned;
  pair.inside = aligned >= 0 && aligned + (pair.misaligned == 0 ? 1 : 2) * kPieceBytes <= src_bytes;
  if (!pair.inside) return pair;
  const auto* const words = reinterpret_cast<const uint2*>(src + aligned);
  pair.low = words[0];
  if (pair.misaligned != 0) pair.high = words[1];
  return pair;
}

/// The pair's 8 bytes.
__device__ __forceinline__ uint2 shifted(const Pair& pair) {
  const bool by_word = (pair.misaligned & 4) != 0;
  const unsigned w0 = by_word ? pair.low.y : pair.low.x;
  const unsigned w1 = by_word ? pair.high.x : pair.low.y;
  const unsigned w2 = by_word ? pair.high.y : pair.high.x;
  const unsigned bits = pair.misaligned % 4 * 8;
  return make_uint2(__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits));
}

//! [kernel]
/// The view's innermost dimension are a row's pieces; all steps are in bytes.
template <int dims>
__global__ void __launch_bounds__(kThreads)
    row_pieces_kernel(uint2* __restrict__ dst, const char* __restrict__ src,
                      const __grid_constant__ v7f::FewDims<dims> view, std::uint32_t count, std::int64_t src_bytes) {
  const std::uint32_t first = blockIdx.x * (kThreads * kPieces) + threadIdx.x;
  Pair pair[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const std::uint32_t at = first + std::uint32_t(p * kThreads);
    if (at < count) pair[p] = load_pair(src, view.place(at), src_bytes);
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const std::uint32_t at = first + std::uint32_t(p * kThreads);
    if (at >= count) break;
    if (pair[p].inside) {
      dst[at] = shifted(pair[p]);
      continue;
    }
    for (int b = 0; b < kPieceBytes; ++b) reinterpret_cast<char*>(dst + at)[b] = src[view.place(at) + std::uint32_t(b)];
  }
}
//! [kernel]

/// Why the step does not take a collapsed problem in its widest elements; nullptr where it does.
inline const char* refuse(const Prepared& q) {
  const TensorView& view = q.problem.view;
  const int last = view.dims - 1;
  if (q.problem.into_view) return "a view that is written";
  if (q.problem.element_bytes > 2) return "elements must have 1 or 2 bytes";
  if (view.dims > kMostStaticDims) return "more than 5 dimensions";
  if (view.strides[last] != 1) return "the last dimension is not contiguous";
  if (view.sizes[last] * q.problem.element_bytes % kPieceBytes != 0) return "rows must be multiples of 8 bytes";
  if (reinterpret_cast<std::uintptr_t>(q.dst) % kPieceBytes != 0) return "the result must be aligned to 8 bytes";
  return fits_32_bits(v7c::bytes_of(q.problem), kThreads * kPieces * kPieceBytes) ? nullptr : "2^31 bytes or more";
}

/// Moves a problem that is not refused.
inline cudaError_t run_pieces(const Prepared& q, cudaStream_t stream) {
  TensorView view = v7c::bytes_of(q.problem);
  const std::int64_t src_bytes = view.reach() + 1;
  view.sizes[view.dims - 1] /= kPieceBytes;
  view.strides[view.dims - 1] = kPieceBytes;
  const std::int64_t pieces = view.count();
  return v7f::with_few_dims(view, [&]<int dims>(const v7f::FewDims<dims>& few) {
    return launch(row_pieces_kernel<dims>,
                  {.grid = ceil_div<std::int64_t>(pieces, kThreads * kPieces), .block = kThreads, .stream = stream},
                  reinterpret_cast<uint2*>(q.dst), reinterpret_cast<const char*>(q.src), few,
                  static_cast<std::uint32_t>(pieces), src_bytes);
  });
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  return refuse(q) == nullptr ? run_pieces(q, stream) : v7f::run_prepared(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7g
