// Every block writes the same part of the output: blockIdx was forgotten.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void label(int* out) {
  const int i = kFixed ? blockIdx.x * blockDim.x + threadIdx.x : threadIdx.x;
  out[i] = blockIdx.x;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? label<true> : label<false>;
  int* out;
  cudaMalloc(&out, 256 * sizeof(int));
  run<<<4, 64>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
