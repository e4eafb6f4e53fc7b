// Half of a warp passes values through global memory, behind a meeting with a mask that comes too early.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void turn(int* out) {
  const unsigned i = threadIdx.x;
  if (i >= 16) return;
  if (!kFixed) __syncwarp(0xffff);
  out[i] = i;  // <- other
  if (kFixed) __syncwarp(0xffff);
  const int other = out[15 - i];  // <- bug
  __syncwarp(0xffff);
  out[16 + i] = other;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? turn<true> : turn<false>;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMemset(out, 0, 32 * sizeof(int));
  run<<<1, 32>>>(out);
  cudaFree(out);
}
