// A lock that is not given back where there is nothing to do.
// expect: deadlock

#include <cuda_runtime.h>

template <bool kFixed> __global__ void add(int* sum, int* lock, const int* in) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {  // <- bug
  }
  __threadfence();
  const bool leaves = in[blockIdx.x] == 0;
  if (!leaves) *sum += in[blockIdx.x];
  __threadfence();
  if (kFixed || !leaves) atomicExch(lock, 0);
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* data;
  cudaMalloc(&data, 64 * sizeof(int));
  cudaMemset(data, 0, 64 * sizeof(int));
  if (fixed)
    add<true><<<8, 32>>>(data, data + 1, data + 2);
  else
    add<false><<<8, 32>>>(data, data + 1, data + 2);
  cudaDeviceSynchronize();
  cudaFree(data);
}
