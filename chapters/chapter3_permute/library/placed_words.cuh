/// \file
/// placed_words: tiles of a composite matrix, each word of whose rows has a place of its own in the output, which a
/// table tells; for matrices of few columns, and for whatever no rule gives to another kernel.
///
/// So the columns go on behind the input's fastest dimension, with the next of the output's, until a tile is full; rows
/// that follow each other write the pieces between. Words are as wide as a piece can be cut into evenly: up to 16
/// bytes.
#pragma once

#include "chapters/chapter3_permute/library/composite_matrix.cuh"

namespace warpbook::chapter3::placed_words {

using namespace composite_matrix;

/// A tile of which a store takes `store` columns.
template <int bytes, int group, int store, int rows, int columns, int threads = 256>
struct Tile : QuadTile<bytes, group, rows, columns, threads> {
  static constexpr int kStore = store;
  static constexpr int kWords = columns / store;                      // Of a row.
  static constexpr int kLanes = kWords < threads ? kWords : threads;  // That write a row together.
  static constexpr int kTurn = threads / kLanes;                      // Rows written at a time.
  static_assert(kWords * store == columns && rows % kTurn == 0 && kWords % kLanes == 0);
};

/// Writes rows by words of kStore columns. `places`: in the output, of the groups' first rows; `words`: from there, of
/// the columns' words.
template <class T>
__device__ __forceinline__ void write_placed(typename T::W* __restrict__ dst, const typename T::W* tile,
                                             const std::uint32_t* places, int groups, std::uint32_t row_step,
                                             const std::uint32_t* words, int columns) {
  constexpr int kPart = T::kStore < T::kQuad ? T::kStore : T::kQuad;  // The tile's rows are aligned to quads.
  using Part = Pack<typename T::W, kPart>;
  using Whole = Pack<Part, T::kStore / kPart>;
  const int thread = threadIdx.x;
#pragma unroll
  for (int w = 0; w < T::kWords / T::kLanes; ++w) {
    const int word = thread % T::kLanes + w * T::kLanes;
    if (word * T::kStore >= columns) break;
    typename T::W* to = dst + words[word];
#pragma unroll
    for (int t = 0; t < T::kRows / T::kTurn; ++t) {
      const int row = thread / T::kLanes + t * T::kTurn;
      if (row % T::kGroups >= groups) continue;
      const auto* part = reinterpret_cast<const Part*>(tile + row * T::kPitch + word * T::kStore);
      Whole whole;
#pragma unroll
      for (int p = 0; p < T::kStore / kPart; ++p) whole[p] = part[p];
      *reinterpret_cast<Whole*>(to + places[row % T::kGroups] + row / T::kGroups * row_step) = whole;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1024 / T::kThreads)
    permute_kernel(typename T::W* __restrict__ dst, const typename T::W* __restrict__ src,
                   const __grid_constant__ Matrix matrix) {
  __shared__ __align__(16) std::uint32_t offsets[T::kColumns];  // In the input, of the tile's columns.
  __shared__ std::uint32_t words[T::kWords];                    // In the output, of the columns' words
  __shared__ std::uint32_t places[T::kGroups];                  // and of the groups.
  __shared__ __align__(16) typename T::W tile[T::kRows * T::kPitch];
  const int thread = threadIdx.x;
  const auto [across, group0, groups] = locate_tile(matrix);
  const int column0 = across * T::kColumns;
  const int columns = matrix.columns - column0;

  for (int i = thread; i < T::kColumns; i += T::kThreads) {
    const Place place = find_column(matrix, column0 + min(i, columns - 1));  // What lies beyond is not written.
    offsets[i] = place.src;
    if (i % T::kStore == 0) words[i / T::kStore] = place.dst;
  }
  const int group = thread % T::kGroups;
  const Place place = find_group(matrix, group0 + min(group, groups - 1));
  if (thread / T::kGroups == 0) places[group] = place.dst;
  __syncthreads();
  load_tile<T>(tile, src + place.src, offsets);
  __syncthreads();
  write_placed<T>(dst, tile, places, groups, matrix.row_step, words, columns);
}

/// Moves tiles of type T. `m` is simplified, not empty and not refused.
/// \return cudaErrorInvalidValue where the input's fastest dimension is not made of groups, or the output's pieces not
///         of words; or where whole groups are wanted and make no other tiles.
template <class T>
cudaError_t run_arranged(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream,
                         const Arrangement& arrangement) {
  const Columns columns = find_columns(m, arrangement.least_bytes, true);
  if (!loads_groups(m, T::kGroup) || columns.piece % T::kStore != 0) return cudaErrorInvalidValue;
  if (elements_past(dst, T::kStore * T::kBytes, T::kBytes) != 0) return cudaErrorInvalidValue;
  Matrix matrix = make_matrix(m, columns, T::kGroup);
  const std::int64_t tiles =
      arrange_tiles(matrix, arrangement, T::kGroups, ceil_div<std::int64_t>(matrix.columns, T::kColumns));
  if (tiles == 0) return cudaErrorInvalidValue;
  return launch(permute_kernel<T>, {.grid = tiles, .block = T::kThreads, .stream = stream},
                static_cast<typename T::W*>(dst), static_cast<const typename T::W*>(src), matrix);
}

/// What the columns have at least, in bytes.
inline int least_bytes(const PermuteProblem& m) { return least_bytes_beside_runs(m, 256, true); }

/// Moves tiles by the widest words that each side is made of. Short pieces are loaded row by row, so that rows beside
/// each other write at once what lies between their pieces. `m` is simplified, not empty and not refused.
inline cudaError_t run_tiles(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const int least = least_bytes(m);
  const bool is_short = find_columns(m, least, true).piece * m.element_bytes < 64;
  const auto run_first = [&]<class... T>() {
    cudaError_t error = cudaErrorInvalidValue;
    static_cast<void>((
        (error = run_arranged<T>(m, src, dst, stream, {.least_bytes = least}), error != cudaErrorInvalidValue) || ...));
    return error;
  };
  switch (m.element_bytes) {
  case 1:
    return is_short
               ? run_first
                     .template operator()<Tile<1, 1, 4, 64, 64, 128>, Tile<1, 1, 2, 64, 128>, Tile<1, 1, 1, 64, 128>>()
               : run_first.template operator()<Tile<1, 4, 8, 64, 256>, Tile<1, 4, 4, 64, 256>, Tile<1, 2, 8, 64, 256>,
                                               Tile<1, 2, 4, 64, 256>, Tile<1, 2, 2, 64, 256>, Tile<1, 1, 4, 32, 256>,
                                               Tile<1, 1, 2, 64, 128>, Tile<1, 1, 1, 64, 128>>();
  case 2:
    return is_short
               ? run_first.template operator()<Tile<2, 1, 4, 32, 256>, Tile<2, 1, 2, 64, 128>, Tile<2, 1, 1, 64, 128>>()
               : run_first.template operator()<Tile<2, 2, 4, 64, 256>, Tile<2, 2, 2, 32, 256>, Tile<2, 1, 4, 32, 256>,
                                               Tile<2, 1, 2, 64, 128>, Tile<2, 1, 1, 64, 128>>();
  case 4:
    return run_first.template operator()<Tile<4, 1, 4, 64, 64>, Tile<4, 1, 2, 32, 64, 128>, Tile<4, 1, 1, 32, 128>>();
  case 8:
    return run_first.template operator()<Tile<8, 1, 2, 64, 32>, Tile<8, 1, 1, 32, 64>>();
  case 16:
    return run_first.template operator()<Tile<16, 1, 1, 32, 32>>();
  default:
    return cudaErrorInvalidValue;
  }
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::placed_words
