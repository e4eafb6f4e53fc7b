/// \file
/// v7l fixed tile: v7j's tiles, whose sides the compiler knows.
///
/// v7j's tile has whatever sides a problem calls for, so each place in it, each turn of a loop and each edge is worked
/// out as it runs; with 8 elements a thread, finding the thread's row and the table of columns is not spread far,
/// either. Nsight Compute counts 63 instructions an element of 8x6x10x12x14x90 float, where Triton's kernel, which is
/// compiled for the shape, has 24 (README.md): issuing them takes longer than the memory. Here a tile's sides are
/// template parameters: shared memory is addressed by constants, all loops are opened, and a thread moves 16 elements
/// or more. Columns and rows are v7j's; but where the last dimension stays last, it is the first of the columns. Rows
/// whose boundaries are 16 bytes' go out by 16 bytes; all others by words, of which a warp's begin at a sector, as
/// v7f's. And elements of 8 bytes have such tiles, too. Loads have v7k's hint.
///
/// Expect a third of v7j's instructions, and the time to follow where they were the limit.
#pragma once

#include <algorithm>
#include <span>

#include "chapters/chapter3_permute/v7j_composite_tile.cuh"

namespace warpbook::chapter3::v7l {

/// The matrix that a problem is, and its tiles. What every block reads first stands together.
struct Matrix {
  FastDivisor<std::uint32_t> tiles;  // Along the columns: neighbouring blocks write neighbours; or along the rows.
  bool along_input;
  std::uint32_t columns;
  std::uint32_t groups;    // Of rows, whose elements a load takes together.
  int tile_groups;         // Of a tile's groups, those that are used.
  std::uint32_t row_step;  // In the output, from a row of a group to the next.
  int dst_past;            // Elements from the last sector's boundary to the output's first.
  int group_digits;
  int column_digits;
  v7j::Digit digit[kMaxRank];  // The groups', the fastest first; the columns' from the array's end on.
};

/// Where a column is, or a group.
template <bool columns> __device__ __forceinline__ v7j::Place find_place(const Matrix& matrix, std::uint32_t rest) {
  v7j::Place place{0, 0};
  const int digits = columns ? matrix.column_digits : matrix.group_digits;
#pragma unroll
  for (int k = 0; k < kMaxRank; ++k) {
    if (k == digits) break;
    const v7j::Digit& digit = matrix.digit[columns ? kMaxRank - 1 - k : k];
    const auto [quotient, index] = digit.extent.divide(rest);
    place.src += index * digit.src_stride;
    place.dst += index * digit.dst_stride;
    rest = quotient;
  }
  return place;
}

/// A tile's shape: a load takes `group` rows, and the tile has `rows` of them.
template <int bytes, int group, int rows, int columns, int threads = 256> struct Tile {
  using W = Word<bytes>;
  using Loaded = Word<group * bytes>;
  static constexpr int kThreads = threads;
  static constexpr int kBytes = bytes;
  static constexpr int kGroup = group;
  static constexpr int kRows = rows;
  static constexpr int kColumns = columns;
  static constexpr int kGroups = rows / group;                    // Threads that load a column together.
  static constexpr int kQuad = bytes == 8 ? 2 : 4;                // Columns that a thread loads at a time.
  static constexpr int kAcross = kThreads / kGroups;              // Quads that a block loads at a time.
  static constexpr int kQuads = columns / kQuad / kAcross;        // That a thread loads.
  static constexpr int kPitch = ((columns / kQuad) | 1) * kQuad;  // Quads of rows lie in different banks.
  static constexpr int kWord = bytes < 4 ? 4 / bytes : 1;         // Elements that are written as one,
  static constexpr int kWide = 16 / bytes;                        // and of whole rows.
  static constexpr int kBefore = bytes < 4 ? kQuad : 0;           // Columns that a word may begin early.
  static_assert(kQuads * kAcross * kQuad == columns && kGroups * group == rows);
};

/// Puts a quad of each of a group's rows into the tile, where rows of a group lie kGroups apart. `column` is what was
/// loaded of the quad's columns.
template <class T>
__device__ __forceinline__ void put_quads(typename T::W* to, const typename T::Loaded (&column)[T::kQuad]) {
  constexpr int kStep = T::kGroups * T::kPitch;
  if constexpr (T::kBytes == 1 && T::kGroup == 2) {
    const std::uint32_t first = __byte_perm(column[0], column[1], 0x5410);
    const std::uint32_t second = __byte_perm(column[2], column[3], 0x5410);
    *reinterpret_cast<std::uint32_t*>(to) = __byte_perm(first, second, 0x6420);
    *reinterpret_cast<std::uint32_t*>(to + kStep) = __byte_perm(first, second, 0x7531);
  } else if constexpr (T::kBytes < 4 && T::kGroup == 1) {
    std::uint32_t word[T::kBytes];  // Of the quad.
    if constexpr (T::kBytes == 1) {
      word[0] = __byte_perm(__byte_perm(column[0], column[1], 0x40), __byte_perm(column[2], column[3], 0x40), 0x5410);
      *reinterpret_cast<std::uint32_t*>(to) = word[0];
    } else {
      word[0] = __byte_perm(column[0], column[1], 0x5410);
      word[1] = __byte_perm(column[2], column[3], 0x5410);
      *reinterpret_cast<std::uint64_t*>(to) = word[0] | std::uint64_t{word[1]} << 32U;
    }
  } else {
    constexpr int kWords = T::kGroup * T::kBytes / 4;  // Of a load.
    std::uint32_t word[T::kQuad][kWords];
#pragma unroll
    for (int e = 0; e < T::kQuad; ++e) __builtin_memcpy(word[e], &column[e], sizeof(word[e]));
    if constexpr (T::kBytes >= 4) {
#pragma unroll
      for (int r = 0; r < T::kGroup; ++r) {
        auto& quad = *reinterpret_cast<uint4*>(to + r * kStep);
        if constexpr (T::kBytes == 4) {
          quad = make_uint4(word[0][r], word[1][r], word[2][r], word[3][r]);
        } else {
          quad = make_uint4(word[0][2 * r], word[0][2 * r + 1], word[1][2 * r], word[1][2 * r + 1]);
        }
      }
    } else {
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        const std::uint32_t columns[] = {word[0][w], word[1][w], word[2][w], word[3][w]};
        v7j::QuadOf<T::kWord> row[T::kWord];
        v7j::regroup(columns, row);
#pragma unroll
        for (int r = 0; r < T::kWord; ++r) {
          *reinterpret_cast<v7j::QuadOf<T::kWord>*>(to + (w * T::kWord + r) * kStep) = row[r];
        }
      }
    }
  }
}

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
  const int thread = static_cast<int>(threadIdx.x);
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
  const int thread = static_cast<int>(threadIdx.x);
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

//! [kernel]
/// `wide`: all rows begin and end at boundaries of 16 bytes.
template <class T, bool wide, bool keeps>
__global__ void __launch_bounds__(T::kThreads, 4)
    permute_kernel(typename T::W* __restrict__ dst, const typename T::W* __restrict__ src,
                   const __grid_constant__ Matrix matrix) {
  using W = typename T::W;
  constexpr int kBefore = wide ? 0 : T::kBefore;
  __shared__ __align__(16) std::uint32_t offsets[T::kColumns];  // In the input, of the tile's columns.
  __shared__ std::uint32_t places[T::kGroups];
  __shared__ __align__(16) W tile[T::kRows * T::kPitch];
  const int thread = static_cast<int>(threadIdx.x);
  const auto [slow, fast] = matrix.tiles.divide(blockIdx.x);
  const std::uint32_t across = matrix.along_input ? slow : fast;
  const std::uint32_t down = matrix.along_input ? fast : slow;
  const int column0 = static_cast<int>(across) * (T::kColumns - kBefore);
  const int group0 = static_cast<int>(down) * matrix.tile_groups;
  const int columns = static_cast<int>(matrix.columns);
  const int groups = min(matrix.tile_groups, static_cast<int>(matrix.groups) - group0);

  for (int i = thread; i < T::kColumns; i += T::kThreads) {
    const int column = min(max(column0 - kBefore + i, 0), columns - 1);  // What lies beyond is not written.
    offsets[i] = find_place<true>(matrix, static_cast<std::uint32_t>(column)).src;
  }
  const int group = thread % T::kGroups;
  const int turn = thread / T::kGroups;
  const v7j::Place place = find_place<false>(matrix, static_cast<std::uint32_t>(group0 + min(group, groups - 1)));
  if (turn == 0) places[group] = place.dst + static_cast<std::uint32_t>(column0);
  __syncthreads();

  const W* from = src + place.src;
  typename T::Loaded loaded[T::kQuads][T::kQuad];
#pragma unroll
  for (int i = 0; i < T::kQuads; ++i) {
    const auto offset =
        *reinterpret_cast<const Pack<std::uint32_t, T::kQuad>*>(offsets + (turn + i * T::kAcross) * T::kQuad);
#pragma unroll
    for (int e = 0; e < T::kQuad; ++e) {
      loaded[i][e] = load_keeping<keeps>(reinterpret_cast<const typename T::Loaded*>(from + offset.data[e]));
    }
  }
#pragma unroll
  for (int i = 0; i < T::kQuads; ++i) {
    put_quads<T>(tile + group * T::kPitch + (turn + i * T::kAcross) * T::kQuad, loaded[i]);
  }
  __syncthreads();
  const Span span{places, matrix.row_step, groups, column0, columns - column0};
  if constexpr (wide) {
    write_wide<T>(dst, tile, span);
  } else {
    write_words<T>(dst, tile, span, matrix.dst_past);
  }
}
//! [kernel]

/// Why the step refuses a merged problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& m) {
  if (m.rank < 2) return "nothing moves";
  if (m.element_bytes > 8) return "elements must have 1, 2, 4 or 8 bytes";
  return fits_32_bits(m.count() + (1 << 20)) ? nullptr : "2^31 elements or more";
}

/// v7j's columns; where the last dimension stays last, it is the first of them.
inline v7j::ColumnDimensions find_columns(const PermuteProblem& m, int least_bytes) {
  const DimensionOrder from_dst = dst_order(m);
  v7j::ColumnDimensions columns;
  columns.bytes = m.element_bytes;
  for (int k = 0; k < m.rank && columns.bytes < least_bytes; ++k) {
    const int d = from_dst[k];
    if (d == m.rank - 1 && k > 0) break;
    columns.bytes *= m.shape[d];
    columns.among[d] = true;
    ++columns.count;
  }
  return columns;
}

/// The matrix that a problem is, without its tiles, whose columns are these of the input's dimensions, the fastest
/// first; a load takes `group` rows.
inline Matrix make_matrix(const PermuteProblem& m, std::span<const int> columns, int group) {
  const Strides from = src_strides(m);
  const Strides to = v7a::dst_strides_by_src(m);
  Matrix matrix{};
  matrix.columns = matrix.groups = 1;
  const auto digit = [&](int d, int step) {
    return v7j::Digit{FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(m.shape[d] / step)),
                      static_cast<std::uint32_t>(from[d] * step), static_cast<std::uint32_t>(to[d] * step)};
  };
  for (const int d : columns) {
    const v7j::Digit next = digit(d, 1);
    matrix.digit[kMaxRank - 1 - matrix.column_digits++] = next;
    matrix.columns *= next.extent.divisor;
  }
  for (int d = m.rank - 1; d >= 0; --d) {
    if (std::ranges::find(columns, d) != columns.end()) continue;
    const v7j::Digit next = digit(d, d == m.rank - 1 ? group : 1);
    matrix.digit[matrix.group_digits++] = next;
    matrix.groups *= next.extent.divisor;
  }
  matrix.row_step = static_cast<std::uint32_t>(to[m.rank - 1]);
  return matrix;
}

/// The same of v7l's columns, with where in a sector `dst` begins.
inline Matrix make_matrix(const PermuteProblem& m, int least_bytes, int group, const void* dst) {
  const DimensionOrder order = dst_order(m);
  const auto count = static_cast<std::size_t>(find_columns(m, least_bytes).count);
  Matrix matrix = make_matrix(m, std::span(order).first(count), group);
  constexpr std::uintptr_t kSector = 32;
  matrix.dst_past = static_cast<int>(reinterpret_cast<std::uintptr_t>(dst) % kSector) / m.element_bytes;
  return matrix;
}

/// Of the columns: as v7j's tiles have it.
inline int least_bytes(int element_bytes) { return element_bytes == 1 ? 256 : 1024; }

/// How the tiles lie on a problem.
struct Fit {
  std::int64_t column_bytes = 0;
  std::int64_t rows = 0;
  std::int64_t run_bytes = 0;  ///< Of the input, that rows which follow each other take; where the last dimension stays
                               ///< last, with all of it.
};

inline Fit fit(const PermuteProblem& m) {
  const v7j::ColumnDimensions columns = find_columns(m, least_bytes(m.element_bytes));
  Fit result{columns.bytes, m.count() * m.element_bytes / columns.bytes, m.element_bytes};
  int d = m.rank - 1;
  if (keeps_last_dimension(m)) result.run_bytes *= m.shape[d--];
  for (; d >= 0 && !columns.among[d]; --d) result.run_bytes *= m.shape[d];
  return result;
}

/// How many rows a load takes: of bytes and halves, in a tile of many rows, as many as 4 bytes have elements, or 2.
/// Wider words gained nothing on an H200.
inline int rows_in_group(const PermuteProblem& m, const void* src) {
  if (m.element_bytes > 2 || keeps_last_dimension(m) || fit(m).rows <= 16) return 1;
  for (int bytes = 4; bytes > m.element_bytes; bytes /= 2) {
    const bool whole = m.shape[m.rank - 1] * m.element_bytes % bytes == 0;
    if (whole && reinterpret_cast<std::uintptr_t>(src) % static_cast<unsigned>(bytes) == 0) {
      return bytes / m.element_bytes;
    }
  }
  return 1;
}

/// Whether the tiles that follow each other are neighbours along the input. From a tile to its neighbour along the
/// input it is a whole row of tiles: with so many columns, their lines, of 128 bytes each, are 8 MiB or more, and the
/// parts of a line that other tiles read are forgotten before these come.
inline bool prefers_input_order(const PermuteProblem& m, const v7j::ColumnDimensions& columns) {
  return m.element_bytes <= 4 && columns.bytes / m.element_bytes >= 1 << 16;
}

/// How many of `most` groups make whole runs of the input: a tile that takes so many cuts none. 0 where that is all of
/// them, or fewer than half.
inline int whole_groups(const Matrix& matrix, int most) {
  std::int64_t whole = 1;
  int best = 0;
  for (int k = 0; k < matrix.group_digits; ++k) {
    whole *= matrix.digit[k].extent.divisor;
    if (whole > most) break;
    best = static_cast<int>(most / whole * whole);
  }
  return best < most && 2 * best >= most ? best : 0;
}

/// How tiles lie on a problem.
struct Arrangement {
  int least_bytes = 0;        ///< Of the columns.
  bool along_input = false;   ///< Tiles that follow each other do so along the input; else along the output.
  bool whole_groups = false;  ///< Tiles take whole runs of the input only.
};

/// Moves tiles of type T. `m` is merged, not empty and not refused, and groups divide the input's fastest dimension.
/// \return cudaErrorInvalidValue where whole groups are wanted and make no other tiles.
template <class T>
cudaError_t run_arranged(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream,
                         const Arrangement& arrangement) {
  constexpr bool keeps = kHinted<true, T::kBytes>;
  Matrix matrix = make_matrix(m, arrangement.least_bytes, T::kGroup, dst);
  matrix.tile_groups = arrangement.whole_groups ? whole_groups(matrix, T::kGroups) : T::kGroups;
  if (matrix.tile_groups == 0) return cudaErrorInvalidValue;
  const bool wide = matrix.columns % T::kWide == 0 && reinterpret_cast<std::uintptr_t>(dst) % 16 == 0;
  const std::int64_t across = ceil_div<std::int64_t>(matrix.columns, T::kColumns - (wide ? 0 : T::kBefore));
  const std::int64_t down = ceil_div<std::int64_t>(matrix.groups, matrix.tile_groups);
  matrix.along_input = arrangement.along_input;
  matrix.tiles = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(matrix.along_input ? down : across));
  const auto launch_as = [&](auto* kernel) {
    return launch(kernel, {.grid = across * down, .block = T::kThreads, .stream = stream},
                  static_cast<typename T::W*>(dst), static_cast<const typename T::W*>(src), matrix);
  };
  return wide ? launch_as(permute_kernel<T, true, keeps>) : launch_as(permute_kernel<T, false, keeps>);
}

/// The same, arranged as it is best for most.
template <class T> cudaError_t run_as(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const int least = least_bytes(T::kBytes);
  const bool along_input = prefers_input_order(m, find_columns(m, least));
  return run_arranged<T>(m, src, dst, stream, {.least_bytes = least, .along_input = along_input});
}

/// Moves tiles of 16 KiB: 32 rows of 512 bytes, or 16 or 8 rows where there are no more, or 16 where short rows stay
/// last; bytes otherwise, and halves by words (README.md). `m` is merged, not empty and not refused.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const std::int64_t rows = fit(m).rows;
  const int group = rows_in_group(m, src);
  const auto run = [&]<class T>() { return run_as<T>(m, src, dst, stream); };
  const bool few = rows <= 16 || keeps_last_dimension(m);
  switch (m.element_bytes) {
  case 1:
    if (few) return run.template operator()<Tile<1, 1, 16, 1024>>();
    return group == 4   ? run.template operator()<Tile<1, 4, 64, 256>>()
           : group == 2 ? run.template operator()<Tile<1, 2, 64, 256>>()
                        : run.template operator()<Tile<1, 1, 32, 256>>();
  case 2:
    if (rows <= 8) return run.template operator()<Tile<2, 1, 8, 1024>>();
    if (few) return run.template operator()<Tile<2, 1, 16, 512>>();
    return group == 2 ? run.template operator()<Tile<2, 2, 64, 256>>() : run.template operator()<Tile<2, 1, 32, 256>>();
  case 4:
    if (rows <= 8) return run.template operator()<Tile<4, 1, 8, 512>>();
    return few ? run.template operator()<Tile<4, 1, 16, 256>>() : run.template operator()<Tile<4, 1, 32, 128>>();
  case 8:
    if (rows <= 8) return run.template operator()<Tile<8, 1, 8, 256>>();
    return few ? run.template operator()<Tile<8, 1, 16, 128>>() : run.template operator()<Tile<8, 1, 32, 64>>();
  default:
    return cudaErrorInvalidValue;
  }
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::v7l
