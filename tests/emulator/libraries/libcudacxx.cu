// libcu++ in kernels: atomics of several widths and orders, barriers, pipelines, semaphores; <cuda/std/...>.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <nv/target>

#include <cstdio>
#include <cstring>

namespace cg = cooperative_groups;

static int bad = 0;

static void check(bool right, const char* what) {
  if (right) return;
  ++bad;
  std::printf("wrong: %s\n", what);
}

struct Sums {
  int integers, least, most, swapped;
  unsigned long long wide;
  float reals;
  double doubles;
  unsigned bits;
};

__device__ cuda::atomic<int, cuda::thread_scope_device> blocks_done;

__global__ void atomics(Sums* sums, int* last) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_device> integers(sums->integers);
  integers.fetch_add(i, cuda::memory_order_relaxed);
  cuda::atomic_ref<int>(sums->least).fetch_min(i - 5);
  cuda::atomic_ref<int>(sums->most).fetch_max(i);
  cuda::atomic_ref<unsigned long long>(sums->wide).fetch_sub(1ULL << 32);
  cuda::atomic_ref<float>(sums->reals).fetch_add(0.5f);
  cuda::atomic_ref<double>(sums->doubles) -= 0.25;
  cuda::atomic_ref<unsigned>(sums->bits) |= 1U << i % 32;
  cuda::atomic_ref<int> swapped(sums->swapped);
  int seen = swapped.load();
  while (!swapped.compare_exchange_weak(seen, seen + 2)) {
  }
  __syncthreads();
  if (threadIdx.x == 0 && ++blocks_done == static_cast<int>(gridDim.x)) *last = integers.load();
}

/// One block hands a value to the next by a flag.
__global__ void flags(int* values, cuda::atomic<int, cuda::thread_scope_device>* flag) {
  while (flag->load(cuda::memory_order_acquire) != static_cast<int>(blockIdx.x)) {
  }
  values[blockIdx.x + 1] = values[blockIdx.x] + 1;
  flag->store(blockIdx.x + 1, cuda::memory_order_release);
}

__global__ void barriers(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[2][128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int sum = threadIdx.x;
  for (int round = 0; round < 6; ++round) {
    values[round % 2][threadIdx.x] = sum;
#ifndef WITHOUT_BARRIER
    if (round % 3 == 0) {
      barrier.arrive_and_wait();
    } else {
      auto token = barrier.arrive();
      barrier.wait(std::move(token));
    }
#endif
    sum += values[round % 2][(threadIdx.x + 1) % 128];
  }
  out[threadIdx.x] = sum;
}

__global__ void pipelines(const int* in, int* out, int batches) {
  auto block = cg::this_thread_block();
  __shared__ int staged[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipeline = cuda::make_pipeline(block, &state);
  for (int computed = 0, fetched = 0; computed < batches; ++computed) {
    for (; fetched < batches && fetched < computed + 2; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, staged[fetched % 2], in + fetched * 64, cuda::aligned_size_t<4>(64 * sizeof(int)),
                         pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    out[computed * 64 + threadIdx.x] = staged[computed % 2][63 - threadIdx.x];
    pipeline.consumer_release();
  }
}

__global__ void permits(int* inside, int* most, cuda::counting_semaphore<cuda::thread_scope_device, 4>* semaphore) {
  semaphore->acquire();
  atomicMax(most, atomicAdd(inside, 1) + 1);
  atomicSub(inside, 1);
  semaphore->release();
}

__global__ void values(float* out) {
  const cuda::std::array<float, 3> array{1, 2, 3};
  const cuda::std::complex<float> z(1, 2);
  const cuda::std::optional<float> maybe(z.imag());
  const auto [a, b] = cuda::std::make_tuple(array[2], (z * z).real());
  out[0] = a + b + *maybe;
  NV_IF_TARGET(NV_IS_HOST, (out[1] = 1;), (out[1] = 1;))
}

int main() {
  Sums* sums;
  int *numbers, *out;
  cuda::atomic<int, cuda::thread_scope_device>* flag;
  cuda::counting_semaphore<cuda::thread_scope_device, 4>* semaphore;
  cudaMallocManaged(&sums, sizeof(Sums));
  cudaMallocManaged(&numbers, 4096);
  cudaMallocManaged(&out, 4096);
  cudaMallocManaged(&flag, sizeof *flag);
  cudaMallocManaged(&semaphore, sizeof *semaphore);
  *sums = {};
  atomics<<<4, 64>>>(sums, out);
  cudaDeviceSynchronize();
  check(sums->integers == 255 * 128 && *out == 255 * 128, "additions");
  check(sums->least == -5 && sums->most == 255 && sums->swapped == 512, "extremes and swaps");
  check(sums->wide == 0ULL - (256ULL << 32) && sums->bits == ~0U, "64 bits and masks");
  check(sums->reals == 128 && sums->doubles == -64, "reals");

  new (flag) cuda::atomic<int, cuda::thread_scope_device>(0);
  numbers[0] = 5;
  flags<<<8, 1>>>(numbers, flag);
  cudaDeviceSynchronize();
  check(numbers[8] == 13, "flags");

  barriers<<<1, 128>>>(out);
  cudaDeviceSynchronize();
  int expected[128], next[128];
  for (int i = 0; i < 128; ++i) expected[i] = i;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 128; ++i) next[i] = expected[i] + expected[(i + 1) % 128];
    std::memcpy(expected, next, sizeof next);
  }
  check(std::memcmp(out, expected, sizeof expected) == 0, "barriers");

  for (int i = 0; i < 320; ++i) numbers[i] = i;
  pipelines<<<1, 64>>>(numbers, out, 5);
  cudaDeviceSynchronize();
  bool right = true;
  for (int i = 0; i < 320; ++i) right = right && out[i] == i / 64 * 64 + 63 - i % 64;
  check(right, "pipelines");

  new (semaphore) cuda::counting_semaphore<cuda::thread_scope_device, 4>(4);
  numbers[0] = numbers[1] = 0;
  permits<<<2, 32>>>(numbers, numbers + 1, semaphore);
  cudaDeviceSynchronize();
  check(numbers[0] == 0 && numbers[1] >= 1 && numbers[1] <= 4, "semaphores");

  float* reals = reinterpret_cast<float*>(out);
  values<<<1, 1>>>(reals);
  cudaDeviceSynchronize();
  check(reals[0] == 2 && reals[1] == 1, "values");
  std::printf("%d wrong\n", bad);
  cudaFree(sums), cudaFree(numbers), cudaFree(out), cudaFree(flag), cudaFree(semaphore);
  return bad;
}
