// Launches from kernels: recursion, templates, lambdas, streams, copies, the heap, errors.
// flags: -rdc=true --extended-lambda
// prints: 205 107
// prints: 1001 1001
// prints: wrong 0
// prints: 42 42 16843009
// prints: 4 33
// prints: deepest 25
// reports: cudaErrorLaunchMaxDepthExceeded
#include <cstdio>
template <class T> __global__ void fill(T* out, T value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += value;
}
template <class F> __global__ void each(F f, int n) {
  if (threadIdx.x < n) f(threadIdx.x);
}
__device__ void launch_in_function(int* out) { fill<int><<<1, 32>>>(out, 5, 32); }
__global__ void parent(int* out, int n) {
  if (threadIdx.x == 0) {
    fill<<<dim3((n + 31) / 32), 32>>>(out, 100, n);
    each<<<1, 32>>>([=] __device__(int i) { out[i] *= 2; }, n);
    launch_in_function(out);
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    fill<<<1, 32, 0, s>>>(out + 32, 7, 32);
    cudaStreamDestroy(s);
    if (cudaGetLastError() != cudaSuccess) printf("error\n");
  }
}
__global__ void last(const int* data, int* seen) { *seen = data[0]; }
__global__ void tail(int* data, int* seen) {
  data[0] = 1;
  last<<<1, 1, 0, cudaStreamTailLaunch>>>(data, seen);
  fill<<<1, 32, 0, cudaStreamFireAndForget>>>(data, 1000, 1);
}
__global__ void sort(int* data, int left, int right) {
  if (left >= right) return;
  int* l = data + left;
  int* r = data + right;
  const int pivot = data[(left + right) / 2];
  while (l <= r) {
    int a = *l, b = *r;
    while (a < pivot) a = *++l;
    while (b > pivot) b = *--r;
    if (l <= r) {
      *l++ = b;
      *r-- = a;
    }
  }
  if (left < r - data) sort<<<1, 1>>>(data, left, r - data);
  if (l - data < right) sort<<<1, 1>>>(data, l - data, right);
}
__global__ void deep(int* depth) {
  if (threadIdx.x == 0) {
    ++*depth;
    deep<<<1, 1>>>(depth);
    if (cudaGetLastError() != cudaSuccess) printf("deepest %d\n", *depth);
  }
}
__global__ void use(int* p, int* out) {
  *out = p[3];
  cudaFree(p);
}
__global__ void heap(int* out) {
  int* p;
  if (cudaMalloc(&p, 16) != cudaSuccess) return;
  p[3] = 42;
  use<<<1, 1>>>(p, out);
  cudaMemcpyAsync(out + 1, out, 4, cudaMemcpyDeviceToDevice);
  cudaMemsetAsync(out + 2, 1, 4);
}
__global__ void all_lanes(int* out) {
  const int by = __shfl_sync(~0u, (int)threadIdx.x, 3);
  fill<<<__shfl_sync(~0u, 1, 0), __shfl_sync(~0u, 1, 5)>>>(out + threadIdx.x,
                                                           __shfl_xor_sync(~0u, (int)threadIdx.x, 1) + by, 1);
}
int main() {
  int h[64];
  int* d;
  cudaMalloc(&d, sizeof h);
  cudaMemset(d, 0, sizeof h);
  parent<<<1, 64>>>(d, 64);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d\n", h[0], h[63]);
  tail<<<1, 1>>>(d, d + 1);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d\n", h[0], h[1]);
  for (int i = 0; i < 64; ++i) h[i] = (i * 37) % 64;
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  sort<<<1, 1>>>(d, 0, 63);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += h[i] != i;
  printf("wrong %d\n", wrong);
  heap<<<1, 1>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", h[0], h[1], h[2]);
  cudaMemset(d, 0, sizeof h);
  all_lanes<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d\n", h[0], h[31]);
  cudaMemset(d, 0, 4);
  deep<<<1, 1>>>(d);
  cudaDeviceSynchronize();
  cudaFree(d);
}
