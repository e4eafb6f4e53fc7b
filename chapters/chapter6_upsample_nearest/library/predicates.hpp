/// \file
/// What a problem asks for: the conditions that v7's rules are made of. The limits were chosen on an H200.
#pragma once

#include "chapters/chapter6_upsample_nearest/library/any_rows.cuh"
#include "chapters/chapter6_upsample_nearest/library/channels_last.cuh"
#include "chapters/chapter6_upsample_nearest/v6_known_window.cuh"

namespace warpbook::chapter6::predicates {

inline bool is_doubled(const Images& images) { return v2::refuse(images) == nullptr; }

/// By 8 and 16 bytes, and the larger side fits the L2.
inline bool is_doubled_in_cache(const Images& images) {
  return v4::refuse_narrow(images) == nullptr && images.out_count() * images.element_bytes < 64 << 20;
}

/// The same with enough packs for four per thread.
inline bool is_doubled_in_flight(const Images& images) {
  return is_doubled_in_cache(images) && images.in_count() * images.element_bytes / 8 >= 1 << 15;
}

inline bool is_channels_last(const Images& images) { return channels_last::refuse(images) == nullptr; }

/// Channels last, in packs of 16 bytes.
inline bool has_wide_pixels(const Images& images) {
  return is_channels_last(images) && channels_last::takes_packs(images);
}

/// Rows, or pixels, that 16 bytes do not divide, with outputs enough for several per thread; and floats that are hardly
/// enlarged.
inline bool has_uneven_rows(const Images& images) {
  if (any_rows::refuse(images) != nullptr) return false;
  if (images.layout == ImageLayout::nhwc) return true;
  if (images.element_bytes == 4 && v5::takes_packs(images)) return 2 * images.width.out <= 3 * images.width.in;
  return !v5::takes_packs(images) && images.out_count() >= 1 << 15;
}

/// Inputs with a few outputs each. With fewer inputs, a launch lasts as long as a thread's chain of instructions: a
/// thread should have one.
inline bool has_known_window(const Images& images) {
  return v6::refuse(images) == nullptr && images.in_count() >= 1 << 18;
}

inline bool fits_launches(const Images& images) { return v5::refuse(images) == nullptr; }

inline bool always(const Images& /*images*/) { return true; }

}  // namespace warpbook::chapter6::predicates
