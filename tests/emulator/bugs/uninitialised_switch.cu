// A switch without a default leaves its result as it was.
// expect: uninitialised_local

#include <cuda_runtime.h>

__device__ float weight(int kind) {
  float w;
  switch (kind) {
  case 0:
    w = 1;
    break;
  case 1:
    w = 0.5f;
    break;
  case 2:
    w = 0.25f;
    break;
  }
  return w;  // <- bug
}

__global__ void scale(float* data, const int* kinds, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= weight(kinds[i]);  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int host[64];
  for (int i = 0; i < 64; ++i) host[i] = i % (fixed ? 3 : 4);
  float* data;
  int* kinds;
  cudaMalloc(&data, 64 * sizeof(float));
  cudaMalloc(&kinds, sizeof host);
  cudaMemset(data, 0, 64 * sizeof(float));
  cudaMemcpy(kinds, host, sizeof host, cudaMemcpyHostToDevice);
  scale<<<1, 64>>>(data, kinds, 64);
  cudaDeviceSynchronize();
  cudaFree(data);
  cudaFree(kinds);
}
