// A second pointer into a buffer outlives it.
// expect: use_after_free

#include <cuda_runtime.h>

template <bool kFixed> __global__ void bump(int* data) {
  atomicAdd(&data[threadIdx.x], 1);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? bump<true> : bump<false>;
  int* data;
  cudaMalloc(&data, 64 * sizeof(int));
  cudaMemset(data, 0, 64 * sizeof(int));
  int* upper = data + 32;
  run<<<1, 32>>>(upper);
  cudaDeviceSynchronize();
  if (!fixed) cudaFree(data);
  run<<<1, 32>>>(upper);
  if (fixed) cudaFree(data);
}
