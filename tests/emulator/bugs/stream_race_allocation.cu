// Memory is allocated in the order of one stream, and another stream uses it at once.
// expect: stream_race

#include <cuda_runtime.h>

__global__ void fill(int* out) { out[threadIdx.x] = 1; }  // <- other

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  cudaStream_t one, two;
  cudaEvent_t there;
  cudaStreamCreate(&one);
  cudaStreamCreate(&two);
  cudaEventCreate(&there);
  int* out;
  cudaMallocAsync(&out, 32 * sizeof(int), one);  // <- bug
  cudaEventRecord(there, one);
  if (fixed) cudaStreamWaitEvent(two, there);
  fill<<<1, 32, 0, two>>>(out);
  cudaFreeAsync(out, two);
  cudaStreamSynchronize(two);
  cudaEventDestroy(there);
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
}
