// A fill with a float, whose integer becomes each byte, and with a number that does not fit a byte.
// expect: cut_fill

#include <cuda_runtime.h>

__global__ void set(float* out, float value) { out[threadIdx.x] = value; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* out;
  cudaMalloc(&out, 32 * sizeof(float));
  cudaMemset(out, 0.0F, 32 * sizeof(float));
  for (const unsigned value : {0xffU, 0xffffffffU, 0x3f3f3f3fU}) cudaMemset(out, static_cast<int>(value), 128);
  cudaMemset(out, fixed ? 100 : 1000, 32 * sizeof(float));  // <- other
  if (fixed)
    set<<<1, 32>>>(out, 1.0F);
  else
    cudaMemset(out, 1.0F, 32 * sizeof(float));  // <- bug
  cudaFree(out);
}
