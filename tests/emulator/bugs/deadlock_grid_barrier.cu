// A barrier of the whole grid by a counter, with more blocks than the card holds at a time.
// expect: deadlock

#include <cuda_runtime.h>

__global__ void phases(float* out, float* values, unsigned* arrived) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] *= 2;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1U);
    while (atomicAdd(arrived, 0U) < gridDim.x) {  // <- bug
      __nanosleep(100);
    }
  }
  __syncthreads();
  out[i] = values[gridDim.x * blockDim.x - 1 - i];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  const unsigned blocks = fixed ? 8 : 800;
  float* out;
  float* values;
  unsigned* arrived;
  cudaMalloc(&out, blocks * 32 * sizeof(float));
  cudaMalloc(&values, blocks * 32 * sizeof(float));
  cudaMalloc(&arrived, sizeof(unsigned));
  cudaMemset(values, 0, blocks * 32 * sizeof(float));
  cudaMemset(arrived, 0, sizeof(unsigned));
  phases<<<blocks, 32, 48 << 10>>>(out, values, arrived);
  cudaDeviceSynchronize();
  cudaFree(out);
  cudaFree(values);
  cudaFree(arrived);
}
