// A function returns a view of an array of its own.
// expect: ended_local

#include <cuda_runtime.h>

struct View {
  float* values;
  int count;
};

__device__ View steps(float* values, float begin) {
  for (int i = 0; i < 4; ++i) values[i] = begin + i;
  return {values, 4};
}

__device__ View own_steps(float begin) {
  float values[4];
  return steps(values, begin);
}  // <- other

template <bool kFixed> __global__ void sums(float* out, int n) {
  float values[4];
  const View view = kFixed ? steps(values, threadIdx.x) : own_steps(threadIdx.x);
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += view.values[i];  // <- bug
  out[threadIdx.x] = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* out;
  cudaMalloc(&out, 32 * sizeof(float));
  void (*run)(float*, int) = fixed ? sums<true> : sums<false>;
  run<<<1, 32>>>(out, 4);
  cudaDeviceSynchronize();
  cudaFree(out);
}
