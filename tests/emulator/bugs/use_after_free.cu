// The buffer is freed before the kernel that reads it is launched.
// expect: use_after_free

#include <cuda_runtime.h>

template <bool kFixed> __global__ void copy(int* out, const int* in) {
  out[threadIdx.x] = in[threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, const int*) = fixed ? copy<true> : copy<false>;
  int *in, *out;
  cudaMalloc(&in, 32 * sizeof(int));
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMemset(in, 0, 32 * sizeof(int));
  if (!fixed) cudaFree(in);
  run<<<1, 32>>>(out, in);
  if (fixed) cudaFree(in);
  cudaFree(out);
}
