// Lanes of a warp that meet in parts: halves with masks, tiles, those of a branch, some of which go on to meet others.
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__global__ void halves(int* out, int* through) {
  __shared__ int s[64];
  const int i = threadIdx.x, lane = i % 32, half = lane / 16;
  const unsigned mask = 0xffffu << 16 * half;
  s[i] = i;
  __syncwarp(mask);
  int v = s[i ^ 15];
  __syncwarp(mask);
  s[i] = v * 2;
  __syncwarp(mask);
  v = s[i ^ 7];
  __syncwarp(mask);
  if (half == 1) {
    for (int turn = 0; turn < 3; ++turn) {
      s[i] = v + turn;
      __syncwarp(mask);
      v += s[i ^ 1];
      __syncwarp(mask);
    }
  }
  through[i] = v;
  __syncwarp(mask);
  v += through[i ^ 3];
  __syncwarp();
  s[i] = v;
  __syncwarp();
  out[i] = s[i ^ 31];  // of the other half
}

__global__ void tiles(int* out) {
  __shared__ int s[64];
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const unsigned i = threadIdx.x;
  s[i] = i;
  for (unsigned step = 1; step < 8; step *= 2) {
    tile.sync();
    const int before = tile.thread_rank() >= step ? s[i - step] : 0;
    tile.sync();
    s[i] += before;
  }
  const int total = tile.shfl(s[i], 7);
  const auto pair = cg::tiled_partition<16>(block);
  pair.sync();
  out[i] = total + s[i ^ 8];
}

__global__ void chain(int* out) {
  __shared__ int s[32];
  const unsigned lane = threadIdx.x;
  // Each lane hands its sum to the next one: every two neighbours meet.
  for (unsigned next = 1; next < 32; ++next) {
    if (lane == next - 1) s[lane] = lane + (lane > 0 ? s[lane - 1] : 0);
    if (lane == next - 1 || lane == next) __syncwarp(3u << (next - 1));
  }
  if (lane == 31) *out = s[30] + 31;
}

int main() {
  int *out, *through, h[64], wrong = 0;
  cudaMalloc(&out, 64 * sizeof(int));
  cudaMalloc(&through, 64 * sizeof(int));
  halves<<<1, 64>>>(out, through);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  int s[64], v[64], w[64];
  for (int i = 0; i < 64; ++i) v[i] = 2 * (i ^ 7 ^ 15);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 64; ++i) s[i] = v[i] + turn;
    for (int i = 0; i < 64; ++i) v[i] += i % 32 / 16 == 1 ? s[i ^ 1] : 0;
  }
  for (int i = 0; i < 64; ++i) w[i] = v[i] + v[i ^ 3];
  for (int i = 0; i < 64; ++i) wrong += h[i] != w[i ^ 31];
  tiles<<<1, 64>>>(out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i) {
    int total = 0, sum = 0;
    for (int j = i / 8 * 8; j < i / 8 * 8 + 8; ++j) total += j;
    for (int j = (i ^ 8) / 8 * 8; j <= (i ^ 8); ++j) sum += j;
    wrong += h[i] != total + sum;
  }
  chain<<<1, 32>>>(out);
  cudaMemcpy(h, out, sizeof(int), cudaMemcpyDeviceToHost);
  wrong += h[0] != 31 * 32 / 2;
  cudaFree(out);
  cudaFree(through);
  std::printf("%d wrong\n", wrong);
  return wrong;
}
