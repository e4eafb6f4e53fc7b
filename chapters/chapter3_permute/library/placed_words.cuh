/// \file
/// v7o placed words: each word of a tile's row has a place of its own.
///
/// v7l knows of a row where it begins, so its columns must be neighbours in the output from there on. That costs it
/// twice. Columns end where the output comes to the input's fastest dimension: of 209x72x6582 bytes (0,2,1) they are
/// 72, and a tile of 128 stands nearly half empty. And rows whose boundaries are not those of 16 bytes go out by words
/// of 4, each put together by a shift, with a test at either end: on 7140x6438 halves that takes three times the
/// instructions of Triton's kernel (README.md). Here a table tells of each word of the columns where it goes. So the
/// columns go on behind the input's fastest dimension, with the next of the output's, until a tile is full; what they
/// write is then in pieces, but the rows that follow each other write the pieces between. And words are as wide as the
/// first piece can be cut into evenly: 2 to 16 bytes, all of them whole, nothing to shift or test.
///
/// Expect a third of v7l's instructions where its rows are odd, and full tiles where its columns are few.
#pragma once

#include "chapters/chapter3_permute/v7l_fixed_tile.cuh"

namespace warpbook::chapter3::v7o {

/// v7l's tile, of which a store takes `store` columns.
template <int bytes, int group, int store, int rows, int columns, int threads = 256>
struct Tile : v7l::Tile<bytes, group, rows, columns, threads> {
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
  const int thread = static_cast<int>(threadIdx.x);
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
      const auto in_group = static_cast<std::uint32_t>(row / T::kGroups);
      *reinterpret_cast<Whole*>(to + places[row % T::kGroups] + in_group * row_step) = whole;
    }
  }
}

//! [kernel]
template <class T, bool keeps>
__global__ void __launch_bounds__(T::kThreads, 1024 / T::kThreads)
    permute_kernel(typename T::W* __restrict__ dst, const typename T::W* __restrict__ src,
                   const __grid_constant__ v7l::Matrix matrix) {
  using W = typename T::W;
  __shared__ __align__(16) std::uint32_t offsets[T::kColumns];  // In the input, of the tile's columns.
  __shared__ std::uint32_t words[T::kWords];                    // In the output, of the columns' words
  __shared__ std::uint32_t places[T::kGroups];                  // and of the groups.
  __shared__ __align__(16) W tile[T::kRows * T::kPitch];
  const int thread = static_cast<int>(threadIdx.x);
  const auto [slow, fast] = matrix.tiles.divide(blockIdx.x);
  const int column0 = static_cast<int>(matrix.along_input ? slow : fast) * T::kColumns;
  const int group0 = static_cast<int>(matrix.along_input ? fast : slow) * matrix.tile_groups;
  const int columns = static_cast<int>(matrix.columns) - column0;
  const int groups = min(matrix.tile_groups, static_cast<int>(matrix.groups) - group0);

  for (int i = thread; i < T::kColumns; i += T::kThreads) {
    const int column = column0 + min(i, columns - 1);  // What lies beyond is not written.
    const v7j::Place place = v7l::find_place<true>(matrix, static_cast<std::uint32_t>(column));
    offsets[i] = place.src;
    if (i % T::kStore == 0) words[i / T::kStore] = place.dst;
  }
  const int group = thread % T::kGroups;
  const int turn = thread / T::kGroups;
  const v7j::Place place = v7l::find_place<false>(matrix, static_cast<std::uint32_t>(group0 + min(group, groups - 1)));
  if (turn == 0) places[group] = place.dst;
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
    v7l::put_quads<T>(tile + group * T::kPitch + (turn + i * T::kAcross) * T::kQuad, loaded[i]);
  }
  __syncthreads();
  write_placed<T>(dst, tile, places, groups, matrix.row_step, words, columns);
}
//! [kernel]

/// Which dimensions make the columns, the fastest first.
struct Columns {
  std::array<int, kMaxRank> dimension{};
  int count = 0;
  std::int64_t piece = 1;  ///< So many columns, from each multiple of it on, are neighbours in the output.
};

/// The output's fastest dimensions, without the input's fastest, until they have `least_bytes`; but where the last
/// dimension stays last, it is the first of them, as v7l has it.
inline Columns find_columns(const PermuteProblem& m, std::int64_t least_bytes) {
  const DimensionOrder from_dst = dst_order(m);
  Columns columns;
  std::int64_t bytes = m.element_bytes;
  bool in_piece = true;
  for (int k = 0; k < m.rank && bytes < least_bytes; ++k) {
    const int d = from_dst[k];
    if (d == m.rank - 1 && k > 0) {
      in_piece = false;
      continue;
    }
    columns.dimension[columns.count++] = d;
    bytes *= m.shape[d];
    if (in_piece) columns.piece *= m.shape[d];
  }
  return columns;
}

/// Moves tiles of type T. `m` is merged, not empty and not refused by v7l.
/// \return cudaErrorInvalidValue where the input's fastest dimension is not made of groups, or the output's pieces not
///         of words; or where whole groups are wanted and make no other tiles.
template <class T>
cudaError_t run_arranged(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream,
                         const v7l::Arrangement& arrangement) {
  const Columns columns = find_columns(m, arrangement.least_bytes);
  const auto is_aligned = [](const void* pointer, int elements) {
    return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<unsigned>(elements * T::kBytes) == 0;
  };
  if (T::kGroup > 1 && (keeps_last_dimension(m) || m.shape[m.rank - 1] % T::kGroup != 0)) return cudaErrorInvalidValue;
  if (columns.piece % T::kStore != 0) return cudaErrorInvalidValue;
  if (!is_aligned(src, T::kGroup) || !is_aligned(dst, T::kStore)) return cudaErrorInvalidValue;
  v7l::Matrix matrix =
      v7l::make_matrix(m, {columns.dimension.data(), static_cast<std::size_t>(columns.count)}, T::kGroup);
  matrix.tile_groups = arrangement.whole_groups ? v7l::whole_groups(matrix, T::kGroups) : T::kGroups;
  if (matrix.tile_groups == 0) return cudaErrorInvalidValue;
  const std::int64_t across = ceil_div<std::int64_t>(matrix.columns, T::kColumns);
  const std::int64_t down = ceil_div<std::int64_t>(matrix.groups, matrix.tile_groups);
  matrix.along_input = arrangement.along_input;
  matrix.tiles = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(matrix.along_input ? down : across));
  return launch(permute_kernel<T, kHinted<true, T::kBytes>>,
                {.grid = across * down, .block = T::kThreads, .stream = stream}, static_cast<typename T::W*>(dst),
                static_cast<const typename T::W*>(src), matrix);
}

/// Columns of the step; v10 tries others, too.
inline constexpr int kLeastBytes = 256;

/// Moves tiles by the widest words that each side is made of, of those that there are here. `m` is merged, not empty
/// and not refused by v7l. A template, here and below, so that who never asks need not compile its kernels: v10 is in
/// permute.cuh.
template <class P = PermuteProblem> cudaError_t run_tiles(const P& m, const void* src, void* dst, cudaStream_t stream) {
  const auto run_first = [&]<class... T>() {
    cudaError_t error = cudaErrorInvalidValue;
    static_cast<void>(
        ((error = run_arranged<T>(m, src, dst, stream, {.least_bytes = kLeastBytes}), error != cudaErrorInvalidValue) ||
         ...));
    return error;
  };
  switch (m.element_bytes) {
  case 1:
    return run_first.template
    operator()<Tile<1, 4, 8, 64, 256>, Tile<1, 4, 4, 64, 256>, Tile<1, 2, 8, 64, 256>, Tile<1, 2, 4, 64, 256>,
               Tile<1, 2, 2, 64, 256>, Tile<1, 1, 4, 32, 256>, Tile<1, 1, 2, 64, 128>, Tile<1, 1, 1, 64, 128>>();
  case 2:
    return run_first.template operator()<Tile<2, 2, 4, 64, 256>, Tile<2, 2, 2, 64, 128>, Tile<2, 1, 4, 32, 256>,
                                         Tile<2, 1, 2, 64, 128>, Tile<2, 1, 1, 64, 128>>();
  case 4:
    return run_first.template
    operator()<Tile<4, 4, 4, 64, 64>, Tile<4, 2, 2, 64, 64>, Tile<4, 1, 2, 32, 64, 128>, Tile<4, 1, 1, 32, 128>>();
  case 8:
    return run_first.template operator()<Tile<8, 2, 2, 32, 64>, Tile<8, 1, 2, 64, 32>, Tile<8, 1, 1, 32, 64>>();
  default:
    return cudaErrorInvalidValue;
  }
}

template <class P = PermuteProblem> cudaError_t run(const P& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, v7l::refuse,
                        [&](const PermuteProblem& q) { return run_tiles(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::v7o
