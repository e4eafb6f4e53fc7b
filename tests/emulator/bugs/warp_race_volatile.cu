// A reduction as it was written before 2017: volatile, and lanes that are thought to run in step.
// expect: warp_race

#include <cuda_runtime.h>

template <bool fixed> __global__ void sum(int* out, const int* in) {
  __shared__ int memory[64];
  volatile int* values = memory;
  const unsigned lane = threadIdx.x;
  values[lane] = in[lane];
  values[lane + 32] = in[lane + 32];
  __syncwarp();
  for (int offset = 32; offset > 0; offset /= 2) {
    const int other = values[lane + offset < 64 ? lane + offset : lane];  // <- other
    if (fixed) __syncwarp();
    values[lane] = values[lane] + other;  // <- bug
    if (fixed) __syncwarp();
  }
  if (lane == 0) *out = values[0];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 4);
  int host[64];
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMemcpy(in, host, 256, cudaMemcpyHostToDevice);
  if (fixed)
    sum<true><<<1, 32>>>(out, in);
  else
    sum<false><<<1, 32>>>(out, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
