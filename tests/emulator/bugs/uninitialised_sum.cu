// An accumulator that nobody set to zero.
// expect: uninitialised_global

#include <cuda_runtime.h>

template <bool kFixed> __global__ void sum(float* total, const float* in) {
  atomicAdd(total, in[threadIdx.x]);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*) = fixed ? sum<true> : sum<false>;
  float *in, *total;
  cudaMalloc(&in, 32 * sizeof(float));
  cudaMalloc(&total, sizeof(float));
  cudaMemset(in, 0, 32 * sizeof(float));
  if (fixed) cudaMemset(total, 0, sizeof(float));
  run<<<1, 32>>>(total, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(total);
}
