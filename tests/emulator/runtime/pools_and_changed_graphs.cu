// Memory pools, graphs that change after they were made, tiles of several warps, and what g++ takes and clang does not.
// prints: pool 4096 1 0 8192
// prints: own pool 4000 0
// prints: graph 7
// prints: changed 9 8 0 1
// prints: updated 5 0
// prints: other graph 910 2 1
// prints: order 2 1 1 1
// prints: texture 2 1 64
// prints: stream 3 1
// prints: tiles 64 2 2016 6112
// prints: occupancy 1 1
// prints: device 65536 0 215 wait operation timed out
// prints: 5000000000
// reports: cudaGraphHostNodeSetParams
#include <cinttypes>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
namespace cg = cooperative_groups;

extern "C"__global__ void set(int* out, int value) { *out = value; }
__global__ void sums_of_tiles(int* out) {
  __shared__ int values[128];
  auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  const int first = tile.meta_group_rank() * tile.num_threads();
  int* mine = values + first;
  mine[tile.thread_rank()] = threadIdx.x;
  tile.sync();
  for (int step = 32; step > 0; step /= 2) {
    if (tile.thread_rank() < step) mine[tile.thread_rank()] += mine[tile.thread_rank() + step];
    tile.sync();
  }
  if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = mine[0];
  if (threadIdx.x == 0) {
    out[2] = tile.size();
    out[3] = tile.meta_group_size();
  }
}

unsigned long long told(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  unsigned long long value = 0;
  cudaMemPoolGetAttribute(pool, attribute, &value);
  return value;
}

int main() {
  int host[4], *d, *e;
  cudaMemPool_t pool, same;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaDeviceGetMemPool(&same, 0);
  cudaMallocAsync(&d, 4096, 0);
  cudaMallocAsync(&e, 4096, 0);
  cudaFreeAsync(e, 0);
  const unsigned long long used = told(pool, cudaMemPoolAttrUsedMemCurrent);
  cudaFreeAsync(d, 0);
  std::printf("pool %llu %d %llu %llu\n", used, pool == same, told(pool, cudaMemPoolAttrUsedMemCurrent),
              told(pool, cudaMemPoolAttrUsedMemHigh));
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t own;
  cudaMemPoolCreate(&own, &properties);
  cudaMallocFromPoolAsync(&d, 4000, own, 0);
  std::printf("own pool %llu %llu\n", told(own, cudaMemPoolAttrUsedMemCurrent), told(pool, cudaMemPoolAttrUsedMemCurrent));

  const auto read = [&] {
    cudaDeviceSynchronize();
    cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost);
    return host[0];
  };
  cudaMemset(d, 0, 4000);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  nvtxNameCudaStreamA(stream, "mine");
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  int value = 7;
  int* second = d + 1;
  void* arguments[] = {&d, &value};
  cudaKernelNodeParams sets{(void*)set, dim3(1), dim3(1), 0, arguments, nullptr};
  cudaMemsetParams fills{second, 0, 1, 4, 1, 1};
  cudaGraphNode_t kernel, clear;
  cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &sets);
  cudaGraphAddMemsetNode(&clear, graph, &kernel, 1, &fills);
  cudaGraphExec_t executable;
  cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
  cudaGraphLaunch(executable, stream);
  std::printf("graph %d\n", read());
  value = 9;
  fills.value = 8;
  cudaGraphExecKernelNodeSetParams(executable, kernel, &sets);
  cudaGraphExecMemsetNodeSetParams(executable, clear, &fills);
  cudaGraphLaunch(executable, stream);
  cudaHostNodeParams none{};
  read();
  std::printf("changed %d %d %d %d\n", host[0], host[1], cudaGraphMemsetNodeSetParams(clear, &fills),
              cudaGraphHostNodeSetParams(clear, &none));
  cudaGraph_t next, other;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  set<<<1, 1, 0, stream>>>(d, 5);
  cudaMemsetAsync(second, 0, 4, stream);
  cudaStreamEndCapture(stream, &next);
  cudaGraphExecUpdateResultInfo result;
  cudaGraphExecUpdate(executable, next, &result);
  cudaGraphLaunch(executable, stream);
  read();
  std::printf("updated %d %d\n", host[0], host[1]);
  cudaGraphCreate(&other, 0);
  std::printf("other graph %d ", cudaGraphExecUpdate(executable, other, &result));
  cudaGraphExecUpdateResult alone;  // as CUDA 11 has the call
  cudaGraphExecUpdate(executable, other, nullptr, &alone);
  std::printf("%d %d\n", result.result, alone == result.result);
  size_t nodes = 0, before = 0, edges = 1;
  cudaGraphNode_t from, to;
  cudaGraphGetNodes(next, nullptr, &nodes);
  cudaGraphNodeGetDependencies(clear, nullptr, nullptr, &before);
  cudaGraphGetEdges(graph, &from, &to, nullptr, &edges);
  std::printf("order %zu %zu %zu %d\n", nodes, before, edges, from == kernel && to == clear);

  cudaResourceDesc resource{}, found{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {d, cudaCreateChannelDesc<int>(), 64};
  cudaTextureDesc texture{}, of_texture{};
  texture.addressMode[0] = cudaAddressModeClamp;
  cudaTextureObject_t object;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  cudaGetTextureObjectResourceDesc(&found, object);
  cudaGetTextureObjectTextureDesc(&of_texture, object);
  std::printf("texture %d %d %zu\n", found.resType, of_texture.addressMode[0], found.res.linear.sizeInBytes);
  cudaDestroyTextureObject(object);

  cudaStreamAttrValue window{}, kept{};
  window.accessPolicyWindow = {d, 4000, 0.5F, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
  cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &kept);
  std::printf("stream %d %d\n", kept.accessPolicyWindow.hitProp + kept.accessPolicyWindow.missProp,
              kept.accessPolicyWindow.base_ptr == d);

  sums_of_tiles<<<1, 128>>>(d);
  read();
  std::printf("tiles %d %d %d %d\n", host[2], host[3], host[0], host[1]);
  int grid, block;
  size_t shared;
  cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, sums_of_tiles, [](int size) { return 400 * size; });
  cudaOccupancyAvailableDynamicSMemPerBlock(&shared, sums_of_tiles, 2, 128);
  std::printf("occupancy %d %d\n", block > 0 && 400 * block <= 228 << 10, shared > 100 << 10);
  int height, shares;
  cudaDeviceGetAttribute(&height, cudaDevAttrMaxTexture2DHeight, 0);
  cudaDeviceGetAttribute(&shares, cudaDevAttrMemoryPoolSupportedHandleTypes, 0);
  std::printf("device %d %d %d %s\n", height, shares, cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 4),
              cudaGetErrorString(cudaErrorTimeout));
  std::printf("%"PRIu64"\n", static_cast<uint64_t>(5000000000));

  cudaGraphExecDestroy(executable);
  for (cudaGraph_t each : {graph, next, other}) cudaGraphDestroy(each);
  cudaStreamDestroy(stream);
  cudaFreeAsync(d, 0);
  cudaMemPoolDestroy(own);
}
