// An allocation of n bytes is used as n floats.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (kFixed ? n / 4 : n)) out[i] = 1.0f;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, int) = fixed ? fill<true> : fill<false>;
  const int n = 1024;
  float* out;
  cudaMalloc(&out, n);
  run<<<4, 256>>>(out, n);
  cudaFree(out);
}
