// A kernel is handed the address of a variable of the host's, outside of functions.
// expect: out_of_bounds

#include <cuda_runtime.h>

float prices[64];
__device__ float device_prices[64];

__global__ void sum(float* out, const float* in) {
  out[threadIdx.x] = in[threadIdx.x] + in[63 - threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* out;
  void* in = prices;
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMemcpyToSymbol(device_prices, prices, sizeof(prices));
  if (fixed) cudaGetSymbolAddress(&in, device_prices);
  sum<<<1, 64>>>(out, static_cast<const float*>(in));
  cudaDeviceSynchronize();
  cudaFree(out);
}
