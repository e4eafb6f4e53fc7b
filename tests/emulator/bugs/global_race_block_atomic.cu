// All blocks add to one sum, by an atomic that is one for a block alone.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void total(int* sum, const int* in) {
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (kFixed) {
    atomicAdd(sum, value);
  } else {
    atomicAdd_block(sum, value);  // <- bug
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* in;
  int* sum;
  cudaMalloc(&in, 256 * sizeof(int));
  cudaMalloc(&sum, sizeof(int));
  cudaMemset(in, 0, 256 * sizeof(int));
  cudaMemset(sum, 0, sizeof(int));
  if (fixed)
    total<true><<<4, 64>>>(sum, in);
  else
    total<false><<<4, 64>>>(sum, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(sum);
}
