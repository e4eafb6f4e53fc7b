// Threads read what asynchronous copies bring, behind a barrier but without waiting for the copies.
// expect: race

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

template <bool kFixed> __global__ void reverse(float* out, const float* in) {
  __shared__ float tile[128];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(float));  // <- other
  __pipeline_commit();
  if (kFixed) __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[127 - threadIdx.x];  // <- bug
  __pipeline_wait_prior(0);
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* in;
  float* out;
  cudaMalloc(&in, 128 * sizeof(float));
  cudaMalloc(&out, 128 * sizeof(float));
  cudaMemset(in, 0, 128 * sizeof(float));
  if (fixed)
    reverse<true><<<1, 128>>>(out, in);
  else
    reverse<false><<<1, 128>>>(out, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
