// Clusters: blocks that reach each other's shared memory, by attribute and by __cluster_dims__, in C++ and in PTX.
// flags: -arch=sm_90 -std=c++17
// prints: histogram right
// prints: shapes right
// prints: halves right
// prints: ring right
// prints: over global memory right
// prints: ptx right
// prints: one block: 1 0 1
// prints: many clusters right
// prints: errors cudaErrorInvalidClusterSize cudaErrorInvalidClusterSize cudaErrorInvalidClusterSize cudaSuccess
// prints: room for 1 clusters of at most 8
// reports: The grid of (3,1,1) blocks has to be a multiple of its clusters
// reports: A cluster of (16,1,1) blocks: from 1 to 8 are possible
// reports: is compiled for (2,1,1) by its __cluster_dims__
#include <cooperative_groups.h>

#include <cstdio>
#include <utility>
#include <vector>
namespace cg = cooperative_groups;

__global__ void histogram(int* bins, int per_block, const int* in, int n) {
  extern __shared__ int own[];
  const cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) own[i] = 0;
  cluster.sync();
  for (int i = cg::this_grid().thread_rank(); i < n; i += blockDim.x * gridDim.x)
    atomicAdd(cluster.map_shared_rank(own, in[i] / per_block) + in[i] % per_block, 1);
  cluster.sync();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x)
    atomicAdd(&bins[cluster.block_rank() * per_block + i], own[i]);
}

// Each block adds to all others, and writes to the next one; some threads leave early.
__global__ void __cluster_dims__(2, 2, 1) shapes(int* right) {
  __shared__ int told[64];
  __shared__ int sum;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) return;
  if (threadIdx.x == 1) sum = 0;
  cluster.sync();
  const unsigned rank = cluster.block_rank();
  for (unsigned r = 0; r < cluster.num_blocks(); ++r) atomicAdd(cluster.map_shared_rank(&sum, r), rank + 1);
  cluster.map_shared_rank(told, (rank + 1) % 4)[threadIdx.x] = blockIdx.x + 100 * blockIdx.y;
  cluster.sync();
  const unsigned before = (rank + 3) % 4;
  const int expected = blockIdx.x / 2 * 2 + before % 2 + 100 * (blockIdx.y / 2 * 2 + before / 2);
  if (told[threadIdx.x] == expected && sum == 63 * 10 && cluster.dim_blocks().y == 2 &&
      cluster.block_index().x == blockIdx.x % 2 && cluster.thread_rank() == rank * 64 + threadIdx.x &&
      cluster.num_threads() == 256 && cluster.query_shared_rank(cluster.map_shared_rank(told, 2)) == 2)
    atomicAdd(right, 1);
  cluster.sync();
}

// The barrier's halves, with work between them.
__global__ void __cluster_dims__(4) halves(int* out) {
  __shared__ int value[32];
  auto cluster = cg::this_cluster();
  value[threadIdx.x] = cluster.block_rank() * 100 + threadIdx.x;
  auto token = cluster.barrier_arrive();
  int mine = 2 * threadIdx.x;
  cluster.barrier_wait(std::move(token));
  mine += cluster.map_shared_rank(value, 3 - cluster.block_rank())[31 - threadIdx.x];
  cluster.barrier_arrive();
  out[blockIdx.x * 32 + threadIdx.x] = mine;
  cluster.barrier_wait();
}

__global__ void __cluster_dims__(2, 1, 1) ring(int* out, int turns) {
  __shared__ int value[32];
  auto cluster = cg::this_cluster();
  value[threadIdx.x] = blockIdx.x;
  cluster.sync();
  for (int turn = 0; turn < turns; ++turn) {
    const int next = cluster.map_shared_rank(value, cluster.block_rank() ^ 1)[threadIdx.x];
    cluster.sync();
    value[threadIdx.x] = next;
    cluster.sync();
  }
  out[blockIdx.x * 32 + threadIdx.x] = value[threadIdx.x];
}

__global__ void __cluster_dims__(2, 1, 1) over_global(int* a, int* b) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = i;
  cg::this_cluster().sync();
  b[i] = a[(blockIdx.x ^ 1) * blockDim.x + threadIdx.x];
  cg::this_cluster().sync();
  a[i] = -1;
}

__device__ unsigned rank_in_ptx() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__global__ void __cluster_dims__(2, 1, 1) in_ptx(int* out) {
  __shared__ unsigned value[32];
  unsigned blocks, x, number, there, narrow, count;
  asm("mov.u32 %0, %cluster_nctarank;" : "=r"(blocks));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count));
  value[threadIdx.x] = rank_in_ptx() * 100 + threadIdx.x;
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(narrow)
               : "r"((unsigned)__cvta_generic_to_shared(value + threadIdx.x)), "r"(rank_in_ptx() ^ 1));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(there) : "r"(narrow) : "memory");
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
  unsigned long long wide;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(wide) : "l"(value + threadIdx.x), "r"(rank_in_ptx() ^ 1));
  asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(narrow) : "memory");
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
  there += *reinterpret_cast<unsigned*>(wide) - (rank_in_ptx() ^ 1) * 100 - threadIdx.x;
  const bool right = blocks == 2 && x == blockIdx.x % 2 && number == blockIdx.x / 2 && count == gridDim.x / 2;
  out[blockIdx.x * 32 + threadIdx.x] = right ? there : 0;
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}

__global__ void plain(int* out) {
  __shared__ int own;
  auto cluster = cg::this_cluster();
  cluster.sync();
  if (blockIdx.x != 0) return;
  out[0] = cluster.num_blocks();
  out[1] = cluster.block_rank();
  out[2] = cluster.map_shared_rank(&own, 0) == &own;
}

template <class Check> void say(const char* name, int* out, int n, Check&& check) {
  bool right = cudaDeviceSynchronize() == cudaSuccess;
  for (int i = 0; i < n; ++i) right &= out[i] == check(i);
  printf("%s %s\n", name, right ? "right" : "wrong");
}

int main() {
  constexpr int kBins = 128, kNumbers = 5000;
  int *out, *in, *more;
  cudaMallocManaged(&out, 2048 * sizeof(int));
  cudaMallocManaged(&in, kNumbers * sizeof(int));
  cudaMalloc(&more, 2048 * sizeof(int));
  std::vector<int> expected(kBins);
  for (int i = 0; i < kBins; ++i) out[i] = 0;
  for (int i = 0; i < kNumbers; ++i) ++expected[in[i] = (i * i + 7 * i) % kBins];

  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = 2;
  attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {0};
  config.gridDim = 8;
  config.blockDim = 128;
  config.dynamicSmemBytes = kBins / 2 * sizeof(int);
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, histogram, out, kBins / 2, (const int*)in, kNumbers);
  say("histogram", out, kBins, [&](int i) { return expected[i]; });

  out[0] = 0;
  shapes<<<dim3(4, 6), 64>>>(out);
  say("shapes", out, 1, [](int) { return 24 * 63; });
  halves<<<8, 32>>>(out);
  say("halves", out, 8 * 32, [](int i) { return i % 32 + (3 - i / 32 % 4) * 100 + 31; });
  ring<<<8, 32>>>(out, 3);
  say("ring", out, 8 * 32, [](int i) { return i / 32 ^ 1; });
  over_global<<<8, 64>>>(more, out);
  say("over global memory", out, 8 * 64, [](int i) { return (i / 64 ^ 1) * 64 + i % 64; });
  in_ptx<<<4, 32>>>(out);
  say("ptx", out, 4 * 32, [](int i) { return (i / 32 % 2 ^ 1) * 100 + i % 32 + 1; });
  plain<<<1, 1>>>(out);
  cudaDeviceSynchronize();
  printf("one block: %d %d %d\n", out[0], out[1], out[2]);
  out[0] = 0;
  shapes<<<dim3(100, 40), 64>>>(out);
  say("many clusters", out, 1, [](int) { return 4000 * 63; });

  ring<<<3, 32>>>(out, 1);
  const cudaError_t grid = cudaGetLastError();
  config.dynamicSmemBytes = 0;
  config.gridDim = attribute[0].val.clusterDim.x = 16;
  const cudaError_t large = cudaLaunchKernelEx(&config, plain, out);
  const cudaError_t other = [&] {
    attribute[0].val.clusterDim.x = 4;
    return cudaLaunchKernelEx(&config, ring, out, 1);
  }();
  attribute[0].val.clusterDim.x = 16;
  cudaFuncSetAttribute(plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  const cudaError_t allowed = cudaLaunchKernelEx(&config, plain, more);
  cudaDeviceSynchronize();
  attribute[0].val.clusterDim.x = 4;
  printf("errors %s %s %s %s\n", cudaGetErrorName(grid), cudaGetErrorName(large), cudaGetErrorName(other),
         cudaGetErrorName(allowed));
  int active, largest;
  cudaOccupancyMaxActiveClusters(&active, histogram, &config);
  cudaOccupancyMaxPotentialClusterSize(&largest, (void*)histogram, &config);
  printf("room for %d clusters of at most %d\n", active > 100, largest);
  cudaFree(out);
  cudaFree(in);
  cudaFree(more);
}
