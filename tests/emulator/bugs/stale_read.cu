// A kernel reads by the read-only path what it has written itself.
// expect: stale_read

#include <cuda_runtime.h>

template <bool kFixed> __global__ void smooth(float* out, float* data) {
  const unsigned t = threadIdx.x;
  const float mine = __ldg(&data[t]);  // Nobody has written it yet.
  __syncthreads();
  data[t] = 2 * mine;  // <- other
  __syncthreads();
  out[t] = kFixed ? data[127 - t] : __ldg(&data[127 - t]);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float *data, *out;
  cudaMalloc(&data, 128 * sizeof(float));
  cudaMalloc(&out, 128 * sizeof(float));
  cudaMemset(data, 1, 128 * sizeof(float));
  if (fixed)
    smooth<true><<<1, 128>>>(out, data);
  else
    smooth<false><<<1, 128>>>(out, data);
  cudaDeviceSynchronize();
  cudaFree(data);
  cudaFree(out);
}
