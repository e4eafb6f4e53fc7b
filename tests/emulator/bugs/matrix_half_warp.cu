// Half a warp stores a matrix that all of it holds.
// expect: incomplete_warp

#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

__global__ void ones(float* out, unsigned lanes) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 1.0F);
  if (threadIdx.x < lanes) wmma::store_matrix_sync(out, sums, 16, wmma::mem_row_major);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* out;
  cudaMalloc(&out, 256 * sizeof(float));
  ones<<<1, 32>>>(out, fixed ? 32 : 16);
  cudaDeviceSynchronize();
  cudaFree(out);
}
