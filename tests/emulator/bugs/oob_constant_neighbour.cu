// A filter has one weight more than the constant array, behind which another one lies.
// expect: out_of_bounds

#include <cuda_runtime.h>

__constant__ float weights[8] = {1, 2, 3, 4, 4, 3, 2, 1};
__constant__ float more_weights[8] = {1, 1, 1, 1, 1, 1, 1, 1};

__global__ void filter(float* out, const float* in, int last) {
  float sum = 0;
  for (int k = 0; k <= last; ++k) sum += weights[k] * in[threadIdx.x + k];  // <- bug
  out[threadIdx.x] = sum + more_weights[threadIdx.x % 8];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* in;
  float* out;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, 32 * sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  filter<<<1, 32>>>(out, in, fixed ? 7 : 8);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
