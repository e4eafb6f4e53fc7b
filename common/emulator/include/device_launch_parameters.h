/// \file
/// The built-in variables. Each is an object without storage, whose members are calls: no access that could be mistaken
/// for one of the kernel's own. They convert to what CUDA says they are.
#pragma once

#ifdef __clang__  // To the host's compiler there is nothing here.

#include "vector_types.h"
#include "warpbook_builtins.h"

namespace warpbook::emulator {

struct ThreadIndex {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __attribute__((always_inline, nodebug)) unsigned get_x() const { return thread_index_x(); }
  __attribute__((always_inline, nodebug)) unsigned get_y() const { return thread_index_y(); }
  __attribute__((always_inline, nodebug)) unsigned get_z() const { return thread_index_z(); }
  __attribute__((always_inline, nodebug)) operator uint3() const { return {get_x(), get_y(), get_z()}; }
};

struct BlockIndex {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __attribute__((always_inline, nodebug)) unsigned get_x() const { return block_index_x(); }
  __attribute__((always_inline, nodebug)) unsigned get_y() const { return block_index_y(); }
  __attribute__((always_inline, nodebug)) unsigned get_z() const { return block_index_z(); }
  __attribute__((always_inline, nodebug)) operator uint3() const { return {get_x(), get_y(), get_z()}; }
};

struct BlockExtent {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __attribute__((always_inline, nodebug)) unsigned get_x() const { return block_extent_x(); }
  __attribute__((always_inline, nodebug)) unsigned get_y() const { return block_extent_y(); }
  __attribute__((always_inline, nodebug)) unsigned get_z() const { return block_extent_z(); }
  __attribute__((always_inline, nodebug)) operator dim3() const { return {get_x(), get_y(), get_z()}; }
};

struct GridExtent {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __attribute__((always_inline, nodebug)) unsigned get_x() const { return grid_extent_x(); }
  __attribute__((always_inline, nodebug)) unsigned get_y() const { return grid_extent_y(); }
  __attribute__((always_inline, nodebug)) unsigned get_z() const { return grid_extent_z(); }
  __attribute__((always_inline, nodebug)) operator dim3() const { return {get_x(), get_y(), get_z()}; }
};

}  // namespace warpbook::emulator

inline constexpr warpbook::emulator::ThreadIndex threadIdx{};
inline constexpr warpbook::emulator::BlockIndex blockIdx{};
inline constexpr warpbook::emulator::BlockExtent blockDim{};
inline constexpr warpbook::emulator::GridExtent gridDim{};
/// No constant expression, and a program may define it. The compiler pass knows its value.
extern const int warpSize;

#endif
