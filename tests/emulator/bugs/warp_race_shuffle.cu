// The first lane leaves a sum in shared memory, and a shuffle is taken for a barrier.
// expect: warp_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void totals(int* out, const int* in) {
  __shared__ int total;
  const int value = in[threadIdx.x];
  if (threadIdx.x == 0) total = value;  // <- bug
  if (kFixed) __syncwarp();
  const int last = __shfl_sync(~0U, value, 31);
  out[threadIdx.x] = total + last;  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int *in, *out;
  cudaMalloc(&in, 32 * sizeof(int));
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMemset(in, 0, 32 * sizeof(int));
  void (*run)(int*, const int*) = fixed ? totals<true> : totals<false>;
  run<<<1, 32>>>(out, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
