/// \file
/// Chapter 1's problem: z[i] = f(x[i], ...) for every element of arrays of one length.
///
/// The steps v1 to v5 do it for f(x, y) = x * y and one type, as run(z, x, y, count, stream); v6 for any function.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace warpbook::chapter1 {

/// Two elements of T in one 32-bit register.
template <class T> struct PairOf;
template <> struct PairOf<__half> { using Type = __half2; };
template <> struct PairOf<__nv_bfloat16> { using Type = __nv_bfloat162; };

/// An array by its address: for alignment only.
struct Placement {
  std::uintptr_t address = 0;
  int element_bytes = 1;

  /// Elements from the last multiple of a pack's size to `element`.
  int elements_past_boundary(std::int64_t element, int width) const {
    return int((address / std::uintptr_t(element_bytes) + std::uintptr_t(element)) % std::uintptr_t(width));
  }
};

/// How arrays are walked: `head` elements singly, then `packs` packs of some width, then the rest singly.
struct Walk {
  std::int64_t packs = 0;
  int head = 0;  ///< Elements before the first pack.
  int edge = 0;  ///< Elements before the first and behind the last pack together.

  /// Number k of the elements that go singly.
  __host__ __device__ std::int64_t edge_element(int k, int width) const { return k < head ? k : k + packs * width; }
};

/// A walk, and where the inputs' packs lie. The output's are aligned. An input's may begin `shift_bytes` behind a
/// multiple of their size; then the two aligned packs that hold such a pack both lie within the array.
template <int kInputs> struct Cut : Walk {
  int shift_bytes[kInputs] = {};

  /// True where some input's packs are not aligned.
  bool shifted() const {
    return std::any_of(shift_bytes, shift_bytes + kInputs, [](int shift) { return shift != 0; });
  }
};

/// Cuts arrays of `count` elements into packs of `width` elements.
template <int kInputs>
Cut<kInputs> cut(std::int64_t count, int width, const Placement& output, const Placement (&inputs)[kInputs]) {
  Cut<kInputs> result;
  std::int64_t head = (width - output.elements_past_boundary(0, width)) % width;
  int most_shift = 0;  // In elements.
  for (int i = 0; i < kInputs; ++i) {
    const int shift = inputs[i].elements_past_boundary(head, width);
    result.shift_bytes[i] = shift * inputs[i].element_bytes;
    most_shift = std::max(most_shift, shift);
  }
  // A shifted pack is read from the boundary before it to the second one behind. Where that begins before the array
  // the first pack goes to the edge, and where it may end behind the array the last one does.
  if (most_shift > head) head += width;
  result.packs = std::max<std::int64_t>(0, count - head) / width;
  if (most_shift > 0 && result.packs > 0) --result.packs;
  result.edge = int(count - result.packs * width);
  result.head = result.packs == 0 ? result.edge : int(head);
  return result;
}

}  // namespace warpbook::chapter1
