// Each thread writes to the next free place and counts it then: others took the same place.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void keep(const int* in, int* out, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] == 0) return;
  if (kFixed) {
    out[atomicAdd(count, 1)] = in[i];
  } else {
    out[*count] = in[i];  // <- bug
    atomicAdd(count, 1);  // <- other
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(const int*, int*, int*) = fixed ? keep<true> : keep<false>;
  int *in, *out, *count;
  cudaMalloc(&in, 1024 * sizeof(int));
  cudaMalloc(&out, 1024 * sizeof(int));
  cudaMalloc(&count, sizeof(int));
  cudaMemset(in, 1, 1024 * sizeof(int));
  cudaMemset(count, 0, sizeof(int));
  run<<<4, 256>>>(in, out, count);
  cudaFree(in);
  cudaFree(out);
  cudaFree(count);
}
