// Threads beyond the end have no value, and the warp's sum takes it all the same.
// expect: uninitialised_local

#include <cuda_runtime.h>

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);  // <- bug
  return value;
}

__global__ void total(float* out, const float* in, int n) {
  float value;
  if (threadIdx.x < n) value = in[threadIdx.x];
  const float sum = warp_sum(value);
  if (threadIdx.x == 0) *out = sum;  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  float *in, *out;
  cudaMalloc(&in, 32 * sizeof(float));
  cudaMalloc(&out, sizeof(float));
  cudaMemset(in, 0, 32 * sizeof(float));
  total<<<1, 32>>>(out, in, fixed ? 32 : 20);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
