// A loop over a grid goes on by a block's width alone: blocks meet.
// expect: global_race

#include <cuda_runtime.h>

__global__ void add(float* sums, const float* in, int n, bool fixed) {
  const int stride = fixed ? blockDim.x * gridDim.x : blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) sums[i] += in[i];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  float *in, *out;
  cudaMalloc(&in, 1024 * sizeof(float));
  cudaMalloc(&out, 1024 * sizeof(float));
  float host[1024];
  for (float& x : host) x = 1;
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpy(out, host, sizeof host, cudaMemcpyHostToDevice);
  add<<<4, 64>>>(out, in, 1024, fixed);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
