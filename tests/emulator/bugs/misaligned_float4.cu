// A float4 is read from an address that is a multiple of 4 alone.
// expect: misaligned

#include <cuda_runtime.h>

template <bool kFixed> __global__ void load(float* out, const float* in) {
  const float4 v = *reinterpret_cast<const float4*>(in + (kFixed ? 4 : 1));  // <- bug
  out[threadIdx.x] = v.x;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*) = fixed ? load<true> : load<false>;
  float *in, *out;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, 32 * sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  run<<<1, 32>>>(out, in);
  cudaFree(in);
  cudaFree(out);
}
