/// \file
/// v7 dispatch: the right kernel for the problem.
///
/// Doubled images of the nchw layout go by the widest packs that width and alignment allow: v5c where the output is too
/// large for the L2, else v5a; v4 with smaller packs where 8 bytes do not divide a row. Every other scale and layout
/// goes by v6b where it has a kernel for it (forward: where two rows show one), by v6c where an output's rows do not go
/// by packs, else by v6a, as do small images; and what has too many elements in a plane by v1. Images of one channel
/// are the same in both layouts, and go by nchw's kernels.
///
/// Expect each case's best step. This is what `upsample_nearest.cuh` gives away.
#pragma once

#include "chapters/chapter6_upsample_nearest/v1_generic.cuh"
#include "chapters/chapter6_upsample_nearest/v5a_packs_in_flight.cuh"
#include "chapters/chapter6_upsample_nearest/v5c_asked_ahead.cuh"
#include "chapters/chapter6_upsample_nearest/v6a_any_scale.cuh"
#include "chapters/chapter6_upsample_nearest/v6b_known_window.cuh"
#include "chapters/chapter6_upsample_nearest/v6c_staged_rows.cuh"

namespace warpbook::chapter6::v7 {

/// From so many bytes on an output is written in its own order: about what an L2 holds.
inline constexpr std::int64_t kLargeBytes = 64 << 20;

/// Fewer elements than this have a thread each (v6a): such a launch lasts as long as a thread's chain of instructions,
/// and that is longest where a thread does several.
inline constexpr std::int64_t kLeastShared = 1 << 19;

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

/// The problem in the layout that has more kernels, where its images are of both.
inline Images in_best_layout(Images images) {
  if (images.channels == 1) images.layout = ImageLayout::nchw;
  return images;
}

//! [kernel]
template <class W> cudaError_t forward(W* y, const W* x, const Images& problem, cudaStream_t stream) {
  const Images images = in_best_layout(problem);
  const auto any_scale = [&] {
    const bool whole_packs = v6b::refuse_forward(y, images) == nullptr;
    const bool rows_repeat = images.height.out / 2 >= images.height.in;
    if (whole_packs && rows_repeat) return v6b::forward(y, x, images, stream);
    const bool staged = !whole_packs && v6c::refuse(images, sizeof(W)) == nullptr;
    if (staged && images.out_count() >= kLeastShared) return v6c::forward(y, x, images, stream);
    return v6a::refuse(images) == nullptr ? v6a::forward(y, x, images, stream) : v1::forward(y, x, images, stream);
  };
  if (v2::refuse(images) != nullptr) return any_scale();
  return with_widest_packs<v4::kWide<W>>(
      y, x, images,
      [&]<int kWidth>() {
        if constexpr (kWidth == v4::kWide<W>) {
          const bool large = images.out_count() * static_cast<std::int64_t>(sizeof(W)) >= kLargeBytes;
          return large ? v5c::forward(y, x, images, stream) : v5a::forward(y, x, images, stream);
        } else {
          return v4::forward_by<kWidth>(y, x, images, stream);
        }
      },
      any_scale);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& problem, cudaStream_t stream) {
  const Images images = in_best_layout(problem);
  const auto any_scale = [&] {
    const bool enough = images.layout == ImageLayout::nhwc || images.in_count() >= kLeastShared;
    if (enough && v6b::refuse_backward(images) == nullptr) return v6b::backward(dx, dy, images, stream);
    return v6a::refuse(images) == nullptr ? v6a::backward(dx, dy, images, stream)
                                          : v1::backward(dx, dy, images, stream);
  };
  if (v2::refuse(images) != nullptr) return any_scale();
  return with_widest_packs<v4::kWide<T>>(
      dy, dx, images, [&]<int kWidth>() { return v4::backward_by<kWidth>(dx, dy, images, stream); }, any_scale);
}
//! [kernel]

}  // namespace warpbook::chapter6::v7
