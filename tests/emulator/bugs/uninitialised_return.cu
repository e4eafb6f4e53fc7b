// A function says nothing of zero: what it returns there is whatever the register held.
// expect: uninitialised_local

#include <cuda_runtime.h>

template <bool kFixed> __device__ int sign(int value) {
  if (value > 0) return 1;
  if (value < 0) return -1;
  if (kFixed) return 0;
}  // <- bug

template <bool kFixed> __global__ void signs(int* out) {
  out[threadIdx.x] = sign<kFixed>(static_cast<int>(threadIdx.x) - 4);  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, 8 * sizeof(int));
  void (*run)(int*) = fixed ? signs<true> : signs<false>;
  run<<<1, 8>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
