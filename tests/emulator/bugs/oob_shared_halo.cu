// A tile in shared memory has no room for its halo.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void blur(float* out, const float* in, int n) {
  __shared__ float tile[kFixed ? 130 : 128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x + (kFixed ? 1 : 0)] = in[i];
  if (threadIdx.x == 0) tile[kFixed ? 129 : 128] = i + 128 < n ? in[i + 128] : 0.0f;  // <- bug
  if (kFixed && threadIdx.x == 0) tile[0] = 0.0f;
  __syncthreads();
  out[i] = tile[threadIdx.x] + tile[threadIdx.x + 1];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*, int) = fixed ? blur<true> : blur<false>;
  const int n = 256;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(in, 0, n * sizeof(float));
  run<<<2, 128>>>(out, in, n);
  cudaFree(in);
  cudaFree(out);
}
