// While some threads still read one buffer, others already begin the copy that fills it again.
// expect: race

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

template <bool kFixed> __global__ void reverse(int* out, const int* in, int tiles) {
  __shared__ int tile[2][64];
  const unsigned i = threadIdx.x;
  __pipeline_memcpy_async(&tile[0][i], &in[i], sizeof(int));
  __pipeline_commit();
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) __pipeline_memcpy_async(&tile[(t + 1) % 2][i], &in[(t + 1) * 64 + i], sizeof(int));  // <- other
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[t * 64 + i] = tile[t % 2][63 - i];  // <- bug
    if (kFixed) __syncthreads();
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* in;
  int* out;
  cudaMalloc(&in, 256 * sizeof(int));
  cudaMalloc(&out, 256 * sizeof(int));
  cudaMemset(in, 0, 256 * sizeof(int));
  void (*run)(int*, const int*, int) = fixed ? reverse<true> : reverse<false>;
  run<<<1, 64>>>(out, in, 4);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}
