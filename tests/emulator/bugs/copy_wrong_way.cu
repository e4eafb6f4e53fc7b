// Source and destination are swapped.
// expect: invalid_copy

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? fill<true> : fill<false>;
  int host[32];
  int* out;
  cudaMalloc(&out, sizeof host);
  run<<<1, 32>>>(out);
  if (fixed) {
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  } else {
    cudaMemcpy(out, host, sizeof host, cudaMemcpyDeviceToHost);  // <- bug
  }
  cudaFree(out);
}
