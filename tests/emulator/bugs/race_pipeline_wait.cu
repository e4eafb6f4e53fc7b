// Two tiles are under way, and the wait leaves one of them so: the tile that is read is the later one.
// expect: race

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

__global__ void sums(float* out, const float* in, int tiles, bool fixed) {
  __shared__ float tile[2][128];
  const unsigned t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&tile[0][t], in + t, 4);
  __pipeline_commit();
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) __pipeline_memcpy_async(&tile[(i + 1) % 2][t], in + (i + 1) * 128 + t, 4);  // <- bug
    if (i + 1 < tiles || fixed) __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += tile[i % 2][127 - t];  // <- other
    __syncthreads();
  }
  out[t] = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  float *in, *out;
  cudaMalloc(&in, 512 * sizeof(float));
  cudaMalloc(&out, 128 * sizeof(float));
  cudaMemset(in, 0, 512 * sizeof(float));
  sums<<<1, 128>>>(out, in, 4, fixed);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
