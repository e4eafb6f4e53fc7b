// A tile of 8 lanes adds up in shared memory: it meets before each step, but not between its reads and its writes.
// expect: warp_race

#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

template <bool kFixed> __global__ void scan(const int* in, int* out) {
  __shared__ int sums[64];
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int* const mine = sums + threadIdx.x / 8 * 8;
  const unsigned rank = tile.thread_rank();
  mine[rank] = in[threadIdx.x];
  for (unsigned step = 1; step < 8; step *= 2) {
    tile.sync();
    if (kFixed) {
      const int before = rank >= step ? mine[rank - step] : 0;
      tile.sync();
      mine[rank] += before;
    } else if (rank >= step) {
      mine[rank] += mine[rank - step];  // <- bug
    }
  }
  out[threadIdx.x] = mine[rank];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(const int*, int*) = fixed ? scan<true> : scan<false>;
  int *in, *out;
  cudaMalloc(&in, 64 * sizeof(int));
  cudaMalloc(&out, 64 * sizeof(int));
  cudaMemset(in, 1, 64 * sizeof(int));
  run<<<1, 64>>>(in, out);
  cudaFree(in);
  cudaFree(out);
}
