/// \file
/// spread_lines: v7b for long lines (library/private_lines.cuh has the word), in an order in which blocks that run
/// together add to different lines.
///
/// All of v7b's threads that run at a time are in one line or two, and may queue at one element. Here neighbouring
/// blocks take the same entries of different lines, so few that their part of dst stays in the L2. A block has four
/// neighbouring lines where there are so many, and reads each entry of the index once for all of them.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/v7b_vector_atomics.cuh"

namespace warpbook::chapter5::spread_lines {

inline constexpr int kThreads = 256;
inline constexpr int kInFlight = 2;                    // Entries that a thread loads before it adds the first.
inline constexpr int kEntries = kThreads * kInFlight;  // Of a block.
inline constexpr int kLines = 4;                       // Of a block.
inline constexpr std::int64_t kNearBytes = 16 << 20;   // Of dst that blocks add to at a time: a third of an H200's L2.

/// \param groups sets of `lines` lines that are under way at a time. \param chunks blocks along a line.
template <class T, int lines>
__global__ void __launch_bounds__(kThreads)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, SmallRowMap row,
                     Sum<T> alpha, std::int64_t dst_length, FastDivisor<std::uint32_t> groups,
                     FastDivisor<std::uint32_t> chunks) {
  const auto [block, group] = groups.divide(blockIdx.x);
  const auto [turn, chunk] = chunks.divide(block);
  const std::int64_t line = (std::int64_t(turn) * groups.divisor + group) * lines;
  const std::int64_t first = std::int64_t(chunk) * kEntries + threadIdx.x;
  if (first >= row.entries || line >= row.words) return;
  Place place[lines];
#pragma unroll
  for (int k = 0; k < lines; ++k) place[k] = row.place(min(line + k, row.words - 1));

  std::int64_t to[kInFlight];
  T value[kInFlight][lines];
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) {
    const std::int64_t entry = min(first + i * kThreads, row.entries - 1);
    to[i] = index[entry];
#pragma unroll
    for (int k = 0; k < lines; ++k) value[i][k] = load_streaming(src + place[k].src + entry * row.src_row_stride);
  }
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) {
    const std::int64_t entry = first + i * kThreads;
    if (entry >= row.entries || !inside(to[i], row.rows, entry, outside)) continue;
#pragma unroll
    for (int k = 0; k < lines; ++k) {
      if (line + k >= row.words) break;
      fast_atomic_add(dst, place[k].dst + to[i] * row.dst_row_stride, dst_length,
                      narrow<T>(alpha * widen(value[i][k])));
    }
  }
}

inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = v7b::refuse(p)) return reason;
  return p.empty() || row_dims(p).dims <= 2 ? nullptr : "rows must have two dimensions at most";
}

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  const SmallRowMap row = map_in_words<2>(p, row_dims(p), 1);
  const auto run = [&]<int lines>() {
    const std::int64_t sets = ceil_div<std::int64_t>(row.words, lines);
    const std::int64_t near = kNearBytes / (lines * std::max<std::int64_t>(row.rows, 1) * std::int64_t(sizeof(T)));
    const std::int64_t groups = std::clamp<std::int64_t>(near, 1, sets);
    const std::int64_t chunks = ceil_div<std::int64_t>(row.entries, kEntries);
    const std::int64_t turns = ceil_div(sets, groups);
    if (groups * turns > INT32_MAX / chunks) return cudaErrorInvalidValue;
    return launch(index_add_kernel<T, lines>, {.grid = turns * chunks * groups, .block = kThreads, .stream = stream},
                  static_cast<T*>(a.dst), index_view(p, a), static_cast<const T*>(a.src), a.outside, row,
                  alpha_of<T>(p), p.dst.reach() + 1, FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(groups)),
                  FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(chunks)));
  };
  return row.words >= kLines ? run.template operator()<kLines>() : run.template operator()<1>();
}

}  // namespace warpbook::chapter5::spread_lines
