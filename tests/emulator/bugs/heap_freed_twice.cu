// A kernel frees what it asked for, and so does the function that it hands it to.
// expect: double_free

#include <cuda_runtime.h>

__device__ int use(int* memory, bool fixed) {
  const int value = memory[0];
  if (!fixed) free(memory);
  return value;
}

__global__ void works(int* out, bool fixed) {
  int* memory = static_cast<int*>(malloc(4 * sizeof(int)));
  memory[0] = threadIdx.x;
  out[threadIdx.x] = use(memory, fixed);
  free(memory);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  works<<<1, 32>>>(out, fixed);
  cudaDeviceSynchronize();
  cudaFree(out);
}
