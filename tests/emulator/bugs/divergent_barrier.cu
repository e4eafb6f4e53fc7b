// Half of a block waits at one barrier, half at another.
// expect: divergent_barrier

#include <cuda_runtime.h>

template <bool kFixed> __global__ void stage(int* out) {
  __shared__ int row[64];
  row[threadIdx.x] = threadIdx.x;
  if (kFixed) {
    __syncthreads();
  } else if (threadIdx.x < 32) {
    __syncthreads();  // <- other
  } else {
    row[threadIdx.x] += 1;
    __syncthreads();  // <- bug
  }
  out[threadIdx.x] = row[63 - threadIdx.x];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? stage<true> : stage<false>;
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  run<<<1, 64>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
