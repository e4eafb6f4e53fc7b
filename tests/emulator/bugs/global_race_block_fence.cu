// A block hands a value to another one behind a fence for the threads of a block alone.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void hand_over(int* value, int* flag) {
  if (blockIdx.x == 0) {
    value[0] = 42;  // <- bug
    if (kFixed)
      __threadfence();
    else
      __threadfence_block();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0);
    __threadfence();
    value[1] = value[0];  // <- other
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* value;
  int* flag;
  cudaMalloc(&value, 2 * sizeof(int));
  cudaMalloc(&flag, sizeof(int));
  cudaMemset(flag, 0, sizeof(int));
  void (*run)(int*, int*) = fixed ? hand_over<true> : hand_over<false>;
  run<<<2, 1>>>(value, flag);
  cudaDeviceSynchronize();
  cudaFree(value);
  cudaFree(flag);
}
