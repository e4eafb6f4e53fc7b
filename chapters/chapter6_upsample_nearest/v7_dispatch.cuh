/// \file
/// v7 dispatch: the right kernel for the problem.
///
/// Doubled images of the nchw layout go by the widest packs that width and alignment allow: v5b where the output is too
/// large for the L2, else v5a; v4 with smaller packs where 8 bytes do not divide a row. Every other scale and layout
/// goes by v6, and what has too many elements in a plane by v1.
///
/// Expect each case's best step. This is what `upsample_nearest.cuh` gives away.
#pragma once

#include "chapters/chapter6_upsample_nearest/v1_generic.cuh"
#include "chapters/chapter6_upsample_nearest/v5a_packs_in_flight.cuh"
#include "chapters/chapter6_upsample_nearest/v5b_output_order.cuh"
#include "chapters/chapter6_upsample_nearest/v6a_any_scale.cuh"
#include "chapters/chapter6_upsample_nearest/v6b_known_window.cuh"
#include "chapters/chapter6_upsample_nearest/v6c_staged_rows.cuh"

namespace warpbook::chapter6::v7 {

/// From so many bytes on an output is written in its own order: about what an L2 holds.
inline constexpr std::int64_t kLargeBytes = 64 << 20;

/// Halves kWidth until packs of it fit the width and both arrays, and calls `run.template operator()<kWidth>()`; where
/// not even pairs can be stored, `otherwise()`.
template <int kWidth, class T, class Run, class Otherwise>
cudaError_t with_widest_packs(const T* large, const T* small, const Images& images, Run&& run, Otherwise&& otherwise) {
  if (v4::takes_packs<kWidth>(large, small, images)) return run.template operator()<kWidth>();
  if constexpr (kWidth > 1) {
    return with_widest_packs<kWidth / 2>(large, small, images, run, otherwise);
  } else {
    return otherwise();
  }
}

//! [kernel]
template <class W> cudaError_t forward(W* y, const W* x, const Images& images, cudaStream_t stream) {
  const auto any_scale = [&] {
    if (v6b::refuse_forward(y, images) == nullptr) return v6b::forward(y, x, images, stream);
    if (v6c::refuse(images, sizeof(W)) == nullptr) return v6c::forward(y, x, images, stream);
    return v6a::refuse(images) == nullptr ? v6a::forward(y, x, images, stream) : v1::forward(y, x, images, stream);
  };
  if (v2::refuse(images) != nullptr) return any_scale();
  return with_widest_packs<v4::kWide<W>>(
      y, x, images,
      [&]<int kWidth>() {
        if constexpr (kWidth == v4::kWide<W>) {
          const bool large = images.out_count() * static_cast<std::int64_t>(sizeof(W)) >= kLargeBytes;
          return large ? v5b::forward(y, x, images, stream) : v5a::forward(y, x, images, stream);
        } else {
          return v4::forward_by<kWidth>(y, x, images, stream);
        }
      },
      any_scale);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& images, cudaStream_t stream) {
  const auto any_scale = [&] {
    if (v6b::refuse_backward(images) == nullptr) return v6b::backward(dx, dy, images, stream);
    return v6a::refuse(images) == nullptr ? v6a::backward(dx, dy, images, stream)
                                          : v1::backward(dx, dy, images, stream);
  };
  if (v2::refuse(images) != nullptr) return any_scale();
  return with_widest_packs<v4::kWide<T>>(
      dy, dx, images, [&]<int kWidth>() { return v4::backward_by<kWidth>(dx, dy, images, stream); }, any_scale);
}
//! [kernel]

}  // namespace warpbook::chapter6::v7
