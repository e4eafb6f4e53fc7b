// Cooperative groups and asynchronous copies on the emulator.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <vector>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::launch;
namespace cg = cooperative_groups;

namespace {

/// Managed memory of n elements, 0 in every byte.
template <class T> class Managed {
public:
  explicit Managed(std::size_t n) {
    REQUIRE(cudaMallocManaged(&data_, n * sizeof(T)) == cudaSuccess);
    REQUIRE(cudaMemset(data_, 0, n * sizeof(T)) == cudaSuccess);
  }
  ~Managed() { cudaFree(data_); }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  T* get() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

private:
  T* data_ = nullptr;
};

struct Wide {
  double a;
  float b;
  int c;
};

template <unsigned kSize> __global__ void tiles(int* sums, int* ranks, Wide* wide) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<kSize>(block);
  const int i = static_cast<int>(block.thread_rank());
  sums[i] = cg::reduce(tile, i, cg::plus<int>());
  ranks[i] = static_cast<int>(tile.meta_group_rank() * 100 + tile.thread_rank());
  wide[i] = tile.shfl_down(Wide{i * 0.5, i * 2.0F, -i}, 1);
  block.sync();
  const auto half = cg::tiled_partition<kSize / 2>(tile);
  sums[i] += 10000 * cg::reduce(half, static_cast<int>(half.thread_rank()), cg::greater<int>());
}

template <unsigned kSize> void check_tiles() {
  const Managed<int> sums(96);
  const Managed<int> ranks(96);
  const Managed<Wide> wide(96);
  REQUIRE(launch(tiles<kSize>, {.grid = 1, .block = {16, 6}}, sums.get(), ranks.get(), wide.get()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  constexpr int kTile = kSize;
  for (int i = 0; i < 96; ++i) {
    const int first = i / kTile * kTile;
    const auto at = static_cast<std::size_t>(i);
    CHECK(sums[at] == kTile * first + kTile * (kTile - 1) / 2 + 10000 * (kTile / 2 - 1));
    CHECK(ranks[at] == i / kTile * 100 + i % kTile);
    const int next = i + 1 < first + kTile ? i + 1 : i;
    CHECK(wide[at].a == next * 0.5);
    CHECK(wide[at].c == -next);
  }
}

TEST_CASE("tiles of a block") {
  check_tiles<32>();
  check_tiles<16>();
  check_tiles<4>();
  check_tiles<2>();
}

template <unsigned kSize> __global__ void wide_tiles(int* sums, double* most, int* inner) {
  __shared__ cg::block_tile_memory<256> memory;
  const auto block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<kSize>(block);
  const int i = static_cast<int>(block.thread_rank());
  for (int round = 0; round < 3; ++round) sums[i] = cg::reduce(tile, i + round, cg::plus<int>());
  most[i] = cg::reduce(tile, i * 0.5, cg::greater<double>());
  const auto pair = cg::tiled_partition<kSize / 2>(tile);
  inner[i] = cg::reduce(pair, 1, cg::plus<int>()) * 100 + static_cast<int>(pair.meta_group_rank());
}

template <unsigned kSize> void check_wide_tiles() {
  const Managed<int> sums(256);
  const Managed<double> most(256);
  const Managed<int> inner(256);
  REQUIRE(launch(wide_tiles<kSize>, {.grid = 1, .block = {32, 8}}, sums.get(), most.get(), inner.get()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  constexpr int kTile = kSize;
  for (int i = 0; i < 256; ++i) {
    const int first = i / kTile * kTile;
    const auto at = static_cast<std::size_t>(i);
    CHECK(sums[at] == kTile * (first + 2) + kTile * (kTile - 1) / 2);
    CHECK(most[at] == (first + kTile - 1) * 0.5);
    CHECK(inner[at] == kTile / 2 * 100 + i / (kTile / 2) % 2);
  }
}

TEST_CASE("tiles of several warps") {
  check_wide_tiles<256>();
  check_wide_tiles<128>();
  check_wide_tiles<64>();
}

__global__ void coalesced(int* counter, int* ranks, int* sums) {
  const int i = static_cast<int>(threadIdx.x);
  if (i % 5 != 0) return;
  const cg::coalesced_group group = cg::coalesced_threads();
  if (group.thread_rank() == 0) atomicAdd(counter, static_cast<int>(group.size()));
  ranks[i] = static_cast<int>(group.thread_rank());
  sums[i] = cg::reduce(group, i, cg::plus<int>());
}

TEST_CASE("threads that go the same way") {
  const Managed<int> counter(1);
  const Managed<int> ranks(64);
  const Managed<int> sums(64);
  REQUIRE(launch(coalesced, {.grid = 1, .block = 64}, counter.get(), ranks.get(), sums.get()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(counter[0] == 13);
  CHECK(ranks[30] == 6);
  CHECK(sums[0] == 105);  // 0 + 5 + ... + 30
  CHECK(ranks[60] == 5);
  CHECK(sums[35] == 285);  // 35 + 40 + ... + 60
}

__global__ void staged(const int* in, int* out, int stages) {
  __shared__ int tile[2][64];
  const unsigned t = threadIdx.x;
  tile[0][t] = tile[1][t] = -1;
  __pipeline_memcpy_async(&tile[0][t], in + t, sizeof(int));
  __pipeline_commit();
  out[t] = tile[0][t];  // not waited for
  int sum = 0;
  for (int s = 0; s < stages; ++s) {
    const bool more = s + 1 < stages;
    if (more) __pipeline_memcpy_async(&tile[(s + 1) % 2][t], in + (s + 1) * 64 + t, sizeof(int), t == 9 ? 4 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += tile[s % 2][63 - t];
    __syncthreads();
  }
  out[64 + t] = sum;
}

TEST_CASE("asynchronous copies are done when they are waited for") {
  const Managed<int> in(64 * 4);
  const Managed<int> out(128);
  for (std::size_t i = 0; i < 256; ++i) in[i] = static_cast<int>(i);
  REQUIRE(launch(staged, {.grid = 1, .block = 64}, in.get(), out.get(), 4) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (std::size_t t = 0; t < 64; ++t) {
    CHECK(out[t] == -1);
    const int from = 63 - static_cast<int>(t);
    CHECK(out[64 + t] == (from == 9 ? 9 : 4 * from + 64 * 6));
  }
}

}  // namespace
