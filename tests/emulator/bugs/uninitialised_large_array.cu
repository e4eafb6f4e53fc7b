// Each thread makes a table of 600 sums, whose first entry nobody sets.
// expect: uninitialised_local

#include <cuda_runtime.h>

__global__ void sums(float* out, const float* in, int first, int last) {
  float table[600];
  if (first == 0) table[0] = 0;
  for (int i = 1; i < 600; ++i) {
    table[i] = table[i - 1] + in[i];  // <- bug
  }
  out[threadIdx.x] = table[last];  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float *in, *out;
  cudaMalloc(&in, 600 * sizeof(float));
  cudaMalloc(&out, 32 * sizeof(float));
  cudaMemset(in, 0, 600 * sizeof(float));
  sums<<<1, 32>>>(out, in, fixed ? 0 : 1, 599);
  cudaFree(in);
  cudaFree(out);
}
