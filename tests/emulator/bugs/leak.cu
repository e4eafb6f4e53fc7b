// A buffer is never freed.
// expect: leak

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? fill<true> : fill<false>;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));  // <- bug
  run<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  if (fixed) cudaFree(out);
}
