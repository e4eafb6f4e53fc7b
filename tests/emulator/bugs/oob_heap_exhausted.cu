// Threads ask for more memory than a kernel's heap has, and do not look at what they get.
// expect: out_of_bounds

#include <cuda_runtime.h>

__global__ void works(int* out, int bytes) {
  int* memory = static_cast<int*>(malloc(bytes));
  __syncthreads();
  memory[0] = threadIdx.x;  // <- bug
  out[threadIdx.x] = memory[0];
  free(memory);
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  works<<<1, 64>>>(out, fixed ? 1024 : 1 << 20);
  cudaDeviceSynchronize();
  cudaFree(out);
}
