// Two branches launch, and the second one asks for more threads than there can be.
// expect: invalid_launch

#include <cuda_runtime.h>

__global__ void set(int* out) { out[threadIdx.x] = 0; }
__global__ void count(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char** argv) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, 2048 * sizeof(int));
  switch (argv[0][0] == 0) {
    case 1:
      set<<<1, fixed ? 1024 : 512>>>(out);
      break;
    case 0:
      count<<<1, fixed ? 1024 : 2048>>>(out);  // <- bug
      break;
  }
  cudaDeviceSynchronize();
  cudaFree(out);
}
