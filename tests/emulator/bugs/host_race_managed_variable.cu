// The host reads a __managed__ variable while the kernel may still write it.
// expect: host_race

#include <cstdio>
#include <cuda_runtime.h>

__managed__ int values[32];

__global__ void fill() { values[threadIdx.x] = threadIdx.x; }  // <- other

int main(int argc, char**) {
  const bool fixed = argc > 1;
  fill<<<1, 32>>>();
  if (fixed) cudaDeviceSynchronize();
  std::printf("%d\n", values[3]);  // <- bug
  cudaDeviceSynchronize();
}
