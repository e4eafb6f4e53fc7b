// The copy counts elements where it should count bytes: most of the buffer is never written.
// expect: uninitialised_global

#include <cuda_runtime.h>

template <bool kFixed> __global__ void scale(float* out, const float* in) {
  out[threadIdx.x] = 2.0f * in[threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*) = fixed ? scale<true> : scale<false>;
  float host[64] = {};
  float *in, *out;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof host);
  cudaMemcpy(in, host, fixed ? sizeof host : 64, cudaMemcpyHostToDevice);
  run<<<1, 64>>>(out, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
