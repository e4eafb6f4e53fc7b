// Neighbouring lanes exchange values through shared memory without meeting.
// expect: warp_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void exchange(int* out) {
  __shared__ int row[32];
  row[threadIdx.x] = threadIdx.x;  // <- bug
  if (kFixed) __syncwarp();
  out[threadIdx.x] = row[threadIdx.x ^ 1];  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? exchange<true> : exchange<false>;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  run<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
