// A block of 32 x 64 threads.
// expect: invalid_launch

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out) { out[threadIdx.y * blockDim.x + threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? fill<true> : fill<false>;
  int* out;
  cudaMalloc(&out, 2048 * sizeof(int));
  run<<<1, dim3(32, fixed ? 32 : 64)>>>(out);  // <- bug
  cudaDeviceSynchronize();
  cudaFree(out);
}
