// A host function uses what another stream writes: it waits for its own stream alone.
// expect: host_race

#include <cuda_runtime.h>

__global__ void fill(int* data) { data[threadIdx.x] = 1; }  // <- other

void add(void* data) {
  int* const values = static_cast<int*>(data);
  values[128] = values[0] + values[127];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* values;
  cudaStream_t streams[2];
  cudaMallocManaged(&values, 129 * sizeof(int));
  for (cudaStream_t& stream : streams) cudaStreamCreate(&stream);
  fill<<<1, 128, 0, streams[0]>>>(values);
  cudaLaunchHostFunc(streams[fixed ? 0 : 1], add, values);
  cudaDeviceSynchronize();
  for (const cudaStream_t stream : streams) cudaStreamDestroy(stream);
  cudaFree(values);
}
