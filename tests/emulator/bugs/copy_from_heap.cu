// The host copies from memory that a kernel asked for by malloc.
// expect: invalid_copy

#include <cuda_runtime.h>

__global__ void make(int** made) {
  *made = static_cast<int*>(malloc(16 * sizeof(int)));
  for (int i = 0; i < 16; ++i) (*made)[i] = i;
}

__global__ void bring(int** made, int* out) {
  out[threadIdx.x] = (*made)[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) free(*made);
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int** made;
  int *out, *heap, host[16];
  cudaMalloc(&made, sizeof(int*));
  cudaMalloc(&out, 16 * sizeof(int));
  make<<<1, 1>>>(made);
  if (fixed) {
    bring<<<1, 16>>>(made, out);
    cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  } else {
    cudaMemcpy(&heap, made, sizeof(int*), cudaMemcpyDeviceToHost);
    cudaMemcpy(host, heap, sizeof(host), cudaMemcpyDeviceToHost);  // <- bug
  }
  cudaFree(made);
  cudaFree(out);
}
