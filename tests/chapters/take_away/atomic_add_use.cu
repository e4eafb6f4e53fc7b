/// \file
/// A program as another project would write it: of Warpbook it has nothing but the amalgamated atomic_add.cuh.
#include "atomic_add.cuh"

#include <cstdint>
#include <cstdio>
#include <vector>

/// In another file of this program, which includes the header, too (tests/chapters/peers/atomic_add_c.cu).
extern "C" int warpbook_scatter_add(void* workspace, std::size_t* workspace_bytes, void* dst, const void* value,
                                    const void* index, std::int64_t count, std::int64_t places, int type,
                                    int index_bytes, void* stream);

namespace {

constexpr std::int64_t kCount = 100'000;
constexpr std::int64_t kPlaces = 1000;

/// Adds 1, 2 or 3 to every hundredth place in turn, and returns how many places came out wrong, or -1.
std::int64_t wrong_places(float* dst, const float* value, const std::int64_t* index, cudaStream_t stream) {
  std::size_t bytes = 0;
  void* workspace = nullptr;
  if (warpbook::scatter_add(nullptr, bytes, dst, value, index, kCount, kPlaces, stream) != cudaSuccess || bytes == 0 ||
      cudaMalloc(&workspace, bytes) != cudaSuccess ||
      warpbook_scatter_add(workspace, &bytes, dst, value, index, kCount, kPlaces, 2, 8, stream) != cudaSuccess) {
    return -1;
  }
  std::vector<float> result(kPlaces);
  if (cudaMemcpy(result.data(), dst, kPlaces * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return -1;
  std::int64_t wrong = 0;
  for (std::int64_t p = 0; p < kPlaces; ++p) {
    float expected = 0;
    for (std::int64_t i = p; i < kCount; i += kPlaces) expected += static_cast<float>(i % 3 + 1);
    if (result[static_cast<std::size_t>(p)] != expected) ++wrong;
  }
  return cudaFree(workspace) == cudaSuccess ? wrong : -1;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no device: only compiled and linked");
    return 77;
  }
  std::vector<float> values(kCount);
  std::vector<std::int64_t> indices(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(i % 3 + 1);
    indices[static_cast<std::size_t>(i)] = i % kPlaces;
  }
  float* dst = nullptr;
  float* value = nullptr;
  std::int64_t* index = nullptr;
  if (cudaMalloc(&dst, kPlaces * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&value, kCount * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&index, kCount * sizeof(std::int64_t)) != cudaSuccess ||
      cudaMemset(dst, 0, kPlaces * sizeof(float)) != cudaSuccess ||
      cudaMemcpy(value, values.data(), kCount * sizeof(float), cudaMemcpyHostToDevice) != cudaSuccess ||
      cudaMemcpy(index, indices.data(), kCount * sizeof(std::int64_t), cudaMemcpyHostToDevice) != cudaSuccess) {
    return 1;
  }
  const std::int64_t wrong = wrong_places(dst, value, index, nullptr);
  if (cudaFree(dst) != cudaSuccess || cudaFree(value) != cudaSuccess || cudaFree(index) != cudaSuccess) return 1;
  std::printf("%lld wrong places\n", static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
