/// \file
/// v7 dispatch: the right kernel for the problem.
///
/// v4 is nearly as fast as a copy on doubled images, v5 and v6 come near it at other scales. Small images, channels
/// last, and rows that 16 bytes do not divide want kernels of their own: library kernels (library/README.md). Which one
/// runs is decided by two tables, one per direction: the first rule that holds. A rule looks at sizes, scales, layout,
/// element size and alignment only. Images of one channel are the same in both layouts, and count as nchw.
///
/// Expect the time of each case's best kernel. This is what `upsample_nearest.cuh` gives away.
#pragma once

#include <algorithm>
#include <span>

#include "chapters/chapter6_upsample_nearest/library/packs_in_flight.cuh"
#include "chapters/chapter6_upsample_nearest/library/passing_gradient.cuh"
#include "chapters/chapter6_upsample_nearest/library/predicates.hpp"

namespace warpbook::chapter6::v7 {

template <class T> struct Rule {
  bool (*holds)(const Images&);
  cudaError_t (*run)(T* to, const T* from, const Images&, cudaStream_t);
  const char* evidence;  ///< A case of chapter6.json that this rule decides; "" where no recorded case needs it.
};

//! [kernel]
/// Tried from the top; the first rule that holds decides.
template <class W>
inline constexpr Rule<W> kForwardRules[] = {
    {predicates::is_doubled_in_flight, packs_in_flight::forward<W>, "shape=16,32,80,80 dir=forward dtype=half"},
    {predicates::is_doubled, v4::forward<W>, "shape=32,64,128,130 dir=forward dtype=half"},
    {predicates::has_wide_pixels, channels_last::forward<W>, "shape=32,64,256,256 dir=forward dtype=half layout=nhwc"},
    {predicates::goes_as_one_array, any_rows::forward<W>, "shape=16,64,100,100 dir=forward dtype=half size=333,271"},
    {predicates::fits_launches, v5::forward<W>, "shape=16,64,128,128 dir=forward dtype=half size=384,384 scale=3"},
    {predicates::always, v1::forward<W>, ""},
};

template <class T>
inline constexpr Rule<T> kBackwardRules[] = {
    {predicates::is_doubled_in_cache, passing_gradient::backward<T>, "shape=16,32,80,80 dir=backward dtype=float"},
    {predicates::is_doubled_by_narrow_packs, packs_in_flight::backward<T>,
     "shape=32,64,127,129 dir=backward dtype=half"},
    {predicates::is_doubled, v4::backward<T>, "shape=32,64,256,256 dir=backward dtype=half"},
    {predicates::is_channels_last, channels_last::backward<T>,
     "shape=32,64,256,256 dir=backward dtype=half layout=nhwc"},
    {predicates::has_known_window, v6::backward<T>,
     "shape=16,64,160,160 dir=backward dtype=half size=240,240 scale=1.5"},
    {predicates::fits_launches, v5::backward<T>, "shape=2,8,21,19 dir=backward dtype=bfloat16 size=31,28 scale=1.5"},
    {predicates::always, v1::backward<T>, ""},
};
//! [kernel]

/// The problem in the layout that has more kernels, where its images are of both.
inline Images in_best_layout(Images images) {
  if (images.channels == 1) images.layout = ImageLayout::nchw;
  return images;
}

/// The rule that decides for images in their best layout.
template <class T> const Rule<T>& choose(std::span<const Rule<T>> rules, const Images& images) {
  return *std::ranges::find_if(rules, [&](const Rule<T>& rule) { return rule.holds(images); });
}

template <class W> cudaError_t forward(W* y, const W* x, const Images& problem, cudaStream_t stream) {
  const Images images = in_best_layout(problem);
  return choose<W>(kForwardRules<W>, images).run(y, x, images, stream);
}

template <class T> cudaError_t backward(T* dx, const T* dy, const Images& problem, cudaStream_t stream) {
  const Images images = in_best_layout(problem);
  return choose<T>(kBackwardRules<T>, images).run(dx, dy, images, stream);
}

}  // namespace warpbook::chapter6::v7
