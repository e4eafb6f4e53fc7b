// A copy of a graph in memory that was freed since it was captured.
// prints: 0 0 700
// reports: It was freed at
#include <cstdio>
int main() {
  int *device, host[4];
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaMalloc(&device, sizeof host);
  cudaMemset(device, 0, sizeof host);
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  std::printf("%d ", cudaGraphLaunch(executable, stream));
  cudaStreamSynchronize(stream);
  cudaFree(device);
  std::printf("%d ", cudaGraphLaunch(executable, stream));
  std::printf("%d\n", cudaStreamSynchronize(stream));
}
