// Memory that graphs allocate and free: by hand, captured, left to the program, used wrongly.
// prints: by hand 3 3 1
// prints: captured 8 8 0
// prints: left 4 1 5
// prints: attributes 0 1 0
// prints: freed by a graph 6 0
// prints: refused 1 801 1
// prints: freed first 7 0
// reports: A graph frees what a node of a graph allocates, by its address.
// reports: on CUDA API call to cudaGraphClone
// reports: on CUDA API call to cudaGraphAddMemAllocNode
// reports: What the graph allocates was not freed since its last launch.
// reports: Invalid __global__ read of size 4 bytes
// reports: Uninitialized __global__ memory read of size 4 bytes
#include <cstdio>
__global__ void set(int* x, int value) { x[threadIdx.x] = value; }
__global__ void add(const int* x, int* sum, int value) { sum[threadIdx.x] = x[threadIdx.x] + value; }
__global__ void late(const int* x, int* sum) { *sum = *x; }

constexpr size_t kBytes = 32 * sizeof(int);

cudaMemAllocNodeParams memory() {
  cudaMemAllocNodeParams params{};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location = {cudaMemLocationTypeDevice, 0};
  params.bytesize = kBytes;
  return params;
}
template <class... Given> cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t before, void* function, Given... given) {
  void* arguments[] = {&given...};
  cudaKernelNodeParams params{function, dim3(1), dim3(32), 0, arguments, nullptr};
  cudaGraphNode_t node;
  cudaGraphAddKernelNode(&node, graph, &before, 1, &params);
  return node;
}
cudaGraphExec_t made(cudaGraph_t graph, unsigned flags = 0) {
  cudaGraphExec_t executable;
  cudaGraphInstantiate(&executable, graph, flags);
  cudaGraphDestroy(graph);
  return executable;
}
unsigned long long told(cudaGraphMemAttributeType attribute) {
  unsigned long long value = 0;
  cudaDeviceGetGraphMemAttribute(0, attribute, &value);
  return value;
}

int main() {
  int host[32], *left;
  cudaStream_t stream, other;
  cudaStreamCreate(&stream);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaGraphNode_t first, second, node;
  cudaGraph_t graph;

  cudaGraphCreate(&graph, 0);
  cudaMemAllocNodeParams a = memory(), b = memory();
  cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &a);
  cudaGraphAddMemAllocNode(&second, graph, &first, 1, &b);
  node = kernel(graph, second, (void*)set, a.dptr, 1);
  node = kernel(graph, node, (void*)add, a.dptr, b.dptr, 2);
  cudaGraphAddMemcpyNode1D(&second, graph, &node, 1, host, b.dptr, kBytes, cudaMemcpyDeviceToHost);
  cudaGraphAddMemFreeNode(&first, graph, &node, 1, a.dptr);
  cudaGraphAddMemFreeNode(&node, graph, &second, 1, b.dptr);
  void* freed = nullptr;
  cudaGraphMemFreeNodeGetParams(node, &freed);
  cudaGraphExec_t executable = made(graph);
  for (int i = 0; i < 2; ++i) {
    host[5] = 0;
    cudaGraphLaunch(executable, stream);
    cudaStreamSynchronize(stream);
    std::printf(i == 0 ? "by hand %d " : "%d ", host[5]);
  }
  std::printf("%d\n", freed == b.dptr);
  cudaGraphExecDestroy(executable);

  int *x, *y;
  cudaEvent_t event;
  cudaEventCreate(&event);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&x, kBytes, stream);
  cudaMallocAsync(&y, kBytes, stream);
  cudaMemsetAsync(x, 0, kBytes, stream);
  add<<<1, 32, 0, stream>>>(x, y, 8);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event);
  cudaFreeAsync(x, other);
  cudaEventRecord(event, other);
  cudaMemcpyAsync(host, y, kBytes, cudaMemcpyDeviceToHost, stream);
  cudaFreeAsync(y, stream);
  cudaStreamWaitEvent(stream, event);
  cudaStreamEndCapture(stream, &graph);
  executable = made(graph);
  for (int i = 0; i < 2; ++i) {
    host[31] = 0;
    cudaGraphLaunch(executable, stream);
    cudaStreamSynchronize(stream);
    std::printf(i == 0 ? "captured %d " : "%d ", host[31]);
  }
  std::printf("%llu\n", told(cudaGraphMemAttrUsedMemCurrent));
  cudaGraphExecDestroy(executable);

  // What the graph leaves is the program's to free, before the next launch.
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&left, kBytes, stream);
  set<<<1, 32, 0, stream>>>(left, 4);
  cudaStreamEndCapture(stream, &graph);
  executable = made(graph);
  cudaGraphLaunch(executable, stream);
  cudaMemcpyAsync(host, left, kBytes, cudaMemcpyDeviceToHost, stream);
  const cudaError_t again = cudaGraphLaunch(executable, stream);
  cudaStreamSynchronize(stream);
  std::printf("left %d %d ", host[3], again);
  set<<<1, 32, 0, stream>>>(left, 5);
  cudaMemcpy(host, left, kBytes, cudaMemcpyDeviceToHost);
  std::printf("%d\n", host[3]);
  cudaFreeAsync(left, stream);
  const bool was_kept = told(cudaGraphMemAttrReservedMemCurrent) >= 2 * kBytes;
  cudaDeviceGraphMemTrim(0);
  std::printf("attributes %llu %d %llu\n", told(cudaGraphMemAttrUsedMemCurrent), was_kept, told(cudaGraphMemAttrReservedMemCurrent));

  // Another graph frees it.
  cudaGraphLaunch(executable, stream);
  set<<<1, 32, 0, stream>>>(left, 6);
  cudaMemcpyAsync(host, left, kBytes, cudaMemcpyDeviceToHost, stream);
  cudaGraphCreate(&graph, 0);
  cudaGraphAddMemFreeNode(&node, graph, nullptr, 0, left);
  cudaGraphExec_t frees = made(graph);
  cudaGraphLaunch(frees, stream);
  cudaStreamSynchronize(stream);
  std::printf("freed by a graph %d %llu\n", host[0], told(cudaGraphMemAttrUsedMemCurrent));
  cudaGraphExecDestroy(frees);
  cudaGraphExecDestroy(executable);

  // As CUDA refuses them: what no graph allocates, a copy of a graph with such nodes, no bytes.
  cudaMalloc(&x, kBytes);
  cudaGraphCreate(&graph, 0);
  const cudaError_t foreign = cudaGraphAddMemFreeNode(&node, graph, nullptr, 0, x);
  a = memory();
  cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &a);
  cudaGraph_t clone;
  const cudaError_t cloned = cudaGraphClone(&clone, graph);
  b = memory();
  b.bytesize = 0;
  std::printf("refused %d %d %d\n", foreign, cloned, cudaGraphAddMemAllocNode(&second, graph, nullptr, 0, &b));
  kernel(graph, first, (void*)set, a.dptr, 7);
  executable = made(graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
  cudaGraphLaunch(executable, stream);
  const cudaError_t second_launch = cudaGraphLaunch(executable, stream);
  cudaMemcpyAsync(host, a.dptr, kBytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::printf("freed first %d %d\n", host[9], second_launch);
  cudaFree(a.dptr);
  cudaGraphExecDestroy(executable);

  // Nothing is in it, again and again, and then it is gone.
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&left, kBytes, stream);
  add<<<1, 32, 0, stream>>>(left, x, 0);
  cudaFreeAsync(left, stream);
  late<<<1, 1, 0, stream>>>(left, x);
  cudaStreamEndCapture(stream, &graph);
  executable = made(graph);
  cudaGraphLaunch(executable, stream);
  cudaStreamSynchronize(stream);
}
