// Copies are waited for by the group, and nothing makes a group of them.
// expect: race

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

__global__ void turn(float* out, const float* in, bool fixed) {
  __shared__ float tile[128];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, 4);  // <- other
  if (fixed) __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[127 - threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  float *in, *out;
  cudaMalloc(&in, 512 * sizeof(float));
  cudaMalloc(&out, 128 * sizeof(float));
  cudaMemset(in, 0, 512 * sizeof(float));
  turn<<<1, 128>>>(out, in, fixed);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
