// A stencil reads the neighbour to the left of the first element.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void difference(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float left = kFixed && i == 0 ? 0.0f : in[i - 1];  // <- bug
  out[i] = in[i] - left;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*, int) = fixed ? difference<true> : difference<false>;
  const int n = 512;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(in, 0, n * sizeof(float));
  run<<<2, 256>>>(out, in, n);
  cudaFree(in);
  cudaFree(out);
}
