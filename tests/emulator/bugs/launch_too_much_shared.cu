// More dynamic shared memory than a launch gets without asking.
// expect: invalid_launch

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out) {
  extern __shared__ int row[];
  row[threadIdx.x] = 1;
  out[threadIdx.x] = row[threadIdx.x];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? fill<true> : fill<false>;
  const int bytes = 60 * 1024;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  if (fixed) cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  run<<<1, 32, bytes>>>(out);  // <- bug
  cudaDeviceSynchronize();
  cudaFree(out);
}
