/// \file
/// row_pieces: short rows of whole pieces of 8 bytes, wherever they begin. A thread moves two, each out of a pair of
/// aligned words. What is read beside a row lies in the array; at the array's ends a piece goes byte by byte.
#pragma once

#include "chapters/chapter2_strided/library/few_dims.cuh"
#include "chapters/chapter2_strided/library/shifted_rows.cuh"

namespace warpbook::chapter2::row_pieces {

inline constexpr int kThreads = 256;
inline constexpr int kPieceBytes = 8;
inline constexpr int kPieces = 2;  ///< Per thread.

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

__device__ __forceinline__ uint2 shifted(const Pair& pair) {
  const bool by_word = (pair.misaligned & 4) != 0;
  const unsigned w0 = by_word ? pair.low.y : pair.low.x;
  const unsigned w1 = by_word ? pair.high.x : pair.low.y;
  const unsigned w2 = by_word ? pair.high.y : pair.high.x;
  const unsigned bits = pair.misaligned % 4 * 8;
  return make_uint2(__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits));
}

/// The view's innermost dimension are a row's pieces; all steps are in bytes.
template <int dims>
__global__ void __launch_bounds__(kThreads)
    row_pieces_kernel(uint2* __restrict__ dst, const char* __restrict__ src,
                      const __grid_constant__ few_dims::View<dims> view, std::uint32_t count, std::int64_t src_bytes) {
  const std::uint32_t first = blockIdx.x * (kThreads * kPieces) + threadIdx.x;
  Pair pair[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const std::uint32_t at = first + p * kThreads;
    if (at < count) pair[p] = load_pair(src, view.place(at), src_bytes);
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const std::uint32_t at = first + p * kThreads;
    if (at >= count) break;
    if (pair[p].inside) {
      dst[at] = shifted(pair[p]);
      continue;
    }
    for (int b = 0; b < kPieceBytes; ++b) reinterpret_cast<char*>(dst + at)[b] = src[view.place(at) + b];
  }
}

inline const char* refuse(const StridedProblem& q) {
  const int last = q.view.dims - 1;
  if (q.into_view) return "a view that is written";
  if (q.element_bytes > 2) return "elements must have 1 or 2 bytes";
  if (q.view.dims > kMostStaticDims) return "more than 5 dimensions";
  if (q.view.strides[last] != 1) return "the last dimension is not contiguous";
  if (q.view.sizes[last] * q.element_bytes % kPieceBytes != 0) return "rows must be multiples of 8 bytes";
  if (q.alignment < kPieceBytes) return "the result must be aligned to 8 bytes";
  return fits_32_bits(shifted_rows::bytes_of(q).view, kThreads * kPieces * kPieceBytes) ? nullptr
                                                                                        : "2^31 bytes or more";
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  TensorView pieces = shifted_rows::bytes_of(q.problem).view;
  const std::int64_t src_bytes = pieces.reach() + 1;
  pieces.sizes[pieces.dims - 1] /= kPieceBytes;
  pieces.strides[pieces.dims - 1] = kPieceBytes;
  const std::int64_t count = pieces.count();
  return few_dims::with_view(pieces, [&]<int dims>(const few_dims::View<dims>& view) {
    return launch(row_pieces_kernel<dims>,
                  {.grid = ceil_div<std::int64_t>(count, kThreads * kPieces), .block = kThreads, .stream = stream},
                  reinterpret_cast<uint2*>(q.dst), reinterpret_cast<const char*>(q.src), view,
                  static_cast<std::uint32_t>(count), src_bytes);
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::row_pieces
