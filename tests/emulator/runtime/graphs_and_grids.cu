// Launches by address, graphs built by hand, cooperative launches.
// prints: untyped 12 7
// prints: graph 1 7 40
// prints: graph again 1 9 50
// prints: circle 1
// prints: cooperative 2016 1
// prints: too large 720
// reports: The graph's edges make a circle.
// reports: cudaErrorCooperativeLaunchTooLarge
#include <cooperative_groups.h>

#include <cstdio>
namespace cg = cooperative_groups;
struct Wide {
  double a;
  int b;
  float c;
};
__global__ void add(int* out, float2 p, Wide w, float4 q, char by) {
  *out = static_cast<int>(p.x + p.y + w.a + w.b + w.c + q.w) + by;
}
template <class T> __global__ void set(T* out, T value) { *out = value; }
__global__ void twice(int* out, const int* in) { *out = 2 * *in; }
__device__ int sums[64];
__global__ void sum_up(int* out) {
  cg::grid_group grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  sums[i] = i;
  grid.sync();
  for (int step = 32; step > 0; step /= 2) {
    const int other = i < step ? sums[i + step] : 0;
    if (i < step) sums[i] += other;
    grid.sync();
  }
  out[0] = sums[0];
  out[1] = grid.is_valid();
}
void noted(void* times) { ++*static_cast<int*>(times); }

int main() {
  int host[4], times = 0;
  int* d;
  cudaMalloc(&d, sizeof host);
  cudaMemset(d, 0, sizeof host);
  float2 p{1, 2};
  Wide w{3, 1, 1};
  float4 q{0, 0, 0, 2};
  char by = 2;
  void* arguments[] = {&d, &p, &w, &q, &by};
  cudaLaunchKernel((void*)add, dim3(1), dim3(1), arguments, 0, nullptr);
  int* second = d + 1;
  int seven = 7;
  void* set_arguments[] = {&second, &seven};
  cudaLaunchKernel((const void*)set<int>, dim3(1), dim3(1), set_arguments, 0, 0);
  cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("untyped %d %d\n", host[0], host[1]);

  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t last, copy, kernel, clear, told;
  int* third = d + 2;
  void* twice_arguments[] = {&third, &second};
  cudaKernelNodeParams doubles{(void*)twice, dim3(1), dim3(1), 0, twice_arguments, nullptr};
  cudaGraphAddKernelNode(&last, graph, nullptr, 0, &doubles);  // Its dependencies come later.
  cudaMemsetParams zero{d, 0, 20, 4, 2, 1};
  cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero);
  cudaGraphAddDependencies(graph, &clear, &last, nullptr, 1);
  cudaHostNodeParams calls{noted, &times};
  cudaGraphAddHostNode(&told, graph, &last, 1, &calls);
  void* three_arguments[] = {&second, &seven};
  cudaKernelNodeParams sets{(void*)set<int>, dim3(1), dim3(1), 0, three_arguments, nullptr};
  cudaGraphAddKernelNode(&kernel, graph, &last, 1, &sets);
  cudaMemcpy3DParms out{};
  out.srcPtr = make_cudaPitchedPtr(d, sizeof host, sizeof host, 1);
  out.dstPtr = make_cudaPitchedPtr(host, sizeof host, sizeof host, 1);
  out.extent = make_cudaExtent(sizeof host, 1, 1);
  out.kind = cudaMemcpyDeviceToHost;
  const cudaGraphNode_t both[] = {kernel, told};
  cudaGraphAddMemcpyNode(&copy, graph, both, 2, &out);
  cudaGraphExec_t executable;
  cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
  seven = 8;  // The node has its own.
  cudaGraphLaunch(executable, 0);
  cudaDeviceSynchronize();
  std::printf("graph %d %d %d\n", times, host[1], host[2]);
  times = 0;
  seven = 9;
  cudaGraphExecKernelNodeSetParams(executable, kernel, &sets);
  int* first = d;
  int twenty_five = 25;
  void* at_first[] = {&first, &twenty_five};
  cudaKernelNodeParams other{(void*)set<int>, dim3(1), dim3(1), 0, at_first, nullptr};
  void* of_first[] = {&third, &first};
  doubles.kernelParams = of_first;
  cudaGraph_t outer;
  cudaGraphCreate(&outer, 0);
  cudaGraphNode_t before;
  cudaGraphAddKernelNode(&before, outer, nullptr, 0, &other);
  cudaGraphNode_t after;
  cudaGraphAddKernelNode(&after, outer, &before, 1, &doubles);
  cudaGraphLaunch(executable, 0);
  cudaGraphExec_t outer_executable;
  cudaGraphInstantiate(&outer_executable, outer, 0);
  cudaGraphLaunch(outer_executable, 0);
  cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("graph again %d %d %d\n", times, host[1], host[2]);
  cudaGraphAddDependencies(outer, &after, &before, nullptr, 1);
  cudaGraphExec_t none;
  std::printf("circle %d\n", cudaGraphInstantiate(&none, outer, 0));

  void* sum_arguments[] = {&d};
  cudaLaunchCooperativeKernel(sum_up, dim3(8), dim3(8), sum_arguments);
  cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("cooperative %d %d\n", host[0], host[1]);
  std::printf("too large %d\n",
              cudaLaunchCooperativeKernel((void*)sum_up, dim3(100000), dim3(1024), sum_arguments, 0, 0));
  cudaGraphExecDestroy(executable);
  cudaGraphExecDestroy(outer_executable);
  cudaGraphDestroy(graph);
  cudaGraphDestroy(outer);
  cudaFree(d);
}
