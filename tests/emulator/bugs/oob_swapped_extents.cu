// A matrix that is not square is indexed with its extents swapped.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void transpose(float* out, const float* in, int rows, int columns) {
  const int column = threadIdx.x;
  const int row = blockIdx.x;
  if (row >= rows || column >= columns) return;
  out[kFixed ? column * rows + row : column * columns + row] = in[row * columns + column];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(float*, const float*, int, int) = fixed ? transpose<true> : transpose<false>;
  const int rows = 40, columns = 64;
  float *in, *out;
  cudaMalloc(&in, rows * columns * sizeof(float));
  cudaMalloc(&out, rows * columns * sizeof(float));
  cudaMemset(in, 0, rows * columns * sizeof(float));
  run<<<rows, 64>>>(out, in, rows, columns);
  cudaFree(in);
  cudaFree(out);
}
