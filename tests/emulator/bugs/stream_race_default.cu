// A stream that does not wait for the default one reads what a copy in that one brings.
// expect: stream_race

#include <cuda_runtime.h>

__global__ void twice(int* out, const int* in) {
  out[threadIdx.x] = 2 * in[threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int *host, *in, *out;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, fixed ? cudaStreamDefault : cudaStreamNonBlocking);
  cudaMallocHost(&host, 256);
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 256);
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMemcpyAsync(in, host, 256, cudaMemcpyHostToDevice);  // <- other
  twice<<<1, 64, 0, stream>>>(out, in);
  cudaDeviceSynchronize();
  cudaStreamDestroy(stream);
  cudaFreeHost(host);
  cudaFree(in);
  cudaFree(out);
}
