// A thread waits for a flag that the compiler has it read once.
// expect: endless_loop

#include <cuda_runtime.h>

template <bool kFixed> __global__ void pass_on(int* flag, int* out) {
  if (blockIdx.x == 1) {
    __threadfence();
    atomicExch(flag, 1);
  } else if (kFixed) {
    while (*(volatile int*)flag == 0) {
    }
    *out = 1;
  } else {
    while (*flag == 0) {  // <- bug
    }
    *out = 1;
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int*) = fixed ? pass_on<true> : pass_on<false>;
  int *flag, *out;
  cudaMalloc(&flag, sizeof(int));
  cudaMalloc(&out, sizeof(int));
  cudaMemset(flag, 0, sizeof(int));
  run<<<2, 1>>>(flag, out);
  cudaFree(flag);
  cudaFree(out);
}
