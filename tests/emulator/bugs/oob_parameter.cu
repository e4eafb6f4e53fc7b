// A loop over the weights in a struct, which the kernel is given by value, goes one too far.
// expect: out_of_bounds

#include <cuda_runtime.h>

struct Weights {
  float of[9];
};

__global__ void add(Weights weights, float* out, int radius) {
  float sum = 0;
  for (int i = 0; i <= 2 * radius; ++i) {
    sum += weights.of[i];  // <- bug
  }
  out[threadIdx.x] = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* out;
  cudaMalloc(&out, 32 * sizeof(float));
  add<<<1, 32>>>(Weights{}, out, fixed ? 4 : 5);
  cudaFree(out);
}
