/// \file
/// A program as another project would write it: of Warpbook it has nothing but the amalgamated strided_copy.cuh.
#include "strided_copy.cuh"

#include <cstdint>
#include <cstdio>
#include <vector>

/// In another file of this program, which includes the header, too (tests/chapters/peers/strided_copy_c.cu).
extern "C" int warpbook_write_into_view(void* dst, const void* src, int dims, const std::int64_t* sizes,
                                        const std::int64_t* strides, std::int64_t offset, int element_bytes,
                                        void* stream);

namespace {

/// Takes every second column of a 33 x 70 float array, writes them back into a cleared one, and returns how many
/// elements came out wrong, or -1.
std::int64_t wrong_elements(float* array, float* columns, const std::vector<float>& values) {
  const warpbook::TensorView view{.dims = 2, .sizes = {33, 35}, .strides = {70, 2}, .offset = 1};
  const std::size_t bytes = values.size() * sizeof(float);
  if (warpbook::make_contiguous(columns, array, view, sizeof(float), nullptr) != cudaSuccess ||
      cudaMemset(array, 0, bytes) != cudaSuccess ||
      warpbook_write_into_view(array, columns, view.dims, view.sizes.data(), view.strides.data(), view.offset,
                               sizeof(float), nullptr) != 0) {
    return -1;
  }
  std::vector<float> result(values.size());
  if (cudaMemcpy(result.data(), array, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return -1;
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (result[i] != (i % 2 == 1 ? values[i] : 0.0F)) ++wrong;
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
  std::vector<float> values(33 * 70);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  const std::size_t bytes = values.size() * sizeof(float);
  float* array = nullptr;
  float* columns = nullptr;
  if (cudaMalloc(&array, bytes) != cudaSuccess || cudaMalloc(&columns, bytes / 2) != cudaSuccess ||
      cudaMemcpy(array, values.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
    return 1;
  }
  const std::int64_t wrong = wrong_elements(array, columns, values);
  if (cudaFree(array) != cudaSuccess || cudaFree(columns) != cudaSuccess) return 1;
  std::printf("%lld wrong elements\n", static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
