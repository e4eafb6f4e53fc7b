// A kernel that is compiled for 128 threads of a block is launched with 256.
// expect: invalid_launch

#include <cuda_runtime.h>

template <int kThreads> __global__ void __launch_bounds__(kThreads) fill(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, 256 * sizeof(int));
  fill<128><<<1, fixed ? 128 : 256>>>(out);  // <- bug
  cudaDeviceSynchronize();
  cudaFree(out);
}
