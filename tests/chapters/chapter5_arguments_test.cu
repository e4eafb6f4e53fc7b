// What chapter 5's take-away function refuses, and that it leaves atomics out where it is asked to.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "chapters/chapter5_index_add/index_add_case.hpp"
#include "common/cuda/resources.hpp"
#include "tests/catch.hpp"

namespace warpbook::chapter5 {

std::string chosen_step(const IndexAddProblem& problem);  // chapter.cu

namespace {

/// Device arrays for 64 x 8 floats and 100 entries.
struct ArgumentTest {
  DeviceBuffer dst{64 * 8 * 4 + 256};
  DeviceBuffer src{100 * 8 * 4 + 256};
  DeviceBuffer index{100 * 8 + 256};
  DeviceBuffer workspace{1 << 20};
  IndexAddProblem p;

  ArgumentTest() {
    const std::int64_t dst_shape[2] = {64, 8};
    const std::int64_t src_shape[2] = {100, 8};
    p.dst = contiguous_view(2, dst_shape);
    p.src = contiguous_view(2, src_shape);
    for (const DeviceBuffer* buffer : {&dst, &src, &index}) {
      check(cudaMemset(buffer->data(), 0, buffer->bytes()), "clearing");
    }
  }

  float* to() const { return reinterpret_cast<float*>(dst.data()); }
  const float* from() const { return reinterpret_cast<const float*>(src.data()); }
  const std::int64_t* named() const { return reinterpret_cast<const std::int64_t*>(index.data()); }

  /// With the arrays displaced by so many bytes.
  cudaError_t call(std::size_t dst_offset = 0, std::size_t src_offset = 0, std::size_t index_offset = 0,
                   std::size_t workspace_offset = 0) const {
    std::size_t bytes = workspace.bytes() - workspace_offset;
    return call_index_add(workspace.data() + workspace_offset, bytes, p,
                          reinterpret_cast<float*>(dst.data() + dst_offset),
                          reinterpret_cast<const std::int64_t*>(index.data() + index_offset),
                          reinterpret_cast<const float*>(src.data() + src_offset), nullptr, nullptr);
  }
};

}  // namespace

TEST_CASE("the take-away function refuses what it cannot add") {
  ArgumentTest test;
  const auto kInvalid = cudaErrorInvalidValue;
  CHECK(test.call() == cudaSuccess);
  SECTION("problems") {
    test.p.dim = 2;
    CHECK(test.call() == kInvalid);
    test.p.dim = -1;
    CHECK(test.call() == kInvalid);
    test.p.dim = 1;  // src has 100 places along dimension 0, dst 64.
    CHECK(test.call() == kInvalid);
    test.p.dim = 0;
    test.p.dst.dims = 0;
    CHECK(test.call() == kInvalid);
    test.p.dst.dims = 26;
    CHECK(test.call() == kInvalid);
    test.p.dst.dims = 3;
    CHECK(test.call() == kInvalid);
  }
  SECTION("views") {
    test.p.dst.strides[0] = 4;  // Rows overlap.
    CHECK(test.call() == kInvalid);
    test.p.dst.strides[0] = -8;
    CHECK(test.call() == kInvalid);
    test.p.dst.strides[0] = 8;
    test.p.src.offset = 1;
    CHECK(test.call() == kInvalid);
    test.p.src.offset = 0;
    test.p.src.strides[1] = 0;  // A broadcast src is fine.
    CHECK(test.call() == cudaSuccess);
    test.p.src.sizes[0] = -1;
    CHECK(test.call() == kInvalid);
  }
  SECTION("misaligned and null arrays") {
    CHECK(test.call(2) == kInvalid);
    CHECK(test.call(0, 2) == kInvalid);
    CHECK(test.call(0, 0, 4) == kInvalid);
    CHECK(test.call(4, 8, 8) == cudaSuccess);
    CHECK(test.call(0, 0, 0, 128) == kInvalid);
    std::size_t bytes = test.workspace.bytes();
    CHECK(call_index_add(test.workspace.data(), bytes, test.p, nullptr, test.named(), test.from(), nullptr, nullptr) ==
          kInvalid);
    CHECK(call_index_add(test.workspace.data(), bytes, test.p, test.to(), nullptr, test.from(), nullptr, nullptr) ==
          kInvalid);
    CHECK(call_index_add(test.workspace.data(), bytes, test.p, test.to(), test.named(), nullptr, nullptr, nullptr) ==
          kInvalid);
  }
  SECTION("too small a workspace") {
    const std::int64_t dst_shape[2] = {2, 64};
    const std::int64_t src_shape[2] = {100'000, 64};
    test.p.dst = contiguous_view(2, dst_shape);
    test.p.src = contiguous_view(2, src_shape);
    std::size_t bytes = 0;
    CHECK(call_index_add(nullptr, bytes, test.p, nullptr, nullptr, nullptr, nullptr, nullptr) == cudaSuccess);
    REQUIRE(bytes > 0);
    --bytes;  // Refused before anything is launched: the arrays would be too small.
    CHECK(call_index_add(test.workspace.data(), bytes, test.p, test.to(), test.named(), test.from(), nullptr,
                         nullptr) == kInvalid);
  }
  SECTION("nothing to do") {
    test.p.src.sizes[0] = 0;
    std::size_t bytes = 0;
    CHECK(call_index_add(nullptr, bytes, test.p, nullptr, nullptr, nullptr, nullptr, nullptr) == cudaSuccess);
    CHECK(bytes == 0);
    CHECK(call_index_add(test.workspace.data(), bytes, test.p, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          cudaSuccess);
  }
  // A refusal leaves no error behind, and CUDA goes on.
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("the take-away function leaves atomics out where it is asked to") {
  ArgumentTest test;  // 100 entries, all of row 0.
  const std::vector<float> ones(100 * 8, 1);
  check(cudaMemcpy(test.src.data(), ones.data(), ones.size() * 4, cudaMemcpyHostToDevice), "copying");
  for (const bool deterministic : {false, true}) {
    test.p.deterministic = deterministic;
    std::size_t bytes = 0;
    CHECK(call_index_add(nullptr, bytes, test.p, nullptr, nullptr, nullptr, nullptr, nullptr) == cudaSuccess);
    CHECK(bytes == 0);
    CHECK(chosen_step(test.p) == (deterministic ? "v8a" : "merged_entries"));
    CHECK(test.call() == cudaSuccess);
    std::vector<float> result(64 * 8);
    check(cudaMemcpy(result.data(), test.dst.data(), result.size() * 4, cudaMemcpyDeviceToHost), "copying");
    CHECK(std::all_of(result.begin(), result.begin() + 8, [&](float x) { return x == (deterministic ? 200 : 100); }));
    CHECK(std::all_of(result.begin() + 8, result.end(), [](float x) { return x == 0; }));
  }
}

}  // namespace warpbook::chapter5
