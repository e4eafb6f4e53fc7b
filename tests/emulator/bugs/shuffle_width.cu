// A shuffle within segments of 24 lanes: the width is no power of two.
// expect: shuffle_width

#include <cuda_runtime.h>

__global__ void add_next(int* out, int width) {
  const int own = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = own + __shfl_down_sync(~0U, own, 1, width);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  add_next<<<1, 32>>>(out, fixed ? 16 : 24);
  cudaDeviceSynchronize();
  cudaFree(out);
}
