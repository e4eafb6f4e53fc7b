// A lane calls a warp-level operation whose mask does not name it.
// expect: invalid_mask

#include <cuda_runtime.h>

template <bool kFixed> __global__ void vote(unsigned* out) {
  out[threadIdx.x] = __ballot_sync(kFixed ? 0xffffffffu : 0x0000ffffu, threadIdx.x & 1);  // <- bug
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
