// The pointer that is freed was moved on.
// expect: invalid_free

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? fill<true> : fill<false>;
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  int* end = out + 32;
  run<<<1, 32>>>(out);
  if (!fixed) cudaFree(end);  // <- bug
  cudaFree(out);
}
