// The launch gives bytes for half of the elements: sizeof was forgotten.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void reverse(float* data) {
  extern __shared__ float row[];
  if (kFixed && threadIdx.x >= 32) return;
  row[threadIdx.x] = data[threadIdx.x];  // <- bug
  __syncwarp();
  data[threadIdx.x] = row[31 - threadIdx.x % 32];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*) = fixed ? reverse<true> : reverse<false>;
  float* data;
  cudaMalloc(&data, 128 * sizeof(float));
  cudaMemset(data, 0, 128 * sizeof(float));
  run<<<1, 128, 128>>>(data);
  cudaFree(data);
}
