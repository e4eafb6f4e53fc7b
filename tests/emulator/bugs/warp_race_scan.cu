// A scan in shared memory by one warp, without a meeting between read and write.
// expect: warp_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void scan(int* out) {
  __shared__ int row[32];
  row[threadIdx.x] = 1;
  __syncwarp();
  for (int step = 1; step < 32; step *= 2) {
    const int left = threadIdx.x >= step ? row[threadIdx.x - step] : 0;  // <- other
    if (kFixed) __syncwarp();
    row[threadIdx.x] += left;  // <- bug
    __syncwarp();
  }
  out[threadIdx.x] = row[threadIdx.x];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*) = fixed ? scan<true> : scan<false>;
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  run<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
