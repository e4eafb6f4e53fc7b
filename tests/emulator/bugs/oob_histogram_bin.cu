// A value beyond the last bin is counted.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void count(int* bins, int n) {
  const int value = threadIdx.x;
  if (kFixed && value >= n) return;
  atomicAdd(&bins[value], 1);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int) = fixed ? count<true> : count<false>;
  const int n = 100;
  int* bins;
  cudaMalloc(&bins, n * sizeof(int));
  cudaMemset(bins, 0, n * sizeof(int));
  run<<<1, 128>>>(bins, n);
  cudaFree(bins);
}
