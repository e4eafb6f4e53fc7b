/// \file
/// A second file of the same program: what the header defines may be defined in both.
#include "upsample_nearest.cuh"

#include <cstdint>

cudaError_t backward_elsewhere(float* dx, const float* dy, std::int64_t height, std::int64_t width);

cudaError_t backward_elsewhere(float* dx, const float* dy, std::int64_t height, std::int64_t width) {
  warpbook::UpsampleNearest problem;
  problem.batch = 1;
  problem.channels = 1;
  problem.in_height = height;
  problem.in_width = width;
  problem.out_height = 2 * height;
  problem.out_width = 2 * width;
  return warpbook::upsample_nearest_backward(dx, dy, problem, nullptr);
}
