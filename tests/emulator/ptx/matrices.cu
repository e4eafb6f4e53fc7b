// Products of matrices by warps: mma.sync, ldmatrix, stmatrix and <mma.h>, beside sums that the host takes. All values
// are small integers, so that no order of the sums matters; where one does, `rounding` says which is ours.
#include <mma.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

using namespace nvcuda;
using u32 = unsigned;

static int bad = 0;

template <class T> T* managed(int n) {
  T* p;
  cudaMallocManaged(&p, n * sizeof(T));
  return p;
}

template <class T> void fill(T* p, int n) {
  for (int i = 0; i < n; ++i) p[i] = T(float(std::rand() % 8 - (std::is_same_v<T, unsigned char> ? 0 : 3)));
}

static void check(bool right, const char* what) {
  if (!right && bad++ < 20) std::printf("wrong: %s\n", what);
}

/// d = a * b + c as the host has it: A by rows, B as `b_at` says, C and D by rows.
template <class T, class Acc, class At>
void compare(const char* what, int m, int n, int k, const T* a, const T* b, const Acc* c, const Acc* d, At b_at) {
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      float sum = float(c[row * n + column]);
      for (int i = 0; i < k; ++i) sum += float(a[row * k + i]) * float(b[b_at(i, column)]);
      check(float(d[row * n + column]) == sum, what);
    }
}

// ---- mma.sync: registers are filled by PTX's tables of fragments

/// Registers of 32 bits from elements that `place(i)` says; `count` elements.
template <class T, class Place> __device__ void gather(u32* registers, const T* from, int count, Place place) {
  T elements[16];
  for (int i = 0; i < count; ++i) elements[i] = from[place(i)];
  memcpy(registers, elements, count * sizeof(T));
}

template <class T, class Acc, int K, class Multiply>
__global__ void product(Acc* d, const T* a, const T* b, const Acc* c, Multiply multiply) {  // B by columns
  constexpr int kPacked = 4 / sizeof(T);
  const int group = threadIdx.x / 4, in_group = threadIdx.x % 4;
  u32 ra[4], rb[2], rc[4], rd[4];
  gather(ra, a, 16 * K / 32, [=](int i) {
    const int row = i / kPacked % 2 == 0 ? group : group + 8;
    const int column = in_group * kPacked + i % kPacked + (i / kPacked < 2 ? 0 : K / 2);
    return row * K + column;
  });
  gather(rb, b, 8 * K / 32, [=](int i) {
    const int row = in_group * kPacked + i % kPacked + (i < kPacked ? 0 : K / 2);
    return group * K + row;
  });
  const auto place = [=](int i) { return (i < 2 ? group : group + 8) * 8 + in_group * 2 + i % 2; };
  gather(rc, c, 4, place);
  multiply(rd, ra, rb, rc);
  Acc results[4];
  memcpy(results, rd, sizeof results);
  for (int i = 0; i < 4; ++i) d[place(i)] = results[i];
}

#define MULTIPLY_441(types, results, sums)                                                                             \
  asm volatile("mma.sync.aligned." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"        \
               : results(rd)                                                                                           \
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), sums(rc))
#define MULTIPLY_241(types, results, sums)                                                                             \
  asm volatile("mma.sync.aligned." types " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                       \
               : results(rd)                                                                                           \
               : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]), sums(rc))
#define FLOAT_RESULTS(d) "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
#define FLOAT_SUMS(c) "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])
#define WORD_RESULTS(d) "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
#define WORD_SUMS(c) "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])
#define OF_FLOATS(NAME, MULTIPLY, types)                                                                               \
  struct NAME {                                                                                                        \
    __device__ void operator()(u32* d, const u32* ra, const u32* rb, const u32* c) const {                             \
      float rc[4], rd[4];                                                                                              \
      memcpy(rc, c, sizeof rc);                                                                                        \
      MULTIPLY(types, FLOAT_RESULTS, FLOAT_SUMS);                                                                      \
      memcpy(d, rd, sizeof rd);                                                                                        \
    }                                                                                                                  \
  };
#define OF_WORDS(NAME, MULTIPLY, types)                                                                                \
  struct NAME {                                                                                                        \
    __device__ void operator()(u32* rd, const u32* ra, const u32* rb, const u32* rc) const {                           \
      MULTIPLY(types, WORD_RESULTS, WORD_SUMS);                                                                        \
    }                                                                                                                  \
  };
OF_FLOATS(Half16, MULTIPLY_441, "m16n8k16.row.col.f32.f16.f16.f32")
OF_FLOATS(Half8, MULTIPLY_241, "m16n8k8.row.col.f32.f16.f16.f32")
OF_FLOATS(Brain16, MULTIPLY_441, "m16n8k16.row.col.f32.bf16.bf16.f32")
OF_FLOATS(Tensor8, MULTIPLY_441, "m16n8k8.row.col.f32.tf32.tf32.f32")
OF_FLOATS(Tensor4, MULTIPLY_241, "m16n8k4.row.col.f32.tf32.tf32.f32")
OF_WORDS(Bytes32, MULTIPLY_441, "m16n8k32.row.col.s32.s8.s8.s32")
OF_WORDS(Unsigned16, MULTIPLY_241, "m16n8k16.row.col.s32.u8.u8.s32")
struct HalfSums {
  __device__ void operator()(u32* rd, const u32* ra, const u32* rb, const u32* rc) const {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
                 : "=r"(rd[0]), "=r"(rd[1])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "r"(rc[0]), "r"(rc[1]));
  }
};

template <class T, class Acc, int K, class Multiply> void test(const char* what) {
  T *a = managed<T>(16 * K), *b = managed<T>(8 * K);
  Acc *c = managed<Acc>(128), *d = managed<Acc>(128);
  fill(a, 16 * K), fill(b, 8 * K), fill(c, 128);
  product<T, Acc, K><<<1, 32>>>(d, a, b, c, Multiply{});
  check(cudaDeviceSynchronize() == cudaSuccess, what);
  compare(what, 16, 8, K, a, b, c, d, [](int row, int column) { return column * K + row; });
  cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d);
}

__global__ void doubles(double* d, const double* a, const double* b, const double* c) {
  const int group = threadIdx.x / 4, in_group = threadIdx.x % 4, at = group * 8 + in_group * 2;
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
               : "=d"(d[at]), "=d"(d[at + 1])
               : "d"(a[group * 4 + in_group]), "d"(b[group * 4 + in_group]), "d"(c[at]), "d"(c[at + 1]));
}

/// Which sum is rounded when: 2^24 + 1 + 1, in float and in the order of k, stays 2^24. tf32 looks at 10 bits.
__global__ void rounding(float* o) {
  const u32 half = 0x3c00;                                     // 1
  const u32 a = threadIdx.x % 4 == 0 ? half << 16 | half : 0;  // k = 0 and 1
  float d[4];
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%5, %5, %5, %5};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(a), "f"(0x1p24f));
  o[0] = d[0];
  const u32 nearly_two = 0x3fffffff;
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %4}, {%5}, {%6, %6, %6, %6};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(threadIdx.x % 4 == 0 ? nearly_two : 0), "r"(0x3f800000), "f"(0.f));
  o[1] = d[0];
}

// ---- ldmatrix and stmatrix

/// c = a * b: A by rows, B by rows (so its fragments are transposed) or by columns.
template <bool kTransposed> __global__ void by_ldmatrix(float* d, const __half* a, const __half* b) {
  __shared__ __align__(16) __half as[16][24], bs[16][24];  // padded: no bank conflicts
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) as[i / 16][i % 16] = a[i];
  for (int i = lane; i < 128; i += 32) {
    if (kTransposed)
      bs[i / 8][i % 8] = b[i];
    else
      bs[i / 16][i % 16] = b[i];
  }
  __syncthreads();
  u32 ra[4], rb[2];
  const u32 at_a = u32(__cvta_generic_to_shared(&as[lane % 16][lane / 16 * 8]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(at_a));
  if (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];"
                 : "=r"(rb[0]), "=r"(rb[1])
                 : "r"(u32(__cvta_generic_to_shared(&bs[lane % 16][0]))));
  else
    asm volatile("ldmatrix.sync.aligned.x2.m8n8.b16 {%0, %1}, [%2];"  // a generic address
                 : "=r"(rb[0]), "=r"(rb[1])
                 : "l"(&bs[lane % 8][lane / 8 % 2 * 8]));
  float rd[4], rc[4] = {};
  MULTIPLY_441("m16n8k16.row.col.f32.f16.f16.f32", FLOAT_RESULTS, FLOAT_SUMS);
  for (int i = 0; i < 4; ++i) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = rd[i];
}

__global__ void move(unsigned short* straight, unsigned short* turned) {
  __shared__ __align__(16) unsigned short from[4][8][8], to[4][8][8], across[4][8][8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) from[i / 64][i / 8 % 8][i % 8] = i;
  __syncwarp();
  u32 r[4], one;
  const auto row = [=](unsigned short(*all)[8][8]) { return u32(__cvta_generic_to_shared(all[lane / 8][lane % 8])); };
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row(from)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(one) : "r"(row(from)));
#if __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row(to)), "r"(r[0]), "r"(r[1]),
               "r"(r[2]), "r"(r[3])
               : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row(across)), "r"(r[0]),
               "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
#endif
  __syncwarp();
  for (int i = lane; i < 256; i += 32) {
    straight[i] = to[i / 64][i / 8 % 8][i % 8];
    turned[i] = across[i / 64][i / 8 % 8][i % 8];
  }
  const u32 column = lane / 4, first = lane % 4 * 2;  // of the transposed matrix: its rows `first` and the next one
  if (one != (first * 8 + column | ((first + 1) * 8 + column) << 16)) straight[0] = 999;
}

// ---- <mma.h>

template <int M, int N, int K, class T, class Acc, class LA, class LB, class S>
__global__ void fragments(Acc* d, const S* a, const S* b, const Acc* c, wmma::layout_t layout) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Acc> fc, fd;
  wmma::load_matrix_sync(fa, a, std::is_same_v<LA, wmma::row_major> ? K : M);
  wmma::load_matrix_sync(fb, b, std::is_same_v<LB, wmma::row_major> ? N : K);
  wmma::load_matrix_sync(fc, c, layout == wmma::mem_row_major ? N : M, layout);
  wmma::fill_fragment(fd, Acc(0));
  wmma::mma_sync(fd, fa, fb, fd);
  for (int i = 0; i < fd.num_elements; ++i) fd.x[i] = fd.x[i] + fc.x[i];
  wmma::store_matrix_sync(d, fd, layout == wmma::mem_row_major ? N : M, layout);
}

template <int M, int N, int K, class T, class Acc, class LA, class LB, class S = T> void multiply(const char* what) {
  S *a = managed<S>(M * K), *b = managed<S>(K * N);
  Acc *c = managed<Acc>(M * N), *d = managed<Acc>(M * N);
  fill(a, M * K), fill(b, K * N), fill(c, M * N);
  for (const auto layout : {wmma::mem_row_major, wmma::mem_col_major}) {
    fragments<M, N, K, T, Acc, LA, LB, S><<<1, 32>>>(d, a, b, c, layout);
    check(cudaDeviceSynchronize() == cudaSuccess, what);
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        const int at = layout == wmma::mem_row_major ? i * N + j : j * M + i;
        float sum = float(c[at]);
        for (int k = 0; k < K; ++k)
          sum += float(a[std::is_same_v<LA, wmma::row_major> ? i * K + k : k * M + i]) *
                 float(b[std::is_same_v<LB, wmma::row_major> ? k * N + j : j * K + k]);
        check(float(d[at]) == sum, what);
      }
  }
  cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d);
}

template <int M, int N, int K, class T, class Acc, class S = T> void both(const char* what) {
  multiply<M, N, K, T, Acc, wmma::row_major, wmma::col_major, S>(what);
  multiply<M, N, K, T, Acc, wmma::col_major, wmma::row_major, S>(what);
}

int main() {
  test<__half, float, 16, Half16>("m16n8k16 f16");
  test<__half, float, 8, Half8>("m16n8k8 f16");
  test<__half, __half, 16, HalfSums>("m16n8k16 f16 in f16");
  test<__nv_bfloat16, float, 16, Brain16>("m16n8k16 bf16");
  test<float, float, 8, Tensor8>("m16n8k8 tf32");
  test<float, float, 4, Tensor4>("m16n8k4 tf32");
  test<signed char, int, 32, Bytes32>("m16n8k32 s8");
  test<unsigned char, int, 16, Unsigned16>("m16n8k16 u8");
  double *a = managed<double>(32), *b = managed<double>(32), *c = managed<double>(64), *d = managed<double>(64);
  fill(a, 32), fill(b, 32), fill(c, 64);
  doubles<<<1, 32>>>(d, a, b, c);
  check(cudaDeviceSynchronize() == cudaSuccess, "m8n8k4 f64");
  compare("m8n8k4 f64", 8, 8, 4, a, b, c, d, [](int row, int column) { return column * 4 + row; });
  float* o = managed<float>(128);
  rounding<<<1, 32>>>(o);
  check(cudaDeviceSynchronize() == cudaSuccess && o[0] == 0x1p24f && o[1] == 0x1.ffcp0f, "rounding");
  __half *ha = managed<__half>(256), *hb = managed<__half>(128);
  float* zero = managed<float>(128);
  fill(ha, 256), fill(hb, 128), std::memset(zero, 0, 512);
  by_ldmatrix<true><<<1, 32>>>(o, ha, hb);
  check(cudaDeviceSynchronize() == cudaSuccess, "ldmatrix.trans");
  compare("ldmatrix.trans", 16, 8, 16, ha, hb, zero, o, [](int row, int column) { return row * 8 + column; });
  by_ldmatrix<false><<<1, 32>>>(o, ha, hb);
  check(cudaDeviceSynchronize() == cudaSuccess, "ldmatrix");
  compare("ldmatrix", 16, 8, 16, ha, hb, zero, o, [](int row, int column) { return column * 16 + row; });
  auto *straight = managed<unsigned short>(256), *turned = managed<unsigned short>(256);
  move<<<1, 32>>>(straight, turned);
  check(cudaDeviceSynchronize() == cudaSuccess, "stmatrix");
  for (int i = 0; i < 256; ++i) {
    check(straight[i] == i, "stmatrix");
    check(turned[i] == i / 64 * 64 + i % 8 * 8 + i / 8 % 8, "stmatrix.trans");
  }
  cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d), cudaFree(o), cudaFree(ha), cudaFree(hb), cudaFree(zero);
  cudaFree(straight), cudaFree(turned);
  both<16, 16, 16, __half, float>("fragments of half");
  both<32, 8, 16, __half, __half>("fragments of half, 32 x 8");
  both<8, 32, 16, __half, float>("fragments of half, 8 x 32");
  both<16, 16, 16, __nv_bfloat16, float>("fragments of bfloat16");
  both<32, 8, 16, signed char, int>("fragments of signed bytes");
  both<8, 32, 16, unsigned char, int>("fragments of bytes");
  both<16, 16, 8, wmma::precision::tf32, float, float>("fragments of tf32");
  both<8, 8, 4, double, double>("fragments of double");
  std::printf("%d wrong\n", bad);
  return bad != 0;
}
