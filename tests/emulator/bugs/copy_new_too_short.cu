// What is copied is one element longer than what new gave for it.
// expect: invalid_copy

#include <cuda_runtime.h>

__global__ void count(int* out) { out[threadIdx.x] = threadIdx.x; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  const int n = 61;
  int* out;
  int* host = new int[fixed ? n + 1 : n];
  cudaMalloc(&out, 64 * sizeof(int));
  count<<<1, 64>>>(out);
  cudaMemcpy(host, out, (n + 1) * sizeof(int), cudaMemcpyDeviceToHost);  // <- bug
  cudaFree(out);
  delete[] host;
}
