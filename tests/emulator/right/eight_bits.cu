// Rows kept in 8 bits, each with a scale, as programs keep weights: packed, in shared memory, and taken apart again.
#include <cuda_fp8.h>

#include <cmath>
#include <cstdio>

constexpr int kRows = 64;
constexpr int kColumns = 256;

__global__ void pack(const float4* in, __nv_fp8x4_e4m3* out, __nv_fp8_e8m0* scales) {
  __shared__ float greatest[64];
  const int lane = threadIdx.x;
  const float4 v = in[blockIdx.x * 64 + lane];
  greatest[lane] = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
  for (int half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) greatest[lane] = fmaxf(greatest[lane], greatest[lane + half]);
  }
  __syncthreads();
  const __nv_fp8_e8m0 scale(greatest[0] / 448);  // rounded up, so that nothing saturates
  const float by = 1 / float(scale);
  out[blockIdx.x * 64 + lane] = __nv_fp8x4_e4m3(make_float4(v.x * by, v.y * by, v.z * by, v.w * by));
  if (lane == 0) scales[blockIdx.x] = scale;
}

__global__ void unpack(const __nv_fp8_e4m3* in, const __nv_fp8_e8m0* scales, float* out) {
  __shared__ __nv_fp8_e4m3 row[kColumns];
  row[threadIdx.x] = in[blockIdx.x * kColumns + threadIdx.x];
  __syncthreads();
  const int from = kColumns - 1 - threadIdx.x;
  const __nv_fp8_e4m3 number = row[from];
  const float scale(scales[blockIdx.x]);
  out[blockIdx.x * kColumns + from] = number ? static_cast<float>(number) * scale : 0;
}

__global__ void narrow(const float* in, unsigned char* out) {
  const int i = threadIdx.x;
  out[i] = __nv_cvt_float_to_fp8(in[i], __NV_NOSAT, __NV_E5M2);
  out[32 + i] = __nv_fp8_e5m2(__float2half(in[i])).__x;
}

int main() {
  float *in, *out;
  __nv_fp8x4_e4m3* packed;
  __nv_fp8_e8m0* scales;
  unsigned char* bytes;
  cudaMallocManaged(&in, kRows * kColumns * sizeof(float));
  cudaMallocManaged(&out, kRows * kColumns * sizeof(float));
  cudaMalloc(&packed, kRows * kColumns);
  cudaMallocManaged(&scales, kRows);
  cudaMallocManaged(&bytes, 64);
  for (int i = 0; i < kRows * kColumns; ++i) in[i] = std::ldexp(i * 7919 % 1009 - 504.f, i / kColumns - 40);
  pack<<<kRows, 64>>>(reinterpret_cast<float4*>(in), packed, scales);
  unpack<<<kRows, kColumns>>>(reinterpret_cast<__nv_fp8_e4m3*>(packed), scales, out);
  narrow<<<1, 32>>>(in, bytes);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < kRows * kColumns; ++i) {
    const float scale = static_cast<float>(scales[i / kColumns]);
    const __nv_fp8_e4m3 number(in[i] / scale);
    wrong += out[i] != static_cast<float>(number) * scale;
    wrong += std::fabs(out[i] - in[i]) > std::fmax(std::fabs(in[i]) / 16, scale * 0x1p-10f);
  }
  for (int i = 0; i < 32; ++i)
    wrong += bytes[i] != __nv_fp8_e5m2(in[i]).__x || bytes[32 + i] != __nv_fp8_e5m2(__half(in[i])).__x;
  if (wrong != 0) std::printf("%d wrong\n", wrong);
  cudaFree(in);
  cudaFree(out);
  cudaFree(packed);
  cudaFree(scales);
  cudaFree(bytes);
  return wrong == 0 ? 0 : 1;
}
