// A pitch, which counts bytes, is used as if it counted elements.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void clear(float* rows, size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  rows[y * (kFixed ? pitch / sizeof(float) : pitch) + x] = 0;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* rows;
  size_t pitch;
  cudaMallocPitch(&rows, &pitch, 100 * sizeof(float), 60);
  void (*run)(float*, size_t, int, int) = fixed ? clear<true> : clear<false>;
  run<<<dim3(7, 4), dim3(16, 16)>>>(rows, pitch, 100, 60);
  cudaDeviceSynchronize();
  cudaFree(rows);
}
