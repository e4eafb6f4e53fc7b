/// \file
/// Arrays of texels, and how kernels read them by textures and surfaces.
#pragma once

#include <cstddef>
#include <vector>

#include "common/emulator/include/driver_types.h"

/// What a `cudaArray_t` points to: rows of texels in the device's memory.
struct cudaArray {
  std::byte* data = nullptr;       ///< The first texel.
  cudaChannelFormatDesc format{};  ///< A texel's components.
  std::size_t texel_bytes = 0;     ///< Bytes of a texel.
  std::size_t pitch = 0;           ///< Bytes from a row to the next.
  std::size_t width = 0;           ///< Texels of a row.
  std::size_t height = 0;          ///< Rows; 0: one dimension.
  std::size_t depth = 0;           ///< Slices or layers; 0: at most two dimensions.
  unsigned flags = 0;              ///< As given to cudaMallocArray.
};

/// What a `cudaMipmappedArray_t` points to.
struct cudaMipmappedArray {
  std::vector<cudaArray_t> levels;  ///< From the whole size on, each half as large as the one before.
};

namespace warpbook::emulator {

/// What the handle of a texture or surface object leads to. It stays when the object is destroyed, so that a use after
/// that can be told.
struct TexelSource {
  const std::byte* data = nullptr;  ///< The first texel.
  cudaChannelFormatDesc format{};   ///< A texel's components.
  std::size_t texel_bytes = 0;      ///< Bytes of a texel.
  std::size_t pitch = 0;            ///< Bytes from a row to the next.
  std::size_t width = 0;            ///< Texels of a row.
  std::size_t height = 0;           ///< Rows; 0: one dimension.
  std::size_t depth = 0;            ///< Slices or layers; 0: at most two dimensions.
  cudaTextureDesc texture{};        ///< How a texture is read.
  bool is_surface = false;          ///< It is written by kernels, too.
  bool alive = true;                ///< The object is not destroyed.
  bool is_cube = false;             ///< Six layers are a cube's faces.
  std::vector<TexelSource> levels;  ///< of a mipmapped array, all its sizes
};

}  // namespace warpbook::emulator
