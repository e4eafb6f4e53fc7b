// What the runtime knows of `__device__` and `__managed__` variables, and threads that hand them on in order: a counter of
// atomics, a lock with fences. A struct's padding is never written, and goes to the host with it.
#include <cstdio>
#include <cuda_runtime.h>

struct Padded {
  char tag;
  double value;
};

__device__ int results[256];
__managed__ int managed[256];
__constant__ int factor;
__device__ int next, lock, guarded;

__global__ void work(Padded* padded) {
  __shared__ int item;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) item = atomicAdd(&next, 1);
    __syncthreads();
    if (item >= 256) break;
    if (threadIdx.x == 0) results[item] = item * factor;
  }
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0)
      ;
    __threadfence();
    guarded += 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
  if (blockIdx.x == 0) {
    padded[threadIdx.x].tag = 'a';
    padded[threadIdx.x].value = threadIdx.x;
  }
}

int main() {
  const int two = 2;
  int copy[256], locked = 0;
  void* device = nullptr;
  cudaMemcpyToSymbolAsync(factor, &two, sizeof two, 0, cudaMemcpyHostToDevice, nullptr);
  cudaGetSymbolAddress(&device, results);
  bool right = cudaMemset(device, 0xff, sizeof results) == cudaSuccess;
  right = right && cudaMemsetAsync(managed, 1, sizeof managed) == cudaSuccess;
  cudaPointerAttributes of_device{}, of_managed{};
  cudaPointerGetAttributes(&of_device, device);
  cudaPointerGetAttributes(&of_managed, managed + 3);
  right = right && of_device.type == cudaMemoryTypeDevice && of_managed.type == cudaMemoryTypeManaged;
  Padded *padded, on_host[64];
  cudaMalloc(&padded, sizeof on_host);
  work<<<8, 64>>>(padded);
  cudaMemcpy(on_host, padded, sizeof on_host, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(copy, results, sizeof copy);
  cudaMemcpyFromSymbol(&locked, guarded, sizeof locked);
  right = right && copy[255] == 510 && locked == 8 && managed[9] == 0x01010101 && on_host[63].value == 63;
  std::printf("%d %d %d\n", copy[255], locked, managed[9]);
  cudaFree(padded);
  return right ? 0 : 1;
}
