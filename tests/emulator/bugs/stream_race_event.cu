// The event that the other stream waits for is recorded before the kernel, not behind it.
// expect: stream_race

#include <cuda_runtime.h>

__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; }  // <- other
__global__ void twice(int* out, const int* data) {
  out[threadIdx.x] = 2 * data[threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int *data, *out;
  cudaStream_t first, second;
  cudaEvent_t ready;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  cudaEventCreate(&ready);
  cudaMalloc(&data, 256);
  cudaMalloc(&out, 256);
  if (!fixed) cudaEventRecord(ready, first);
  fill<<<1, 64, 0, first>>>(data);
  if (fixed) cudaEventRecord(ready, first);
  cudaStreamWaitEvent(second, ready, 0);
  twice<<<1, 64, 0, second>>>(out, data);
  cudaDeviceSynchronize();
  cudaEventDestroy(ready);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  cudaFree(data);
  cudaFree(out);
}
