// Copies and atomics of libcu++, as the guide has them. With an argument, one of its kernels is wrong.

#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cstdio>

namespace cg = cooperative_groups;

constexpr int kBatches = 6;
constexpr int kThreads = 128;

__global__ void stages(int* out, const int* in, bool wrong) {
  __shared__ int tiles[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int batch = 0, next = 0; batch < kBatches; ++batch) {
    for (; next < kBatches && next < batch + 2; ++next) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tiles[next % 2], in + next * kThreads, sizeof tiles[0], pipe);  // <- a
      pipe.producer_commit();
    }
    if (!wrong) pipe.consumer_wait();
    block.sync();
    out[batch * kThreads + threadIdx.x] = tiles[batch % 2][kThreads - 1 - threadIdx.x];  // <- a
    block.sync();
    pipe.consumer_release();
  }
}

__global__ void roles(int* out, const int* in, bool) {
  __shared__ int tiles[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  const auto role = block.thread_rank() < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  auto warp = cg::tiled_partition<32>(block);
  for (int batch = 0; batch < kBatches; ++batch) {
    if (role == cuda::pipeline_role::producer) {
      pipe.producer_acquire();
      cuda::memcpy_async(warp, tiles[batch % 2], in + batch * kThreads, cuda::aligned_size_t<16>(sizeof tiles[0]), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      for (int i = threadIdx.x - 32; i < kThreads; i += kThreads - 32)
        out[batch * kThreads + i] = tiles[batch % 2][kThreads - 1 - i];
      pipe.consumer_release();
    }
  }
}

__global__ void barriers(int* out, const int* in, bool wrong) {
  __shared__ int tiles[2][kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar[2];
  auto block = cg::this_thread_block();
  if (block.thread_rank() < 2) init(&bar[block.thread_rank()], block.size());
  block.sync();
  cuda::memcpy_async(block, tiles[0], in, sizeof tiles[0], bar[0]);  // <- b
  for (int batch = 0; batch < kBatches; ++batch) {
    const int next = batch + 1;
    if (next < kBatches)
      cuda::memcpy_async(block, tiles[next % 2], in + next * kThreads, sizeof tiles[0], bar[next % 2]);  // <- b
    auto token = bar[batch % 2].arrive();
    if (wrong) block.sync();
    if (!wrong) bar[batch % 2].wait(std::move(token));
    out[batch * kThreads + threadIdx.x] = tiles[batch % 2][kThreads - 1 - threadIdx.x];  // <- b
    block.sync();
  }
}

__global__ void own(int* out, const int* in, bool wrong) {
  __shared__ int tiles[3][kThreads];
  auto pipe = cuda::make_pipeline();
  for (int batch = 0; batch < kBatches + 2; ++batch) {
    pipe.producer_acquire();
    if (batch < kBatches)
      cuda::memcpy_async(&tiles[batch % 3][threadIdx.x], &in[batch * kThreads + threadIdx.x], sizeof(int), pipe);  // <- c
    pipe.producer_commit();
    if (batch < 2) continue;
    cuda::pipeline_consumer_wait_prior<2>(pipe);
    __syncthreads();
    out[(batch - 2) * kThreads + threadIdx.x] = tiles[(batch - 2 + wrong) % 3][kThreads - 1 - threadIdx.x];  // <- c
    __syncthreads();
    pipe.consumer_release();
  }
}

// No instruction copies bytes by itself: these are there at once.
__global__ void bytes(char* out, const char* in) {
  __shared__ char line[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  cuda::memcpy_async(block, line, in + 1, kThreads - 1, bar);
  bar.arrive_and_wait();
  if (threadIdx.x < kThreads - 1) out[threadIdx.x] = line[threadIdx.x];
}

__global__ void of_one_thread(int* out, const int* in) {
  __shared__ int tile[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) cuda::memcpy_async(tile, in, cuda::aligned_size_t<16>(sizeof tile), bar);
  bar.arrive_and_wait();
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

__global__ void scopes(int* sums, bool wrong) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  of_block.fetch_add(1);
  cuda::atomic_ref<int, cuda::thread_scope_block>(sums[blockIdx.x]).fetch_add(1, cuda::memory_order_relaxed);
  if (wrong)
    cuda::atomic_ref<int, cuda::thread_scope_block>(sums[2]).fetch_add(1);  // <- d
  else
    cuda::atomic_ref<int, cuda::thread_scope_device>(sums[2]).fetch_add(1);
  __syncthreads();
  if (threadIdx.x == 0) cuda::atomic_ref<int>(sums[3]).fetch_add(of_block);
}

int main(int count, char** arguments) {
  const char wrong = count > 1 ? arguments[1][0] : ' ';
  int *in, *out, host[kBatches * kThreads];
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof host);
  for (int i = 0; i < kBatches * kThreads; ++i) host[i] = i;
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  void (*const kernels[])(int*, const int*, bool) = {stages, barriers, own, roles};
  int found = 0;
  for (int k = 0; k < 4; ++k) {
    cudaMemset(out, 0, sizeof host);
    kernels[k]<<<2, kThreads>>>(out, in, wrong == 'a' + k);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < kBatches * kThreads; ++i)
      found += host[i] != i / kThreads * kThreads + kThreads - 1 - i % kThreads;
  }
  of_one_thread<<<1, kThreads>>>(out, in);
  bytes<<<1, kThreads>>>(reinterpret_cast<char*>(out), reinterpret_cast<const char*>(in));
  cudaMemcpy(host, out, kThreads * sizeof(int), cudaMemcpyDeviceToHost);
  found += host[100] != 27 || host[3] != 4 << 24;
  cudaMemset(out, 0, sizeof host);
  scopes<<<2, kThreads>>>(out, wrong == 'd');
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  found += host[0] != 128 || host[2] != 256 || host[3] != 256;
  cudaFree(in);
  cudaFree(out);
  return found != 0;
}
