// A copy brings the whole result into an array on the stack that has room for a part of it.
// expect: invalid_copy

#include <cuda_runtime.h>

#include <cstdio>

__global__ void count(int* out) { out[threadIdx.x] = threadIdx.x; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  int head[16];
  cudaMalloc(&out, 64 * sizeof(int));
  count<<<1, 64>>>(out);
  if (fixed) {
    cudaMemcpy(head, out, sizeof(head), cudaMemcpyDeviceToHost);
    std::printf("%d\n", head[3]);
  } else {
    cudaMemcpy(head, out, 64 * sizeof(int), cudaMemcpyDeviceToHost);  // <- bug
  }
  cudaFree(out);
}
