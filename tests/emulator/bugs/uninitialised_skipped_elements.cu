// A kernel writes every other element, the next one reads all.
// expect: uninitialised_global

#include <cuda_runtime.h>

template <bool kFixed> __global__ void stage(float* out, float* data, int phase) {
  if (phase == 0) {
    if (kFixed || threadIdx.x % 2 == 0) data[threadIdx.x] = 1.0f;
  } else {
    out[threadIdx.x] = data[threadIdx.x];  // <- bug
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, float*, int) = fixed ? stage<true> : stage<false>;
  float *data, *out;
  cudaMalloc(&data, 64 * sizeof(float));
  cudaMalloc(&out, 64 * sizeof(float));
  run<<<1, 64>>>(out, data, 0);
  run<<<1, 64>>>(out, data, 1);
  cudaDeviceSynchronize();
  cudaFree(data);
  cudaFree(out);
}
