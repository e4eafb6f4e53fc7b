// A part of dynamic shared memory is used as double at an odd multiple of 4.
// expect: misaligned

#include <cuda_runtime.h>

template <bool kFixed> __global__ void split(double* out, int first) {
  extern __shared__ __align__(16) unsigned char memory[];
  double* part = reinterpret_cast<double*>(memory + first * sizeof(int) + (kFixed ? 4 : 0));
  part[threadIdx.x] = threadIdx.x;  // <- bug
  out[threadIdx.x] = part[threadIdx.x];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(double*, int) = fixed ? split<true> : split<false>;
  double* out;
  cudaMalloc(&out, 32 * sizeof(double));
  run<<<1, 32, 1024>>>(out, 7);
  cudaFree(out);
}
