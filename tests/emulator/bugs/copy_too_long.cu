// The result is copied with the size of the other buffer.
// expect: invalid_copy

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? fill<true> : fill<false>;
  int host[64];
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  run<<<1, 32>>>(out);
  cudaMemcpy(host, out, fixed ? 32 * sizeof(int) : sizeof host, cudaMemcpyDeviceToHost);  // <- bug
  cudaFree(out);
}
