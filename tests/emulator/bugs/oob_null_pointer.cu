// A kernel writes through a pointer that was never set.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out, int* other) {
  (kFixed ? other : out)[threadIdx.x] = 1;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int*) = fixed ? fill<true> : fill<false>;
  int* other;
  cudaMalloc(&other, 32 * sizeof(int));
  int* out = nullptr;
  run<<<1, 32>>>(out, other);
  cudaFree(other);
}
