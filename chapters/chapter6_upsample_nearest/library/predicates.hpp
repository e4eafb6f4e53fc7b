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

/// Bytes of the small images' packs that v4 moves.
inline int doubled_pack_bytes(const Images& images) {
  int bytes = 8;
  while (bytes > images.element_bytes && !v4::takes_packs(images, bytes / images.element_bytes)) bytes /= 2;
  return bytes;
}

/// Packs enough for several per thread, and few bytes: narrow packs, or large images that fit the L2, the narrower the
/// smaller.
inline bool is_doubled_in_flight(const Images& images) {
  if (!is_doubled(images)) return false;
  const int pack = doubled_pack_bytes(images);
  const std::int64_t most_bytes = pack == 8 ? 64 << 20 : 16 << 20;
  return images.in_count() * images.element_bytes / pack >= 1 << 15 &&
         (pack <= 2 || images.out_count() * images.element_bytes < most_bytes);
}

/// The same backward, where packs of 4 bytes gain in large images only.
inline bool is_doubled_by_narrow_packs(const Images& images) {
  if (!is_doubled(images)) return false;
  const int pack = doubled_pack_bytes(images);
  return pack <= 2 || (pack == 4 && images.out_count() * images.element_bytes >= 16 << 20);
}

inline bool is_channels_last(const Images& images) { return channels_last::refuse(images) == nullptr; }

/// Channels last, in packs of 16 bytes.
inline bool has_wide_pixels(const Images& images) {
  return is_channels_last(images) && channels_last::takes_packs(images);
}

/// Rows, or pixels, that 16 bytes do not divide, and all rows of images that grow less than 2 times. With fewer outputs
/// a thread should make one.
inline bool goes_as_one_array(const Images& images) {
  if (any_rows::refuse(images) != nullptr) return false;
  if (images.layout == ImageLayout::nhwc) return true;
  return (!v5::takes_packs(images) || images.width.out < 2 * std::int64_t{images.width.in}) &&
         images.out_count() >= 1 << 15;
}

/// Inputs with a few outputs each. With fewer inputs, a launch lasts as long as a thread's chain of instructions: a
/// thread should have one.
inline bool has_known_window(const Images& images) {
  return v6::refuse(images) == nullptr && images.in_count() >= 1 << 18;
}

inline bool fits_launches(const Images& images) { return v5::refuse(images) == nullptr; }

inline bool always(const Images& /*images*/) { return true; }

}  // namespace warpbook::chapter6::predicates
