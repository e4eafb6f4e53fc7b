// What a callback is given is a local variable of the function that hands the callback to the stream, and returns.
// expect: host_data

#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x; }

void say(cudaStream_t, cudaError_t, void* data) { std::printf("%d\n", *static_cast<int*>(data)); }

void announce(cudaStream_t stream, int number, bool waits) {
  int message = 2 * number;
  cudaStreamAddCallback(stream, say, &message, 0);  // <- other
  if (waits) cudaStreamSynchronize(stream);
}  // <- bug

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&out, 32 * sizeof(int));
  fill<<<1, 32, 0, stream>>>(out);
  announce(stream, 4, fixed);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  cudaFree(out);
}
