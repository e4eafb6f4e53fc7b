// Threads of a block pass values through global memory without a barrier.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void pass(int* out, int* data) {
  data[threadIdx.x] = threadIdx.x;  // <- bug
  if (kFixed) __syncthreads();
  out[threadIdx.x] = data[127 - threadIdx.x];  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int*) = fixed ? pass<true> : pass<false>;
  int *data, *out;
  cudaMalloc(&data, 128 * sizeof(int));
  cudaMalloc(&out, 128 * sizeof(int));
  cudaMemset(data, 0, 128 * sizeof(int));
  run<<<1, 128>>>(out, data);
  cudaDeviceSynchronize();
  cudaFree(data);
  cudaFree(out);
}
