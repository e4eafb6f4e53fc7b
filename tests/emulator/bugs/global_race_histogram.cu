// A histogram without atomics.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void count(int* bins) {
  const int bin = threadIdx.x % 8;
  if (kFixed) {
    atomicAdd(&bins[bin], 1);
  } else {
    bins[bin] = bins[bin] + 1;  // <- bug
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? count<true> : count<false>;
  int* bins;
  cudaMalloc(&bins, 8 * sizeof(int));
  cudaMemset(bins, 0, 8 * sizeof(int));
  run<<<4, 64>>>(bins);
  cudaDeviceSynchronize();
  cudaFree(bins);
}
