// A thread leaves the address of its sum in shared memory, for another one to read.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void gather(int* out, const int* in) {
  __shared__ const int* places[64];
  __shared__ int sums[64];
  int own[2] = {in[2 * threadIdx.x], in[2 * threadIdx.x + 1]};
  own[in[threadIdx.x] & 1] += 1;
  sums[threadIdx.x] = own[0] + own[1];
  places[threadIdx.x] = kFixed ? &sums[threadIdx.x] : &own[0];
  __syncthreads();
  out[threadIdx.x] = *places[threadIdx.x / 2];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int *in, *out;
  cudaMalloc(&in, 128 * sizeof(int));
  cudaMalloc(&out, 64 * sizeof(int));
  cudaMemset(in, 0, 128 * sizeof(int));
  void (*run)(int*, const int*) = fixed ? gather<true> : gather<false>;
  run<<<1, 64>>>(out, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
