// The address of a thread's variable is kept for a later launch; as it should be, the variable is the device's.
// expect: out_of_bounds

#include <cuda_runtime.h>

__device__ int* kept;
__device__ int shared_by_all;

__global__ void keep(bool fixed) {
  int own = 5;
  shared_by_all = own;
  kept = fixed ? &shared_by_all : &own;
}

__global__ void use(int* out) { *out = *kept; }  // <- bug

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, sizeof(int));
  keep<<<1, 1>>>(fixed);
  use<<<1, 1>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
