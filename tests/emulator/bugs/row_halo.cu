// A stencil in shared memory reads the neighbour to the right of a row's last element: the next row's first one.
// expect: row_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void add_right(const float* in, float* out) {
  __shared__ float tile[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 16 + x];
  __syncthreads();
  float sum = tile[y][x];
  if (kFixed ? x < 15 : y < 15) {
    sum += tile[y][x + 1];  // <- bug
  }
  out[y * 16 + x] = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(const float*, float*) = fixed ? add_right<true> : add_right<false>;
  float *in, *out;
  cudaMalloc(&in, 256 * sizeof(float));
  cudaMalloc(&out, 256 * sizeof(float));
  cudaMemset(in, 0, 256 * sizeof(float));
  run<<<1, dim3(16, 16)>>>(in, out);
  cudaFree(in);
  cudaFree(out);
}
