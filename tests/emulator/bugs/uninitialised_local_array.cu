// A thread adds to four sums of its own that begin with anything.
// expect: uninitialised_local

#include <cuda_runtime.h>

template <bool kFixed> __global__ void sums(float* out, const float* in, int n) {
  float sum[4];
  if (kFixed)
    for (float& one : sum) one = 0;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 4; ++k) {
      sum[k] += in[4 * i + k];  // <- bug
    }
  for (int k = 0; k < 4; ++k) out[k] = sum[k];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* in;
  float* out;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, 4 * sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  if (fixed)
    sums<true><<<1, 1>>>(out, in, 16);
  else
    sums<false><<<1, 1>>>(out, in, 16);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
