// A thread writes what its asynchronous copy may still have to read.
// expect: race

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

template <bool kFixed> __global__ void turn_and_clear(float* out, float* data) {
  __shared__ float tile[128];
  const unsigned t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &data[t], sizeof(float));  // <- bug
  __pipeline_commit();
  if (kFixed) __pipeline_wait_prior(0);
  data[t] = 0;  // <- other
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = tile[127 - t];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float *data, *out;
  cudaMalloc(&data, 128 * sizeof(float));
  cudaMalloc(&out, 128 * sizeof(float));
  cudaMemset(data, 1, 128 * sizeof(float));
  if (fixed)
    turn_and_clear<true><<<1, 128>>>(out, data);
  else
    turn_and_clear<false><<<1, 128>>>(out, data);
  cudaDeviceSynchronize();
  cudaFree(data);
  cudaFree(out);
}
