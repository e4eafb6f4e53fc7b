// Variables that some threads set, of which the others make nothing that matters: a guard comes before each use, or
// what is computed of them goes nowhere.
#include <cstdio>
#include <cuda_runtime.h>

struct Pair {
  float a, b;
};
struct Padded {
  char tag;
  short count;
};

__device__ void load(const float* in, int i, int n, float& v) {
  if (i < n) v = in[i];
}
__device__ float grown(float x) { return x * x + 1; }
__device__ short count_of(Padded p) { return p.count; }

__global__ void guards(float* out, const float* in, int n, int mode) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  float x;
  if (i < n) x = in[i];
  const float y = grown(x);
  tile[i] = y;
  __syncthreads();
  if (i < n) out[i] = y + tile[i];

  float v;
  load(in, i, n, v);
  if (i < n) out[i] += v;

  float r[8], sum = 0;
  for (int j = 0; j < 8; ++j)
    if (i + j < n) r[j] = in[i + j];
  for (int j = 0; j < 8; ++j) r[j] *= 2;
  for (int j = 0; j < 8; ++j)
    if (i + j < n) sum += r[j];
  if (i < n) out[i] += sum;

  Pair p;
  if (mode == 1) {
    p.a = 1;
    p.b = 2;
  } else if (mode == 2) {
    p.a = 3;
  }
  if (mode == 2) out[i] = p.a;
  if (mode == 1) out[i] = p.b;

  Padded padded;
  padded.tag = 'a';
  padded.count = 3;
  out[i] = count_of(padded);

  int first;
  bool found = false;
  for (int j = 0; j < n; ++j)
    if (in[j] > 3 && !found) {
      first = j;
      found = true;
    }
  if (found) out[i] += first;

  float4 q;
  if (i < 8) q = make_float4(1, 2, 3, 4);
  const float4 copy = q;
  if (i < 8) out[i] += copy.w;

  int low, high;
  switch (mode) {
  case 1:
    low = 1;
    high = 2;
    break;
  case 2:
    low = 3;
    high = 4;
    break;
  default:
    return;
  }
  out[i] += low + high;
}

__global__ void lanes(int* out) {
  const int lane = threadIdx.x % 32;
  int key, leader;
  if (lane < 20) key = lane;
  const unsigned some = __ballot_sync(0xffffffffu, lane < 20);
  out[threadIdx.x] = 0;
  if (lane < 20) out[threadIdx.x] = key + __shfl_sync(some, key, 3);
  key = __shfl_sync(0xffffffffu, key, lane % 20);  // of a lane that has one
  if (lane == 0) leader = 5;
  leader = __shfl_sync(0xffffffffu, leader, 0);
  out[threadIdx.x] += key + leader;
}

__global__ void arrays(float* out) {
  double table[2][3];
  for (int a = 0; a < 2; ++a)
    for (int c = 0; c < 3; ++c) table[a][c] = a + c;
  float pairs[8];
  for (int k = 0; k < 8; k += 2) {
    pairs[k] = k;
    pairs[k + 1] = -k;
  }
  int stack[16], top = 0, steps = 0;
  stack[top++] = threadIdx.x;
  while (top != 0) {
    const int z = stack[--top];
    ++steps;
    if (z > 20) {
      stack[top++] = z / 2;
      stack[top++] = z / 4;
    }
  }
  out[threadIdx.x] = static_cast<float>(table[threadIdx.x % 2][threadIdx.x % 3]) + pairs[threadIdx.x % 8] + steps;
}

int main() {
  float h[64], *in, *out;
  int lane_host[64];
  for (int i = 0; i < 64; ++i) h[i] = i % 9;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 256);
  cudaMemset(out, 0, 256);
  cudaMemcpy(in, h, 256, cudaMemcpyHostToDevice);
  for (int mode = 1; mode < 3; ++mode) guards<<<1, 64>>>(out, in, 50, mode);
  cudaMemcpy(h, out, 256, cudaMemcpyDeviceToHost);
  const bool right = h[0] == 3 + 4 + 4 + 7 && h[63] == 3 + 4 + 7;
  lanes<<<1, 64>>>(reinterpret_cast<int*>(out));
  cudaMemcpy(lane_host, out, 256, cudaMemcpyDeviceToHost);
  arrays<<<1, 64>>>(out);
  cudaMemcpy(h, out, 256, cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  std::printf("%d %d %g\n", right, lane_host[25], h[63]);
  return right && lane_host[2] == 2 + 3 + 2 + 5 && lane_host[25] == 5 + 5 && h[0] == 1 ? 0 : 1;
}
