// Threads count in a volatile variable, as if that were an atomic.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void count(int* total) {
  if (kFixed)
    atomicAdd(total, 1);
  else
    ++*static_cast<volatile int*>(total);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? count<true> : count<false>;
  int* total;
  cudaMalloc(&total, sizeof(int));
  cudaMemset(total, 0, sizeof(int));
  run<<<4, 64>>>(total);
  cudaDeviceSynchronize();
  cudaFree(total);
}
