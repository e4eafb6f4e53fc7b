// All threads count in one variable without an atomic.
// expect: race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void count(int* out) {
  __shared__ int counter;
  if (threadIdx.x == 0) counter = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    if (kFixed) {
      atomicAdd(&counter, 1);
    } else {
      counter = counter + 1;  // <- bug
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = counter;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? count<true> : count<false>;
  int* out;
  cudaMalloc(&out, sizeof(int));
  run<<<1, 128>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
