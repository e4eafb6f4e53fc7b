// Rows as the second extent of the grid, which ends at 65535.
// expect: invalid_launch

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out, int n) {
  const int i = blockIdx.y * gridDim.x + blockIdx.x;
  if (i < n) out[i] = 1;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int) = fixed ? fill<true> : fill<false>;
  const int n = 70000;
  int* out;
  cudaMalloc(&out, n * sizeof(int));
  const dim3 grid = fixed ? dim3(n, 1) : dim3(1, n);
  run<<<grid, 1>>>(out, n);  // <- bug
  cudaDeviceSynchronize();
  cudaFree(out);
}
