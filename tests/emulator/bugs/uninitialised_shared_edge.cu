// Threads beyond the end leave their part of the tile unwritten, and others read it.
// expect: uninitialised_shared

#include <cuda_runtime.h>

template <bool kFixed> __global__ void reverse(float* out, const float* in, int n) {
  __shared__ float tile[64];
  if (threadIdx.x < n) tile[threadIdx.x] = in[threadIdx.x];
  if (kFixed && threadIdx.x >= n) tile[threadIdx.x] = 0.0f;
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*, int) = fixed ? reverse<true> : reverse<false>;
  float *in, *out;
  cudaMalloc(&in, 50 * sizeof(float));
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMemset(in, 0, 50 * sizeof(float));
  run<<<1, 64>>>(out, in, 50);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
