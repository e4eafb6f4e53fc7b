// The host waits for a host function that the stream runs before the copy of the result.
// expect: host_race

#include <atomic>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void square(int* data) { data[threadIdx.x] *= data[threadIdx.x]; }

void set(void* done) { *static_cast<std::atomic<bool>*>(done) = true; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  std::atomic<bool> done{false};
  int* host;
  int* data;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMallocHost(&host, 128 * sizeof(int));
  cudaMalloc(&data, 128 * sizeof(int));
  for (int i = 0; i < 128; ++i) host[i] = i;
  cudaMemcpyAsync(data, host, 512, cudaMemcpyHostToDevice, stream);
  square<<<1, 128, 0, stream>>>(data);
  if (!fixed) cudaLaunchHostFunc(stream, set, &done);
  cudaMemcpyAsync(host, data, 512, cudaMemcpyDeviceToHost, stream);  // <- other
  if (fixed) cudaLaunchHostFunc(stream, set, &done);
  while (!done) {
  }
  std::printf("%d\n", host[7]);  // <- bug
  cudaStreamDestroy(stream);
  cudaFreeHost(host);
  cudaFree(data);
}
