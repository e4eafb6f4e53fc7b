// One index too far in a shared array that has another one behind it.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void rotate(int* out) {
  __shared__ int first[64];
  __shared__ int second[64];
  first[threadIdx.x] = threadIdx.x;
  second[threadIdx.x] = 0;
  __syncthreads();
  const int from = kFixed ? (threadIdx.x + 1) % 64 : threadIdx.x + 1;
  out[threadIdx.x] = first[from] + second[threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? rotate<true> : rotate<false>;
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  run<<<1, 64>>>(out);
  cudaFree(out);
}
