// The members of an int2 are read one by one, from an address that is a multiple of 4 alone.
// expect: misaligned

#include <cuda_runtime.h>

template <bool kFixed> __global__ void sums(int* out, const int* in, int first) {
  const int2* pairs = reinterpret_cast<const int2*>(in + first);
  const int i = threadIdx.x;
  if (kFixed)
    out[i] = in[first + 2 * i] + in[first + 2 * i + 1];
  else
    out[i] = pairs[i].x + pairs[i].y;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, const int*, int) = fixed ? sums<true> : sums<false>;
  int *in, *out;
  cudaMalloc(&in, 65 * sizeof(int));
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMemset(in, 0, 65 * sizeof(int));
  run<<<1, 32>>>(out, in, 1);
  cudaFree(in);
  cudaFree(out);
}
