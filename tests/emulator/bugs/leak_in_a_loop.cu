// A scratch buffer is made in every turn of a loop, and the last one is freed.
// expect: leak

#include <cuda_runtime.h>

template <bool kFixed> __global__ void fill(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? fill<true> : fill<false>;
  int* scratch = nullptr;
  for (int i = 0; i < 3; ++i) {
    if (fixed) cudaFree(scratch);
    cudaMalloc(&scratch, 32 * sizeof(int));  // <- bug
    run<<<1, 32>>>(scratch);
  }
  cudaDeviceSynchronize();
  cudaFree(scratch);
}
