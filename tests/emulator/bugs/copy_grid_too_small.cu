// The number of blocks is rounded down: the last elements are not computed, and the host copies what nobody wrote.
// expect: uninitialised_copy

#include <cuda_runtime.h>

#include <vector>

__global__ void twice(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  constexpr int kCount = 1000;
  std::vector<float> values(kCount, 1.0f);
  float *in, *out;
  cudaMalloc(&in, kCount * sizeof(float));
  cudaMalloc(&out, kCount * sizeof(float));
  cudaMemcpy(in, values.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  const int blocks = fixed ? (kCount + 255) / 256 : kCount / 256;
  twice<<<blocks, 256>>>(out, in, kCount);
  cudaMemcpy(values.data(), out, kCount * sizeof(float), cudaMemcpyDeviceToHost);  // <- bug
  cudaFree(in);
  cudaFree(out);
}
