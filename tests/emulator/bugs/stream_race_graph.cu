// Two branches of a captured graph work on the same array: the event that joins them comes too late.
// expect: stream_race

#include <cuda_runtime.h>

constexpr int n = 1 << 14;

__global__ void scale(float* values) {
  values[blockIdx.x * blockDim.x + threadIdx.x] *= 2;  // <- other
}

__global__ void shift(float* values) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += 1;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* values;
  cudaMalloc(&values, n * sizeof(float));
  cudaMemset(values, 0, n * sizeof(float));
  cudaStream_t main, side;
  cudaStreamCreate(&main);
  cudaStreamCreate(&side);
  cudaEvent_t forked, scaled;
  cudaEventCreate(&forked);
  cudaEventCreate(&scaled);
  cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal);
  cudaEventRecord(forked, main);
  cudaStreamWaitEvent(side, forked);
  scale<<<n / 256, 256, 0, side>>>(values);
  cudaEventRecord(scaled, side);
  if (fixed) cudaStreamWaitEvent(main, scaled);
  shift<<<n / 256, 256, 0, main>>>(values);
  if (!fixed) cudaStreamWaitEvent(main, scaled);
  cudaGraph_t graph;
  cudaStreamEndCapture(main, &graph);
  cudaGraphExec_t executable;
  cudaGraphInstantiate(&executable, graph, 0);
  for (int i = 0; i < 2; ++i) cudaGraphLaunch(executable, main);
  cudaDeviceSynchronize();
  cudaFree(values);
}
