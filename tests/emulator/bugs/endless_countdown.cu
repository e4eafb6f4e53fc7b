// A loop counts an unsigned index down to 0, which is never below 0.
// expect: endless_loop

#include <cuda_runtime.h>

template <bool kFixed> __global__ void weights(float* out, unsigned n) {
  float sum = 1;
  if (kFixed) {
    for (unsigned i = n; i-- > 0;) sum = sum * 0.5f + i;
  } else {
    for (unsigned i = n - 1; i >= 0; --i) sum = sum * 0.5f + i;  // <- bug
  }
  out[threadIdx.x] = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, unsigned) = fixed ? weights<true> : weights<false>;
  float* out;
  cudaMalloc(&out, 32 * sizeof(float));
  run<<<1, 32>>>(out, 16);
  cudaFree(out);
}
