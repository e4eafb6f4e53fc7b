// Two streams take turns, and share one buffer.
// expect: stream_race

#include <cuda_runtime.h>

__global__ void work(float* data) { data[threadIdx.x] += 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* host;
  float* data;
  cudaStream_t streams[2];
  cudaMallocHost(&host, 256 * sizeof(float));
  cudaMalloc(&data, 256 * sizeof(float));
  for (int i = 0; i < 256; ++i) host[i] = 1;
  for (int i = 0; i < 2; ++i) {
    cudaStreamCreate(&streams[i]);
    float* const chunk = host + 128 * i;
    float* const buffer = fixed ? data + 128 * i : data;
    cudaMemcpyAsync(buffer, chunk, 512, cudaMemcpyHostToDevice, streams[i]);  // <- bug
    work<<<1, 128, 0, streams[i]>>>(buffer);
    cudaMemcpyAsync(chunk, buffer, 512, cudaMemcpyDeviceToHost, streams[i]);
  }
  cudaDeviceSynchronize();
  for (const cudaStream_t stream : streams) cudaStreamDestroy(stream);
  cudaFreeHost(host);
  cudaFree(data);
}
