// Threads of two blocks add to a __device__ variable without an atomic.
// expect: global_race

#include <cuda_runtime.h>

__device__ int total;

template <bool kFixed> __global__ void sum(const int* values) {
  if (kFixed)
    atomicAdd(&total, values[threadIdx.x]);
  else
    total += values[threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  void (*run)(const int*) = fixed ? sum<true> : sum<false>;
  int values[64], *copy, result = 0;
  for (int& value : values) value = 1;
  cudaMalloc(&copy, sizeof values);
  cudaMemcpy(copy, values, sizeof values, cudaMemcpyHostToDevice);
  run<<<2, 64>>>(copy);
  cudaMemcpyFromSymbol(&result, total, sizeof result);
  cudaFree(copy);
}
