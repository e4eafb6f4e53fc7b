// A kernel is given the host's own array.
// expect: out_of_bounds

#include <cuda_runtime.h>

#include <cstdlib>

template <bool kFixed> __global__ void fill(int* out, int* other) {
  (kFixed ? other : out)[threadIdx.x] = 1;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int*) = fixed ? fill<true> : fill<false>;
  int* other;
  cudaMalloc(&other, 32 * sizeof(int));
  int* host = static_cast<int*>(malloc(1 << 22));
  run<<<1, 32>>>(host, other);
  free(host);
  cudaFree(other);
}
