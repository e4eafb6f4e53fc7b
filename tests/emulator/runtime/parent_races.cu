// What a kernel does beside the kernels that it launched, and what it may do.
// flags: -rdc=true
// reports: in fill, block (0,0,0), thread (3,0,0), and in reads_result
// reports: in fill, block (0,0,0), thread (0,0,0), and in sums_result
// reports: in fill, block (0,0,0), thread (0,0,0), and in others_read
// reports: in sum, block (0,0,0), thread (0,0,0), and in no_barrier
// reports: in sum, block (0,0,0), thread (0,0,0), and in other_block
// reports: in sum, block (0,0,0), thread (0,0,0), and in writes_behind

#include <cuda_runtime.h>

__device__ unsigned done;

__global__ void fill(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i;
}
__global__ void sum(const int* p, int* out, int n) {
  int all = 0;
  for (int i = 0; i < n; ++i) all += p[i];
  *out = all;
}

__global__ void reads_result(int* p, int* out, int n) {
  if (threadIdx.x > 0) return;
  fill<<<1, n>>>(p, n);
  *out = p[3];
}
__global__ void sums_result(int* p, int* out, int n) {
  if (threadIdx.x > 0) return;
  fill<<<1, n>>>(p, n);
  for (int i = 0; i < n; ++i) *out += p[i];
}
__global__ void others_read(int* p, int* out, int n) {
  if (threadIdx.x == 0) fill<<<1, n>>>(p, n);
  __syncthreads();
  out[threadIdx.x] = p[threadIdx.x];
}
__global__ void no_barrier(int* p, int* out, int n) {
  p[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) sum<<<1, 1>>>(p, out, n);
}
__global__ void other_block(int* p, int* out, int n) {
  p[blockIdx.x] = 1;
  if (blockIdx.x == 0) sum<<<1, 1>>>(p, out, n);
}
__global__ void writes_behind(int* p, int* out, int n) {
  sum<<<1, 1>>>(p, out, n);
  p[1] = 5;
}

__global__ void barrier_first(int* p, int* out, int n) {
  p[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x > 0) return;
  p[0] = 7;
  sum<<<1, 1>>>(p, out, n);
  out[1] = 3;
  fill<<<1, 1, 0, cudaStreamTailLaunch>>>(out + 1, 1);
}
__global__ void last_block(int* p, int* out, int n) {
  p[blockIdx.x] = 1;
  __threadfence();
  if (atomicAdd(&done, 1) == gridDim.x - 1) sum<<<1, 1>>>(p, out, n);
}
__global__ void halves(int* p, int n) {
  p[0] = n;
  if (n < 8) return;
  halves<<<1, 1>>>(p, n / 2);
  halves<<<1, 1>>>(p + n / 2, n / 2);
}

int main() {
  int *p, *out;
  cudaMalloc(&p, 1024);
  cudaMalloc(&out, 1024);
  cudaMemset(p, 0, 1024);
  cudaMemset(out, 0, 1024);
  reads_result<<<1, 32>>>(p, out, 64);
  sums_result<<<1, 32>>>(p, out, 64);
  others_read<<<1, 64>>>(p, out, 64);
  no_barrier<<<1, 64>>>(p, out, 64);
  other_block<<<4, 1>>>(p, out, 4);
  writes_behind<<<1, 1>>>(p, out, 4);
  barrier_first<<<1, 64>>>(p, out, 64);
  last_block<<<4, 1>>>(p, out, 4);
  halves<<<1, 1>>>(p, 128);
  cudaDeviceSynchronize();
  cudaFree(p);
  cudaFree(out);
}
