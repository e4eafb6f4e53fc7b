// Rows and columns of a shared tile are swapped.
// expect: out_of_bounds

#include <cuda_runtime.h>

template <bool kFixed> __global__ void turn(int* out) {
  __shared__ int tile[8][32];
  const int x = threadIdx.x, y = threadIdx.y;
  if (kFixed) {
    tile[y][x] = x;
  } else {
    tile[x][y] = x;  // <- bug
  }
  __syncthreads();
  out[y * 32 + x] = tile[y][x];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? turn<true> : turn<false>;
  int* out;
  cudaMalloc(&out, 256 * sizeof(int));
  run<<<1, dim3(32, 8)>>>(out);
  cudaFree(out);
}
