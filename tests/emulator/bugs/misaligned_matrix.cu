// The rows of a matrix of halves are 17 elements apart: they do not begin at multiples of 16 bytes.
// expect: misaligned

#include <mma.h>

using namespace nvcuda;

__global__ void load(const __half* in, float* out, int stride) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::load_matrix_sync(a, in, stride);  // <- bug
  out[threadIdx.x] = __half2float(a.x[0]);
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  __half* in;
  float* out;
  cudaMalloc(&in, 1024);
  cudaMalloc(&out, 128);
  cudaMemset(in, 0, 1024);
  load<<<1, 32>>>(in, out, fixed ? 24 : 17);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
