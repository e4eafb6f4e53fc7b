/// \file
/// Textures and surfaces, as kernels read and write them, in one to three dimensions, in layers, as the
/// faces of a cube, and in several sizes.
#pragma once

#include <type_traits>

#include "driver_types.h"
#include "warpbook_builtins.h"

namespace warpbook::emulator {

/// A texel as it is read: numbers of its format, or floats.
struct Texel {
  int integers[4];
  float floats[4];
};

/// Texture coordinates; a layer is the last one of `layered`.
WARPBOOK_EXPORT Texel fetch_texel(cudaTextureObject_t texture, unsigned dimensions, bool layered, float x, float y,
                                  float z, int layer);
/// The same in one of a texture's sizes, or between two of them.
WARPBOOK_EXPORT Texel fetch_texel_lod(cudaTextureObject_t texture, unsigned dimensions, bool layered, float x, float y,
                                      float z, int layer, float level);
/// Where a direction from a cube's middle meets it.
WARPBOOK_EXPORT Texel fetch_texel_cube(cudaTextureObject_t texture, float x, float y, float z, int layer, float level);
/// A texel of linear memory by its index.
WARPBOOK_EXPORT Texel fetch_texel_at(cudaTextureObject_t texture, int index);
/// Bytes of a surface; `x` is in bytes.
WARPBOOK_EXPORT void read_surface(void* to, unsigned bytes, cudaSurfaceObject_t surface, int x, int y, int z,
                                  cudaSurfaceBoundaryMode mode);
WARPBOOK_EXPORT void write_surface(const void* from, unsigned bytes, cudaSurfaceObject_t surface, int x, int y, int z,
                                   cudaSurfaceBoundaryMode mode);

/// The parts of what `tex2D<T>` may return.
template <class T, bool kPlain = std::is_arithmetic_v<T>> struct TexelParts {
  using Part = T;
  static constexpr unsigned kCount = 1;
};
template <class T> struct TexelParts<T, false> {
  using Part = decltype(T::x);
  static constexpr unsigned kCount = sizeof(T) / sizeof(Part);
};

template <class T> WARPBOOK_DEVICE_FUNCTION T as(const Texel& texel) {
  using Part = typename TexelParts<T>::Part;
  constexpr unsigned kCount = TexelParts<T>::kCount;
  Part parts[kCount];
  for (unsigned i = 0; i < kCount; ++i) {
    if constexpr (std::is_floating_point_v<Part>)
      parts[i] = texel.floats[i];
    else
      parts[i] = static_cast<Part>(texel.integers[i]);
  }
  T result;
  __builtin_memcpy(&result, parts, sizeof result);
  return result;
}

}  // namespace warpbook::emulator

// ---- Textures

template <class T> WARPBOOK_DEVICE_FUNCTION T tex1Dfetch(cudaTextureObject_t texture, int index) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_at(texture, index));
}
template <class T> WARPBOOK_DEVICE_FUNCTION T tex1D(cudaTextureObject_t texture, float x) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel(texture, 1, false, x, 0, 0, 0));
}
template <class T> WARPBOOK_DEVICE_FUNCTION T tex2D(cudaTextureObject_t texture, float x, float y) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel(texture, 2, false, x, y, 0, 0));
}
template <class T> WARPBOOK_DEVICE_FUNCTION T tex3D(cudaTextureObject_t texture, float x, float y, float z) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel(texture, 3, false, x, y, z, 0));
}
template <class T> WARPBOOK_DEVICE_FUNCTION T tex1DLayered(cudaTextureObject_t texture, float x, int layer) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel(texture, 1, true, x, 0, 0, layer));
}
template <class T> WARPBOOK_DEVICE_FUNCTION T tex2DLayered(cudaTextureObject_t texture, float x, float y, int layer) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel(texture, 2, true, x, y, 0, layer));
}
template <class T> WARPBOOK_DEVICE_FUNCTION T tex1DLod(cudaTextureObject_t texture, float x, float level) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_lod(texture, 1, false, x, 0, 0, 0, level));
}
template <class T> WARPBOOK_DEVICE_FUNCTION T tex2DLod(cudaTextureObject_t texture, float x, float y, float level) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_lod(texture, 2, false, x, y, 0, 0, level));
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T tex3DLod(cudaTextureObject_t texture, float x, float y, float z, float level) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_lod(texture, 3, false, x, y, z, 0, level));
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T tex1DLayeredLod(cudaTextureObject_t texture, float x, int layer, float level) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_lod(texture, 1, true, x, 0, 0, layer, level));
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T tex2DLayeredLod(cudaTextureObject_t texture, float x, float y, int layer, float level) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_lod(texture, 2, true, x, y, 0, layer, level));
}
template <class T> WARPBOOK_DEVICE_FUNCTION T texCubemap(cudaTextureObject_t texture, float x, float y, float z) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_cube(texture, x, y, z, 0, 0));
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T texCubemapLod(cudaTextureObject_t texture, float x, float y, float z, float level) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_cube(texture, x, y, z, 0, level));
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T texCubemapLayered(cudaTextureObject_t texture, float x, float y, float z, int layer) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_cube(texture, x, y, z, layer, 0));
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T texCubemapLayeredLod(cudaTextureObject_t texture, float x, float y, float z, int layer,
                                                float level) {
  return warpbook::emulator::as<T>(warpbook::emulator::fetch_texel_cube(texture, x, y, z, layer, level));
}
template <class T> WARPBOOK_DEVICE_FUNCTION void tex1Dfetch(T* to, cudaTextureObject_t texture, int index) {
  *to = tex1Dfetch<T>(texture, index);
}
template <class T> WARPBOOK_DEVICE_FUNCTION void tex1D(T* to, cudaTextureObject_t texture, float x) {
  *to = tex1D<T>(texture, x);
}
template <class T> WARPBOOK_DEVICE_FUNCTION void tex2D(T* to, cudaTextureObject_t texture, float x, float y) {
  *to = tex2D<T>(texture, x, y);
}
template <class T> WARPBOOK_DEVICE_FUNCTION void tex3D(T* to, cudaTextureObject_t texture, float x, float y, float z) {
  *to = tex3D<T>(texture, x, y, z);
}

// ---- Surfaces: x is in bytes

template <class T>
WARPBOOK_DEVICE_FUNCTION T surf1Dread(cudaSurfaceObject_t surface, int x,
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  T value;
  warpbook::emulator::read_surface(&value, sizeof value, surface, x, 0, 0, mode);
  return value;
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T surf2Dread(cudaSurfaceObject_t surface, int x, int y,
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  T value;
  warpbook::emulator::read_surface(&value, sizeof value, surface, x, y, 0, mode);
  return value;
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T surf3Dread(cudaSurfaceObject_t surface, int x, int y, int z,
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  T value;
  warpbook::emulator::read_surface(&value, sizeof value, surface, x, y, z, mode);
  return value;
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T surf2DLayeredread(cudaSurfaceObject_t surface, int x, int y, int layer,
                                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  return surf3Dread<T>(surface, x, y, layer, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T surf1DLayeredread(cudaSurfaceObject_t surface, int x, int layer,
                                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  return surf3Dread<T>(surface, x, 0, layer, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T surfCubemapread(cudaSurfaceObject_t surface, int x, int y, int face,
                                           cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  return surf3Dread<T>(surface, x, y, face, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION T surfCubemapLayeredread(cudaSurfaceObject_t surface, int x, int y, int layer_and_face,
                                                  cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  return surf3Dread<T>(surface, x, y, layer_and_face, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surf1Dread(T* to, cudaSurfaceObject_t surface, int x,
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  *to = surf1Dread<T>(surface, x, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surf2Dread(T* to, cudaSurfaceObject_t surface, int x, int y,
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  *to = surf2Dread<T>(surface, x, y, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surf3Dread(T* to, cudaSurfaceObject_t surface, int x, int y, int z,
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  *to = surf3Dread<T>(surface, x, y, z, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surf1Dwrite(T value, cudaSurfaceObject_t surface, int x,
                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  warpbook::emulator::write_surface(&value, sizeof value, surface, x, 0, 0, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surf2Dwrite(T value, cudaSurfaceObject_t surface, int x, int y,
                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  warpbook::emulator::write_surface(&value, sizeof value, surface, x, y, 0, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surf3Dwrite(T value, cudaSurfaceObject_t surface, int x, int y, int z,
                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  warpbook::emulator::write_surface(&value, sizeof value, surface, x, y, z, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surf2DLayeredwrite(T value, cudaSurfaceObject_t surface, int x, int y, int layer,
                                                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  surf3Dwrite(value, surface, x, y, layer, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surf1DLayeredwrite(T value, cudaSurfaceObject_t surface, int x, int layer,
                                                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  surf3Dwrite(value, surface, x, 0, layer, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surfCubemapwrite(T value, cudaSurfaceObject_t surface, int x, int y, int face,
                                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  surf3Dwrite(value, surface, x, y, face, mode);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void surfCubemapLayeredwrite(T value, cudaSurfaceObject_t surface, int x, int y,
                                                      int layer_and_face,
                                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
  surf3Dwrite(value, surface, x, y, layer_and_face, mode);
}
