// Two tiles of 16 lanes swap values, and each of them waits for its own lanes alone.
// expect: warp_race

#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

template <bool kFixed> __global__ void swap(int* out) {
  __shared__ int values[32];
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  values[threadIdx.x] = threadIdx.x;  // <- other
  if (kFixed) {
    __syncwarp();
  } else {
    tile.sync();
  }
  out[threadIdx.x] = values[threadIdx.x ^ 16];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? swap<true> : swap<false>;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  run<<<1, 32>>>(out);
  cudaFree(out);
}
