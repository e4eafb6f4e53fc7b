// Accesses without order that are no mistake: loops of compare and swap, and stores of one value by many threads.
#include <cstdio>

__device__ double add(double* address, double value) {  // from the CUDA guide
  unsigned long long* bits = (unsigned long long*)address;
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}

__device__ void highest(int* address, float value) {
  int old = *address;
  while (value > __int_as_float(old)) {
    const int assumed = old;
    old = atomicCAS(address, assumed, __float_as_int(value));
    if (old == assumed) break;
  }
}

__global__ void sums(double* total, int* most, double* blocks) {
  __shared__ double partial;
  if (threadIdx.x == 0) partial = 0;
  __syncthreads();
  add(&partial, threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) blocks[blockIdx.x] = partial;
  add(total, 1);
  highest(most, (float)((threadIdx.x * 37 + blockIdx.x) % 128));
}

__global__ void stores(const float* in, float* out, int* found) {
  __shared__ float warps[32];
  __shared__ bool any;
  float sum = in[threadIdx.x];
  for (int width = 16; width > 0; width /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, width);
  warps[threadIdx.x / 32] = sum;  // by every lane
  if (threadIdx.x == 0) any = false;
  __syncthreads();
  if (in[threadIdx.x] > 100) any = true;
  if (in[threadIdx.x] > 50) *found = 1;
  __syncthreads();
  if (threadIdx.x == 0) *out = warps[0] + warps[1] + (any ? 1000 : 0);
}

int main() {
  double *total, *blocks, sum, partial[4];
  int *most, *found, bits, was_found;
  float *in, *out, host[64], result, highest_one;
  cudaMalloc(&total, 8);
  cudaMalloc(&blocks, 32);
  cudaMalloc(&most, 4);
  cudaMalloc(&found, 4);
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 4);
  cudaMemset(total, 0, 8);
  cudaMemset(most, 0, 4);
  cudaMemset(found, 0, 4);
  for (int i = 0; i < 64; ++i) host[i] = 2.0f * i;
  cudaMemcpy(in, host, 256, cudaMemcpyHostToDevice);
  sums<<<4, 128>>>(total, most, blocks);
  stores<<<1, 64>>>(in, out, found);
  cudaMemcpy(&sum, total, 8, cudaMemcpyDeviceToHost);
  cudaMemcpy(partial, blocks, 32, cudaMemcpyDeviceToHost);
  cudaMemcpy(&bits, most, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&was_found, found, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost);
  memcpy(&highest_one, &bits, 4);
  cudaFree(total);
  cudaFree(blocks);
  cudaFree(most);
  cudaFree(found);
  cudaFree(in);
  cudaFree(out);
  std::printf("%g %g %g %g %d\n", sum, partial[3], highest_one, result, was_found);
  return sum == 512 && partial[3] == 127 * 64 && highest_one == 127 && result == 63 * 64 + 1000 && was_found ? 0 : 1;
}
