// The last block adds up what the others wrote, which no fence made visible.
// expect: global_race

#include <cuda_runtime.h>

__device__ unsigned blocks_done;

template <bool kFixed> __global__ void sum(int* out, int* partial) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = 1;  // <- bug
    if (kFixed) __threadfence();
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int total = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) total += partial[i];  // <- other
    *out = total;
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int*) = fixed ? sum<true> : sum<false>;
  int *out, *partial;
  cudaMalloc(&out, sizeof(int));
  cudaMalloc(&partial, 8 * sizeof(int));
  run<<<8, 32>>>(out, partial);
  cudaDeviceSynchronize();
  cudaFree(out);
  cudaFree(partial);
}
