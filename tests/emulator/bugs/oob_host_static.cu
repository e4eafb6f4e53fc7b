// A kernel is handed the address of a static variable of main's.
// expect: out_of_bounds

#include <cuda_runtime.h>

__global__ void sum(float* out, const float* in) {
  out[threadIdx.x] = in[threadIdx.x] + in[63 - threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  static float prices[64] = {1, 2, 3};
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* out;
  float* in;
  cudaMalloc(&out, sizeof(prices));
  cudaMalloc(&in, sizeof(prices));
  cudaMemcpy(in, prices, sizeof(prices), cudaMemcpyHostToDevice);
  sum<<<1, 64>>>(out, fixed ? in : prices);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
