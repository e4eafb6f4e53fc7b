/// \file
/// What a problem asks for: the conditions that v8's rules are made of. The limits were chosen on an H200.
#pragma once

#include "chapters/chapter6_upsample_nearest/library/channels_last.cuh"
#include "chapters/chapter6_upsample_nearest/library/staged_rows.cuh"
#include "chapters/chapter6_upsample_nearest/v5_narrow_window.cuh"
#include "chapters/chapter6_upsample_nearest/v7_known_window.cuh"

namespace warpbook::chapter6::predicates {

inline bool is_doubled(const Images& images) { return v2::refuse(images) == nullptr; }

/// By 8 and 16 bytes.
inline bool is_doubled_wide(const Images& images) { return v5::refuse(images) == nullptr; }

/// The same with an output that is larger than an L2,
inline bool is_doubled_large(const Images& images) {
  return is_doubled_wide(images) && images.out_count() * images.element_bytes >= 64 << 20;
}

/// or not.
inline bool is_doubled_in_cache(const Images& images) { return is_doubled_wide(images) && !is_doubled_large(images); }

/// By 8 and 16 bytes, with enough packs for four per thread.
inline bool is_doubled_in_flight(const Images& images) {
  return is_doubled_wide(images) && images.in_count() * images.element_bytes / 8 >= 1 << 15;
}

inline bool is_channels_last(const Images& images) { return channels_last::refuse(images) == nullptr; }

/// With fewer elements, a launch lasts as long as a thread's chain of instructions: a thread should have one element.
inline constexpr std::int64_t kLeastShared = 1 << 19;

/// Many rows that 16 bytes do not divide.
inline bool has_uneven_rows(const Images& images) {
  return staged_rows::refuse(images) == nullptr && !v6::takes_packs(images) && images.out_count() >= kLeastShared;
}

/// Many inputs with a few outputs each.
inline bool has_known_window(const Images& images) {
  return v7::refuse(images) == nullptr && images.in_count() >= kLeastShared;
}

inline bool fits_launches(const Images& images) { return v6::refuse(images) == nullptr; }

inline bool always(const Images& /*images*/) { return true; }

}  // namespace warpbook::chapter6::predicates
