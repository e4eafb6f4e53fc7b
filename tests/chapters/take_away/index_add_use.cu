/// \file
/// A program as another project would write it: of Warpbook it has nothing but the amalgamated index_add.cuh.
#include "index_add.cuh"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

/// In another file of this program, which includes the header, too (tests/chapters/peers/index_add_c.cu).
extern "C" int warpbook_index_add(void* workspace, std::size_t* workspace_bytes, void* dst, const std::int64_t* index,
                                  const void* src, int type, int dims, const std::int64_t* shape, int dim,
                                  std::int64_t entries, void* stream);

namespace {

constexpr std::int64_t kRows = 40;
constexpr std::int64_t kEntries = 9000;
constexpr std::int64_t kColumns = 24;

/// A device array made from a host one; null where that fails. The program ends with it.
template <class T> T* on_device(const std::vector<T>& values) {
  T* data = nullptr;
  const std::size_t bytes = values.size() * sizeof(T);
  if (cudaMalloc(&data, bytes) != cudaSuccess) return nullptr;
  return cudaMemcpy(data, values.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess ? data : nullptr;
}

/// Adds rows by an index with one place outside. \return how many elements came out wrong, or -1.
std::int64_t wrong_elements(float* dst, const std::int64_t* index, const float* src, unsigned long long* outside,
                            const std::vector<float>& expected) {
  const std::int64_t dst_shape[2] = {kRows, kColumns};
  const std::int64_t src_shape[2] = {kEntries, kColumns};
  warpbook::IndexAddProblem problem;
  problem.dim = 0;
  problem.dst = warpbook::contiguous_view(2, dst_shape);
  problem.src = warpbook::contiguous_view(2, src_shape);

  std::size_t bytes = 0;
  void* workspace = nullptr;
  if (warpbook::index_add(nullptr, bytes, problem, dst, index, src, outside, nullptr) != cudaSuccess) return -1;
  if (cudaMalloc(&workspace, bytes + 1) != cudaSuccess) return -1;
  if (warpbook::index_add(workspace, bytes, problem, dst, index, src, outside, nullptr) != cudaSuccess) return -1;

  std::vector<float> result(expected.size());
  unsigned long long position = 0;
  if (cudaMemcpy(result.data(), dst, result.size() * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess ||
      cudaMemcpy(&position, outside, sizeof(position), cudaMemcpyDeviceToHost) != cudaSuccess ||
      cudaFree(workspace) != cudaSuccess) {
    return -1;
  }
  std::int64_t wrong = position == 77 + 1 ? 0 : 1;
  for (std::size_t i = 0; i < result.size(); ++i) wrong += result[i] == expected[i] ? 0 : 1;
  return wrong;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no device: only compiled and linked");
    return 77;
  }
  std::vector<float> sums(kRows * kColumns, 1);
  std::vector<float> values(kEntries * kColumns);
  std::vector<std::int64_t> rows(kEntries);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17);
  for (std::size_t e = 0; e < rows.size(); ++e) rows[e] = static_cast<std::int64_t>(e * 7 % kRows);
  rows[77] = -3;
  std::vector<float> expected = sums;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    for (std::size_t c = 0; rows[e] >= 0 && c < kColumns; ++c) {
      expected[static_cast<std::size_t>(rows[e]) * kColumns + c] += values[e * kColumns + c];
    }
  }
  float* const dst = on_device(sums);
  float* const src = on_device(values);
  std::int64_t* const index = on_device(rows);
  unsigned long long* const outside = on_device(std::vector<unsigned long long>(1, 0));
  if (dst == nullptr || src == nullptr || index == nullptr || outside == nullptr) return 1;
  const std::int64_t wrong = wrong_elements(dst, index, src, outside, expected);
  std::size_t workspace_bytes = 0;
  constexpr std::int64_t kShape[] = {kRows, kColumns};
  const bool elsewhere =
      warpbook_index_add(nullptr, &workspace_bytes, dst, index, src, 1, 2, kShape, 0, kRows, nullptr) == cudaSuccess &&
      warpbook_index_add(dst, &workspace_bytes, dst, index, src, 1, 2, kShape, 0, kRows, nullptr) == cudaSuccess &&
      cudaDeviceSynchronize() == cudaSuccess;
  if (cudaFree(src) != cudaSuccess || cudaFree(dst) != cudaSuccess || cudaFree(index) != cudaSuccess ||
      cudaFree(outside) != cudaSuccess) {
    return 1;
  }
  std::printf("%lld wrong elements, second file: %s\n", static_cast<long long>(wrong), elsewhere ? "ok" : "failed");
  return wrong == 0 && elsewhere ? 0 : 1;
}
