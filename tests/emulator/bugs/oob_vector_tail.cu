// Four elements at a time, of a number that four does not divide.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void copy(float4* out, const float4* in, int n) {
  const int i = threadIdx.x;
  const int packs = kFixed ? n / 4 : (n + 3) / 4;
  if (i >= packs) return;
  out[i] = in[i];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float4*, const float4*, int) = fixed ? copy<true> : copy<false>;
  const int n = 98;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(in, 0, n * sizeof(float));
  run<<<1, 32>>>(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in), n);
  cudaFree(in);
  cudaFree(out);
}
