// The remainder of a negative number is negative in C++: a ring has no -1.
// expect: out_of_bounds

#include <cuda_runtime.h>

__global__ void smooth(float* out, const float* in, int n, bool fixed) {
  const int i = threadIdx.x;
  const int left = fixed ? (i + n - 1) % n : (i - 1) % n;
  out[i] = (in[left] + in[(i + 1) % n]) / 2;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  float *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 256);
  cudaMemset(in, 0, 256);
  smooth<<<1, 64>>>(out, in, 64, fixed);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
