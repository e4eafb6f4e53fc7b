/// \file
/// Which elements go by packs, where the arrays begin anywhere: the rules of v6.
#pragma once

#include <algorithm>
#include <cstdint>

namespace warpbook::chapter1 {

/// How an array of arrays' elements is cut: `head` elements, then `packs` packs of kWidth elements, then the rest.
/// The output's packs are aligned. An input's packs may begin `shift` bytes behind a multiple of their size; then the
/// aligned packs that hold such a pack, two of them, both lie within the array.
template <int kInputs> struct Cut {
  std::int64_t packs = 0;
  int head = 0;  ///< Elements before the first pack.
  int edge = 0;  ///< Elements before the first and behind the last pack together.
  int shift_bytes[kInputs] = {};

  /// True where some input's packs are not aligned.
  bool shifted() const {
    return std::any_of(shift_bytes, shift_bytes + kInputs, [](int shift) { return shift != 0; });
  }
};

/// An array by its address: for alignment only.
struct Placement {
  std::uintptr_t address = 0;
  int element_bytes = 1;

  /// Elements from the last multiple of a pack's size to `element`.
  int elements_past_boundary(int element, int width) const {
    return static_cast<int>((address / static_cast<std::uintptr_t>(element_bytes) + static_cast<unsigned>(element)) %
                            static_cast<unsigned>(width));
  }
};

/// Cuts arrays of `count` elements into packs of `width` elements.
template <int kInputs>
Cut<kInputs> cut(std::int64_t count, int width, const Placement& output, const Placement (&inputs)[kInputs]) {
  Cut<kInputs> result;
  //! [exercise cut]
  const int past = output.elements_past_boundary(0, width);
  std::int64_t head = past == 0 ? 0 : width - past;
  int most_shift = 0;  // In elements.
  for (int i = 0; i < kInputs; ++i) {
    const int shift = inputs[i].elements_past_boundary(static_cast<int>(head), width);
    result.shift_bytes[i] = shift * inputs[i].element_bytes;
    most_shift = std::max(most_shift, shift);
  }
  // A shifted pack is read from the boundary before it to the second one behind. Where that begins before the array
  // the first pack goes to the edge, and where it may end behind the array the last one does.
  if (most_shift > head) head += width;
  std::int64_t packs = std::max<std::int64_t>(0, count - head) / width;
  if (most_shift > 0) packs = std::max<std::int64_t>(0, packs - 1);
  //! [exercise cut]
  result.packs = packs;
  result.head = static_cast<int>(std::min(head, count));
  result.edge = static_cast<int>(count - packs * width);
  if (packs == 0) result.head = result.edge;
  return result;
}

}  // namespace warpbook::chapter1
