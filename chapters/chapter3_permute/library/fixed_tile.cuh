/// \file
/// fixed_tile: tiles of a composite matrix whose sides the compiler knows, for sides of several dimensions each.
///
/// The block tells in a table where its columns lie; a thread keeps to one group of rows and loads its quads of
/// columns, all in flight together. Rows whose boundaries are 16 bytes' go out by 16 bytes. All others go out by words
/// of 4, of which a warp's begin at a sector, so that no sector is written in two parts.
#pragma once

#include "chapters/chapter3_permute/library/composite_matrix.cuh"

namespace warpbook::chapter3::fixed_tile {

using namespace composite_matrix;

/// A tile's shape: a load takes `group` rows, and the tile has `rows` of them.
template <int bytes, int group, int rows, int columns, int threads = 256>
struct Tile : QuadTile<bytes, group, rows, columns, threads> {
  static constexpr int kWord = bytes < 4 ? 4 / bytes : 1;  // Elements that are written as one,
  static constexpr int kWide = 16 / bytes;                 // and of whole rows.
  static constexpr int kBefore = bytes < 4 ? 4 : 0;        // Columns that a word may begin early.
};

/// Where a tile's rows go, and how much of it exists.
struct Span {
  const std::uint32_t* places;  // In the output, of its groups' first rows' first columns.
  std::uint32_t row_step;
  int groups;
  int column0;
  int columns;  // From the tile's first to the matrix's last.
};

/// Writes rows whose boundaries are those of 16 bytes, by 16 bytes.
template <class T>
__device__ __forceinline__ void write_wide(typename T::W* __restrict__ dst, const typename T::W* tile,
                                           const Span& span) {
  constexpr int kLanes = T::kColumns / T::kWide;  // That write a row together.
  constexpr int kTurn = T::kThreads / kLanes;     // Rows written at a time.
  static_assert(T::kRows % kTurn == 0);
  const int thread = threadIdx.x;
  const int column = thread % kLanes * T::kWide;
  if (column >= span.columns) return;
#pragma unroll
  for (int t = 0; t < T::kRows / kTurn; ++t) {
    const int row = thread / kLanes + t * kTurn;
    if (row % T::kGroups >= span.groups) continue;
    constexpr int kPart = T::kQuad * T::kBytes;  // Bytes: the tile's rows are aligned to quads.
    uint4 word;
    const typename T::W* from = tile + row * T::kPitch + column;
    if constexpr (kPart == 16) {
      word = *reinterpret_cast<const uint4*>(from);
    } else if constexpr (kPart == 8) {
      const auto* parts = reinterpret_cast<const uint2*>(from);
      word = make_uint4(parts[0].x, parts[0].y, parts[1].x, parts[1].y);
    } else {
      const auto* parts = reinterpret_cast<const std::uint32_t*>(from);
      word = make_uint4(parts[0], parts[1], parts[2], parts[3]);
    }
    const auto in_group = static_cast<std::uint32_t>(row / T::kGroups);
    *reinterpret_cast<uint4*>(dst + span.places[row % T::kGroups] + in_group * span.row_step + column) = word;
  }
}

/// Writes any rows by words of 4 bytes, or elements of 8; a warp's begin at a sector. A row's words are those from the
/// one that its first element lies in up to the last that ends in the tile.
template <class T>
__device__ __forceinline__ void write_words(typename T::W* __restrict__ dst, const typename T::W* tile,
                                            const Span& span, int dst_past) {
  constexpr int kWord = T::kWord;
  constexpr int kTurn = T::kThreads / 32;    // Rows written at a time, each by a warp.
  constexpr int kBoundary = 32 / T::kBytes;  // Elements of a sector.
  constexpr int kWords = (T::kColumns + kBoundary - kWord + 32 * kWord - 1) / (32 * kWord);  // Of a lane.
  constexpr int kOwned = T::kColumns - T::kBefore;
  static_assert(T::kRows % kTurn == 0);
  const int thread = threadIdx.x;
  const int lane = thread % 32;
  // A word that the tile's end cuts is the next tile's, but for the matrix's last.
  const int end = span.columns <= kOwned ? span.columns : kOwned - kWord + 1;
#pragma unroll 4
  for (int t = 0; t < T::kRows / kTurn; ++t) {
    const int row = thread / 32 + t * kTurn;
    if (row % T::kGroups >= span.groups) continue;
    const auto in_group = static_cast<std::uint32_t>(row / T::kGroups);
    const std::uint32_t begin = span.places[row % T::kGroups] + in_group * span.row_step;
    const int past = static_cast<int>((begin + static_cast<std::uint32_t>(dst_past)) % kBoundary);
    const int past_word = past % kWord;
    const typename T::W* from = tile + row * T::kPitch + T::kBefore;
    [[maybe_unused]] const auto* words = reinterpret_cast<const std::uint32_t*>(from - T::kBefore);
    [[maybe_unused]] const unsigned shift = static_cast<unsigned>((T::kBefore - past_word) % kWord * 8 * T::kBytes);
    [[maybe_unused]] const int next = shift != 0 ? 1 : 0;  // At a boundary there may be no second word.
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const int column = (lane + i * 32) * kWord - past;
      if (column < -past_word || column >= end) continue;
      if constexpr (kWord == 1) {
        dst[begin + column] = from[column];
      } else if (span.column0 + column >= 0 && column + kWord <= span.columns) {
        const std::uint32_t* word = words + (T::kBefore - past_word) / kWord + (column + past_word) / kWord;
        *reinterpret_cast<std::uint32_t*>(dst + begin + column) = __funnelshift_r(word[0], word[next], shift);
      } else {  // The word that the matrix's row begins in, or ends in.
#pragma unroll
        for (int e = 0; e < kWord; ++e) {
          if (span.column0 + column + e >= 0 && column + e < span.columns) dst[begin + column + e] = from[column + e];
        }
      }
    }
  }
}

/// `wide`: all rows begin and end at boundaries of 16 bytes.
template <class T, bool wide>
__global__ void __launch_bounds__(T::kThreads, 4)
    permute_kernel(typename T::W* __restrict__ dst, const typename T::W* __restrict__ src,
                   const __grid_constant__ Matrix matrix) {
  constexpr int kBefore = wide ? 0 : T::kBefore;
  __shared__ __align__(16) std::uint32_t offsets[T::kColumns];  // In the input, of the tile's columns.
  __shared__ std::uint32_t places[T::kGroups];
  __shared__ __align__(16) typename T::W tile[T::kRows * T::kPitch];
  const int thread = threadIdx.x;
  const auto [across, group0, groups] = locate_tile(matrix);
  const int column0 = across * (T::kColumns - kBefore);

  for (int i = thread; i < T::kColumns; i += T::kThreads) {
    const int column = min(max(column0 - kBefore + i, 0), matrix.columns - 1);  // What lies beyond is not written.
    offsets[i] = find_column(matrix, column).src;
  }
  const int group = thread % T::kGroups;
  const Place place = find_group(matrix, group0 + min(group, groups - 1));
  if (thread / T::kGroups == 0) places[group] = place.dst + column0;
  __syncthreads();
  load_tile<T>(tile, src + place.src, offsets);
  __syncthreads();
  const Span span{places, matrix.row_step, groups, column0, matrix.columns - column0};
  if constexpr (wide) {
    write_wide<T>(dst, tile, span);
  } else {
    write_words<T>(dst, tile, span, matrix.dst_past);
  }
}

/// What the columns have at least, in bytes; chosen on an H200.
inline int least_bytes(const PermuteProblem& m) {
  return least_bytes_beside_runs(m, m.element_bytes == 1 ? 256 : 1024);
}

/// How the tiles lie on a problem.
struct Fit {
  std::int64_t column_bytes = 0;
  std::int64_t rows = 0;
  std::int64_t run_bytes = 0;  ///< Of the input, that rows which follow each other take.
};

inline Fit fit(const PermuteProblem& m) {
  const Columns columns = find_columns(m, least_bytes(m));
  return {columns.size * m.element_bytes, m.count() / columns.size, run_bytes(m, columns)};
}

/// How many rows a load takes: of bytes and halves, in a tile of many rows, as many as 4 bytes have elements, or 2.
/// Wider words gained nothing on an H200.
inline int rows_in_group(const PermuteProblem& m) {
  return keeps_last_dimension(m) || fit(m).rows <= 16 ? 1 : elements_in_load(m);
}

/// Whether all rows can be whole words of 16 bytes.
inline bool writes_wide(const PermuteProblem& m) { return fit(m).column_bytes % 16 == 0 && m.alignment == 16; }

/// Calls `f.template operator()<T>()` for a problem's tile of 16 KiB: 32 rows of 512 bytes, or fewer where there are no
/// more or short rows stay last; bytes otherwise, halves by words; half a tile of floats where columns are few.
template <class F> auto with_tile(const PermuteProblem& m, const F& f) {
  const Fit fits = fit(m);
  const std::int64_t rows = fits.rows;
  const int group = rows_in_group(m);
  const bool few = rows <= 16 || keeps_last_dimension(m);
  switch (m.element_bytes) {
  case 1:
    if (few) return f.template operator()<Tile<1, 1, 16, 1024>>();
    return group == 4   ? f.template operator()<Tile<1, 4, 64, 256>>()
           : group == 2 ? f.template operator()<Tile<1, 2, 64, 256>>()
                        : f.template operator()<Tile<1, 1, 32, 256>>();
  case 2:
    if (rows <= 8) return f.template operator()<Tile<2, 1, 8, 1024>>();
    if (few) return f.template operator()<Tile<2, 1, 16, 512>>();
    return group == 2 ? f.template operator()<Tile<2, 2, 64, 256>>() : f.template operator()<Tile<2, 1, 32, 256>>();
  case 4:
    if (rows <= 8) return f.template operator()<Tile<4, 1, 8, 512>>();
    if (few) return f.template operator()<Tile<4, 1, 16, 256>>();
    return fits.column_bytes <= 256 ? f.template operator()<Tile<4, 1, 32, 64, 128>>()
                                    : f.template operator()<Tile<4, 1, 32, 128>>();
  case 8:
    if (rows <= 8) return f.template operator()<Tile<8, 1, 8, 256>>();
    return few ? f.template operator()<Tile<8, 1, 16, 128>>() : f.template operator()<Tile<8, 1, 32, 64>>();
  default:
    if (rows <= 8) return f.template operator()<Tile<16, 1, 8, 128>>();
    return few ? f.template operator()<Tile<16, 1, 16, 64>>() : f.template operator()<Tile<16, 1, 32, 32>>();
  }
}

/// Share of its tiles' columns that a matrix fills, up to 1.
inline double filled(const PermuteProblem& m) {
  const std::int64_t columns = fit(m).column_bytes / m.element_bytes;
  return with_tile(m, [&]<class T>() {
    const int owned = T::kColumns - (writes_wide(m) ? 0 : T::kBefore);
    return static_cast<double>(columns) / static_cast<double>(ceil_div<std::int64_t>(columns, owned) * T::kColumns);
  });
}

/// Whether the tiles that follow each other are neighbours along the input: with so many columns, the lines of a row of
/// tiles are 8 MiB or more, and have left the L2 before the tiles come that read their other parts.
inline bool prefers_input_order(const PermuteProblem& m, const Columns& columns) {
  return m.element_bytes <= 4 && columns.size >= 1 << 16;
}

/// Moves tiles of type T. `m` is simplified, not empty and not refused.
/// \return cudaErrorInvalidValue where groups do not divide the input's fastest dimension, or where whole groups are
///         wanted and make no other tiles.
template <class T>
cudaError_t run_arranged(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream,
                         const Arrangement& arrangement) {
  if (!loads_groups(m, T::kGroup)) return cudaErrorInvalidValue;
  Matrix matrix = make_matrix(m, find_columns(m, arrangement.least_bytes), T::kGroup);
  constexpr int kSector = 32;
  matrix.dst_past = elements_past(dst, kSector, T::kBytes);
  const bool wide = matrix.columns % T::kWide == 0 && elements_past(dst, 16, T::kBytes) == 0;
  const std::int64_t tiles =
      arrange_tiles(matrix, arrangement, T::kGroups, ceil_div(matrix.columns, T::kColumns - (wide ? 0 : T::kBefore)));
  if (tiles == 0) return cudaErrorInvalidValue;
  return launch(wide ? permute_kernel<T, true> : permute_kernel<T, false>,
                {.grid = tiles, .block = T::kThreads, .stream = stream}, static_cast<typename T::W*>(dst),
                static_cast<const typename T::W*>(src), matrix);
}

/// The same, arranged as it is best for most. Tiles of 8-byte elements cut no runs where they need not: a sector that
/// is cut is a larger part of theirs.
template <class T> cudaError_t run_as(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  Arrangement arrangement{.least_bytes = least_bytes(m)};
  arrangement.along_input = prefers_input_order(m, find_columns(m, arrangement.least_bytes));
  if constexpr (T::kBytes == 8) {
    arrangement.whole_groups = true;
    const cudaError_t error = run_arranged<T>(m, src, dst, stream, arrangement);
    if (error != cudaErrorInvalidValue) return error;
    arrangement.whole_groups = false;
  }
  return run_arranged<T>(m, src, dst, stream, arrangement);
}

/// Moves the problem's tiles. `m` is simplified, not empty and not refused.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  return with_tile(m, [&]<class T>() { return run_as<T>(m, src, dst, stream); });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::fixed_tile
