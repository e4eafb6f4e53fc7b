/// \file
/// The amalgamated upsample_nearest.cuh as a shared library with a C interface, for peers.py.
#include "upsample_nearest.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace {

template <class T>
cudaError_t run(void* out, const void* in, const warpbook::UpsampleNearest& problem, bool backward,
                cudaStream_t stream) {
  auto* const to = static_cast<T*>(out);
  const auto* const from = static_cast<const T*>(in);
  return backward ? warpbook::upsample_nearest_backward(to, from, problem, stream)
                  : warpbook::upsample_nearest(to, from, problem, stream);
}

}  // namespace

/// \param sizes batch, channels, height and width before, height and width after.
/// \param scales of height and width, 0 where they come from the sizes.
/// \param channels_last 1 for nhwc. \param backward 1: `in` is dy and `out` dx. \param type 0: float, 1: half, 2:
/// bfloat16.
/// \param stream a cudaStream_t.
/// \return a cudaError_t.
extern "C" int warpbook_upsample_nearest(void* out, const void* in, const std::int64_t* sizes, const double* scales,
                                         int channels_last, int backward, int type, void* stream) {
  const warpbook::UpsampleNearest problem{.batch = sizes[0],
                                          .channels = sizes[1],
                                          .in_height = sizes[2],
                                          .in_width = sizes[3],
                                          .out_height = sizes[4],
                                          .out_width = sizes[5],
                                          .scale_height = scales[0],
                                          .scale_width = scales[1],
                                          .layout = channels_last != 0 ? warpbook::ImageLayout::nhwc
                                                                       : warpbook::ImageLayout::nchw};
  const auto on = static_cast<cudaStream_t>(stream);
  switch (type) {
  case 0:
    return run<float>(out, in, problem, backward != 0, on);
  case 1:
    return run<__half>(out, in, problem, backward != 0, on);
  case 2:
    return run<__nv_bfloat16>(out, in, problem, backward != 0, on);
  default:
    return cudaErrorInvalidValue;
  }
}
