/// \file
/// A program as another project would write it: of Warpbook it has nothing but the amalgamated elementwise.cuh.
#include "elementwise.cuh"

#include <cstdint>
#include <cstdio>
#include <vector>

/// In another file of this program, which includes the header, too (tests/chapters/peers/elementwise_c.cu).
extern "C" int warpbook_multiply(void* z, const void* x, const void* y, int type, std::int64_t count, void* stream);

namespace {

constexpr std::int64_t kCount = 10007;

/// What the reader of the header would write.
struct Relu {
  __device__ float operator()(float x) const { return x > 0 ? x : 0; }
};

float value(std::int64_t i) { return static_cast<float>(i % 201 - 100); }

/// Returns how many elements of z = relu(x), squared in place, are wrong, or -1. Both arrays are views that begin one
/// and two elements behind their allocation.
std::int64_t wrong_elements(float* z, const float* x) {
  if (warpbook::elementwise(Relu{}, z, x, kCount, nullptr) != cudaSuccess) return -1;
  if (warpbook_multiply(z, z, z, 0, kCount, nullptr) != cudaSuccess) return -1;
  std::vector<float> result(kCount);
  if (cudaMemcpy(result.data(), z, kCount * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return -1;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const float expected = value(i) > 0 ? value(i) * value(i) : 0;
    if (result[static_cast<std::size_t>(i)] != expected) ++wrong;
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
  std::vector<float> values(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) values[static_cast<std::size_t>(i)] = value(i);
  float* x = nullptr;
  float* z = nullptr;
  if (cudaMalloc(&x, (kCount + 2) * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&z, (kCount + 1) * sizeof(float)) != cudaSuccess ||
      cudaMemcpy(x + 2, values.data(), kCount * sizeof(float), cudaMemcpyHostToDevice) != cudaSuccess) {
    return 1;
  }
  const std::int64_t wrong = wrong_elements(z + 1, x + 2);
  if (cudaFree(x) != cudaSuccess || cudaFree(z) != cudaSuccess) return 1;
  std::printf("%lld wrong elements\n", static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
