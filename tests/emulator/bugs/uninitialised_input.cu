// The copy of the input was forgotten.
// expect: uninitialised_global

#include <cuda_runtime.h>

template <bool kFixed> __global__ void scale(float* out, const float* in) {
  out[threadIdx.x] = 2.0f * in[threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*) = fixed ? scale<true> : scale<false>;
  float *in, *out;
  cudaMalloc(&in, 32 * sizeof(float));
  cudaMalloc(&out, 32 * sizeof(float));
  if (fixed) cudaMemset(in, 0, 32 * sizeof(float));
  run<<<1, 32>>>(out, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
