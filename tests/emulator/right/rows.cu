// Indices that go on from row to row, and beyond the end of a struct, because they may.
#include <cstdio>

struct Message {
  int length;
  float words[1];
};
struct Matrix {
  float m[4][4];
};
union Quad {
  float4 all;
  float each[4];
};

__global__ void write(Message* message, int n) {
  message->length = n;
  for (int i = threadIdx.x; i < n; i += 32) message->words[i] = i * 2;
}

__global__ void rows(const float4* in, float* out, Matrix* matrix, const float (*pairs)[2]) {
  __shared__ float tile[8][8];
  const int i = threadIdx.x;
  tile[0][i] = i;  // all rows
  __syncthreads();
  float* const flat = &tile[0][0];
  Quad quad;
  quad.all = in[i];
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += quad.each[k];
  const int y = i / 8, x = i % 8;
  float around = 0;
  for (int d = -1; d <= 1; ++d)
    if (x + d >= 0 && x + d < 8) around += tile[y][x + d];
  out[i] = flat[63 - i] + tile[y][x] + sum + around + pairs[i][i % 2];
  if (i < 16) matrix->m[i / 4][i % 4] = i;
}

int main() {
  constexpr int n = 20;
  Message* message;
  Matrix *matrix, m;
  float *out, *in, *pairs, r[64], host[256], h[n + 1];
  for (int i = 0; i < 256; ++i) host[i] = i;
  cudaMalloc(&message, sizeof(Message) + (n - 1) * sizeof(float));
  cudaMalloc(&matrix, sizeof(Matrix));
  cudaMalloc(&out, sizeof r);
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&pairs, 128 * sizeof(float));
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpy(pairs, host, 128 * sizeof(float), cudaMemcpyHostToDevice);
  write<<<1, 32>>>(message, n);
  rows<<<1, 64>>>((const float4*)in, out, matrix, (const float(*)[2])pairs);
  cudaMemcpy(h, message, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost);
  cudaMemcpy(&m, matrix, sizeof m, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += h[i + 1] != 2 * i;
  for (int i = 0; i < 16; ++i) wrong += m.m[i / 4][i % 4] != i;
  for (int i = 0; i < 64; ++i) {
    float around = 0;
    for (int d = -1; d <= 1; ++d)
      if (i % 8 + d >= 0 && i % 8 + d < 8) around += i + d;
    wrong += r[i] != 63 + 16 * i + 6 + around + 2 * i + i % 2;
  }
  cudaFree(message), cudaFree(matrix), cudaFree(out), cudaFree(in), cudaFree(pairs);
  std::printf("%d wrong\n", wrong);
  return wrong;
}
