// Threads beyond the end put a value that they do not have into the tile, and all are added.
// expect: uninitialised_shared

#include <cuda_runtime.h>

__global__ void total(float* out, const float* in, int n) {
  __shared__ float tile[64];
  float value;
  if (threadIdx.x < n) value = in[threadIdx.x];
  tile[threadIdx.x] = value;  // <- other
  __syncthreads();
  float sum = 0;
  if (threadIdx.x == 0)
    for (int i = 0; i < 64; ++i) sum += tile[i];  // <- bug
  if (threadIdx.x == 0) *out = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  float *in, *out;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  total<<<1, 64>>>(out, in, fixed ? 64 : 50);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
