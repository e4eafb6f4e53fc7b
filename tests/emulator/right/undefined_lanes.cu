// Variables that only some lanes set: a leader's result for its warp, and values that nobody looks at.
#include <cooperative_groups.h>
#include <cuda_runtime.h>


__global__ void leaders(int* counter, int* out) {
  int begin;
  if (threadIdx.x % 32 == 0) begin = atomicAdd(counter, 32);
  begin = __shfl_sync(0xffffffffu, begin, 0);
  out[begin + threadIdx.x % 32] = 1;
}

__global__ void groups(int* counter, int* out) {
  if (threadIdx.x % 3 != 0) return;
  auto group = cooperative_groups::coalesced_threads();
  int begin;
  if (group.thread_rank() == 0) begin = atomicAdd(counter, group.size());
  out[group.shfl(begin, 0) + group.thread_rank()] = 1;
}

__device__ int last_of(const int* values, int n) {
  int found;
  bool any = false;
  for (int i = 0; i < n; ++i)
    if (values[i] > 0) {
      found = i;
      any = true;
    }
  return any ? found : -1;
}

__global__ void searches(const int* values, int* out) { out[threadIdx.x] = last_of(values, threadIdx.x); }

int main() {
  int *counter, *out, host[256], count;
  cudaMalloc(&counter, sizeof(int));
  cudaMalloc(&out, 256 * sizeof(int));
  bool right = true;
  const auto check = [&](int expected) {
    cudaMemcpy(&count, counter, sizeof count, cudaMemcpyDeviceToHost);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    int set = 0;
    for (int i = 0; i < 256; ++i) set += host[i] == (i < expected);
    right = right && count == expected && set == 256;
    cudaMemset(counter, 0, sizeof(int));
    cudaMemset(out, 0, 256 * sizeof(int));
  };
  cudaMemset(counter, 0, sizeof(int));
  cudaMemset(out, 0, 256 * sizeof(int));
  leaders<<<4, 64>>>(counter, out);
  check(256);
  groups<<<3, 96>>>(counter, out);
  check(96);
  cudaMemset(out, 1, 256 * sizeof(int));
  int* found;
  cudaMalloc(&found, 64 * sizeof(int));
  searches<<<1, 64>>>(out, found);
  cudaMemcpy(host, found, 64 * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i) right = right && host[i] == i - 1;
  cudaFree(counter);
  cudaFree(out);
  cudaFree(found);
  return right ? 0 : 1;
}
