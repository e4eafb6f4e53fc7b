// A barrier of the whole grid counts to the number of blocks: the second time, nobody waits there.
// expect: global_race

#include <cuda_runtime.h>

__device__ void grid_barrier(unsigned* arrived, unsigned blocks) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1U);
    while (atomicAdd(arrived, 0U) < blocks)
      ;
    __threadfence();
  }
  __syncthreads();
}

template <bool kFixed> __global__ void reverse_twice(int* a, int* b, unsigned* arrived) {
  const int n = gridDim.x * blockDim.x;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = i;
  grid_barrier(arrived, gridDim.x);
  b[i] = a[n - 1 - i];  // <- bug
  grid_barrier(arrived, kFixed ? 2 * gridDim.x : gridDim.x);
  a[i] = b[n - 1 - i];  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int*, unsigned*) = fixed ? reverse_twice<true> : reverse_twice<false>;
  int *a, *b;
  unsigned* arrived;
  cudaMalloc(&a, 512 * sizeof(int));
  cudaMalloc(&b, 512 * sizeof(int));
  cudaMalloc(&arrived, sizeof(unsigned));
  cudaMemset(b, 0, 512 * sizeof(int));
  cudaMemset(arrived, 0, sizeof(unsigned));
  run<<<8, 64>>>(a, b, arrived);
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(b);
  cudaFree(arrived);
}
