// A kernel of a non-blocking stream counts in what `cudaMemset` sets to 0, for which the host does not wait.
// expect: stream_race

#include <cuda_runtime.h>

__global__ void count(int* counts) { counts[threadIdx.x] += 1; }  // <- bug

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* counts;
  cudaStream_t stream;
  cudaMalloc(&counts, 64 * sizeof(int));
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMemset(counts, 0, 64 * sizeof(int));  // <- other
  if (fixed) cudaDeviceSynchronize();
  count<<<1, 64, 0, stream>>>(counts);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  cudaFree(counts);
}
