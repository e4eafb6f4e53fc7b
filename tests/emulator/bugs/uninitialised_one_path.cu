// A sum that one of two branches sets.
// expect: uninitialised_local

#include <cuda_runtime.h>

__global__ void sums(float* out, const float* in, int n, bool fixed) {
  float sum;
  if (fixed || threadIdx.x % 2 == 0) sum = 0;
  for (int i = 0; i < n; ++i) sum += in[i];  // <- bug
  out[threadIdx.x] = sum;                    // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float *in, *out;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  sums<<<1, 64>>>(out, in, 64, fixed);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
