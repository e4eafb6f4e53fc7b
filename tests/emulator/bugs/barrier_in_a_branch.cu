// A barrier that only some threads reach, while the others wait at the next one.
// expect: divergent_barrier

#include <cuda_runtime.h>

template <bool kFixed> __global__ void stage(int* out, int n) {
  __shared__ int row[64];
  row[threadIdx.x] = 0;
  if (!kFixed && threadIdx.x < n) {
    row[threadIdx.x] = 1;
    __syncthreads();  // <- other
  }
  if (kFixed) row[threadIdx.x] = threadIdx.x < n;
  __syncthreads();  // <- bug
  out[threadIdx.x] = row[63 - threadIdx.x];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int) = fixed ? stage<true> : stage<false>;
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  run<<<1, 64>>>(out, 48);
  cudaDeviceSynchronize();
  cudaFree(out);
}
