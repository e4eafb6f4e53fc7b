// A thread's own array is too short for its loop.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void smooth(float* out, const float* in, int radius) {
  float window[8];
  const int taps = 2 * radius + 1;
  for (int k = 0; k < (kFixed ? min(taps, 8) : taps); ++k) window[k] = in[threadIdx.x + k];  // <- bug
  float sum = 0.0f;
  for (int k = 0; k < min(taps, 8); ++k) sum += window[(k * 5) % min(taps, 8)];
  out[threadIdx.x] = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*, int) = fixed ? smooth<true> : smooth<false>;
  float *in, *out;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, 32 * sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  run<<<1, 32>>>(out, in, argc + 3);
  cudaFree(in);
  cudaFree(out);
}
