// The last block reaches beyond the end: nobody compares the index with n.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void scale(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (kFixed && i >= n) return;
  data[i] = 2.0f;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, int) = fixed ? scale<true> : scale<false>;
  const int n = 1000;
  float* data;
  cudaMalloc(&data, n * sizeof(float));
  run<<<(n + 255) / 256, 256>>>(data, n);
  cudaFree(data);
}
