// Conversions out of range, shifts by the width and more, divisions that wrap around, as PTX defines them.
#include <cstdio>
#include <type_traits>

__global__ void convert(float f, float nan, double d, double dnan, unsigned* u, int* i, unsigned long long* w) {
  u[0] = (unsigned)f;                 // 2^32
  u[1] = (unsigned)-1.5f;
  u[2] = (unsigned char)300.7f;       // the low bits of 32
  u[3] = (unsigned)(signed char)f;
  u[4] = (unsigned char)(f - f + 300.7f);
  i[0] = (int)f;
  i[1] = (int)-f;
  i[2] = (int)nan;
  i[3] = (int)dnan;                   // from 64 bits: the highest bit
  i[4] = (int)d;                      // 1e300
  i[5] = (short)(f - f + 70000.f);
  w[0] = (unsigned long long)nan;
  w[1] = (unsigned long long)-f;
  w[2] = (unsigned long long)(long long)d;
}

__global__ void shift(int by, unsigned* u) {
  u[0] = 1u << by;
  u[1] = 0x80000000u >> by;
  u[2] = (unsigned)((int)0x80000000 >> by);
  u[3] = (unsigned)(1ull << (by + 32) >> 32);
  u[4] = (1u << by) == 0;
  u[5] = (1u << by) - 1;              // a mask of all lanes where by is 0 to 32
}

#pragma clang diagnostic ignored "-Wshift-count-overflow"
__global__ void shift_by_literals(unsigned x, unsigned* u) {
  u[0] = x << 32;
  u[1] = x >> 40u;
  u[2] = (unsigned)((int)(x | 0x80000000u) >> 35);
  u[3] = ~0u << 32;
  u[4] = (unsigned char)x << 33;
  u[5] = x;
}

__global__ void divide(int lowest, int by, int* i) {
  i[0] = lowest / by;
  i[1] = lowest % by;
}

template <class T> bool same(const T* device, const std::type_identity_t<T> (&expected)[6], int n) {
  T host[6];
  cudaMemcpy(host, device, n * sizeof(T), cudaMemcpyDeviceToHost);
  bool right = true;
  for (int k = 0; k < n; ++k) {
    if (host[k] == expected[k]) continue;
    std::printf("%d: %llx, expected %llx\n", k, (unsigned long long)host[k], (unsigned long long)expected[k]);
    right = false;
  }
  return right;
}

int main() {
  unsigned* u;
  int* i;
  unsigned long long* w;
  cudaMalloc(&u, 64);
  cudaMalloc(&i, 64);
  cudaMalloc(&w, 64);
  convert<<<1, 1>>>(4294967296.f, 0.f / 0.f, 1e300, 0. / 0., u, i, w);
  bool right = same(u, {0xffffffffu, 0, 44, 0xffffffffu, 44}, 5);
  right &= same(i, {0x7fffffff, int(0x80000000), 0, int(0x80000000), 0x7fffffff, 4464}, 6);
  right &= same(w, {1ull << 63, 0, 0x7fffffffffffffffull}, 3);
  shift<<<1, 1>>>(32, u);
  right &= same(u, {0, 0, 0xffffffffu, 0, 1, 0xffffffffu}, 6);
  shift<<<1, 1>>>(5, u);
  right &= same(u, {32, 0x04000000, 0xfc000000u, 32, 0, 31}, 6);
  shift_by_literals<<<1, 1>>>(0xabcdef01u, u);
  right &= same(u, {0, 0, 0xffffffffu, 0, 0, 0xabcdef01u}, 6);
  divide<<<1, 1>>>(int(0x80000000), -1, i);
  right &= same(i, {int(0x80000000), 0}, 2);
  cudaFree(u);
  cudaFree(i);
  cudaFree(w);
  return right ? 0 : 1;
}
