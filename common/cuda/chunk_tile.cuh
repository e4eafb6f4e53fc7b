/// \file
/// The shape of a tile that threads load and store by chunks of 16 bytes, and regroup in shared memory in between.
#pragma once

#include "common/cuda/pack.cuh"

namespace warpbook {

/// A tile of rows x columns elements of `bytes`. In shared memory it is made of words of 4 bytes at least: a word row
/// holds kPacked rows of the tile.
template <int bytes, int rows, int columns, int threads> struct ChunkTile {
  using Element = Word<bytes>;                                       ///< What is moved.
  static constexpr int kRows = rows;                                 ///< Elements along the output.
  static constexpr int kColumns = columns;                           ///< Elements along the input.
  static constexpr int kThreads = threads;                           ///< Of a block.
  static constexpr int kWordBytes = bytes < 4 ? 4 : bytes;           ///< Of a word.
  static constexpr int kPacked = kWordBytes / bytes;                 ///< Elements of a column that one word holds.
  static constexpr int kElements = 16 / bytes;                       ///< Of a chunk of 16 bytes.
  static constexpr int kWords = 16 / kWordBytes;                     ///< The same in words.
  static constexpr int kWordRows = rows / kPacked;                   ///< Of the tile in shared memory.
  static constexpr int kChunks = columns / kWords;                   ///< Of a word row.
  static constexpr int kRowChunks = columns / kElements;             ///< Of a row in global memory.
  static constexpr int kColumnChunks = rows / kElements;             ///< Of a column in global memory.
  static constexpr int kLoads = kWordRows * kRowChunks / threads;    ///< Of a thread, each of kPacked chunks.
  static constexpr int kStores = columns * kColumnChunks / threads;  ///< Of a thread, each of one chunk.
  /// Lanes that write one column.
  static constexpr int kTogether = kColumnChunks % 8 == 0 ? 8 : kColumnChunks;
};

/// The tile in shared memory.
template <class T> using SharedChunks = uint4[T::kWordRows][T::kChunks];
/// What one thread has loaded of it.
template <class T> using LoadedChunks = uint4[T::kLoads][T::kPacked];

}  // namespace warpbook
