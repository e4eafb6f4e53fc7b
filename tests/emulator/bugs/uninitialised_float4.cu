// Four elements at a time; those beyond the end were never read, and are written.
// expect: uninitialised_local

#include <cuda_runtime.h>

__global__ void copy(float4* out, const float4* in, int n) {
  float4 value;
  if (threadIdx.x < n) value = in[threadIdx.x];
  out[threadIdx.x] = value;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  float4 *in, *out;
  cudaMalloc(&in, 32 * sizeof(float4));
  cudaMalloc(&out, 32 * sizeof(float4));
  cudaMemset(in, 0, 32 * sizeof(float4));
  copy<<<1, 32>>>(out, in, fixed ? 32 : 30);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
