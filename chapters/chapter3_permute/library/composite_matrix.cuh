/// \file
/// Any permutation as one matrix to transpose, whose sides are made of several dimensions: columns count the output's
/// fastest dimensions together, rows all others in the input's order. Rows come in groups, whose elements one load
/// takes. composite_tile, fixed_tile and placed_words move such matrices.
#pragma once

#include <algorithm>

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"
#include "common/cuda/regroup.cuh"

namespace warpbook::chapter3::composite_matrix {

/// A dimension of a side; strides are in elements.
struct Digit {
  FastDivisor<std::uint32_t> extent;
  std::uint32_t src_stride;
  std::uint32_t dst_stride;
};

/// Offsets of an element, or of a group of rows, in the input and in the output.
struct Place {
  std::uint32_t src;
  std::uint32_t dst;
};

/// Where the linear index `rest` is, whose digits follow each other from the fastest on, in steps of `step`. An
/// `opened` loop is faster, but needs registers.
template <int step = 1, bool opened = true>
__device__ __forceinline__ Place find_place(const Digit* digit, int digits, std::uint32_t rest) {
  Place place{0, 0};
  const auto take = [&](const Digit& d) {
    const auto [quotient, index] = d.extent.divide(rest);
    place.src += index * d.src_stride;
    place.dst += index * d.dst_stride;
    rest = quotient;
  };
  if constexpr (opened) {
#pragma unroll
    for (int k = 0; k < kMaxRank; ++k) {
      if (k == digits) break;
      take(digit[k * step]);
    }
  } else {
#pragma unroll 1
    for (int k = 0; k < digits; ++k) take(digit[k * step]);
  }
  return place;
}

/// The matrix, and the grid of tiles over it. What every block reads first stands together.
struct Matrix {
  FastDivisor<std::uint32_t> tiles;  // Along the columns: neighbouring blocks write neighbours; or along the rows.
  bool along_input;                  // Along the rows.
  int columns;
  int groups;              // Of rows.
  int tile_groups;         // Of a tile's groups, those that are used.
  std::uint32_t row_step;  // In the output, from a row of a group to the next.
  int dst_past;            // Elements from a boundary of the kernel's choice to the output's first.
  int group_digits;
  int column_digits;
  Digit digit[kMaxRank];  // The groups', the fastest first; the columns' from the array's end on.
};

template <bool opened = true> __device__ __forceinline__ Place find_group(const Matrix& matrix, std::uint32_t group) {
  return find_place<1, opened>(matrix.digit, matrix.group_digits, group);
}
template <bool opened = true> __device__ __forceinline__ Place find_column(const Matrix& matrix, std::uint32_t column) {
  return find_place<-1, opened>(matrix.digit + kMaxRank - 1, matrix.column_digits, column);
}

struct TileIndex {
  int across;  // Tiles before it along the columns.
  int group0;  // Its first group,
  int groups;  // and how many it has.
};

__device__ __forceinline__ TileIndex locate_tile(const Matrix& matrix) {
  const auto [slow, fast] = matrix.tiles.divide(blockIdx.x);
  const int across = matrix.along_input ? slow : fast;
  const int down = matrix.along_input ? fast : slow;
  const int group0 = down * matrix.tile_groups;
  return {across, group0, min(matrix.tile_groups, matrix.groups - group0)};
}

/// Columns that a thread loads for one look-up of their places: 16 bytes of wide elements.
template <int bytes> inline constexpr int kQuad = bytes < 4 ? 4 : 16 / bytes;

/// Regroups four columns' words, each of a group's rows, into the same columns of each row: of bytes, or of halves.
/// Those are one word of 8 bytes: of a pair of words, nvcc makes two stores.
__device__ __forceinline__ void regroup(const std::uint32_t (&column)[4], std::uint32_t (&row)[4]) {
  const uint4 rows = transpose_4x4(column[0], column[1], column[2], column[3]);
  row[0] = rows.x;
  row[1] = rows.y;
  row[2] = rows.z;
  row[3] = rows.w;
}
__device__ __forceinline__ void regroup(const std::uint32_t (&column)[4], std::uint64_t (&row)[2]) {
  const auto joined = [](std::uint32_t first, std::uint32_t second) { return first | std::uint64_t{second} << 32U; };
  const uint2 first = transpose_2x2(column[0], column[1]);
  const uint2 second = transpose_2x2(column[2], column[3]);
  row[0] = joined(first.x, second.x);
  row[1] = joined(first.y, second.y);
}

template <int bytes, class W> __device__ __forceinline__ void put_row(W* to, const W (&column)[4]) {
  const std::uint32_t first = __byte_perm(column[0], column[1], bytes == 1 ? 0x40 : 0x5410);
  const std::uint32_t second = __byte_perm(column[2], column[3], bytes == 1 ? 0x40 : 0x5410);
  if constexpr (bytes == 1) {
    *reinterpret_cast<std::uint32_t*>(to) = __byte_perm(first, second, 0x5410);
  } else {
    *reinterpret_cast<std::uint64_t*>(to) = first | std::uint64_t{second} << 32U;
  }
}

/// Puts a quad of each of a group's rows into the tile, where the group's rows lie `step` elements apart. `column` is
/// what was loaded of each of the quad's columns.
template <int bytes, int group>
__device__ __forceinline__ void put_quads(Word<bytes>* to, int step,
                                          const Word<group * bytes> (&column)[kQuad<bytes>]) {
  if constexpr (bytes < 4 && group == 1) {
    put_row<bytes>(to, column);
  } else if constexpr (group * bytes == 2) {  // Two bytes.
    const std::uint32_t first = __byte_perm(column[0], column[1], 0x5410);
    const std::uint32_t second = __byte_perm(column[2], column[3], 0x5410);
    *reinterpret_cast<std::uint32_t*>(to) = __byte_perm(first, second, 0x6420);
    *reinterpret_cast<std::uint32_t*>(to + step) = __byte_perm(first, second, 0x7531);
  } else {
    constexpr int kWords = group * bytes / 4;  // Of a load.
    std::uint32_t word[kQuad<bytes>][kWords];
#pragma unroll
    for (int e = 0; e < kQuad<bytes>; ++e) __builtin_memcpy(word[e], &column[e], sizeof(word[e]));
    if constexpr (bytes >= 4) {
#pragma unroll
      for (int r = 0; r < group; ++r) {
        auto& quad = *reinterpret_cast<uint4*>(to + r * step);
        if constexpr (bytes == 4) {
          quad = make_uint4(word[0][r], word[1][r], word[2][r], word[3][r]);
        } else if constexpr (bytes == 8) {
          quad = make_uint4(word[0][2 * r], word[0][2 * r + 1], word[1][2 * r], word[1][2 * r + 1]);
        } else {
          quad = make_uint4(word[0][0], word[0][1], word[0][2], word[0][3]);
        }
      }
    } else {
      constexpr int kRows = 4 / bytes;  // That a word has elements of.
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        const std::uint32_t columns[] = {word[0][w], word[1][w], word[2][w], word[3][w]};
        Word<4 * bytes> row[kRows];
        regroup(columns, row);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          *reinterpret_cast<Word<4 * bytes>*>(to + (w * kRows + r) * step) = row[r];
        }
      }
    }
  }
}

/// A tile whose sides the compiler knows: a load takes `group` rows, and the tile has `rows` of them. In shared memory,
/// rows of a group lie kGroups rows apart.
template <int bytes, int group, int rows, int columns, int threads> struct QuadTile {
  using W = Word<bytes>;
  using Loaded = Word<group * bytes>;
  static constexpr int kThreads = threads;
  static constexpr int kBytes = bytes;
  static constexpr int kGroup = group;
  static constexpr int kRows = rows;
  static constexpr int kColumns = columns;
  static constexpr int kGroups = rows / group;                    // Threads that load a column together.
  static constexpr int kQuad = composite_matrix::kQuad<bytes>;    // Columns that a thread loads at a time.
  static constexpr int kAcross = kThreads / kGroups;              // Quads that a block loads at a time.
  static constexpr int kQuads = columns / kQuad / kAcross;        // That a thread loads.
  static constexpr int kPitch = ((columns / kQuad) | 1) * kQuad;  // Quads of rows lie in different banks.
  static_assert(kQuads * kAcross * kQuad == columns && kGroups * group == rows);
};

/// Loads a thread's part of a QuadTile: the group `threadIdx.x % kGroups`, which begins at `from`, at the columns
/// whose `offsets` in the input are known.
template <class T>
__device__ __forceinline__ void load_tile(typename T::W* tile, const typename T::W* from,
                                          const std::uint32_t* offsets) {
  const int thread = threadIdx.x;
  const int group = thread % T::kGroups;
  const int turn = thread / T::kGroups;
  typename T::Loaded loaded[T::kQuads][T::kQuad];
#pragma unroll
  for (int i = 0; i < T::kQuads; ++i) {
    const auto offset =
        *reinterpret_cast<const Pack<std::uint32_t, T::kQuad>*>(offsets + (turn + i * T::kAcross) * T::kQuad);
#pragma unroll
    for (int e = 0; e < T::kQuad; ++e) {
      loaded[i][e] = load_keeping<(T::kBytes > 1)>(reinterpret_cast<const typename T::Loaded*>(from + offset.data[e]));
    }
  }
#pragma unroll
  for (int i = 0; i < T::kQuads; ++i) {
    put_quads<T::kBytes, T::kGroup>(tile + group * T::kPitch + (turn + i * T::kAcross) * T::kQuad,
                                    T::kGroups * T::kPitch, loaded[i]);
  }
}

/// Why a simplified problem is no such matrix; nullptr where it is.
inline const char* refuse(const PermuteProblem& m) {
  if (m.rank < 2) return "nothing moves";
  return fits_32_bits(m.count() + (1 << 20)) ? nullptr : "2^31 elements or more";
}

/// Cuts `size` into equal parts of at most `most`, and rounds them up to a multiple of `unit`.
inline std::int64_t even_part(std::int64_t size, std::int64_t most, std::int64_t unit = 1) {
  return ceil_div(ceil_div(size, ceil_div(size, most)), unit) * unit;
}

/// How many neighbours of the input one load takes: as many as 4 bytes have, or 2, where they divide its fastest
/// dimension.
inline int elements_in_load(const PermuteProblem& m) {
  for (int bytes = 4; bytes > m.element_bytes; bytes /= 2) {
    const bool whole = m.shape[m.rank - 1] * m.element_bytes % bytes == 0;
    if (whole && m.alignment % bytes == 0) return bytes / m.element_bytes;
  }
  return 1;
}

/// Whether loads of `group` neighbours divide the input's fastest dimension, which moves.
inline bool loads_groups(const PermuteProblem& m, int group) {
  if (group == 1) return true;
  return !keeps_last_dimension(m) && m.shape[m.rank - 1] % group == 0 && m.alignment % (group * m.element_bytes) == 0;
}

/// Which of the input's dimensions make the columns, the fastest first.
struct Columns {
  std::array<int, kMaxRank> dimension{};
  int count = 0;
  std::int64_t size = 1;   ///< Columns in all.
  std::int64_t piece = 1;  ///< So many of them, from each multiple of it on, are neighbours in the output.

  /// Whether dimension d is one of them.
  bool has(int d) const {
    return std::find(dimension.begin(), dimension.begin() + count, d) != dimension.begin() + count;
  }
};

/// The output's fastest dimensions until they have `least_bytes`. They end before the input's fastest, or, `beyond` it,
/// go on behind; but where the last dimension stays last, it is the first of them.
inline Columns find_columns(const PermuteProblem& m, std::int64_t least_bytes, bool beyond = false) {
  const DimensionOrder from_dst = dst_order(m);
  Columns columns;
  bool in_piece = true;
  for (int k = 0; k < m.rank && columns.size * m.element_bytes < least_bytes; ++k) {
    const int d = from_dst[k];
    if (d == m.rank - 1 && k > 0) {
      if (!beyond) break;
      in_piece = false;
      continue;
    }
    columns.dimension[columns.count++] = d;
    columns.size *= m.shape[d];
    if (in_piece) columns.piece *= m.shape[d];
  }
  return columns;
}

/// Bytes of the input that rows which follow each other take together; where the last dimension stays last, with all of
/// it.
inline std::int64_t run_bytes(const PermuteProblem& m, const Columns& columns) {
  std::int64_t run = m.element_bytes;
  int d = m.rank - 1;
  if (keeps_last_dimension(m)) run *= m.shape[d--];
  for (; d >= 0 && !columns.has(d); --d) run *= m.shape[d];
  return run;
}

/// What to ask of columns that should have `wanted` bytes: a line's worth, where more would take so near a dimension of
/// the input that rows find less than a sector at a time.
inline int least_bytes_beside_runs(const PermuteProblem& m, int wanted, bool beyond = false) {
  constexpr int kLine = 128;
  constexpr int kSector = 32;
  const auto is_cut = [&](int least) { return run_bytes(m, find_columns(m, least, beyond)) < kSector; };
  return !keeps_last_dimension(m) && is_cut(wanted) && !is_cut(kLine) ? kLine : wanted;
}

/// The matrix of these columns, without its tiles; a load takes `group` rows.
inline Matrix make_matrix(const PermuteProblem& m, const Columns& columns, int group) {
  const Strides from = src_strides(m);
  const Strides to = dst_strides_by_src(m);
  Matrix matrix{};
  matrix.columns = matrix.groups = 1;
  const auto append = [&](Digit& digit, int& size, int d, int step) {
    const auto extent = static_cast<std::uint32_t>(m.shape[d] / step);
    digit = {FastDivisor<std::uint32_t>(extent), static_cast<std::uint32_t>(from[d] * step),
             static_cast<std::uint32_t>(to[d] * step)};
    size *= extent;
  };
  for (int k = 0; k < columns.count; ++k) {
    append(matrix.digit[kMaxRank - 1 - matrix.column_digits++], matrix.columns, columns.dimension[k], 1);
  }
  for (int d = m.rank - 1; d >= 0; --d) {
    if (!columns.has(d)) append(matrix.digit[matrix.group_digits++], matrix.groups, d, d == m.rank - 1 ? group : 1);
  }
  matrix.row_step = static_cast<std::uint32_t>(to[m.rank - 1]);
  return matrix;
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

/// How tiles lie on a matrix.
struct Arrangement {
  int least_bytes = 0;        ///< Of the columns.
  bool along_input = false;   ///< Tiles that follow each other do so along the input; else along the output.
  bool whole_groups = false;  ///< Tiles take whole runs of the input only.
};

/// Lays a grid on a matrix: `across` tiles along its columns, `most_groups` high.
/// \return the number of tiles; 0 where whole groups are wanted and make no other tiles.
inline std::int64_t arrange_tiles(Matrix& matrix, const Arrangement& arrangement, int most_groups,
                                  std::int64_t across) {
  matrix.tile_groups = arrangement.whole_groups ? whole_groups(matrix, most_groups) : most_groups;
  if (matrix.tile_groups == 0) return 0;
  const std::int64_t down = ceil_div(matrix.groups, matrix.tile_groups);
  matrix.along_input = arrangement.along_input;
  matrix.tiles = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(matrix.along_input ? down : across));
  return across * down;
}

/// Elements from the last multiple of `boundary` bytes to the first of an array of elements of `element_bytes`.
inline int elements_past(const void* array, int boundary, int element_bytes) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(array) % static_cast<unsigned>(boundary)) / element_bytes;
}

}  // namespace warpbook::chapter3::composite_matrix
