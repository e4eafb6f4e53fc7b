// The time between two events is asked for before the second one has happened.
// expect: api_error

#include <cuda_runtime.h>

__global__ void work(float* data) { data[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* data;
  float milliseconds = 0;
  cudaEvent_t begin;
  cudaEvent_t end;
  cudaMalloc(&data, 32 * sizeof(float));
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  work<<<1, 32>>>(data);
  cudaEventRecord(end);
  if (fixed) cudaEventSynchronize(end);
  cudaEventElapsedTime(&milliseconds, begin, end);  // <- bug
  cudaDeviceSynchronize();
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaFree(data);
}
