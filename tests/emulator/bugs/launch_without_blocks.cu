// n / 256 blocks, of an n that is less.
// expect: invalid_launch

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int) = fixed ? fill<true> : fill<false>;
  const int n = 100;
  int* out;
  cudaMalloc(&out, n * sizeof(int));
  run<<<fixed ? (n + 255) / 256 : n / 256, 256>>>(out, n);  // <- bug
  cudaDeviceSynchronize();
  cudaFree(out);
}
