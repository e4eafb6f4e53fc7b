// A graph is launched once more when the memory of its kernel is gone.
// expect: use_after_free

#include <cuda_runtime.h>

__global__ void next(int* data) { data[threadIdx.x] += 1; }  // <- bug

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int* data;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t run;
  cudaMalloc(&data, 256);
  cudaMemset(data, 0, 256);
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  next<<<1, 64, 0, stream>>>(data);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&run, graph, 0);
  cudaGraphLaunch(run, stream);
  cudaStreamSynchronize(stream);
  if (!fixed) cudaFree(data);
  cudaGraphLaunch(run, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(run);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  if (fixed) cudaFree(data);
}
