/// \file
/// Arrays of texels, copies from and to them, texture and surface objects; memory of three dimensions.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "common/emulator/execution/textures.hpp"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

constexpr std::size_t kPitchBytes = 512;

std::size_t pitch_of(std::size_t width) { return (width + kPitchBytes - 1) / kPitchBytes * kPitchBytes; }

std::set<const cudaArray*>& arrays() {
  static auto& instance = *new std::set<const cudaArray*>;
  return instance;
}

/// Those of objects, for good: a kernel may use one that was destroyed.
std::vector<std::unique_ptr<TexelSource>>& sources() {
  static auto& instance = *new std::vector<std::unique_ptr<TexelSource>>;
  return instance;
}

/// What texture objects were made of.
std::map<cudaTextureObject_t, std::pair<cudaResourceDesc, cudaTextureDesc>>& descriptions() {
  static auto& instance = *new std::map<cudaTextureObject_t, std::pair<cudaResourceDesc, cudaTextureDesc>>;
  return instance;
}

std::size_t bytes_of(const cudaChannelFormatDesc& format) {
  return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
}

bool is_format(const cudaChannelFormatDesc& format) {
  const std::size_t bytes = bytes_of(format);
  const int bits = format.x;
  return (bits == 8 || bits == 16 || bits == 32) && (format.y == 0 || format.y == bits) && format.z == format.w &&
         (format.z == 0 || (format.z == bits && format.y == bits)) && bytes <= 16 &&
         format.f <= cudaChannelFormatKindFloat && (format.f != cudaChannelFormatKindFloat || bits != 8);
}

/// Where a copy's rows lie, on one side.
struct Rows {
  std::byte* begin = nullptr;
  std::size_t pitch = 0;
  std::size_t slice = 0;  ///< bytes from slice to slice
};

Rows rows_of(cudaArray_t array, const cudaPos& position, const cudaPitchedPtr& memory, std::size_t texel_bytes) {
  Rows rows;
  if (array != nullptr) {
    rows = {array->data, array->pitch, array->pitch * std::max<std::size_t>(array->height, 1)};
    rows.begin += position.x * array->texel_bytes;
  } else {
    rows = {static_cast<std::byte*>(memory.ptr), memory.pitch, memory.pitch * memory.ysize};
    rows.begin += position.x * (memory.ptr == nullptr ? 0 : texel_bytes);
  }
  rows.begin += position.y * rows.pitch + position.z * rows.slice;
  return rows;
}

bool fits(cudaArray_t array, const cudaPos& position, const cudaExtent& extent) {
  return array == nullptr || (arrays().contains(array) && position.x + extent.width <= array->width &&
                              position.y + extent.height <= std::max<std::size_t>(array->height, 1) &&
                              position.z + extent.depth <= std::max<std::size_t>(array->depth, 1));
}

template <class CopyRows> cudaError_t copy_slices(const cudaMemcpy3DParms* parameters, CopyRows copy_rows) {
  const RuntimeLock lock;
  if (parameters == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  const cudaMemcpy3DParms& p = *parameters;
  if (!fits(p.srcArray, p.srcPos, p.extent) || !fits(p.dstArray, p.dstPos, p.extent)) {
    ApiCall::explain("invalid_copy", "The copy goes beyond the array.");
    return remember(cudaErrorInvalidValue);
  }
  // An extent's width is in texels where an array takes part, and so are positions.
  const cudaArray* const array = p.srcArray != nullptr ? p.srcArray : p.dstArray;
  const std::size_t texel_bytes = array != nullptr ? array->texel_bytes : 1;
  const Rows from = rows_of(p.srcArray, p.srcPos, p.srcPtr, texel_bytes);
  const Rows to = rows_of(p.dstArray, p.dstPos, p.dstPtr, texel_bytes);
  const std::size_t width = p.extent.width * texel_bytes;
  // Before any slice is copied.
  const auto reaches = [&](const Rows& rows) {
    const std::size_t there = device_bytes(rows.begin);
    return there == 0 || p.extent.depth == 0 || p.extent.height == 0 ||
           there >= (p.extent.depth - 1) * rows.slice + (p.extent.height - 1) * rows.pitch + width;
  };
  if (!reaches(from) || !reaches(to)) {
    ApiCall::explain("invalid_copy", "The copy goes beyond what is allocated: slices are ysize rows of pitch bytes.");
    return remember(cudaErrorInvalidValue);
  }
  for (std::size_t z = 0; z < p.extent.depth; ++z) {
    const cudaError_t error = copy_rows(to.begin + z * to.slice, to.pitch, from.begin + z * from.slice, from.pitch,
                                        width, p.extent.height, p.kind);
    if (error != cudaSuccess) return error;
  }
  return remember(cudaSuccess);
}

/// A copy of bytes in the order of an array's rows, which it may begin and end within.
template <class CopyRows>
cudaError_t copy_in_rows(const cudaArray* array, std::size_t x, std::size_t y, std::size_t bytes, CopyRows copy_rows) {
  const RuntimeLock lock;
  const std::size_t width = arrays().contains(array) ? array->width * array->texel_bytes : 0;
  if (x >= width || y * width + x + bytes > width * std::max<std::size_t>(array->height, 1)) {
    ApiCall::explain("invalid_copy", width == 0 ? "There is no such array." : "The copy goes beyond the array.");
    return remember(cudaErrorInvalidValue);
  }
  for (std::size_t done = 0; done < bytes; ++y, x = 0) {
    const std::size_t part = std::min(width - x, bytes - done);
    const cudaError_t error = copy_rows(array->data + y * array->pitch + x, done, part);
    if (error != cudaSuccess) return error;
    done += part;
  }
  return remember(cudaSuccess);
}

template <class Copy>
cudaError_t copy_2d(const cudaArray* array, std::size_t x, std::size_t y, std::size_t width, std::size_t height,
                    Copy copy) {
  const RuntimeLock lock;
  if (!arrays().contains(array) || x + width > array->width * array->texel_bytes ||
      y + height > std::max<std::size_t>(array->height, 1)) {
    ApiCall::explain("invalid_copy", arrays().contains(array)
                                         ? "The copy goes beyond the array; x and width count bytes."
                                         : "There is no such array.");
    return remember(cudaErrorInvalidValue);
  }
  return copy(array->data + y * array->pitch + x);
}

cudaError_t make_array(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags) {
  const RuntimeLock lock;
  if (array == nullptr || format == nullptr || !is_format(*format) || extent.width == 0 ||
      (flags & ~(cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather)) != 0) {
    return remember(cudaErrorInvalidValue);
  }
  const bool whole_cubes = (flags & cudaArrayLayered) != 0 ? extent.depth % 6 == 0 : extent.depth == 6;
  if ((flags & cudaArrayCubemap) != 0 && (extent.width != extent.height || !whole_cubes || extent.depth == 0)) {
    ApiCall::explain("api_error", "A cube has six faces, as wide as they are high.");
    return remember(cudaErrorInvalidValue);
  }
  auto made = std::make_unique<cudaArray>();
  made->format = *format;
  made->texel_bytes = bytes_of(*format);
  made->pitch = pitch_of(extent.width * made->texel_bytes);
  made->width = extent.width;
  made->height = extent.height;
  made->depth = extent.depth;
  made->flags = flags;
  void* data = nullptr;
  const std::size_t rows = std::max<std::size_t>(extent.height, 1) * std::max<std::size_t>(extent.depth, 1);
  if (const cudaError_t error = allocate_device(&data, made->pitch * rows); error != cudaSuccess) return error;
  made->data = static_cast<std::byte*>(data);
  *array = made.release();
  arrays().insert(*array);
  return remember(cudaSuccess);
}

cudaError_t add_source(unsigned long long* object, TexelSource source) {
  sources().push_back(std::make_unique<TexelSource>(source));
  *object = reinterpret_cast<unsigned long long>(sources().back().get());
  return remember(cudaSuccess);
}

cudaError_t remove_source(unsigned long long object, bool is_surface) {
  const RuntimeLock lock;
  if (object == 0) return remember(cudaSuccess);
  for (const auto& source : sources()) {
    if (reinterpret_cast<unsigned long long>(source.get()) != object || source->is_surface != is_surface) continue;
    if (!source->alive) break;
    source->alive = false;
    return remember(cudaSuccess);
  }
  return remember(cudaErrorInvalidValue);
}

TexelSource source_of(const cudaArray& array) {
  TexelSource source;
  source.data = array.data;
  source.format = array.format;
  source.texel_bytes = array.texel_bytes;
  source.pitch = array.pitch;
  source.width = array.width;
  source.height = array.height;
  source.depth = array.depth;
  source.is_cube = (array.flags & cudaArrayCubemap) != 0;
  return source;
}

std::map<const cudaMipmappedArray*, std::unique_ptr<cudaMipmappedArray>>& mipmapped_arrays() {
  static auto& instance = *new std::map<const cudaMipmappedArray*, std::unique_ptr<cudaMipmappedArray>>;
  return instance;
}

/// What is wrong with a texture, or nullptr.
const char* flaw(const TexelSource& source, const cudaTextureDesc& texture, bool is_linear) {
  const bool is_float = source.format.f == cudaChannelFormatKindFloat;
  if (!is_format(source.format)) return "A texel has 1, 2 or 4 numbers of 8, 16 or 32 bits.";
  if (texture.readMode == cudaReadModeNormalizedFloat && (is_float || source.format.x == 32))
    return "Only integers of 8 and 16 bits are read as normalised floats.";
  if (texture.filterMode == cudaFilterModeLinear && !is_float && texture.readMode != cudaReadModeNormalizedFloat)
    return "Linear filtering wants floats, or integers that are read as normalised floats.";
  if (is_linear && texture.filterMode == cudaFilterModeLinear) return "Linear memory is not filtered.";
  return nullptr;
}

}  // namespace
}  // namespace warpbook::emulator

using namespace warpbook::emulator;

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, std::size_t width,
                            std::size_t height, unsigned flags) {
  const ApiCall api("cudaMallocArray");
  return make_array(array, format, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
  const ApiCall api("cudaMalloc3DArray");
  return make_array(array, format, extent, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* format,
                                     cudaExtent extent, unsigned levels, unsigned flags) {
  const ApiCall api("cudaMallocMipmappedArray");
  const RuntimeLock lock;
  const bool layers = (flags & (cudaArrayLayered | cudaArrayCubemap)) != 0;
  const std::size_t largest = std::max({extent.width, extent.height, layers ? 0 : extent.depth});
  if (array == nullptr || levels == 0 || extent.width == 0) {
    return remember(cudaErrorInvalidValue);
  }
  auto made = std::make_unique<cudaMipmappedArray>();
  const auto halved = [](std::size_t size, unsigned level) {
    return size == 0 ? 0 : std::max<std::size_t>(size >> level, 1);
  };
  for (unsigned level = 0; level < levels && largest >> level != 0; ++level) {
    cudaArray_t one = nullptr;
    const cudaExtent part = {halved(extent.width, level), halved(extent.height, level),
                             layers ? extent.depth : halved(extent.depth, level)};
    if (const cudaError_t error = make_array(&one, format, part, flags); error != cudaSuccess) {
      for (const cudaArray_t other : made->levels) cudaFreeArray(other);
      return error;
    }
    made->levels.push_back(one);
  }
  *array = made.get();
  mipmapped_arrays().emplace(*array, std::move(made));
  return remember(cudaSuccess);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, cudaMipmappedArray_const_t array, unsigned number) {
  const ApiCall api("cudaGetMipmappedArrayLevel");
  const RuntimeLock lock;
  const auto found = mipmapped_arrays().find(array);
  if (level == nullptr || found == mipmapped_arrays().end() || number >= found->second->levels.size()) {
    return remember(level == nullptr || found != mipmapped_arrays().end() ? cudaErrorInvalidValue
                                                                          : cudaErrorInvalidResourceHandle);
  }
  *level = found->second->levels[number];
  return remember(cudaSuccess);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  const ApiCall api("cudaFreeMipmappedArray");
  const RuntimeLock lock;
  if (array == nullptr) return remember(cudaSuccess);
  const auto found = mipmapped_arrays().find(array);
  if (found == mipmapped_arrays().end()) return remember(cudaErrorInvalidResourceHandle);
  const auto levels = found->second->levels;
  mipmapped_arrays().erase(found);
  for (const cudaArray_t level : levels)
    if (const cudaError_t error = cudaFreeArray(level); error != cudaSuccess) return error;
  return remember(cudaSuccess);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  const ApiCall api("cudaFreeArray");
  const RuntimeLock lock;
  if (array == nullptr) return remember(device_state());
  if (arrays().erase(array) == 0) {
    ApiCall::explain("invalid_free", "There is no such array, or it was freed before.");
    return remember(cudaErrorInvalidValue);
  }
  const cudaError_t error = cudaFree(array->data);
  delete array;  // NOLINT(cppcoreguidelines-owning-memory): made by make_array
  return error;
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
  const ApiCall api("cudaArrayGetInfo");
  const RuntimeLock lock;
  if (!arrays().contains(array)) return remember(cudaErrorInvalidValue);
  if (format != nullptr) *format = array->format;
  if (extent != nullptr) *extent = {array->width, array->height, array->depth};
  if (flags != nullptr) *flags = array->flags;
  return remember(cudaSuccess);
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  const ApiCall api("cudaGetChannelDesc");
  return format == nullptr ? remember(cudaErrorInvalidValue)
                           : cudaArrayGetInfo(format, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                              cudaMemcpyKind kind) {
  const ApiCall api("cudaMemcpyToArray");
  return copy_in_rows(to, x, y, bytes, [=](std::byte* row, std::size_t done, std::size_t part) {
    return cudaMemcpy(row, static_cast<const std::byte*>(from) + done, part, kind);
  });
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                                cudaMemcpyKind kind) {
  const ApiCall api("cudaMemcpyFromArray");
  return copy_in_rows(from, x, y, bytes, [=](std::byte* row, std::size_t done, std::size_t part) {
    return cudaMemcpy(static_cast<std::byte*>(to) + done, row, part, kind);
  });
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  const ApiCall api("cudaMemcpy2DToArray");
  return copy_2d(to, x, y, width, height,
                 [=](std::byte* rows) { return cudaMemcpy2D(rows, to->pitch, from, pitch, width, height, kind); });
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                     std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const ApiCall api("cudaMemcpy2DToArrayAsync");
  return copy_2d(to, x, y, width, height, [=](std::byte* rows) {
    return cudaMemcpy2DAsync(rows, to->pitch, from, pitch, width, height, kind, stream);
  });
}

cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  const ApiCall api("cudaMemcpy2DFromArray");
  return copy_2d(from, x, y, width, height,
                 [=](std::byte* rows) { return cudaMemcpy2D(to, pitch, rows, from->pitch, width, height, kind); });
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x,
                                       std::size_t y, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  const ApiCall api("cudaMemcpy2DFromArrayAsync");
  return copy_2d(from, x, y, width, height, [=](std::byte* rows) {
    return cudaMemcpy2DAsync(to, pitch, rows, from->pitch, width, height, kind, stream);
  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  const ApiCall api("cudaMemcpy3D");
  return copy_slices(parameters, cudaMemcpy2D);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  const ApiCall api("cudaMemcpy3DAsync");
  return copy_slices(parameters, [stream](void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                          std::size_t width, std::size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream);
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  const ApiCall api("cudaMalloc3D");
  if (pitched == nullptr) return remember(cudaErrorInvalidValue);
  *pitched = {nullptr, pitch_of(extent.width), extent.width, extent.height};
  return allocate_device(&pitched->ptr, pitched->pitch * extent.height * extent.depth);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream) {
  const ApiCall api("cudaMemset3DAsync");
  for (std::size_t z = 0; z < extent.depth; ++z) {
    const cudaError_t error =
        cudaMemset2DAsync(static_cast<std::byte*>(pitched.ptr) + z * pitched.pitch * pitched.ysize, pitched.pitch,
                          value, extent.width, extent.height, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  const ApiCall api("cudaMemset3D");
  for (std::size_t z = 0; z < extent.depth; ++z) {
    const cudaError_t error = cudaMemset2D(static_cast<std::byte*>(pitched.ptr) + z * pitched.pitch * pitched.ysize,
                                           pitched.pitch, value, extent.width, extent.height);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description, const cudaResourceViewDesc* view) {
  const ApiCall api("cudaCreateTextureObject");
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (texture == nullptr || resource == nullptr || description == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  if (view != nullptr || (description->seamlessCubemap != 0 && description->filterMode == cudaFilterModeLinear)) {
    ApiCall::explain("api_error", view != nullptr ? "Views of resources are not emulated."
                                                  : "Filtering across a cube's edges is not emulated.");
    return remember(cudaErrorNotSupported);
  }
  TexelSource source;
  if (resource->resType == cudaResourceTypeArray) {
    if (!arrays().contains(resource->res.array.array)) return remember(cudaErrorInvalidResourceHandle);
    source = source_of(*resource->res.array.array);
  } else if (resource->resType == cudaResourceTypeMipmappedArray) {
    const auto found = mipmapped_arrays().find(resource->res.mipmap.mipmap);
    if (found == mipmapped_arrays().end()) return remember(cudaErrorInvalidResourceHandle);
    if (description->normalizedCoords == 0) {
      ApiCall::explain("api_error", "A place in several sizes is told by normalised coordinates.");
      return remember(cudaErrorInvalidValue);
    }
    source = source_of(*found->second->levels.front());
    for (const cudaArray_t level : found->second->levels) {
      source.levels.push_back(source_of(*level));
      source.levels.back().texture = *description;
    }
  } else if (resource->resType == cudaResourceTypeLinear) {
    const auto& linear = resource->res.linear;
    source.data = static_cast<const std::byte*>(linear.devPtr);
    source.format = linear.desc;
    source.texel_bytes = std::max<std::size_t>(bytes_of(linear.desc), 1);
    source.width = linear.sizeInBytes / source.texel_bytes;
    source.pitch = linear.sizeInBytes;
  } else {
    const auto& rows = resource->res.pitch2D;
    source.data = static_cast<const std::byte*>(rows.devPtr);
    source.format = rows.desc;
    source.texel_bytes = std::max<std::size_t>(bytes_of(rows.desc), 1);
    source.width = rows.width;
    source.height = rows.height;
    source.pitch = rows.pitchInBytes;
    constexpr std::size_t kAlignment = 32;  // cudaDeviceProp::texturePitchAlignment
    if (source.pitch % kAlignment != 0 && source.height > 1) {
      ApiCall::explain("api_error", "The pitch has to be a multiple of 32 bytes: cudaMallocPitch gives such rows.");
      return remember(cudaErrorInvalidValue);
    }
  }
  source.texture = *description;
  if (const char* wrong = flaw(source, *description, resource->resType == cudaResourceTypeLinear)) {
    ApiCall::explain("api_error", wrong);
    return remember(cudaErrorInvalidValue);
  }
  if (device_bytes(source.data) <
      (source.height > 1 ? source.pitch * (source.height - 1) : 0) + source.width * source.texel_bytes) {
    ApiCall::explain("api_error", "The texture is larger than its memory.");
    return remember(cudaErrorInvalidValue);
  }
  const cudaError_t error = add_source(texture, source);
  if (error == cudaSuccess) descriptions()[*texture] = {*resource, *description};
  return error;
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
  const ApiCall api("cudaGetTextureObjectResourceDesc");
  const RuntimeLock lock;
  if (resource == nullptr || !descriptions().contains(texture)) return remember(cudaErrorInvalidValue);
  *resource = descriptions()[texture].first;
  return remember(cudaSuccess);
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description, cudaTextureObject_t texture) {
  const ApiCall api("cudaGetTextureObjectTextureDesc");
  const RuntimeLock lock;
  if (description == nullptr || !descriptions().contains(texture)) return remember(cudaErrorInvalidValue);
  *description = descriptions()[texture].second;
  return remember(cudaSuccess);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  const ApiCall api("cudaDestroyTextureObject");
  const RuntimeLock lock;
  descriptions().erase(texture);
  return remove_source(texture, false);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
  const ApiCall api("cudaCreateSurfaceObject");
  const RuntimeLock lock;
  if (surface == nullptr || resource == nullptr || resource->resType != cudaResourceTypeArray ||
      !arrays().contains(resource->res.array.array)) {
    return remember(cudaErrorInvalidValue);
  }
  if ((resource->res.array.array->flags & cudaArraySurfaceLoadStore) == 0) {
    ApiCall::explain("api_error", "The array was made without cudaArraySurfaceLoadStore.");
    return remember(cudaErrorInvalidValue);
  }
  TexelSource source = source_of(*resource->res.array.array);
  source.is_surface = true;
  return add_source(surface, source);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  const ApiCall api("cudaDestroySurfaceObject");
  return remove_source(surface, true);
}
