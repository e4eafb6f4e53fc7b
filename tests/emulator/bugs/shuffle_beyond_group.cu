// Lanes that found something take the value of a rank which their group does not have.
// expect: inactive_shuffle

#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

template <bool kFixed> __global__ void first_found(int* out, const int* in) {
  if (in[threadIdx.x] != 0) return;
  const auto group = cg::coalesced_threads();
  constexpr int kRank = kFixed ? 0 : 16;
  out[threadIdx.x] = group.shfl(static_cast<int>(threadIdx.x), kRank);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int *in, *out;
  cudaMalloc(&in, 32 * sizeof(int));
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMemset(in, 0, 16 * sizeof(int));
  cudaMemset(in + 16, 1, 16 * sizeof(int));
  if (fixed)
    first_found<true><<<1, 32>>>(out, in);
  else
    first_found<false><<<1, 32>>>(out, in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
