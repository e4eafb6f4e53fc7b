// A loop sets three of four sums.
// expect: uninitialised_local

#include <cuda_runtime.h>

template <int count> __global__ void sums(float* out, const float* in, int n) {
  float sum[4];
  for (int k = 0; k < count; ++k) sum[k] = 0;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 4; ++k) sum[k] += in[4 * i + k];  // <- bug
  for (int k = 0; k < 4; ++k) out[k] = sum[k];            // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  float *in, *out;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, 4 * sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  if (fixed)
    sums<4><<<1, 1>>>(out, in, 16);
  else
    sums<3><<<1, 1>>>(out, in, 16);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
