// Lanes beyond the end return early, and the sum still reads from them.
// expect: inactive_shuffle

#include <cuda_runtime.h>

template <bool kFixed> __global__ void sum(int* out, int n) {
  if (!kFixed && threadIdx.x >= n) return;
  int value = threadIdx.x < n ? 1 : 0;
  for (int step = 16; step > 0; step /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, step);  // <- bug
  }
  if (threadIdx.x == 0) *out = value;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int) = fixed ? sum<true> : sum<false>;
  int* out;
  cudaMalloc(&out, sizeof(int));
  run<<<1, 32>>>(out, 20);
  cudaDeviceSynchronize();
  cudaFree(out);
}
