// An assertion in a kernel does not hold.
// expect: assert

#include <cuda_runtime.h>

#include <cassert>

template <bool kFixed> __global__ void check(const int* in) {
  assert(in[threadIdx.x] == (kFixed ? 0 : 1));  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(const int*) = fixed ? check<true> : check<false>;
  int* in;
  cudaMalloc(&in, 32 * sizeof(int));
  cudaMemset(in, 0, 32 * sizeof(int));
  run<<<1, 32>>>(in);
  cudaDeviceSynchronize();
  cudaFree(in);
}
