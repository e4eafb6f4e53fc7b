// A plain look before an atomic that is asked again, memory that one stream allocates and another uses in order, and a
// copy from a volatile variable.
#include <cstdio>

__device__ volatile int last;

__global__ void fill_buckets(const int* in, int* counts, int* places, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bucket = in[i] % 16;
  if (counts[bucket] < 8) {
    const int place = atomicAdd(&counts[bucket], 1);
    if (place < 8) places[bucket * 8 + place] = in[i];
  }
  if (i == n - 1) last = in[i];
}

__global__ void lowest(const int* in, int* least, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] < *least) atomicMin(least, in[i]);
}

int main() {
  constexpr int n = 1024;
  static int host[n];
  int places[128], least = 1 << 30, seen = 0, wrong = 0;
  for (int i = 0; i < n; ++i) host[i] = 9000 - i * 7;
  int *in, *counts, *found, *low;
  cudaStream_t one, two;
  cudaEvent_t there;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&there, cudaEventDisableTiming);
  cudaMallocAsync(&in, sizeof host, one);
  cudaMallocAsync(&counts, 64, one);
  cudaMallocAsync(&found, 512, one);
  cudaMallocAsync(&low, 4, one);
  cudaMemcpyAsync(in, host, sizeof host, cudaMemcpyHostToDevice, one);
  cudaMemsetAsync(counts, 0, 64, one);
  cudaMemcpyAsync(low, &least, 4, cudaMemcpyHostToDevice, one);
  cudaEventRecord(there, one);
  cudaStreamWaitEvent(two, there);
  fill_buckets<<<4, 256, 0, two>>>(in, counts, found, n);
  lowest<<<4, 256, 0, two>>>(in, low, n);
  cudaMemcpyAsync(places, found, sizeof places, cudaMemcpyDeviceToHost, two);
  cudaMemcpyAsync(&least, low, 4, cudaMemcpyDeviceToHost, two);
  for (int* each : {in, counts, found, low}) cudaFreeAsync(each, two);
  cudaStreamSynchronize(two);
  cudaMallocAsync(&in, sizeof host, one);
  cudaFreeAsync(in, one);
  cudaStreamSynchronize(one);
  cudaMemcpyFromSymbol(&seen, last, sizeof seen);
  for (int i = 0; i < 128; ++i) wrong += places[i] % 16 != i / 8;
  cudaEventDestroy(there);
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
  std::printf("%d wrong, the least is %d, the last %d\n", wrong, least, seen);
  return wrong != 0 || least != 9000 - 1023 * 7 || seen != least;
}
