/// \file
/// short_rows: a few long rows of narrow elements, interleaved through shared memory in words.
///
/// T columns of R rows are R x T elements in one piece of the result. A thread's words are a multiple of R elements
/// apart, so it stays in the same rows, without a division or a comparison. The tile's rows lie so far apart that a
/// warp's picks meet in few banks.
#pragma once

#include <bit>
#include <numeric>

#include "chapters/chapter2_strided/library/places.cuh"

namespace warpbook::chapter2::short_rows {

inline constexpr int kThreads = 128;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kChunkBytes = 256;  ///< Of a row, that a warp reads at once, by two words a lane.
inline constexpr int kHalfChunk = kChunkBytes / 2;
inline constexpr int kInFlight = 4;     ///< Rows whose chunks a warp has under way.
inline constexpr int kMostRows = 128;   ///< That are short.
inline constexpr int kMostChunks = 32;  ///< Of a tile, or one a row: 33 KiB at most.

struct Interleaved {
  Placed<Space::kMost> row;
  Placed<kMaxViewDims> others;
  FastDivisor<std::uint32_t> rows;   // R.
  FastDivisor<std::uint32_t> tiles;  // Along the columns.
  std::uint32_t columns;
  std::uint32_t chunks;           // Of a row, in a tile.
  std::uint32_t chunk_warps;      // Warps side by side along the row: a power of 2,
  std::uint32_t chunk_warps_log;  // its logarithm,
  std::uint32_t row_warps;        // and warps for each of those, along the rows.
  std::uint32_t pitch;            // Words from row to row of the tile.
  std::uint32_t writers;          // Threads that write: so many words are whole columns.
  std::uint32_t step;             // Those columns, in bytes of a row.
  SourceRange source;
};

/// Reads `row_bytes` from each row into the tile. `inside`: all words lie in the array.
template <int bytes, bool inside>
__device__ __forceinline__ void load_chunks(unsigned* tile, const char* const* row_begin, const Interleaved& plan,
                                            std::uint32_t row_bytes) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t rows = plan.rows.divisor;
  // Side by side a warp for each chunk, or one for each so many rows.
  for (std::uint32_t chunk = warp & (plan.chunk_warps - 1); chunk < plan.chunks; chunk += plan.chunk_warps) {
    const std::uint32_t byte = chunk * kChunkBytes + lane * 4;
    if (byte >= row_bytes) continue;
    const bool both = byte + kHalfChunk < row_bytes;
    for (std::uint32_t first = warp >> plan.chunk_warps_log; first < rows; first += plan.row_warps * kInFlight) {
      unsigned word[kInFlight][2];
      unsigned next[kInFlight][2];
      unsigned bits[kInFlight];  // Of a word before the row's first element.
#pragma unroll
      for (int t = 0; t < kInFlight; ++t) {
        const std::uint32_t row = first + t * plan.row_warps;
        if (row >= rows) break;
        const char* from = row_begin[row];
        const auto misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 4);
        from = from - misaligned + byte;
        bits[t] = 8 * misaligned;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const char* const at = from + i * kHalfChunk;
          word[t][i] = next[t][i] = 0;
          if (i > 0 && !both) break;
          word[t][i] = load_word<bytes, inside>(at, plan.source);
          if (misaligned != 0) next[t][i] = load_word<bytes, inside>(at + 4, plan.source);
        }
      }
#pragma unroll
      for (int t = 0; t < kInFlight; ++t) {
        const std::uint32_t row = first + t * plan.row_warps;
        if (row >= rows) break;
        unsigned* const to = tile + row * plan.pitch + byte / 4;
        to[0] = __funnelshift_r(word[t][0], next[t][0], bits[t]);
        if (both) to[kHalfChunk / 4] = __funnelshift_r(word[t][1], next[t][1], bits[t]);
      }
    }
  }
}

/// Writes the tile's `elements`, interleaved, to `dst`.
template <int bytes>
__device__ __forceinline__ void store_interleaved(char* dst, const unsigned* tile, const Interleaved& plan,
                                                  std::uint32_t elements) {
  using W = Word<bytes>;
  constexpr std::uint32_t pack = 4 / bytes;
  const std::uint32_t thread = threadIdx.x;
  const char* const source = reinterpret_cast<const char*>(tile);
  const auto place = [&](std::uint32_t element) {
    const auto [column, row] = plan.rows.divide(element);
    return row * plan.pitch * 4 + column * bytes;
  };
  // Single elements before the first whole word and behind the last.
  const auto off = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(dst) % 4) / bytes;
  const std::uint32_t head = min(off == 0 ? 0 : pack - off, elements);
  const std::uint32_t words = (elements - head) / pack;
  const std::uint32_t ends = elements - words * pack;
  if (thread < ends) {
    const std::uint32_t element = thread < head ? thread : thread + words * pack;
    reinterpret_cast<W*>(dst)[element] = *reinterpret_cast<const W*>(source + place(element));
  }
  if (thread >= plan.writers) return;
  const char* at[pack];
#pragma unroll
  for (std::uint32_t j = 0; j < pack; ++j) at[j] = source + place(head + thread * pack + j);
  auto* to = reinterpret_cast<unsigned*>(dst + head * bytes) + thread;
#pragma unroll 1
  for (std::uint32_t w = thread; w < words; w += plan.writers) {
    unsigned word = 0;
#pragma unroll
    for (std::uint32_t j = 0; j < pack; ++j) {
      word |= unsigned(*reinterpret_cast<const W*>(at[j])) << (8 * bytes * j);
      at[j] += plan.step;
    }
    *to = word;
    to += plan.writers;
  }
}

template <int bytes>
__global__ void __launch_bounds__(kThreads, 12)
    short_rows_kernel(char* __restrict__ dst, const char* __restrict__ src, const __grid_constant__ Interleaved plan) {
  auto* const tile = dynamic_shared<unsigned>();
  __shared__ const char* row_begin[kMostRows];
  const std::uint32_t rows = plan.rows.divisor;
  const auto [batch, piece] = plan.tiles.divide(blockIdx.x);
  const Place origin = plan.others.at(batch);
  const std::uint32_t tile_columns = plan.chunks * (kChunkBytes / bytes);
  const std::uint32_t first_column = piece * tile_columns;
  const std::uint32_t columns = min(plan.columns - first_column, tile_columns);
  const char* const from = src + origin.src + std::int64_t(first_column) * bytes;
  char* const to = dst + origin.dst + std::int64_t(first_column) * rows * bytes;
  for (std::uint32_t r = threadIdx.x; r < rows; r += kThreads) {
    row_begin[r] = from + plan.row.at(r).src;
  }
  __syncthreads();

  // A row's last word, and the one behind it, may reach beyond what is wanted.
  if (plan.source.holds(from - 3, row_begin[rows - 1] + columns * bytes + 7)) {
    load_chunks<bytes, true>(tile, row_begin, plan, columns * bytes);
  } else {
    load_chunks<bytes, false>(tile, row_begin, plan, columns * bytes);
  }
  __syncthreads();
  store_interleaved<bytes>(to, tile, plan, columns * rows);
}

/// The dimensions of a simplified problem that the kernel takes.
struct ShortRows {
  Space rows;               ///< The result's fastest ones, by count at most kMostRows; 1: it takes no such problem.
  CopyDimension columns{};  ///< The next one, which is contiguous in the source.
};
inline ShortRows short_rows_of(const StridedProblem& q) {
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(q, dimension);
  ShortRows found;
  while (found.rows.count <= kMostRows && found.rows.dims < Space::kMost) {
    int next = -1;
    for (int d = 0; d < dims; ++d) {
      if (dimension[d].dst_stride == found.rows.count && dimension[d].size > 1) next = d;
    }
    if (next < 0) break;
    if (dimension[next].src_stride == 1) {
      found.columns = dimension[next];
      return found;
    }
    found.rows.add(dimension[next]);
  }
  return {};
}

inline const char* refuse(const StridedProblem& q) {
  if (q.element_bytes > 2) return "elements must have 1 or 2 bytes";
  if (q.count() > INT32_MAX) return "2^31 elements or more";
  return short_rows_of(q).rows.count < 2 ? "no short rows are interleaved" : nullptr;
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  const std::int64_t bytes = q.problem.element_bytes;
  std::array<CopyDimension, kMaxViewDims> dimension{};
  const int dims = copy_dimensions(q.problem, dimension);
  const ShortRows found = short_rows_of(q.problem);
  Interleaved plan{};
  plan.row.add(found.rows, static_cast<int>(bytes));
  std::int64_t batches = 1;
  for (int d = dims - 1; d >= 0; --d) {
    if (dimension[d].dst_stride <= found.columns.dst_stride && dimension[d].size > 1)
      continue;  // A row's, or the columns.
    plan.others.add(dimension[d], static_cast<int>(bytes));
    batches *= dimension[d].size;
  }
  const std::int64_t rows = found.rows.count;
  const std::int64_t row_chunks = ceil_div<std::int64_t>(found.columns.size * bytes, kChunkBytes);
  // As many chunks as the warps can share evenly: a power of 2, or a multiple of their number.
  std::int64_t chunks = std::min(row_chunks, std::max<std::int64_t>(1, kMostChunks / rows));
  chunks =
      chunks >= kWarps ? chunks / kWarps * kWarps : std::int64_t(std::bit_floor(static_cast<std::uint64_t>(chunks)));
  plan.rows = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(rows));
  plan.tiles = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(ceil_div(row_chunks, chunks)));
  plan.chunks = static_cast<std::uint32_t>(chunks);
  plan.chunk_warps = std::min(plan.chunks, std::uint32_t(kWarps));
  plan.chunk_warps_log = static_cast<std::uint32_t>(std::bit_width(plan.chunk_warps) - 1);
  plan.row_warps = kWarps / plan.chunk_warps;
  plan.columns = static_cast<std::uint32_t>(found.columns.size);
  plan.pitch =
      static_cast<std::uint32_t>(chunks * (kChunkBytes / 4) + std::max<std::int64_t>(1, (32 + rows / 2) / rows));
  const std::int64_t pack = 4 / bytes;
  const std::int64_t whole = rows / std::gcd(rows, pack);  // Words that are whole columns.
  const std::int64_t sectors =
      std::lcm<std::int64_t>(whole, 8);  // Whole sectors besides, if so many threads are there.
  const std::int64_t unit = sectors <= kThreads ? sectors : whole;
  plan.writers = static_cast<std::uint32_t>(kThreads / unit * unit);
  plan.step = static_cast<std::uint32_t>(plan.writers * pack / rows * bytes);
  plan.source = source_of(q);
  const auto run_as = [&]<int element>() {
    return launch(short_rows_kernel<element>,
                  {.grid = plan.tiles.divisor * batches,
                   .block = kThreads,
                   .shared_bytes = static_cast<std::size_t>(rows * plan.pitch) * 4,
                   .stream = stream},
                  reinterpret_cast<char*>(q.dst), reinterpret_cast<const char*>(q.src), plan);
  };
  return bytes == 1 ? run_as.template operator()<1>() : run_as.template operator()<2>();
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::short_rows
