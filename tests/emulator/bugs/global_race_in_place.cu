// A stencil writes into the array that other threads still read.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void smooth(float* out, float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 >= n) return;
  const float next = data[i + 1];          // <- other
  (kFixed ? out : data)[i] = 0.5f * next;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, float*, int) = fixed ? smooth<true> : smooth<false>;
  const int n = 256;
  float *data, *out;
  cudaMalloc(&data, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(data, 1, n * sizeof(float));
  run<<<2, 128>>>(out, data, n);
  cudaDeviceSynchronize();
  cudaFree(data);
  cudaFree(out);
}
