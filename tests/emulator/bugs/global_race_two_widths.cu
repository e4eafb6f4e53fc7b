// A number and a sum are the halves of one word: most threads add to both at once, the last ones to the number alone.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void total(unsigned long long* both, const unsigned* in, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(both, (unsigned long long)in[i] << 32 | 1);  // <- bug
  } else if (kFixed) {
    atomicAdd(both, 1ULL);
  } else {
    atomicAdd((unsigned*)both, 1U);  // <- bug
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  unsigned* in;
  unsigned long long* both;
  cudaMalloc(&in, 250 * sizeof(unsigned));
  cudaMalloc(&both, sizeof(unsigned long long));
  cudaMemset(in, 0, 250 * sizeof(unsigned));
  cudaMemset(both, 0, sizeof(unsigned long long));
  if (fixed)
    total<true><<<4, 64>>>(both, in, 250);
  else
    total<false><<<4, 64>>>(both, in, 250);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(both);
}
