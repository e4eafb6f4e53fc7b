// The last steps of a reduction rely on lanes that run in step.
// expect: warp_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void sum(int* out) {
  __shared__ int partial[32];
  partial[threadIdx.x] = 1;
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    const int other = threadIdx.x < half ? partial[threadIdx.x + half] : 0;  // <- other
    if (kFixed) __syncwarp();
    if (threadIdx.x < half) partial[threadIdx.x] += other;  // <- bug
    if (kFixed) __syncwarp();
  }
  if (threadIdx.x == 0) *out = partial[0];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? sum<true> : sum<false>;
  int* out;
  cudaMalloc(&out, sizeof(int));
  run<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
