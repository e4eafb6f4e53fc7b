// Two steps of one launch: a block reads what another one writes.
// expect: global_race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void steps(int* out, int* data, int phase) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!kFixed || phase == 0) data[i] = i;  // <- bug
  if (!kFixed) __syncthreads();
  if (!kFixed || phase == 1) out[i] = data[255 - i];  // <- other
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, int*, int) = fixed ? steps<true> : steps<false>;
  int *data, *out;
  cudaMalloc(&data, 256 * sizeof(int));
  cudaMalloc(&out, 256 * sizeof(int));
  cudaMemset(data, 0, 256 * sizeof(int));
  run<<<2, 128>>>(out, data, 0);
  if (fixed) run<<<2, 128>>>(out, data, 1);
  cudaDeviceSynchronize();
  cudaFree(data);
  cudaFree(out);
}
