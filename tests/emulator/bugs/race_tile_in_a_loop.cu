// The next tile is written while others still read the last one.
// expect: race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void sum_tiles(int* out, const int* in, int tiles) {
  __shared__ int tile[64];
  int sum = 0;
  for (int i = 0; i < tiles; ++i) {
    tile[threadIdx.x] = in[i * 64 + threadIdx.x];  // <- bug
    __syncthreads();
    sum += tile[(threadIdx.x + 32) % 64];  // <- other
    if (kFixed) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, const int*, int) = fixed ? sum_tiles<true> : sum_tiles<false>;
  int *in, *out;
  cudaMalloc(&in, 256 * sizeof(int));
  cudaMalloc(&out, 64 * sizeof(int));
  cudaMemset(in, 0, 256 * sizeof(int));
  run<<<1, 64>>>(out, in, 4);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
