// A `__constant__` variable is set in one stream, and a kernel of another one reads it.
// expect: stream_race

#include <cuda_runtime.h>

__constant__ float weights[16];

__global__ void apply(float* out) { out[threadIdx.x] = weights[threadIdx.x % 16]; }  // <- bug

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* out;
  float* chosen;
  cudaStream_t one;
  cudaStream_t other;
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMallocHost(&chosen, sizeof(weights));
  for (int i = 0; i < 16; ++i) chosen[i] = static_cast<float>(i);
  cudaStreamCreate(&one);
  cudaStreamCreate(&other);
  cudaMemcpyToSymbolAsync(weights, chosen, sizeof(weights), 0, cudaMemcpyHostToDevice, one);  // <- other
  apply<<<1, 64, 0, fixed ? one : other>>>(out);
  cudaDeviceSynchronize();
  cudaStreamDestroy(one);
  cudaStreamDestroy(other);
  cudaFreeHost(chosen);
  cudaFree(out);
}
