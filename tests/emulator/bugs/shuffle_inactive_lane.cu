// Half of a warp shuffles, and reads from the other half.
// expect: inactive_shuffle

#include <cuda_runtime.h>

template <bool kFixed> __global__ void shift(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x < 16) {
    value = __shfl_down_sync(0x0000ffffu, value, 8, kFixed ? 16 : 32);  // <- bug
  }
  out[threadIdx.x] = value;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? shift<true> : shift<false>;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  run<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
