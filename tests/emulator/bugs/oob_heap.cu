// An array that the kernel asked for itself is filled one element too far.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out, int n) {
  int* const scratch = new int[n];
  for (int i = 0; kFixed ? i < n : i <= n; ++i) {
    scratch[i] = i;  // <- bug
  }
  *out = scratch[n - 1];
  delete[] scratch;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, sizeof(int));
  if (fixed)
    fill<true><<<1, 1>>>(out, 16);
  else
    fill<false><<<1, 1>>>(out, 16);
  cudaDeviceSynchronize();
  cudaFree(out);
}
