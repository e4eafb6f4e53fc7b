/// \file
/// private_lines: where neighbouring entries lie side by side, each block keeps lines of dst in shared memory.
///
/// A *line* is what lies along `dim` at one place of the row. A block takes one line or four, or a part of their
/// entries: each entry of the index is read once for all of its lines. At the end it adds the sums to dst, plainly
/// where it has all entries of its lines, else atomically. Short lines have up to 32 copies, one per lane. Where there
/// is no room for these, the first of neighbouring lanes that name the same, as in a sorted index, adds up for all.
/// Source: J. Gomez-Luna et al., "An optimized approach to histogram computation on GPU", Machine Vision and
/// Applications 24, 2013, which keeps copies of a histogram, too.
#pragma once

#include <algorithm>

#include "chapters/chapter5_index_add/words.cuh"
#include "common/cuda/warp_sums.cuh"

namespace warpbook::chapter5::private_lines {

inline constexpr int kMostThreads = 512;
inline constexpr int kLines = 4;                         // Of a block, where they are short enough.
inline constexpr int kSharedBytes = 96 * 1024;           // Of a block at most: two fit a multiprocessor with 228 KiB.
inline constexpr std::int64_t kCopiesBytes = 32 * 1024;  // Of all copies at most.
inline constexpr int kCopyBits = 5;                      // A copy for each lane.
inline constexpr int kFewRuns = 8;                 // Of a warp: so few that adding them up costs less than queueing.
inline constexpr std::int64_t kEntriesPerRow = 4;  // Of a part, or adding its sums to dst would cost what it saves.

/// Adds to a sum in shared memory that other threads add to.
template <class S> __device__ __forceinline__ void add_to_shared(S* sum, S value) {
  if constexpr (sizeof(S) == 8 && std::is_integral_v<S>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
  } else {
    atomicAdd(sum, value);
  }
}

/// Adds up the values of neighbouring lanes that have one `row`, into the first of them, where such runs are few in the
/// warp. \return whether the lane's value is still to be added.
template <class S, int lines> __device__ __forceinline__ bool add_runs(int row, S (&value)[lines]) {
  const int lane = threadIdx.x % 32;
  const int before = __shfl_up_sync(kFullWarp, row, 1);
  const bool first = lane == 0 || before != row;
  const unsigned firsts = __ballot_sync(kFullWarp, first);
  if (__popc(firsts) > kFewRuns) return true;
  const unsigned behind = lane == 31 ? 0 : firsts >> (lane + 1);
  const int left = behind == 0 ? 32 - lane : __ffs(behind);  // Lanes of the run, from this one on.
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
#pragma unroll
    for (int k = 0; k < lines; ++k) {
      const S other = __shfl_down_sync(kFullWarp, value[k], distance);
      if (distance < left) value[k] += other;
    }
  }
  return first;
}

/// The block's entries `begin` to `end`, added to `sums`: for each line, row and copy one. Whole warps call it.
template <class T, int lines>
__device__ __forceinline__ void add_entries(Sum<T>* sums, int copy_bits, IndexView index, std::int64_t begin,
                                            std::int64_t end, const T* const (&from)[lines], const SmallRowMap& row,
                                            Sum<T> alpha, unsigned long long* outside) {
  constexpr int kInFlight = 4;  // Entries that a thread loads before it adds the first.
  const unsigned copy = threadIdx.x & ((1U << copy_bits) - 1);
  for (std::int64_t first = begin; first < end; first += std::int64_t(blockDim.x) * kInFlight) {
    std::int64_t to[kInFlight];
    T value[kInFlight][lines];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t e = first + i * blockDim.x + threadIdx.x;
      to[i] = e < end ? index[e] : 0;
#pragma unroll
      for (int k = 0; k < lines; ++k) value[i][k] = from[k][(e < end ? e : begin) * row.src_row_stride];
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t e = first + i * blockDim.x + threadIdx.x;
      const int own = e < end && inside(to[i], row.rows, e, outside) ? int(to[i]) : -1;
      Sum<T> scaled[lines];
#pragma unroll
      for (int k = 0; k < lines; ++k) scaled[k] = alpha * widen(value[i][k]);
      const bool adds = copy_bits == kCopyBits || add_runs(own, scaled);
      if (!adds || own < 0) continue;
#pragma unroll
      for (int k = 0; k < lines; ++k) {
        add_to_shared(sums + ((k * unsigned(row.rows) + unsigned(own)) << copy_bits) + copy, scaled[k]);
      }
    }
  }
}

/// Adds the block's sums of a line to dst, whose line begins at `offset`.
/// \param length dst's elements; 0 where nobody else adds to the line, and nothing has to be atomic.
template <class T>
__device__ __forceinline__ void add_line(T* dst, std::int64_t offset, std::int64_t length, const Sum<T>* sums,
                                         int copy_bits, const SmallRowMap& row) {
  const int copies = 1 << copy_bits;
  for (int r = threadIdx.x; r < int(row.rows); r += blockDim.x) {
    Sum<T> sum = nothing<T>();
    // Each lane begins with another copy, or all would ask one bank.
    for (int c = 0; c < copies; ++c) sum += sums[(r << copy_bits) + ((c + threadIdx.x) & (copies - 1))];
    if (is_nothing<T>(sum)) continue;
    const std::int64_t place = offset + r * row.dst_row_stride;
    if (length == 0) {
      dst[place] = narrow<T>(widen(dst[place]) + sum);
    } else {
      fast_atomic_add(dst, place, length, narrow<T>(sum));
    }
  }
}

/// \param atomic_length 0 where a block has all entries of its lines; else dst's elements.
template <class T, int lines>
__global__ void __launch_bounds__(kMostThreads)
    index_add_kernel(T* dst, IndexView index, const T* __restrict__ src, unsigned long long* outside, SmallRowMap row,
                     Sum<T> alpha, FastDivisor<std::uint32_t> groups, int copy_bits, std::int64_t entries_per_block,
                     std::int64_t atomic_length) {
  auto* const sums = dynamic_shared<Sum<T>>();
  const auto [part, group] = groups.divide(blockIdx.x);
  const int all = lines * int(row.rows) << copy_bits;
  for (int i = threadIdx.x; i < all; i += blockDim.x) sums[i] = nothing<T>();

  const std::int64_t line = std::int64_t(group) * lines;
  const T* from[lines];
#pragma unroll
  for (int k = 0; k < lines; ++k) from[k] = src + row.place(min(line + k, row.words - 1)).src;
  const std::int64_t begin = part * entries_per_block;
  __syncthreads();
  add_entries<T, lines>(sums, copy_bits, index, begin, min(begin + entries_per_block, row.entries), from, row, alpha,
                        outside);
  __syncthreads();
  for (int k = 0; k < lines && line + k < row.words; ++k) {
    add_line(dst, row.place(line + k).dst, atomic_length, sums + (k * int(row.rows) << copy_bits), copy_bits, row);
  }
}

struct Plan {
  int lines = 0;  ///< Of a block; 0: they do not fit.
  int copy_bits = 0;
  int threads = 0;
  std::int64_t groups = 0;  ///< Of lines.
  std::int64_t parts = 0;   ///< Of entries: a block for each and each group.
  std::int64_t entries_per_block = 0;
  std::size_t shared_bytes = 0;
};

inline Plan plan(const IndexAddProblem& p) {
  Plan result;
  if (p.rows() == 0 || p.rows() > kSharedBytes) return result;
  const std::int64_t line_bytes = p.rows() * std::max(4, element_bytes(p.type));
  if (line_bytes > kSharedBytes) return result;
  result.lines = p.row_elements() >= kLines && kLines * line_bytes <= kSharedBytes / 2 ? kLines : 1;
  result.groups = ceil_div<std::int64_t>(p.row_elements(), result.lines);
  result.threads =
      static_cast<int>(std::clamp<std::int64_t>(ceil_div<std::int64_t>(p.entries(), 128) * 32, 64, kMostThreads));
  // Two rounds of all blocks that are resident at once, so that the last ones do not wait long for few.
  const std::int64_t bytes = result.lines * line_bytes;
  const std::int64_t resident =
      std::clamp<std::int64_t>(2 * kSharedBytes / (std::max(bytes, kCopiesBytes) + 1024), 1, 2048 / result.threads);
  const std::int64_t parts =
      std::min(2 * multiprocessors() * resident / result.groups, p.entries() / (kEntriesPerRow * p.rows()));
  result.entries_per_block = ceil_div(p.entries(), std::max<std::int64_t>(parts, 1));
  result.parts = ceil_div(p.entries(), result.entries_per_block);
  // More copies than entries to fill them would only have to be cleared and joined.
  while (result.copy_bits < kCopyBits && bytes << (result.copy_bits + 1) <= kCopiesBytes &&
         p.rows() << (result.copy_bits + 2) <= result.entries_per_block) {
    ++result.copy_bits;
  }
  result.shared_bytes = static_cast<std::size_t>(bytes << result.copy_bits);
  return result;
}

inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = refuse_no_atomics(p)) return reason;
  if (p.empty()) return nullptr;
  if (row_dims(p).dims > 2) return "rows must have two dimensions at most";
  return plan(p).lines > 0 ? nullptr : "a line's sums must fit shared memory";
}

/// Whether no sum is rounded to half or bfloat16 before the last one.
inline bool sums_in_float(const IndexAddProblem& p) { return plan(p).parts == 1; }

template <class T> cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  if (refuse(p) != nullptr) return cudaErrorNotSupported;
  const Plan plan = private_lines::plan(p);
  const SmallRowMap row = map_in_words<2>(p, row_dims(p), 1);
  const auto run = [&]<int lines>() {
    return launch_parts(index_add_kernel<T, lines>, plan.parts, plan.groups,
                        {.block = plan.threads, .shared_bytes = plan.shared_bytes, .stream = stream}, a.dst, p, a, row,
                        plan.copy_bits, plan.entries_per_block, plan.parts == 1 ? 0 : p.dst.reach() + 1);
  };
  return plan.lines == kLines ? run.template operator()<kLines>() : run.template operator()<1>();
}

}  // namespace warpbook::chapter5::private_lines
