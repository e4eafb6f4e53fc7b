#include "common/emulator/execution/textures.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/include/texture_functions.h"

namespace warpbook::emulator {
namespace {

/// The kernel ends with a report on what a texture or surface function was given.
[[noreturn]] void refuse(const char* kind, const std::string& what, const std::string& why, const void* pc) {
  {
    const BlockContext& block = *current_block;
    const Unwatched unwatched;
    const std::string place = observer().locate(pc);
    observer().report(kind, pc,
                      "========= " + what + "\n=========     at " + (place.empty() ? "an unknown line" : place) +
                          "\n=========     in kernel " + block.launch->name + ", " + describe_thread(block) +
                          "\n=========     " + why + "\n");
  }
  abort_kernel(cudaErrorLaunchFailure);
}

const TexelSource& source_of(unsigned long long handle, bool is_surface, const void* pc) {
  const auto* source = reinterpret_cast<const TexelSource*>(handle);  // NOLINT(performance-no-int-to-ptr)
  if (source == nullptr || !source->alive || source->is_surface != is_surface)
    refuse("invalid_texture", is_surface ? "Invalid surface object" : "Invalid texture object",
           source == nullptr ? "The handle is 0."
           : !source->alive  ? "It was destroyed before."
                             : "It is the other kind.",
           pc);
  return *source;
}

/// One number of a texel, as an integer and as what a float gets of it. Read as the other kind, it is the same bits.
void take(const std::byte* from, int bits, cudaChannelFormatKind kind, bool normalised, int& integer, float& real) {
  if (kind == cudaChannelFormatKindFloat) {
    if (bits == 16) {
      std::uint16_t half = 0;
      std::memcpy(&half, from, sizeof half);
      real = static_cast<float>(std::bit_cast<_Float16>(half));
    } else {
      std::memcpy(&real, from, sizeof real);
    }
    integer = std::bit_cast<int>(real);
    return;
  }
  std::uint32_t value = 0;
  std::memcpy(&value, from, static_cast<std::size_t>(bits) / 8);
  if (kind == cudaChannelFormatKindSigned) {
    const int shift = 32 - bits;
    integer = static_cast<int>(value << shift) >> shift;
    const auto largest = static_cast<float>((1U << (bits - 1)) - 1);
    if (normalised) real = std::max(-1.0F, static_cast<float>(integer) / largest);
  } else {
    integer = static_cast<int>(value);
    if (normalised) real = static_cast<float>(value) / static_cast<float>((1ULL << bits) - 1);
  }
  if (!normalised) real = std::bit_cast<float>(integer);
}

Texel load(const TexelSource& source, const std::byte* at, const void* pc) {
  observer().access(*current_block, AccessKind::read, at, static_cast<unsigned>(source.texel_bytes), pc);
  observer().stale_read(*current_block, at, static_cast<unsigned>(source.texel_bytes), pc, false);
  Texel texel{};
  const int bits[4] = {source.format.x, source.format.y, source.format.z, source.format.w};
  for (int i = 0; i < 4 && bits[i] != 0; ++i) {
    take(at, bits[i], source.format.f, source.texture.readMode == cudaReadModeNormalizedFloat, texel.integers[i],
         texel.floats[i]);
    at += bits[i] / 8;
  }
  return texel;
}

/// Where a texel of a dimension is found; below 0: it is the border.
std::ptrdiff_t addressed(std::ptrdiff_t index, std::size_t size, cudaTextureAddressMode mode, bool normalised) {
  const auto count = static_cast<std::ptrdiff_t>(size);
  if (index >= 0 && index < count) return index;
  if (mode == cudaAddressModeBorder) return -1;
  if (mode == cudaAddressModeWrap && normalised) return (index % count + count) % count;
  if (mode == cudaAddressModeMirror && normalised) {
    const std::ptrdiff_t turn = (index % (2 * count) + 2 * count) % (2 * count);
    return turn < count ? turn : 2 * count - 1 - turn;
  }
  return std::clamp<std::ptrdiff_t>(index, 0, count - 1);  // The other modes are for normalised coordinates alone.
}

Texel texel_at(const TexelSource& source, const std::ptrdiff_t (&index)[3], const void* pc) {
  const bool normalised = source.texture.normalizedCoords != 0;
  const std::size_t sizes[3] = {source.width, std::max<std::size_t>(source.height, 1),
                                std::max<std::size_t>(source.depth, 1)};
  std::ptrdiff_t found[3];
  for (int i = 0; i < 3; ++i) {
    found[i] = addressed(index[i], sizes[i], source.texture.addressMode[i], normalised);
    if (found[i] < 0) {
      Texel border{};
      std::copy_n(source.texture.borderColor, 4, border.floats);
      return border;
    }
  }
  const auto row = static_cast<std::size_t>(found[2]) * sizes[1] + static_cast<std::size_t>(found[1]);
  return load(source, source.data + row * source.pitch + static_cast<std::size_t>(found[0]) * source.texel_bytes, pc);
}

/// The neighbours of a place, and the weight of the upper one: 8 bits behind the point, as the guide has it. How it is
/// rounded to them, the guide does not say.
struct Between {
  std::ptrdiff_t lower;
  float weight;
};

Between between(float place) {
  const float below = std::floor(place - 0.5F);
  return {static_cast<std::ptrdiff_t>(below), std::floor((place - 0.5F - below) * 256.0F + 0.5F) / 256.0F};
}

float limited(float place) { return std::isnan(place) ? 0.0F : std::clamp(place, -1e9F, 1e9F); }

/// In the one size of a texture.
Texel fetch(const TexelSource& source, unsigned dimensions, bool layered, float x, float y, float z, int layer,
            const void* pc) {
  const std::size_t sizes[3] = {source.width, source.height, source.depth};
  float place[3] = {x, y, z};
  std::ptrdiff_t index[3] = {0, 0, 0};
  for (unsigned i = 0; i < dimensions; ++i) {
    if (source.texture.normalizedCoords != 0) place[i] *= static_cast<float>(sizes[i]);
    place[i] = limited(place[i]);
    index[i] = static_cast<std::ptrdiff_t>(std::floor(place[i]));
  }
  if (layered) {  // Layers are clamped, and never filtered.
    const auto last = static_cast<std::ptrdiff_t>(std::max<std::size_t>(source.depth, 1)) - 1;
    index[2] = std::clamp<std::ptrdiff_t>(layer, 0, last);
  }
  if (source.texture.filterMode == cudaFilterModePoint) return texel_at(source, index, pc);
  Between sides[3];
  for (unsigned i = 0; i < dimensions; ++i) sides[i] = between(place[i]);
  Texel sum{};
  for (unsigned corner = 0; corner < 1U << dimensions; ++corner) {
    float weight = 1.0F;
    for (unsigned i = 0; i < dimensions; ++i) {
      const bool upper = (corner >> i & 1U) != 0;
      index[i] = sides[i].lower + (upper ? 1 : 0);
      weight *= upper ? sides[i].weight : 1.0F - sides[i].weight;
    }
    const Texel texel = texel_at(source, index, pc);
    for (int i = 0; i < 4; ++i) sum.floats[i] += weight * texel.floats[i];
  }
  return sum;
}

/// In that of a texture's sizes which the level says, or between two: how the texture filters mipmaps.
template <class Fetch> Texel fetch_level(const TexelSource& source, float level, Fetch fetch_from) {
  if (source.levels.empty()) return fetch_from(source);
  const cudaTextureDesc& texture = source.texture;
  level = std::clamp(limited(level) + texture.mipmapLevelBias, texture.minMipmapLevelClamp,
                     std::max(texture.minMipmapLevelClamp, texture.maxMipmapLevelClamp));
  level = std::clamp(level, 0.0F, static_cast<float>(source.levels.size() - 1));
  if (texture.mipmapFilterMode == cudaFilterModePoint)
    return fetch_from(source.levels[static_cast<std::size_t>(std::floor(level + 0.5F))]);
  const auto lower = static_cast<std::size_t>(std::floor(level));
  const float weight = std::floor((level - static_cast<float>(lower)) * 256.0F + 0.5F) / 256.0F;
  Texel texel = fetch_from(source.levels[lower]);
  if (weight == 0.0F) return texel;
  const Texel upper = fetch_from(source.levels[lower + 1]);
  for (int i = 0; i < 4; ++i) texel.floats[i] = (1.0F - weight) * texel.floats[i] + weight * upper.floats[i];
  return texel;
}

/// The face of a cube that a direction leads to, and the place there, from -1 to 1.
struct CubePlace {
  int face;
  float s;
  float t;
};

/// By the table in the CUDA C++ Programming Guide, "Cubemap Textures".
CubePlace cube_place(float x, float y, float z) {
  const float sizes[3] = {std::fabs(x), std::fabs(y), std::fabs(z)};
  if (sizes[2] >= sizes[0] && sizes[2] >= sizes[1])
    return z >= 0 ? CubePlace{4, x / sizes[2], -y / sizes[2]} : CubePlace{5, -x / sizes[2], -y / sizes[2]};
  if (sizes[1] >= sizes[0])
    return y >= 0 ? CubePlace{2, x / sizes[1], z / sizes[1]} : CubePlace{3, x / sizes[1], -z / sizes[1]};
  return x >= 0 ? CubePlace{0, -z / sizes[0], -y / sizes[0]} : CubePlace{1, z / sizes[0], -y / sizes[0]};
}

}  // namespace

Texel fetch_texel(cudaTextureObject_t texture, unsigned dimensions, bool layered, float x, float y, float z,
                  int layer) {
  const void* const pc = __builtin_return_address(0);
  return fetch_level(source_of(texture, false, pc), 0.0F,
                     [&](const TexelSource& source) { return fetch(source, dimensions, layered, x, y, z, layer, pc); });
}

Texel fetch_texel_lod(cudaTextureObject_t texture, unsigned dimensions, bool layered, float x, float y, float z,
                      int layer, float level) {
  const void* const pc = __builtin_return_address(0);
  return fetch_level(source_of(texture, false, pc), level,
                     [&](const TexelSource& source) { return fetch(source, dimensions, layered, x, y, z, layer, pc); });
}

Texel fetch_texel_cube(cudaTextureObject_t texture, float x, float y, float z, int layer, float level) {
  const void* const pc = __builtin_return_address(0);
  const TexelSource& whole = source_of(texture, false, pc);
  if (!whole.is_cube)
    refuse("invalid_texture", "Invalid texture object", "Its array was made without cudaArrayCubemap.", pc);
  const CubePlace place = cube_place(x, y, z);
  const int last = static_cast<int>(whole.depth / 6) - 1;
  return fetch_level(whole, level, [&](const TexelSource& source) {
    const float size = source.texture.normalizedCoords != 0 ? 1.0F : static_cast<float>(source.width);
    return fetch(source, 2, true, (place.s + 1) / 2 * size, (place.t + 1) / 2 * size, 0,
                 6 * std::clamp(layer, 0, last) + place.face, pc);
  });
}

Texel fetch_texel_at(cudaTextureObject_t texture, int index) {
  const void* const pc = __builtin_return_address(0);
  const TexelSource& source = source_of(texture, false, pc);
  if (index < 0 || static_cast<std::size_t>(index) >= source.width) return {};
  return load(source, source.data + static_cast<std::size_t>(index) * source.texel_bytes, pc);
}

namespace {

/// The bytes that a surface function means; nullptr where it has to leave them alone.
std::byte* surface_bytes(const TexelSource& source, unsigned bytes, int x, int y, int z, cudaSurfaceBoundaryMode mode,
                         const char* what, const void* pc) {
  const auto width = static_cast<int>(source.width * source.texel_bytes);
  const auto height = std::max(static_cast<int>(source.height), 1);
  const auto depth = std::max(static_cast<int>(source.depth), 1);
  if (x < 0 || x + static_cast<int>(bytes) > width || y < 0 || y >= height || z < 0 || z >= depth) {
    if (mode == cudaBoundaryModeZero) return nullptr;
    if (mode == cudaBoundaryModeTrap)
      refuse("surface_bounds", std::string("Invalid surface ") + what + " of size " + std::to_string(bytes) + " bytes",
             "Byte " + std::to_string(x) + " of row " + std::to_string(y) + " is outside of " + std::to_string(height) +
                 " rows of " + std::to_string(width) + " bytes. The x of a surface counts bytes.",
             pc);
    x = std::clamp(x, 0, width - static_cast<int>(bytes));
    y = std::clamp(y, 0, height - 1);
    z = std::clamp(z, 0, depth - 1);
  }
  if (x % static_cast<int>(bytes) != 0)
    refuse("misaligned", std::string("Misaligned surface ") + what + " of size " + std::to_string(bytes) + " bytes",
           "Byte " + std::to_string(x) + " of the row is no multiple of that. The x of a surface counts bytes.", pc);
  const auto row = static_cast<std::size_t>(z) * static_cast<std::size_t>(height) + static_cast<std::size_t>(y);
  return const_cast<std::byte*>(source.data) + row * source.pitch + static_cast<std::size_t>(x);
}

}  // namespace

void read_surface(void* to, unsigned bytes, cudaSurfaceObject_t surface, int x, int y, int z,
                  cudaSurfaceBoundaryMode mode) {
  const void* const pc = __builtin_return_address(0);
  const TexelSource& source = source_of(surface, true, pc);
  const std::byte* const at = surface_bytes(source, bytes, x, y, z, mode, "read", pc);
  if (at == nullptr) {
    std::memset(to, 0, bytes);
    return;
  }
  observer().access(*current_block, AccessKind::read, at, bytes, pc);
  std::memcpy(to, at, bytes);
}

void write_surface(const void* from, unsigned bytes, cudaSurfaceObject_t surface, int x, int y, int z,
                   cudaSurfaceBoundaryMode mode) {
  const void* const pc = __builtin_return_address(0);
  const TexelSource& source = source_of(surface, true, pc);
  std::byte* const at = surface_bytes(source, bytes, x, y, z, mode, "write", pc);
  if (at == nullptr) return;
  observer().access(*current_block, AccessKind::write, at, bytes, pc);
  std::memcpy(at, from, bytes);
}

}  // namespace warpbook::emulator
