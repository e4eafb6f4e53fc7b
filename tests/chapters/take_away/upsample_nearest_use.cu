/// \file
/// A program as another project would write it: of Warpbook it has nothing but the amalgamated upsample_nearest.cuh.
#include "upsample_nearest.cuh"

#include <cstdint>
#include <cstdio>
#include <vector>

/// In another file of this program, which includes the header, too (tests/chapters/peers/upsample_nearest_c.cu).
extern "C" int warpbook_upsample_nearest(void* out, const void* in, const std::int64_t* sizes, const double* scales,
                                         int channels_last, int backward, int type, void* stream);

namespace {

constexpr std::int64_t kHeight = 33;
constexpr std::int64_t kWidth = 70;

/// Doubles one image and adds each input's four outputs up again. Returns how many elements came out wrong, or -1.
std::int64_t wrong_elements(float* x, float* y, const std::vector<float>& values) {
  const warpbook::UpsampleNearest problem{.batch = 1,
                                          .channels = 1,
                                          .in_height = kHeight,
                                          .in_width = kWidth,
                                          .out_height = 2 * kHeight,
                                          .out_width = 2 * kWidth};
  constexpr std::int64_t kSizes[] = {1, 1, kHeight, kWidth, 2 * kHeight, 2 * kWidth};
  constexpr double kScales[] = {0, 0};
  std::vector<float> doubled(4 * values.size());
  std::vector<float> summed(values.size());
  const std::size_t bytes = values.size() * sizeof(float);
  if (warpbook::upsample_nearest(y, x, problem, nullptr) != cudaSuccess ||
      warpbook_upsample_nearest(x, y, kSizes, kScales, 0, 1, 0, nullptr) != cudaSuccess ||
      cudaMemcpy(doubled.data(), y, 4 * bytes, cudaMemcpyDeviceToHost) != cudaSuccess ||
      cudaMemcpy(summed.data(), x, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) {
    return -1;
  }
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < 2 * kHeight; ++row) {
    for (std::int64_t column = 0; column < 2 * kWidth; ++column) {
      const auto source = static_cast<std::size_t>(row / 2 * kWidth + column / 2);
      if (doubled[static_cast<std::size_t>(row * 2 * kWidth + column)] != values[source]) ++wrong;
      if (summed[source] != 4 * values[source]) ++wrong;
    }
  }
  return wrong;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no device: only compiled and linked");
    return 77;
  }
  std::vector<float> values(kHeight * kWidth);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::size_t bytes = values.size() * sizeof(float);
  float* x = nullptr;
  float* y = nullptr;
  if (cudaMalloc(&x, bytes) != cudaSuccess || cudaMalloc(&y, 4 * bytes) != cudaSuccess ||
      cudaMemcpy(x, values.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
    return 1;
  }
  const std::int64_t wrong = wrong_elements(x, y, values);
  if (cudaFree(x) != cudaSuccess || cudaFree(y) != cudaSuccess) return 1;
  std::printf("%lld wrong elements\n", static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
