// A tile is read before all of it is there.
// expect: race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void reverse(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;  // <- bug
  if (kFixed) __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? reverse<true> : reverse<false>;
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  run<<<1, 64>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
