// What programs use less often: groups of other kinds, reductions over lanes, hints, registered memory, callbacks.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <warpbook_ptx.h>

#include <cstdint>
#include <vector>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::launch;
namespace cg = cooperative_groups;

namespace {

constexpr unsigned kAll = 0xffffffffU;

/// Runs a kernel of one array of results, and returns them.
template <class T, class... A>
std::vector<T> results(void (*kernel)(T*, A...), const warpbook::LaunchConfig& config, std::size_t n, A... arguments) {
  T* device = nullptr;
  REQUIRE(cudaMalloc(&device, n * sizeof(T)) == cudaSuccess);
  REQUIRE(launch(kernel, config, device, arguments...) == cudaSuccess);
  std::vector<T> host(n);
  REQUIRE(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
  REQUIRE(cudaFree(device) == cudaSuccess);
  return host;
}

__global__ void reduce_lanes(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  int* mine = out + lane * 8;
  mine[0] = __reduce_add_sync(kAll, lane - 3);
  mine[1] = __reduce_min_sync(kAll, lane - 3);
  mine[2] = __reduce_max_sync(kAll, lane - 3);
  mine[3] = static_cast<int>(__reduce_max_sync(kAll, static_cast<unsigned>(lane)));
  mine[4] = static_cast<int>(__reduce_and_sync(kAll, 0xf0U | static_cast<unsigned>(lane)));
  mine[5] = static_cast<int>(__reduce_or_sync(kAll, 1U << lane % 8));
  mine[6] = static_cast<int>(__reduce_xor_sync(kAll, static_cast<unsigned>(lane)));
  if (lane < 4) mine[7] = __reduce_add_sync(0xfU, lane);
}

__global__ void partitions(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  const cg::coalesced_group thirds = cg::labeled_partition(warp, threadIdx.x % 3);
  const cg::coalesced_group odd = cg::binary_partition(warp, threadIdx.x % 2 == 1);
  const cg::thread_group eight = cg::tiled_partition(cg::thread_group(block), 8);
  const cg::grid_group grid = cg::this_grid();
  int* mine = out + grid.thread_rank() * 8;
  mine[0] = static_cast<int>(thirds.num_threads());
  mine[1] = static_cast<int>(thirds.thread_rank());
  mine[2] = cg::reduce(odd, static_cast<int>(threadIdx.x), cg::plus<int>());
  mine[3] = static_cast<int>(eight.size());
  mine[4] = static_cast<int>(eight.thread_rank());
  mine[5] = static_cast<int>(grid.num_blocks());
  mine[6] = static_cast<int>(grid.num_threads());
  eight.sync();
  mine[7] = static_cast<int>(cg::thread_group(block).size());
}

template <class T> __global__ void copy_by_group(T* out, const T* in, unsigned n) {
  __shared__ T tile[256];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, n * sizeof(T));
  cg::wait(block);
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) out[i] = tile[i];
}

template <class T> __global__ void copy_to_global_by_group(T* out, const T* in, unsigned n) {
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, out, in, n * sizeof(T));
  cg::wait(block);
}

__global__ void registers(unsigned* out) {
  unsigned* mine = out + (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  asm("mov.u32 %0, %%smid;" : "=r"(mine[0]));
  asm("mov.u32 %0, %%laneid;" : "=r"(mine[1]));
  asm("mov.u32 %0, %%warpid;" : "=r"(mine[2]));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mine[3]));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(mine[4]));
  asm("mov.u32 %0, %%nsmid;" : "=r"(mine[5]));
  const long long begin = clock64();
  __nanosleep(100);
  mine[6] = clock64() > begin ? 1 : 0;
  unsigned long long now = 0;
  asm("mov.u64 %0, %%globaltimer;" : "=l"(now));
  mine[7] = now != 0 ? 1 : 0;
}

__global__ void hints(float* out, const float* in) {
  const unsigned i = threadIdx.x;
  __stcs(out + i, __ldcs(in + i) + __ldcg(in + i) + __ldca(in + i) + __ldcv(in + i) + __ldlu(in + i) + __ldg(in + i));
  __stwt(out + i, __ldcg(out + i) + 1.0F);
  __stcg(out + i, __ldcg(out + i) + 1.0F);
  __stwb(out + i, __ldcg(out + i) + 1.0F);
}

__global__ void add_one(int* data) { data[threadIdx.x] += 1; }

}  // namespace

TEST_CASE("reductions over lanes") {
  const std::vector<int> out = results(reduce_lanes, {.block = 32}, 256);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const int* mine = &out[lane * 8];
    CHECK(std::vector<int>(mine, mine + 7) == std::vector<int>{400, -3, 28, 31, 0xf0, 0xff, 0});
    if (lane < 4) CHECK(mine[7] == 6);
  }
}

TEST_CASE("groups by label, groups of a kind that the run tells, and the grid") {
  const std::vector<int> out = results(partitions, {.grid = 2, .block = 64}, 128 * 8);
  for (int thread = 0; thread < 128; ++thread) {
    const int lane = thread % 32;
    const int* mine = &out[static_cast<std::size_t>(thread) * 8];
    const int label = thread % 64 % 3;
    int in_label = 0;
    int before = 0;
    for (int other = 0; other < 32; ++other) {
      if ((thread % 64 / 32 * 32 + other) % 3 != label) continue;
      ++in_label;
      before += other < lane ? 1 : 0;
    }
    CHECK(mine[0] == in_label);
    CHECK(mine[1] == before);
    const int first = thread % 64 / 32 * 32;
    CHECK(mine[2] == 16 * first + (thread % 2 == 1 ? 256 : 240));
    CHECK(mine[3] == 8);
    CHECK(mine[4] == lane % 8);
    CHECK(mine[5] == 2);
    CHECK(mine[6] == 128);
    CHECK(mine[7] == 64);
  }
}

TEST_CASE("a group's asynchronous copy") {
  const auto check = [](auto value, unsigned n) {
    using T = decltype(value);
    std::vector<T> host(n);
    for (unsigned i = 0; i < n; ++i) host[i] = static_cast<T>(i + 1);
    T* in = nullptr;
    REQUIRE(cudaMalloc(&in, n * sizeof(T)) == cudaSuccess);
    REQUIRE(cudaMemcpy(in, host.data(), n * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(results(copy_by_group<T>, {.block = 96}, n, static_cast<const T*>(in), n) == host);
    CHECK(results(copy_to_global_by_group<T>, {.block = 96}, n, static_cast<const T*>(in), n) == host);
    REQUIRE(cudaFree(in) == cudaSuccess);
  };
  check(float{}, 256);
  check(double{}, 33);
  check(short{}, 101);
  check(char{}, 7);
}

TEST_CASE("special registers and clocks") {
  const std::vector<unsigned> out = results(registers, {.grid = 200, .block = 64}, std::size_t{200} * 64 * 8);
  for (unsigned block : {0U, 1U, 199U}) {
    for (unsigned thread : {0U, 5U, 31U, 32U, 63U}) {
      const unsigned* mine = &out[(block * 64 + thread) * 8];
      const unsigned lane = thread % 32;
      CHECK(mine[0] == block % mine[5]);
      CHECK(mine[1] == lane);
      CHECK(mine[2] == thread / 32);
      CHECK(mine[3] == (1U << lane) - 1);
      CHECK(mine[4] == ~mine[3]);
      CHECK(mine[5] > 0);
      CHECK(mine[6] == 1);
      CHECK(mine[7] == 1);
    }
  }
}

TEST_CASE("loads and stores with hints are loads and stores") {
  const std::vector<float> host(32, 2.0F);
  float* in = nullptr;
  REQUIRE(cudaMalloc(&in, 128) == cudaSuccess);
  REQUIRE(cudaMemcpy(in, host.data(), 128, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(results(hints, {.block = 32}, 32, static_cast<const float*>(in)) == std::vector<float>(32, 15.0F));
  REQUIRE(cudaFree(in) == cudaSuccess);
}

TEST_CASE("kernels use memory of the host that was registered or allocated for it") {
  std::vector<int> own(64, 1);
  CHECK(cudaHostGetDevicePointer(static_cast<int**>(nullptr), own.data(), 0) == cudaErrorInvalidValue);
  int* device = nullptr;
  CHECK(cudaHostGetDevicePointer(&device, own.data(), 0) == cudaErrorInvalidValue);
  REQUIRE(cudaHostRegister(own.data(), 64 * sizeof(int), cudaHostRegisterMapped) == cudaSuccess);
  CHECK(cudaHostRegister(own.data(), 64 * sizeof(int), cudaHostRegisterMapped) == cudaErrorHostMemoryAlreadyRegistered);
  REQUIRE(cudaHostGetDevicePointer(&device, own.data(), 0) == cudaSuccess);
  REQUIRE(launch(add_one, {.block = 64}, device) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(own == std::vector<int>(64, 2));
  CHECK(cudaHostUnregister(own.data()) == cudaSuccess);
  CHECK(cudaHostUnregister(own.data()) == cudaErrorHostMemoryNotRegistered);
  cudaGetLastError();

  int* pinned = nullptr;
  REQUIRE(cudaHostAlloc(&pinned, 64 * sizeof(int), cudaHostAllocMapped) == cudaSuccess);
  pinned[63] = 5;
  REQUIRE(launch(add_one, {.block = 64}, pinned) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(pinned[63] == 6);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("a program may free the lines that its kernels asked the L2 to keep") {
  CHECK(cudaCtxResetPersistingL2Cache() == cudaSuccess);
}

TEST_CASE("streams: priorities, flags, callbacks in order") {
  int least = 1;
  int greatest = 1;
  REQUIRE(cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess);
  CHECK(greatest < least);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest) == cudaSuccess);
  int priority = 1;
  unsigned flags = 0;
  CHECK(cudaStreamGetPriority(stream, &priority) == cudaSuccess);
  CHECK(priority == greatest);
  CHECK(cudaStreamGetFlags(stream, &flags) == cudaSuccess);
  CHECK(flags == cudaStreamNonBlocking);
  std::vector<int> order;
  CHECK(cudaLaunchHostFunc(
            stream, [](void* data) { static_cast<std::vector<int>*>(data)->push_back(1); }, &order) == cudaSuccess);
  CHECK(cudaStreamAddCallback(
            stream,
            [](cudaStream_t, cudaError_t status, void* data) {
              static_cast<std::vector<int>*>(data)->push_back(status == cudaSuccess ? 2 : -1);
            },
            &order, 0) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(order == std::vector<int>{1, 2});
  CHECK(cudaStreamAddCallback(stream, nullptr, nullptr, 0) == cudaErrorInvalidValue);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamGetPriority(stream, &priority) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST_CASE("hints for managed memory and marks for profilers do nothing, and say so") {
  int* managed = nullptr;
  REQUIRE(cudaMallocManaged(&managed, 4096) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(managed, 4096, 0) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(managed, 4096, {cudaMemLocationTypeDevice, 0}, 0) == cudaSuccess);
  CHECK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeHost, 0}) == cudaSuccess);
  CHECK(cudaFree(managed) == cudaSuccess);
  CHECK(cudaProfilerStart() == cudaSuccess);
  CHECK(cudaProfilerStop() == cudaSuccess);
}
