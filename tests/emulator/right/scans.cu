// Scans of cooperative groups, and square roots rounded up and down.
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

#include <cmath>
#include <cstdio>

namespace cg = cooperative_groups;

__global__ void scans(int* out, const float* in, float* roots) {
  const int i = threadIdx.x;
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  out[i] = cg::inclusive_scan(tile, i);
  out[32 + i] = cg::exclusive_scan(tile, i);
  out[64 + i] = cg::inclusive_scan(tile, i * 5 % 8, cg::greater<int>());
  out[96 + i] = -1;
  if (i % 3 == 0) {
    const auto some = cg::coalesced_threads();
    out[96 + i] = cg::exclusive_scan(some, 1);
  }
  roots[i] = __fsqrt_rd(in[i]);
  roots[32 + i] = __fsqrt_ru(in[i]);
}

int main() {
  int* out;
  float *in, *roots;
  cudaMallocManaged(&out, 128 * sizeof(int));
  cudaMallocManaged(&in, 32 * sizeof(float));
  cudaMallocManaged(&roots, 64 * sizeof(float));
  for (int i = 0; i < 32; ++i) in[i] = i * i % 7 + i * 0.25f;
  scans<<<1, 32>>>(out, in, roots);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < 32; ++i) {
    int sum = 0, most = 0;
    for (int j = i / 8 * 8; j < i; ++j) sum += j;
    for (int j = i / 8 * 8; j <= i; ++j) most = std::max(most, j * 5 % 8);
    wrong += out[i] != sum + i || out[32 + i] != sum || out[64 + i] != most || out[96 + i] != (i % 3 == 0 ? i / 3 : -1);
    const double exact = std::sqrt(static_cast<long double>(in[i]));
    const float below = roots[i], above = roots[32 + i];
    wrong += below > exact || above < exact || (below != above && above != std::nextafter(below, INFINITY));
    wrong += (below == above) != (exact == static_cast<float>(exact));
  }
  std::printf("%d wrong\n", wrong);
  cudaFree(out), cudaFree(in), cudaFree(roots);
  return wrong;
}
