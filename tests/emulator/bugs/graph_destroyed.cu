// A graph is launched that was destroyed before.
// expect: api_error

#include <cuda_runtime.h>

__global__ void fill(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaMalloc(&out, 64 * sizeof(int));
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  fill<<<1, 64, 0, stream>>>(out);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&ready, graph, 0);
  if (!fixed) cudaGraphExecDestroy(ready);
  cudaGraphLaunch(ready, stream);  // <- bug
  if (fixed) cudaGraphExecDestroy(ready);
  cudaStreamSynchronize(stream);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(out);
}
