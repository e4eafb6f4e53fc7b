// A capture ends while a stream that joined it has work that nothing leads back.
// expect: api_error

#include <cuda_runtime.h>

__global__ void fill(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaStream_t one, two;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaMalloc(&out, 64 * sizeof(int));
  cudaStreamCreate(&one);
  cudaStreamCreate(&two);
  cudaEventCreate(&fork);
  cudaEventCreate(&join);
  cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, one);
  cudaStreamWaitEvent(two, fork);
  fill<<<1, 64, 0, two>>>(out);
  if (fixed) {
    cudaEventRecord(join, two);
    cudaStreamWaitEvent(one, join);
  }
  cudaStreamEndCapture(one, &graph);  // <- bug
  if (fixed) cudaGraphDestroy(graph);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
  cudaFree(out);
}
