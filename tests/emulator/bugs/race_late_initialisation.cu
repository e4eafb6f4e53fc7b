// One thread sets a shared flag, and the others look before it is set.
// expect: race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void broadcast(int* out, int value) {
  __shared__ int shared_value;
  if (threadIdx.x == 0) shared_value = value;  // <- bug
  if (kFixed) __syncthreads();
  if (kFixed || threadIdx.x >= 32) out[threadIdx.x] = shared_value;  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int) = fixed ? broadcast<true> : broadcast<false>;
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  run<<<1, 64>>>(out, 3);
  cudaDeviceSynchronize();
  cudaFree(out);
}
