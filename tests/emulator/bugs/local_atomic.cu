// An atomic on a variable of the thread's own, as if the block shared it.
// expect: local_atomic

#include <cuda_runtime.h>

template <bool kFixed> __global__ void count(const int* in, int* out) {
  if (kFixed) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (in[threadIdx.x] > 0) atomicAdd(&found, 1);
    __syncthreads();
    out[threadIdx.x] = found;
  } else {
    int found = 0;
    if (in[threadIdx.x] > 0) atomicAdd(&found, 1);  // <- bug
    out[threadIdx.x] = found;
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(const int*, int*) = fixed ? count<true> : count<false>;
  int *in, *out;
  cudaMalloc(&in, 64 * sizeof(int));
  cudaMalloc(&out, 64 * sizeof(int));
  cudaMemset(in, 1, 64 * sizeof(int));
  run<<<1, 64>>>(in, out);
  cudaFree(in);
  cudaFree(out);
}
