// A tensor core adds to sums that nobody set to zero.
// expect: uninitialised_local

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

namespace wmma = nvcuda::wmma;

template <bool kFixed> __global__ void multiply(float* out, const half* a, const half* b, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  if (kFixed) wmma::fill_fragment(sums, 0.0f);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(left, a + i, k);
    wmma::load_matrix_sync(right, b + i, k);
    wmma::mma_sync(sums, left, right, sums);  // <- bug
  }
  wmma::store_matrix_sync(out, sums, 16, wmma::mem_row_major);
}

int main(int argc, char**) {
  constexpr int kDepth = 32;
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  half *a, *b;
  float* out;
  cudaMalloc(&a, 16 * kDepth * sizeof(half));
  cudaMalloc(&b, 16 * kDepth * sizeof(half));
  cudaMalloc(&out, 16 * 16 * sizeof(float));
  cudaMemset(a, 0, 16 * kDepth * sizeof(half));
  cudaMemset(b, 0, 16 * kDepth * sizeof(half));
  if (fixed)
    multiply<true><<<1, 32>>>(out, a, b, kDepth);
  else
    multiply<false><<<1, 32>>>(out, a, b, kDepth);
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(b);
  cudaFree(out);
}
