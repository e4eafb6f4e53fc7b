// A sum in shared memory begins with whatever is there.
// expect: uninitialised_shared

#include <cuda_runtime.h>

template <bool kFixed> __global__ void sum(float* total, const float* in) {
  __shared__ float partial;
  if (kFixed && threadIdx.x == 0) partial = 0.0f;
  __syncthreads();
  atomicAdd(&partial, in[threadIdx.x]);  // <- bug
  __syncthreads();
  if (threadIdx.x == 0) *total = partial;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*) = fixed ? sum<true> : sum<false>;
  float *in, *total;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&total, sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  run<<<1, 64>>>(total, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(total);
}
