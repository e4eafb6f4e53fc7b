// Two arrays in dynamic shared memory, the second of which begins inside of the first: an offset in bytes is too small.
// expect: race

#include <cuda_runtime.h>

__global__ void both(int* out, int offset) {
  extern __shared__ char memory[];
  float* values = reinterpret_cast<float*>(memory);
  int* keys = reinterpret_cast<int*>(memory + offset);
  values[threadIdx.x] = threadIdx.x;    // <- other
  keys[threadIdx.x] = threadIdx.x + 1;  // <- bug
  __syncthreads();
  out[threadIdx.x] = keys[threadIdx.x] + static_cast<int>(values[threadIdx.x]);
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int* out;
  cudaMalloc(&out, 128 * sizeof(int));
  both<<<1, 128, 1024>>>(out, fixed ? 512 : 128);
  cudaDeviceSynchronize();
  cudaFree(out);
}
