// Lanes of one warp wait for each other in different ways.
// expect: deadlock

#include <cuda_runtime.h>

template <bool kFixed> __global__ void wait(int* out) {
  if (kFixed || threadIdx.x < 16) {
    __syncwarp();  // <- bug
  } else {
    __syncthreads();
  }
  if (kFixed) __syncthreads();
  out[threadIdx.x] = threadIdx.x;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? wait<true> : wait<false>;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  run<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
