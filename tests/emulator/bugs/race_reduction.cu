// A tree reduction without a barrier between its levels.
// expect: race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void sum(int* out) {
  __shared__ int partial[256];
  partial[threadIdx.x] = 1;
  __syncthreads();
  for (int half = 128; half >= 32; half /= 2) {
    if (threadIdx.x < half) {
      partial[threadIdx.x] += partial[threadIdx.x + half];  // <- bug
    }
    if (kFixed) __syncthreads();
  }
  if (threadIdx.x < 32) out[threadIdx.x] = partial[threadIdx.x];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? sum<true> : sum<false>;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  run<<<1, 256>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
