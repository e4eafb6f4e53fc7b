/// \file
/// Arrays of texels, and how kernels read them by textures and surfaces.
#pragma once

#include <cstddef>

#include "common/emulator/include/driver_types.h"

/// What a `cudaArray_t` points to: rows of texels in the device's memory.
struct cudaArray {
  std::byte* data = nullptr;
  cudaChannelFormatDesc format{};
  std::size_t texel_bytes = 0;
  std::size_t pitch = 0;   ///< bytes from row to row
  std::size_t width = 0;   ///< texels
  std::size_t height = 0;  ///< rows; 0: the array has one dimension
  std::size_t depth = 0;   ///< slices or layers; 0: it has two at most
  unsigned flags = 0;      ///< as given to cudaMallocArray
};

namespace warpbook::emulator {

/// What the handle of a texture or surface object leads to. It stays when the object is destroyed, so that a use after
/// that can be told.
struct TexelSource {
  const std::byte* data = nullptr;
  cudaChannelFormatDesc format{};
  std::size_t texel_bytes = 0;
  std::size_t pitch = 0;
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t depth = 0;
  cudaTextureDesc texture{};  ///< of a texture
  bool is_surface = false;
  bool alive = true;
};

}  // namespace warpbook::emulator
