// Two halves of a warp vote with the full mask, in different branches.
// expect: deadlock

#include <cuda_runtime.h>

template <bool kFixed> __global__ void vote(unsigned* out) {
  unsigned lanes = 0;
  if (threadIdx.x < 16) {
    lanes = __ballot_sync(kFixed ? 0x0000ffffu : 0xffffffffu, 1);  // <- bug
  } else {
    lanes = __shfl_sync(kFixed ? 0xffff0000u : 0xffffffffu, 1u, 31);
  }
  out[threadIdx.x] = lanes;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(unsigned*) = fixed ? vote<true> : vote<false>;
  unsigned* out;
  cudaMalloc(&out, 32 * sizeof(unsigned));
  run<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
