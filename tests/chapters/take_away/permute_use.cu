/// \file
/// A program as another project would write it: of Warpbook it has nothing but the amalgamated permute.cuh.
#include "permute.cuh"

#include <cstdint>
#include <cstdio>
#include <vector>

/// In another file of this program, which includes the header, too (tests/chapters/peers/permute_c.cu).
extern "C" int warpbook_permute(void* dst, const void* src, int rank, const std::int64_t* shape, const int* permutation,
                                int element_bytes, void* stream);

namespace {

/// Permutes a 5 x 33 x 70 float array to 70 x 5 x 33 and returns how many elements came out wrong, or -1.
std::int64_t wrong_elements(float* dst, const float* src, const std::vector<float>& values) {
  constexpr std::int64_t kShape[] = {5, 33, 70};
  constexpr int kPermutation[] = {2, 0, 1};
  if (warpbook::permute(dst, src, 3, kShape, kPermutation, sizeof(float), nullptr) != cudaSuccess) return -1;
  std::vector<float> result(values.size());
  if (cudaMemcpy(result.data(), dst, values.size() * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return -1;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < 5 * 33; ++i) {
    for (std::int64_t j = 0; j < 70; ++j) {
      if (result[static_cast<std::size_t>(j * 5 * 33 + i)] != values[static_cast<std::size_t>(i * 70 + j)]) ++wrong;
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
  std::vector<float> values(5 * 33 * 70);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::size_t bytes = values.size() * sizeof(float);
  float* src = nullptr;
  float* dst = nullptr;
  if (cudaMalloc(&src, bytes) != cudaSuccess || cudaMalloc(&dst, bytes) != cudaSuccess ||
      cudaMemcpy(src, values.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
    return 1;
  }
  std::int64_t wrong = wrong_elements(dst, src, values);
  constexpr std::int64_t kShape[] = {5 * 33, 70};
  constexpr int kPermutation[] = {1, 0};
  if (warpbook_permute(src, dst, 2, kShape, kPermutation, sizeof(float), nullptr) != 0 ||
      cudaDeviceSynchronize() != cudaSuccess) {
    wrong = -1;
  }
  if (cudaFree(src) != cudaSuccess || cudaFree(dst) != cudaSuccess) return 1;
  std::printf("%lld wrong elements\n", static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
