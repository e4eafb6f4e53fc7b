#!/usr/bin/env python3
"""Programs that are right, and do what learners' programs do: right results, and no report. Programs that are not: what
ends them is told with a line, and what nvcc refuses is refused."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
RIGHT = ROOT / "tests" / "emulator" / "right"
NOTHING = "========= ERROR SUMMARY: 0 errors\n"

FUSED = """
#include <cstdio>
__host__ __device__ float both(float a, float b, float c) { return a * b + c; }
__global__ void sum(float* o, float a, float b, float c) { o[0] = a * b + c; }
__global__ void difference(float* o, float a, float b, float c) { float m = a * b; if (o[1] == 0) o[1] = m + c; }
__global__ void reversed(float* o, float a, float b, float c) { o[2] = c + -(a * -b); }
__global__ void called(float* o, float a, float b, float c) { o[3] = both(a, b, c); }
__global__ void intrinsics(float* o, float a, float b, float c) { o[4] = __fadd_rn(__fmul_rn(a, b), c); }
__global__ void stored(float* o, float a, float b, float c) { float m = a * b; o[6] = m; o[5] = m + c; }
__global__ void two(float* o, float a, float b) { o[7] = a * b - (a + 0x1p-20f) * (b - 0x1p-20f); }
__global__ void wide(double* o, double a, double b, double c) { o[0] = a * b + c; }
int main() {
  float a = 1 + 0x1p-12f, c = -(1 + 0x1p-11f), h[8] = {};
  double x = 1 + 0x1p-30, z = -(1 + 0x1p-29), g;
  float* o; double* d; cudaMalloc(&o, sizeof h); cudaMalloc(&d, 8); cudaMemset(o, 0, sizeof h);
  sum<<<1, 1>>>(o, a, a, c); difference<<<1, 1>>>(o, a, a, c); reversed<<<1, 1>>>(o, a, a, c);
  called<<<1, 1>>>(o, a, a, c); intrinsics<<<1, 1>>>(o, a, a, c); stored<<<1, 1>>>(o, a, a, c);
  two<<<1, 1>>>(o, a, a); wide<<<1, 1>>>(d, x, x, z);
  cudaMemcpy(h, o, sizeof h, cudaMemcpyDeviceToHost); cudaMemcpy(&g, d, 8, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 6; ++i) std::printf("%a ", h[i]);
  std::printf("%d %a host %a %a\\n", h[7] == 0, g, a * a + c, both(a, a, c));
  cudaFree(o); cudaFree(d);
}
"""
STRUCTS = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
struct alignas(8) Pair { int x, y; };
struct alignas(4) Bytes { unsigned char r, g, b, a; };
struct alignas(8) Halves { __half2 a, b; };
__device__ float sum(Pair p) { return p.x + p.y; }
__device__ float sum(Bytes p) { return p.r + p.g + p.b + p.a; }
__device__ float sum(Halves p) { return __low2float(p.a) + __high2float(p.b); }
__device__ float sum(short2 p) { return p.x + p.y; }
__device__ float sum(float2 p) { return p.x + p.y; }
__device__ float sum(__half2 p) { float2 f = __half22float2(p); return f.x + f.y; }
__device__ float sum(__nv_bfloat162 p) { return __low2float(p) + __high2float(p); }
template <class T> __global__ void at_once(float* o, const T* in) { o[threadIdx.x] = sum(in[threadIdx.x]); }
template <class T> __global__ void kept(float* o, const T* in) { T v = in[threadIdx.x]; o[threadIdx.x] = sum(v) + sum(v); }
template <class T> void run(float* o, void* in) {
  at_once<<<1, 32>>>(o, static_cast<const T*>(in)); kept<<<1, 32>>>(o, static_cast<const T*>(in));
}
template <class T, int n> struct alignas(n * sizeof(T)) Pack {
  T v[n];
  __device__ T& operator[](int i) { return v[i]; }
  __device__ const T& operator[](int i) const { return v[i]; }
};
template <class T, int n> __device__ __forceinline__ Pack<T, n> added(Pack<T, n> old, const Pack<float, n>& sum) {
#pragma unroll
  for (int k = 0; k < n; ++k) old[k] = __float2half(__half2float(old[k]) + sum[k]);
  return old;
}
__global__ void returned(__half* o, int m) {
  using P = Pack<__half, 4>;
  P old;
  const bool active = threadIdx.x < 32;
  __half* to = o + threadIdx.x * 4;
  if (active) old = *reinterpret_cast<const P*>(to);
  if (!__syncthreads_or(m) || !active) return;
  Pack<float, 4> sum{};
  for (int i = 0; i < m; ++i) for (int k = 0; k < 4; ++k) sum[k] += i;
  *reinterpret_cast<P*>(to) = added(old, sum);
}
int main() {
  float* o; void* in; cudaMalloc(&o, 128); cudaMalloc(&in, 256); cudaMemset(in, 0, 256);
  run<Pair>(o, in); run<Bytes>(o, in); run<Halves>(o, in); run<short2>(o, in); run<float2>(o, in); run<__half2>(o, in);
  run<__nv_bfloat162>(o, in);
  returned<<<1, 32>>>(static_cast<__half*>(in), 3);
  cudaFree(o); cudaFree(in);
}
"""
# What nvcc says of each, on the line that is marked; None: nothing.
REFUSED = """
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
int helper(int x) { return x + 1; }
constexpr int twice(int x) { return 2 * x; }
int variable; const int constant = 5; const float table[3] = {1, 2, 3};
__device__ int device_variable; __constant__ float device_table[3];
struct Host { int v; Host(int x) : v(x) {} };
struct Plain { int v = 3; };
struct Derived : Plain { __device__ int get() const { return v; } };
__device__ int device(int x) { return x; }
template <class F> __device__ int apply(F f, int x) { return f(x); }
__global__ void k(int* o, float* f, int i) {
#if CASE == 1
  o[0] = helper(i);
#elif CASE == 2
  o[0] = twice(i);
#elif CASE == 3
  o[0] = std::max(i, 3);
#elif CASE == 4
  o[0] = variable;
#elif CASE == 5
  f[0] = table[i];
#elif CASE == 6
  Host h(i); o[0] = h.v;
#elif CASE == 7
  o[0] = rand();
#elif CASE == 8
  cudaDeviceSynchronize();
#elif CASE < 16
  Derived d; auto next = [](int x) { return x + device_variable; };
  f[0] = std::sqrt(f[1]) + std::abs(f[2]) + fmaxf(f[0], std::pow(f[1], 2.0f)) + device_table[i] + roundf(f[0]);
  o[0] = apply(next, i) + d.get() + constant + min(i, 4) + device(i); printf("%d", o[0]); memcpy(o, f, 4);
#endif
}
template <class F> __global__ void run(F f) { f(1); }
#if CASE == 16
__constant__ int too_much[17000];
#endif
#if CASE == 13
__device__ int elements[2];
__constant__ int constants[2];
__global__ void sets(int i) { constants[i] = 1; }
#endif
__global__ void through(int (*f)(int)) { f(1); }
int main() {
#if CASE == 9
  return device(3);
#elif CASE == 10
  k(nullptr, nullptr, 0);
#elif CASE == 11
  __syncthreads();
#elif CASE == 12
  return threadIdx.x;
#elif CASE == 13
  device_variable = 2;
  return elements[1];
#elif CASE == 14
  int h = 3; auto f = [&] __device__(int x) { return x + h; }; run<<<1, 1>>>(f);
#elif CASE == 15
  int h = 3; auto f = [=] __device__(int x) { return x + h; }; run<<<1, 1>>>(f);
#elif CASE == 17
  through<<<1, 1>>>(device);
#endif
}
"""
REASONS = [None, 'calling a __host__ function("helper(int)") from a __global__ function("k(int*, float*, int)") is not allowed',
           'calling a __host__ function("twice(int)") from a __global__ function',
           'calling a __host__ function("int const& std::max<int>(int const&, int const&)") from a __global__ function',
           'identifier "variable" is undefined in device code', 'identifier "table" is undefined in device code',
           'calling a __host__ function("Host::Host(int)") from a __global__ function',
           'calling a __host__ function("rand") from a __global__ function',
           'calling a __host__ function("cudaDeviceSynchronize") from a __global__ function',
           'calling a __device__ function("device(int)") from a __host__ function("main") is not allowed',
           'a __global__ function call must be configured',
           'calling a __device__ function("__syncthreads()") from a __host__ function("main") is not allowed',
           "threadIdx, blockIdx, blockDim and gridDim are undefined in a __host__ function", None,
           "An extended __device__ lambda cannot capture variables by reference", None,
           "File uses too much global constant data (68012 bytes, at most 65536)", None]

# All of these in one file; behind each line what nvcc says of it, or that it says nothing.
REFUSED_TOGETHER = """
#include <typeinfo>
struct Base { __device__ virtual int f() { return 1; } }; struct Derived : Base {};
struct Begins { int v = 1; };
int hosts(int x) { return x; }
__device__ int devices(int x) { return x; }
void no_kernel(int* o) { o[0] = 1; }
__device__ void no_kernel_either(int* o) { o[0] = 1; }
__constant__ int constant;
thread_local int of_thread;
__global__ void k0(int* o) { __shared__ int s = 3; o[0] = s; }  // initializer not allowed for __shared__ variable
__global__ void k1(int* o) { __shared__ int s[2] = {1, 2}; o[0] = s[0]; }  // initializer not allowed for __shared__ variable
__global__ int k2(int* o) { return o[0]; }  // a __global__ function must have a void return type
__global__ void k3(int* o, int&& v) { o[0] = v; }  // a __global__ function cannot have a parameter with rvalue reference type
__global__ void k4(int* o, int n) { int a[n]; a[n - 1] = n; o[0] = a[n - 1]; }  // expression must have a constant value
__device__ int f5(int n) { int a[n]; a[n - 1] = n; return a[n - 1]; }  // expression must have a constant value
void f6() { __shared__ int s[4]; s[0] = 1; }  // a static "__shared__" variable declaration is not allowed inside a host
__global__ void k7(int* o) { if (o[0]) throw 1; }  // device code does not support exception handling
__global__ void k8(const char** o, Base* b) { o[0] = typeid(*b).name(); }  // The operator 'typeid' is not allowed
__global__ void k9(int* o, Base* b) { o[0] = dynamic_cast<Derived*>(b) != nullptr; }  // The operator 'dynamic_cast' is not
__global__ void k10() { constant = 1; }  // expression must be a modifiable lvalue
void f16() { __constant__ int v = 1; (void)v; }  // an automatic "__constant__" variable declaration is not allowed
int f17() { static __device__ int v; return v; }  // a static "__device__" variable declaration is not allowed
void f11() { no_kernel<<<1, 1>>>(nullptr); }  // a host function call cannot be configured
void f12() { no_kernel_either<<<1, 1>>>(nullptr); }  // a __device__ function call cannot be configured
__global__ void k13(int* o) { int (*f)(int) = hosts; o[0] = f(1); }  // identifier "hosts(int)" is undefined in device code
__device__ __global__ void k14(int* o) { o[0] = 1; }  // illegal combination of memory qualifiers
__global__ void k15(int* o) { o[0] = of_thread; }  // identifier "of_thread" is undefined in device code
__device__ int begins = hosts(3);
__global__ void right(int* o, const int& one, int n = 3) {
  __shared__ Begins s; __shared__ int zero[4]; static int count = 3; int (*f)(int) = devices;
  zero[threadIdx.x] = s.v = f(count++); o[0] = zero[0] + n + constant;
}
int main() {}
"""
HOST_HEAP = """
#include <cstdlib>
#include <vector>
int main(int, char** words) {
  float* d; cudaMalloc(&d, 1 << 20); cudaMemset(d, 0, 1 << 20);
  std::vector<float> h(100); std::vector<long long> alike(64, 33); float* big = new float[100000]();
  float* piece = static_cast<float*>(calloc(100, 1));
  switch (words[1][0]) {
    case 'a': cudaMemcpy(h.data(), d, 800, cudaMemcpyDeviceToHost); break;  // WRONG a
    case 'b': cudaMemcpy(d, piece, 100 * sizeof(float), cudaMemcpyHostToDevice); break;  // WRONG b
    case 'c': cudaMemcpyAsync(d, big, 500000, cudaMemcpyHostToDevice); break;  // WRONG c
    case 'd': cudaMemcpy2D(&h[0], 40, d, 40, 40, 20, cudaMemcpyDeviceToHost); break;  // WRONG d
    case 'e': { static float array[8]; cudaMemcpy(&array[2], d, 28, cudaMemcpyDeviceToHost); break; }  // WRONG e
    default:
      float local[4]; static float of_program[8];
      for (int i = 0; i < 100; ++i) cudaMemcpy(d, &h[i], 4 * (100 - i), cudaMemcpyHostToDevice);
      for (int i = 0; i < 64; ++i) cudaMemcpy(d, &alike[i], 8 * (64 - i), cudaMemcpyHostToDevice);
      for (int i = 0; i < 100000; i += 1020) cudaMemcpy(d, big + i, 4 * (100000 - i), cudaMemcpyHostToDevice);
      cudaMemcpy(local, d, sizeof local, cudaMemcpyDeviceToHost); cudaMemcpy(of_program, d, 32, cudaMemcpyDeviceToHost);
  }
  cudaFree(d); free(piece); delete[] big;
}
"""
CAUSES = """
__global__ void overflows(int* a, int n) { int i = threadIdx.x + 1; a[i * n * 4] = 1; }
__global__ void below_0(int* a, unsigned i) { a[i - 1u] = 1; }
__constant__ float table[16];
__global__ void beyond(float* o, int i) { o[0] = table[i]; }
struct Point { float x, y, z; };
__global__ void structs(Point* p, unsigned i) { p[i - 1u].x = 1; }
__global__ void other(int* o) { __shared__ int before[128]; before[threadIdx.x] = 1; o[0] = before[0]; }
__global__ void halo(int* o) { __shared__ int tile[128]; tile[threadIdx.x - 1] = 0; o[threadIdx.x] = tile[0]; }
__global__ void counts(int* o, const int* in) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  bins[in[threadIdx.x]]++;
}
__global__ void turned(int* o) {
  __shared__ int s[128];
  s[threadIdx.x] = threadIdx.x;
  o[threadIdx.x] = s[(threadIdx.x + 1) % 128];
}
__global__ void lanes(int* o) {
  __shared__ int s[128];
  s[threadIdx.x] = threadIdx.x;
  o[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void global_counts(int* o, const int* in) { o[in[threadIdx.x]]++; }
__global__ void shifted(int* o) { if (threadIdx.x < 127) o[threadIdx.x] = o[threadIdx.x + 1]; }
__global__ void twice(int* o) { o[threadIdx.x] += blockIdx.x + 1; }
__global__ void two_steps(int* o) {
  o[blockIdx.x * 128 + threadIdx.x] = 1;
  o[256 + blockIdx.x * 128 + threadIdx.x] = o[(blockIdx.x ^ 1) * 128 + threadIdx.x];
}
__global__ void wraps(int* first, int n) { short i = (short)(n + threadIdx.x); first[i] = 1; }
__global__ void unfenced(int* lock, int* v) {
  if (threadIdx.x == 0) { while (atomicCAS(lock, 0, 1) != 0) ; v[1] += 1; atomicExch(lock, 0); }
}
__global__ void unmarked(int* flag, int* v) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) { v[1] = 7; __threadfence(); *flag = 1; } else { v[2] = *flag == 0 ? 0 : v[1]; }
}
int main(int, char** words) {
  int *first, *in, *o; cudaMalloc(&first, 4000); cudaMalloc(&in, 4000); cudaMalloc(&o, 4000);
  cudaMemset(in, 0, 4000); cudaMemset(o, 0, 4000);
  switch (words[1][0]) {
    case 'a': overflows<<<1, 1>>>(o, 1 << 29); break;
    case 'b': below_0<<<1, 1>>>(in, 0); break;
    case 'c': beyond<<<1, 1>>>((float*)o, 16); break;
    case 'd': beyond<<<1, 1>>>((float*)o, 1000000); break;
    case 'e': beyond<<<1, 1>>>((float*)o, -1); break;
    case 'f': structs<<<1, 1>>>((Point*)o, 0); break;
    case 'g': halo<<<1, 128>>>(o); break;
    case 'h': counts<<<1, 128>>>(o, in); break;
    case 'i': turned<<<1, 128>>>(o); break;
    case 'j': lanes<<<1, 128>>>(o); break;
    case 'k': global_counts<<<1, 128>>>(o, in); break;
    case 'l': shifted<<<1, 128>>>(o); break;
    case 'm': twice<<<2, 128>>>(o); break;
    case 'n': two_steps<<<2, 128>>>(o); break;
    case 'o': other<<<1, 128>>>(o); break;
    case 'p': wraps<<<1, 1>>>(first, 32768); break;
    case 'q': unfenced<<<4, 32>>>(in, o); break;
    case 'r': unmarked<<<2, 32>>>(in, o); break;
    case 's': for (int i = 0; i < 3; ++i) twice<<<2, 128>>>(o); break;
    case 't': { float host[17] = {}; cudaMemcpyToSymbol(table, host, 68); }
  }
  cudaDeviceSynchronize(); cudaFree(first); cudaFree(in); cudaFree(o);
}
"""
STATEMENT = "Threads write one place in one statement: use an atomic"
# What each says, which nothing else does: the cause, and what to do.
CAUSES_TOLD = {"a": ["below all allocations", "compute the index in 64 bits"],
               "b": ["of allocation 2 of 4000 bytes, allocated at p.cu:42, index -1 of 1000", "An unsigned index does not go below 0"],
               "c": ["0 bytes after the end of variable 'table', index 16 of 16 elements"],
               "d": ["of variable 'table', index 1000000 of 16 elements"], "e": ["before the begin of variable 'table', index -1 of 16"],
               "f": ["of allocation 3 of 4000 bytes", "index -1 of 333 elements of 12 bytes", "An unsigned index"],
               "g": ["Invalid __shared__ write", "of shared array 'tile' of 512 bytes, index -1", "An unsigned index"],
               "h": [STATEMENT], "i": ["__syncthreads() orders"], "j": ["__syncwarp() orders"], "k": [STATEMENT],
               "l": ["read, __syncthreads(), then write"], "m": [STATEMENT], "n": ["a launch of its own"],
               "p": ["before the begin of allocation 1 of 4000 bytes", "index -32768 of 1000", "Compare the index"],
               "q": ["put __threadfence() before its release"], "r": ["let the flag be that"],
               "s": ["= 2 more: Race reported"],
               "t": ["API call to cudaMemcpyToSymbol\n", "The copy is of 68 bytes; from its destination on, 64"]}
HOST = """
#include <cstring>
struct Owner { int* p; Owner() { cudaMalloc(&p, 4); } ~Owner() { cudaFree(p); } };
__global__ void takes(Owner o) { *o.p = 1; }
__global__ void leader(int* o) { int b; if (threadIdx.x == 0) b = 7; o[threadIdx.x] = __shfl_sync(~0u, b, 0); }
__global__ void sums(float* o, int n) { float sum; for (int i = 0; i < n; ++i) sum += i; o[0] = sum; }
int main(int, char** words) {
  cudaEvent_t e, f; cudaEventCreate(&e); cudaEventCreate(&f);
  cudaStream_t s; cudaStreamCreate(&s);
  char *d, *h = new char[300](); cudaMalloc(&d, 300); cudaMemset(d, 0, 300);
  cudaEvent_t both[2] = {e, f};
  switch (words[1][0]) {
    case 'a':
      cudaStreamWaitEvent(s, e, 0); cudaEventRecord(e, s); cudaStreamSynchronize(s); break;
    case 'b': cudaEventSynchronize(f); break;
    case 'c':
      for (int i = 0; i < 4; ++i) { cudaEventSynchronize(both[i % 2]); cudaEventRecord(both[i % 2], s); }
      while (cudaEventQuery(e) != cudaSuccess) {}
      break;
    case 'd': cudaMemcpy(d + 50, d, 100, cudaMemcpyDeviceToDevice); break;
    case 'e': cudaMemcpyAsync(d, d + 99, 100, cudaMemcpyDeviceToDevice, s); break;
    case 'f':
      cudaMemcpy(d + 100, d, 100, cudaMemcpyDeviceToDevice);
      cudaMemcpy2D(d + 50, 100, d, 100, 50, 3, cudaMemcpyDeviceToDevice); break;
    case 'g': d[3] = 1; break;
    case 'h': { Owner o; takes<<<1, 1>>>(o); }
  }
  cudaFree(d); cudaEventDestroy(e); cudaStreamDestroy(s); delete[] h;
}
"""
# Local variables; the kernel that reads one without a value says where by WRONG, all of `right` is right.
LOCALS = """
#include <cuda_fp16.h>
struct Point { float x, y, z; };
__global__ void scalar(float* o, const float* in, int n) { float best;
  for (int i = 0; i < n; ++i) if (in[i] > best) best = in[i];  // WRONG a
  o[0] = best; }
__global__ void member(float* o) { Point p; p.x = 1; p.y = 2;
  o[0] = p.x + p.z; }  // WRONG b
__global__ void counts(float* o, const int* in) { int bins[8];
  for (int i = 0; i < 16; ++i) bins[in[i] & 7]++;  // WRONG c
  for (int i = 0; i < 8; ++i) o[i] = bins[i]; }
__global__ void halves(__half* o, const __half* in) { __half sum;
  for (int i = 0; i < 4; ++i) sum = __hadd(sum, in[i]);  // WRONG d
  o[0] = sum; }
__global__ void pointer(float* o) { float a[4]; float* p = a;
  o[0] = p[threadIdx.x & 3]; }  // WRONG e
__device__ void fill(float* a) { for (int i = 0; i < 4; ++i) a[i] = i; }
__device__ void add(float& sum, float v) { sum += v; }
template <class F> __device__ void each(int n, F f) { for (int i = 0; i < n; ++i) f(i); }
struct Mean { float sum; int n; __device__ void add(float v) { sum += v; ++n; } };
__global__ void by_reference(float* o, const float* in, int n) { float sum; for (int i = 0; i < n; ++i) add(sum, in[i]);
  o[0] = sum; }  // WRONG f
__global__ void captured(float* o, const float* in, int n) { float sum; each(n, [&](int i) { sum += in[i]; });
  o[0] = sum; }  // WRONG g
__global__ void members(float* o, const float* in, int n) { Mean m; for (int i = 0; i < n; ++i) m.add(in[i]);
  o[0] = m.sum; }  // WRONG h
__global__ void size(float* o, int n) { int m; if (n > 100) m = 4;
  int* p = static_cast<int*>(malloc(m * 4));  // WRONG i
  free(p); }
__device__ void first(float& a, float v) { a = v; }
__device__ void ordered(float& a, float& b) { if (b < a) { float c = a; a = b; b = c; } }
__device__ void scanned(float* a, int n) { for (int i = 1; i < n; ++i) a[i] = a[i - 1] * 2; }
__global__ void right_by_reference(float* o, const float* in, int n) {
  float a, b, c, s[4], never; Mean m; m.sum = 0; m.n = 0; int used;
  first(a, in[0]); auto set = [&] { b = in[1]; }; set(); ordered(a, b);
  each(n, [&](int i) { if (i == 0) c = 0; c += in[i]; m.add(c); });
  s[0] = 1; scanned(s, 4); add(never, 1); if (n > 100) used = 1; if (n > 100) add(c, used);
  o[0] = a + b + c + s[3] + m.sum / m.n;
}
__global__ void right(float* o, const float* in, int n) {
  float r[4], q[4], t[4], before; float4 v; float* parts = reinterpret_cast<float*>(&v); Point p, copy = p; copy.x = 1;
  fill(q);
  for (int k = 0; k < 4; ++k) parts[k] = k;
  for (int k = 0; k < 4; ++k) if (threadIdx.x + k < n) r[k] = in[threadIdx.x + k];
  for (int k = 0; k < 4; ++k) r[k] = r[k] * 2;
  for (int k = 0; k < 4; ++k) if (threadIdx.x + k < n) o[threadIdx.x] = r[k] + q[k];
  for (int i = 0; i < n; ++i) { if (i > 0) o[threadIdx.x] += before; before = in[i]; }
  t[0] = 1; for (int i = 1; i < 4; ++i) t[i] = t[i - 1] * 2;
  int leader; if (threadIdx.x == 0) leader = 5; leader = __shfl_sync(~0u, leader, 0);
  o[threadIdx.x] += v.x + t[3] + leader + copy.x;
}
int main(int, char** words) {
  float *o, *in; cudaMalloc(&o, 4000); cudaMalloc(&in, 4000); cudaMemset(in, 0, 4000); cudaMemset(o, 0, 4000);
  switch (words[1][0]) {
    case 'a': scalar<<<1, 1>>>(o, in, 4); break;
    case 'b': member<<<1, 1>>>(o); break;
    case 'c': counts<<<1, 1>>>(o, (int*)in); break;
    case 'd': halves<<<1, 1>>>((__half*)o, (__half*)in); break;
    case 'e': pointer<<<1, 1>>>(o); break;
    case 'f': by_reference<<<1, 1>>>(o, in, 4); break;
    case 'g': captured<<<1, 1>>>(o, in, 4); break;
    case 'h': members<<<1, 1>>>(o, in, 4); break;
    case 'i': size<<<1, 1>>>(o, 4); break;
    case 'R': right_by_reference<<<1, 1>>>(o, in, 4); break;
    default: right<<<1, 32>>>(o, in, 32);
  }
  cudaDeviceSynchronize(); cudaFree(o); cudaFree(in);
}
"""
# Named arrays as those of wider elements; at i = 1 none is aligned, at i = 4 all are.
CASTS = """
struct alignas(8) Pair { int a, b; };
struct Four { float x, y, z, w; };
__shared__ int of_file[64];
__device__ float variable[64];
__device__ float sum(float4 v) { return v.x + v.w; }
__global__ void a(float* o, int i) { __shared__ float s[64]; float4 v = *reinterpret_cast<float4*>(&s[i]); if (o) s[0] = v.x; }
__global__ void b(float* o, int i) { __shared__ float s[64]; *reinterpret_cast<float4*>(&s[i]) = make_float4(1, 2, 3, 4); __syncthreads(); o[0] = s[2]; }
__global__ void c(float* o, int i) { o[0] = sum(*(float4*)&variable[i]); }
__global__ void d(float* o, int i) { float own[8] = {}; own[i] = 1; float2 v = *(float2*)&own[i]; o[0] = v.x + v.y; }
__global__ void e(float* o, int i) { __shared__ char s[64]; *(int*)&s[i] = 3; __syncthreads(); o[0] = s[2]; }
__global__ void f(float* o, int i) { __shared__ float s[64]; *(double*)&s[i] = 3; __syncthreads(); o[0] = s[2]; }
__global__ void g(float* o, int i) { *(Pair*)&of_file[i] = {1, 2}; __syncthreads(); o[0] = of_file[2]; }
__global__ void h(float* o, int i) { *(float4*)&variable[i] = *(const float4*)&o[0]; }
__global__ void right(float* o, int) {
  __shared__ float s[64]; __shared__ Four fours[8];
  s[threadIdx.x] = threadIdx.x; __syncthreads();
  Four v = *(Four*)&s[1]; alignas(16) Four wide = fours[3] = v;
  float parts[4]; memcpy(parts, &s[3], 16); memcpy(&v, &s[5], 16);
  o[0] = v.x + wide.y + parts[2] + ((float4*)&s[2])->y;
}
int main(int, char** words) {
  float* o; cudaMalloc(&o, 256); cudaMemset(o, 0, 256);
  const int i = words[1][1] == '1' ? 1 : 4;
  using Kernel = void (*)(float*, int);
  const Kernel kernels[] = {a, b, c, d, e, f, g, h};
  if (words[1][0] == 'r') right<<<1, 32>>>(o, 0); else kernels[words[1][0] - 'a']<<<1, 1>>>(o, i);
  cudaDeviceSynchronize(); cudaFree(o);
}
"""
CAST_ACCESSES = ["__shared__ read of size 16", "__shared__ write of size 16", "__global__ read of size 16",
                 "__local__ read of size 8", "__shared__ write of size 4", "__shared__ write of size 8",
                 "__shared__ write of size 8", "__global__ write of size 16"]
# Atomics of a block: each on a sum of its own; on one that another block adds to by a wider one.
SCOPES = """
__global__ void own(int* sums) {
  __shared__ float f;
  if (threadIdx.x == 0) f = 0;
  __syncthreads();
  atomicAdd_block(&f, 1.0f); atomicMax_block(&sums[blockIdx.x], 3); atomicAdd_block(&sums[blockIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&sums[100], sums[blockIdx.x]);
}
__global__ void mixed(int* sum) { if (blockIdx.x == 0) atomicAdd_block(sum, 1); else atomicAdd(sum, 1); }
int main(int count, char**) {
  int* s; cudaMalloc(&s, 4000); cudaMemset(s, 0, 4000);
  if (count == 1) own<<<4, 64>>>(s); else mixed<<<4, 64>>>(s);
  cudaDeviceSynchronize(); cudaFree(s);
}
"""
ASYNCHRONOUS = """
__global__ void fills(int* p) { p[threadIdx.x] = 1; }
__global__ void reads(const int* p, int* o) { o[threadIdx.x] = p[threadIdx.x]; }
void sets(void* p) { *(int*)p = 3; }
int main(int, char** words) {
  int *m, *h, *d, *o; cudaMallocManaged(&m, 512); cudaMallocHost(&h, 256); cudaMalloc(&d, 256); cudaMalloc(&o, 256);
  cudaStream_t s, t; cudaStreamCreate(&s); cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  cudaEvent_t e; cudaEventCreate(&e);
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMemset(d, 0, 256); cudaDeviceSynchronize(); int sum = 0, pageable[64];
  switch (words[1][0]) {
    case 'a':
      fills<<<1, 64>>>(m);
      for (int i = 0; i < 64; ++i) sum += m[i];
      sum += m[5]; break;
    case 'b':
      reads<<<1, 64>>>(m, o);
      m[3] = 1; break;
    case 'c':
      cudaMemcpyAsync(h, d, 256, cudaMemcpyDeviceToHost, s);
      sum += h[2] * 3; break;
    case 'd':
      cudaMemcpyAsync(d, h, 256, cudaMemcpyHostToDevice, s);
      h[9] = 1; break;
    case 'e':
      fills<<<1, 64, 0, t>>>(m); cudaStreamSynchronize(s);
      sum -= m[1]; break;
    case 'g':
      fills<<<1, 64, 0, s>>>(d); reads<<<1, 32, 0, t>>>(d, o); break;
    case 'h':
      cudaMemcpyAsync(d, h, 256, cudaMemcpyHostToDevice, s);
      reads<<<1, 32, 0, t>>>(d, o); break;
    case 'i':
      reads<<<1, 64, 0, s>>>(d, o); cudaEventRecord(e, t); cudaStreamWaitEvent(t, e, 0); fills<<<1, 32, 0, t>>>(d); break;
    case 'f':
      cudaEventRecord(e, t); fills<<<1, 64, 0, t>>>(m); cudaEventSynchronize(e);
      sum = m[0]; break;
    case 'j':
      fills<<<1, 32, 0, s>>>(d); fills<<<1, 32, 0, t>>>(d + 32); reads<<<1, 32, 0, s>>>(h, o); reads<<<1, 32, 0, t>>>(h, o + 32);
      cudaEventRecord(e, s); cudaStreamWaitEvent(t, e, 0); reads<<<1, 32, 0, t>>>(d, o); break;
    case 'k':
      fills<<<1, 64, 0, s>>>(d); cudaMemcpyAsync(h, d, 256, cudaMemcpyDeviceToHost, t); break;
    case 'l':
      reads<<<1, 64, 0, t>>>(d, o); cudaMemcpy(d, pageable, 256, cudaMemcpyHostToDevice); break;
    case 'm':
      fills<<<1, 64, 0, s>>>(d); cudaMemsetAsync(d, 0, 256, t); break;
    case 'n':
      cudaMemsetAsync(d, 0, 256, s); fills<<<1, 64, 0, t>>>(d); break;
    case 'o':
      cudaMemcpyAsync(d, h, 256, cudaMemcpyHostToDevice, s);
      cudaMemcpyAsync(d + 60, h, 16, cudaMemcpyHostToDevice, t); break;
    case 'p':
      cudaMemsetAsync(m, 0, 256, s);
      sum ^= m[7] * 5; break;
    case 'q':
      fills<<<1, 64, 0, s>>>(d); cudaMemcpyAsync(h, d, 256, cudaMemcpyDeviceToHost, s); cudaMemsetAsync(d, 0, 256, s);
      cudaMemset(m, 0, 512); m[0] = 2; cudaEventRecord(e, s); cudaStreamWaitEvent(t, e, 0);
      cudaMemcpyAsync(o, d, 256, cudaMemcpyDeviceToDevice, t); cudaStreamSynchronize(t);
      cudaMemcpy(pageable, o, 256, cudaMemcpyDeviceToHost); break;
    default:
      fills<<<1, 64>>>(m); m[64] = 1; cudaDeviceSynchronize(); sum = m[0];
      reads<<<1, 64>>>(m, o); sum += m[0]; cudaMemcpy(pageable, o, 256, cudaMemcpyDeviceToHost); m[0] = 2;
      fills<<<1, 64, 0, s>>>(m); cudaStreamSynchronize(s); sum += m[0];
      fills<<<1, 64, 0, t>>>(m); cudaEventRecord(e, t); cudaStreamWaitEvent(s, e, 0);
      cudaMemcpyAsync(h, d, 256, cudaMemcpyDeviceToHost, s); cudaStreamSynchronize(s); sum += m[0] + h[0];
      cudaMemcpyAsync(d, h, 128, cudaMemcpyHostToDevice, t); sum += h[0]; h[40] = 1; cudaStreamSynchronize(t); h[0] = 1;
      cudaMemcpyAsync(d, pageable, 256, cudaMemcpyHostToDevice, t); pageable[0] = 1;
      fills<<<1, 64, 0, t>>>(m); cudaLaunchHostFunc(t, sets, m); cudaEventRecord(e, t);
      while (cudaEventQuery(e) != cudaSuccess) {}
      sum += m[0]; fills<<<1, 64, 0, t>>>(m); cudaStreamDestroy(t); t = nullptr; cudaDeviceSynchronize(); sum += m[0];
  }
  cudaDeviceSynchronize(); if (t) cudaStreamDestroy(t);
  cudaStreamDestroy(s); cudaFree(m); cudaFreeHost(h); cudaFree(d); cudaFree(o); return sum == 12345;
}
"""


def emulate(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WARPBOOK_")}
    return subprocess.run([sys.executable, str(ROOT / "scripts" / "emulate.py"), "--build", str(BUILD), "--output", "here",
                           *arguments], capture_output=True, text=True, check=False, timeout=300, env=clean | environment)


def run_here(*arguments, **environment):
    """Runs what was built last, as `emulate` does."""
    return subprocess.run(["./here", *arguments], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "WARPBOOK_CHECK": "all", "WARPBOOK_TRACE": "first", **environment})


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)

    def run_text(self, text, *arguments, **environment):
        Path("p.cu").write_text(text)
        return emulate(*arguments, "p.cu", **environment)


# Each of its blocks takes a second, in which it does nothing.
LONG = """
__device__ void lasts_a_second();
__global__ void lasts(int* o) { lasts_a_second(); o[blockIdx.x] = 1; }
int main() { int* o; cudaMalloc(&o, 64); lasts<<<12, 1>>>(o); cudaDeviceSynchronize(); cudaFree(o); }
"""
SECOND = """
#include <unistd.h>
void lasts_a_second() { sleep(1); }
"""


class Right(InAFolder):
    def test_right_results_and_no_report(self):
        sources = sorted(RIGHT.glob("*.cu"))
        self.assertGreaterEqual(len(sources), 5)
        for source in sources:
            made = emulate(str(source), "--no-run")
            self.assertEqual(made.returncode, 0, made.stderr)
            for schedule in ("forward", "reverse"):
                with self.subTest(source.name, schedule=schedule):
                    ran = run_here(WARPBOOK_SCHEDULE=schedule)
                    self.assertEqual((ran.returncode, ran.stderr), (0, NOTHING), ran.stdout)

    def test_copies_and_scopes_of_libcu(self):
        source = RIGHT / "pipelines.cu"
        self.assertEqual(emulate(str(source), "--no-run").returncode, 0)
        lines = source.read_text().splitlines()
        copies = "first __pipeline_wait_prior(), consumer_wait()"
        for case, advice in {"a": copies, "b": copies, "c": copies, "d": "or of thread_scope_block"}.items():
            with self.subTest(case):
                ran = run_here(case)
                self.assertEqual(set(re.findall(r"access at \S*pipelines\.cu:(\d+)", ran.stderr)),
                                 {str(i) for i, line in enumerate(lines, 1) if line.endswith(f"// <- {case}")})
                self.assertIn(advice, ran.stderr)

    def test_products_and_sums_are_one_operation_in_kernels(self):
        fused, apart = "0x1p-24", "0x0p+0"
        ran = self.run_text(FUSED)
        self.assertEqual(ran.stdout, " ".join([fused] * 4 + [apart] * 2) + f" 0 0x1p-60 host {apart} {apart}\n", ran.stderr)
        ran = self.run_text(FUSED, "--flags=-fmad=false")
        self.assertEqual(ran.stdout, " ".join([apart] * 6) + f" 1 {apart} host {apart} {apart}\n", ran.stderr)

    def test_a_small_struct_is_one_request(self):
        ran = self.run_text(STRUCTS, WARPBOOK_COUNTERS="counters.json")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        launches = json.loads(Path("counters.json").read_text())
        self.assertEqual(len(launches), 15)
        for kind in ("ld", "st"):
            metric = f"l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum"
            self.assertEqual({launch["kernel"]: launch["counters"][metric] for launch in launches if
                              launch["counters"][metric] != 1}, {})

    def test_a_long_launch_is_told_at_a_terminal_alone(self):
        Path("second.cpp").write_text(SECOND)
        self.assertEqual(self.run_text(LONG, "--no-run", "second.cpp").returncode, 0)
        ours, theirs = pty.openpty()
        environment = {**os.environ, "WARPBOOK_WORKERS": "1", "WARPBOOK_CHECK": "all"}
        at_terminal = subprocess.Popen(["./here"], stderr=theirs, env=environment)
        piped = subprocess.run(["./here"], stderr=subprocess.PIPE, text=True, env=environment, timeout=300, check=True)
        at_terminal.wait(timeout=300)
        self.assertEqual(piped.stderr, NOTHING)
        self.assertRegex(os.read(ours, 10000).decode(), r"\A========= lasts: 1[01] of 12 blocks have begun after 1\d seconds; "
                         r"faster with WARPBOOK_TRACE=off, .*\r\n========= ERROR SUMMARY: 0 errors\r\n\Z")
        os.close(ours)
        os.close(theirs)


class Wrong(InAFolder):
    def test_what_nvcc_refuses(self):
        for case, reason in enumerate(REASONS):
            with self.subTest(case=case):
                ran = self.run_text(REFUSED, "--no-run", f"--flags=-DCASE={case} --extended-lambda")
                for warning in ('a __device__ variable "device_variable" cannot be directly written',
                                'a __device__ variable "elements" cannot be directly read',
                                "cannot store to pointer that points to constant memory space"):
                    self.assertEqual(f"warning: {warning}" in ran.stderr, case == 13, warning)
                self.assertEqual('warning: the address of __device__ function("device(int)") taken in' in ran.stderr, case == 17)
                if reason is None:
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    continue
                line = next(i for i, text in enumerate(REFUSED.splitlines(), 1) if text.endswith(f"CASE == {case}")) + 1
                self.assertEqual(ran.returncode, 1)
                place = "" if "constant data" in reason else rf"p\.cu:{line}:\d+: "
                self.assertRegex(ran.stderr, rf"(?m)^{place}error: {re.escape(reason)}")
        ran = self.run_text(REFUSED, "--no-run", "--flags=-DCASE=15")
        self.assertIn("annotation on lambda requires --extended-lambda", ran.stderr)
        ran = self.run_text(REFUSED, "--no-run", "--flags=-DCASE=2 --expt-relaxed-constexpr")
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_a_division_by_zero_is_told_and_the_kernel_goes_on(self):
        ran = self.run_text("""#include <cstdio>
__global__ void k(int n, int* o) {
  o[0] = 7 / n;
  o[1] = 7 % n;
  o[2] = 5;
}
int main() { int *o, h[3]; cudaMalloc(&o, 12); k<<<1, 1>>>(0, o); cudaMemcpy(h, o, 12, cudaMemcpyDeviceToHost);
std::printf("%d %d %d %s\\n", h[0], h[1], h[2], cudaGetErrorString(cudaGetLastError())); cudaFree(o); }
""")
        self.assertEqual((ran.stdout, ran.returncode), ("-1 7 5 no error\n", 1), ran.stderr)
        self.assertIn("========= Integer division by zero\n=========     at k in p.cu:3\n", ran.stderr)

    def test_a_crash_is_told_with_its_line(self):
        text = """#include <vector>
__device__ int deep(volatile int n) { volatile int own[64]; own[n % 64] = n; return n == 0 ? 0 : deep(n - 1) + own[n % 64]; }
__global__ void overflows(int* o) { *o = deep(1 << 24); }
int main(int argc, char**) {
  int* o; cudaMalloc(&o, 4);
  if (argc == 2) { overflows<<<1, 1>>>(o); cudaDeviceSynchronize(); }
  volatile int zero = 0; int* volatile null = nullptr;
  if (argc == 3) return 7 / zero;
  if (argc == 4) *null = 2;
  if (argc == 5) *o = 1;
  if (argc == 6) { cudaFree(o); return *o; }
  if (argc == 7) return std::vector<int>(4).at(argc);
  if (argc > 7) { cudaFree(o); cudaMallocManaged(&o, 16); o[argc == 8 ? 8000 : 4] = 1; cudaFree(o); }
}
"""
        made = self.run_text(text, "--no-run")
        self.assertEqual(made.returncode, 0, made.stderr)
        for words, says, line, number in [(1, "Kernel ended by signal 11 (Segmentation fault: the stack is used up)", 2, 11),
                                          (2, "Program ended by signal 8 (Floating point exception)", 8, 8),
                                          (3, "Program ended by signal 11 (Segmentation fault)", 9, 11),
                                          (4, "Invalid host write of size 4 bytes", 10, 11),
                                          (5, "Invalid host read of size 4 bytes", 11, 11),
                                          (6, "Program ended by signal 6 (Aborted)", 12, 6),
                                          (7, "Invalid host write of size 4 bytes", 13, 11), (8, "Invalid host write of size 4 bytes", 13, 0)]:
            with self.subTest(says):
                ran = subprocess.run(["./here", *["x"] * words], capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual(ran.returncode, -number, ran.stderr)
                self.assertIn(f"========= {says}\n=========     at p.cu:{line}\n", ran.stderr)
                self.assertTrue(ran.stderr.endswith("========= ERROR SUMMARY: 1 error\n"), ran.stderr)
        self.assertIn("Address is out of bounds: 0 bytes after the end of allocation 2 of 16 bytes, allocated at p.cu:13\n", ran.stderr)

    def test_reports_tell_the_cause_and_each_mistake_once(self):
        made = self.run_text(CAUSES, "--no-run")
        self.assertEqual(made.returncode, 0, made.stderr)
        for case, words in CAUSES_TOLD.items():
            with self.subTest(case):
                ran = subprocess.run(["./here", case], capture_output=True, text=True, check=False, timeout=60,
                                     env={**os.environ, "WARPBOOK_CHECK": "all", "WARPBOOK_TRACE": "first"})
                self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)
                for text in words:
                    self.assertIn(text, ran.stderr)

    def test_the_host_s_mistakes(self):
        made = self.run_text(HOST, "--no-run")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("p.cu:6:80: warning: variable 'sum' is uninitialized when used here", made.stderr)
        self.assertEqual(made.stderr.count(": warning: "), 1, made.stderr)
        early = "Warning: nothing is waited for at p.cu:{}: the event is not recorded by then\n"
        overlap = "Source and destination of a copy overlap\n=========     at p.cu:{}\n"
        for case, said in {"a": early.format(14), "b": early.format(15), "c": "ERROR SUMMARY: 0 errors\n",
                           "d": overlap.format(20), "e": overlap.format(21), "f": "ERROR SUMMARY: 0 errors\n",
                           "g": "ended by signal 11", "h": "p.cu:3. Is this a destructor? A kernel's parameter is a copy"
                           }.items():
            with self.subTest(case):
                ran = subprocess.run(["./here", case], capture_output=True, text=True, check=False, timeout=60,
                                     env={**os.environ, "WARPBOOK_CHECK": "all", "WARPBOOK_TRACE": "first"})
                self.assertIn(said, ran.stderr)

    def test_locals_without_a_value(self):
        made = self.run_text(LOCALS, "--no-run")
        self.assertEqual(made.returncode, 0, made.stderr)
        for case in ("a", "b", "c", "d", "e", "f", "g", "h", "i", "Right", "right"):
            with self.subTest(case):
                ran = subprocess.run(["./here", case], capture_output=True, text=True, check=False, timeout=60,
                                     env={**os.environ, "WARPBOOK_CHECK": "all", "WARPBOOK_TRACE": "first"})
                if case in ("right", "Right"):
                    self.assertEqual(ran.stderr, NOTHING)
                    continue
                line = next(i for i, text in enumerate(LOCALS.splitlines(), 1) if text.endswith(f"WRONG {case}"))
                self.assertRegex(ran.stderr, rf"Uninitialized __local__ memory read .*\n.* in p\.cu:{line}\n")
                self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)

    def test_atomics_of_a_block(self):
        made = self.run_text(SCOPES, "--no-run")
        self.assertEqual(made.returncode, 0, made.stderr)
        environment = {**os.environ, "WARPBOOK_CHECK": "all", "WARPBOOK_TRACE": "first"}
        ran = subprocess.run(["./here"], capture_output=True, text=True, check=False, timeout=60, env=environment)
        self.assertEqual(ran.stderr, NOTHING)
        ran = subprocess.run(["./here", "x"], capture_output=True, text=True, check=False, timeout=60, env=environment)
        self.assertIn("An atomic whose name ends in _block, or of thread_scope_block, is one for the threads of its", ran.stderr)
        self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)

    def test_a_flag_that_nobody_sets_is_a_deadlock(self):
        """The host could have set it, and waits."""
        ran = self.run_text("""
__global__ void waits(volatile int* flag) { while (*flag == 0) {} }
int main() { int* f; cudaMallocManaged(&f, 4); waits<<<1, 32>>>(f); f[0] = 0; cudaDeviceSynchronize(); cudaFree(f); }
""")
        self.assertIn("========= Deadlock: no block of the launch goes on. The first of them waits at p.cu:2\n", ran.stderr)
        self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)
        self.assertEqual(ran.returncode, 1)

    def test_blocks_that_do_not_fit_are_a_deadlock(self):
        made = self.run_text("""
__global__ void meet(int* arrived) {
  if (threadIdx.x == 0) atomicAdd(arrived, 1);
  while (atomicAdd(arrived, 0) < gridDim.x) {}
}
int main() { int* a; cudaMalloc(&a, 4); cudaMemset(a, 0, 4); meet<<<5, 1024>>>(a); cudaFree(a); }
""", "--no-run")
        self.assertEqual(made.returncode, 0, made.stderr)
        for multiprocessors, checks in [("2", "all"), ("2", "none"), ("3", "all"), ("3", "none")]:
            with self.subTest(multiprocessors, checks=checks):
                ran = subprocess.run(["./here"], capture_output=True, text=True, check=False, timeout=60,
                                     env={**os.environ, "WARPBOOK_MULTIPROCESSORS": multiprocessors,
                                          "WARPBOOK_CHECK": checks, "WARPBOOK_TRACE": "first"})
                told = ("========= Deadlock: no block of the launch goes on. The first of them waits at p.cu:4\n"
                        "=========     The card holds 4 of these blocks at a time; 1 more begin when one of them ends.\n")
                (self.assertIn if multiprocessors == "2" else self.assertNotIn)(told, ran.stderr)

    def test_the_host_does_not_wait(self):
        made = self.run_text(ASYNCHRONOUS, "--no-run")
        self.assertEqual(made.returncode, 0, made.stderr)
        told = "Race reported between {} access of the host at p.cu:{} and {} access of a {} at p.cu:{}\n"
        streams = "Race reported between {} access at p.cu:{} and {} access of a {} in another stream at p.cu:{}\n"
        copies = "Race reported between {} access of a {} at p.cu:{} and {} access of a {} in another stream at p.cu:{}\n"
        lines = {case: 1 + next(i for i, line in enumerate(ASYNCHRONOUS.splitlines(), 1) if f"case '{case}'" in line)
                for case in "klmnop"}
        for case, said in {"a": told.format("Read", 14, "Write", "kernel", 2), "b": told.format("Write", 18, "Read", "kernel", 3),
                           "c": told.format("Read", 21, "Write", "copy", 20), "d": told.format("Write", 24, "Read", "copy", 23),
                           "e": told.format("Read", 27, "Write", "kernel", 2), "f": told.format("Read", 37, "Write", "kernel", 2),
                           "g": streams.format("Read", 3, "Write", "kernel", 2), "h": streams.format("Read", 3, "Write", "copy", 31),
                           "i": streams.format("Write", 2, "Read", "kernel", 3), "j": None,
                           "k": copies.format("Read", "copy", lines["k"], "Write", "kernel", 2),
                           "l": copies.format("Write", "copy", lines["l"], "Read", "kernel", 3),
                           "m": copies.format("Write", "memset", lines["m"], "Write", "kernel", 2),
                           "n": streams.format("Write", 2, "Write", "memset", lines["n"]),
                           "o": copies.format("Write", "copy", lines["o"] + 1, "Write", "copy", lines["o"]),
                           "p": told.format("Read", lines["p"] + 1, "Write", "memset", lines["p"]), "q": None, "right": None}.items():
            with self.subTest(case):
                ran = subprocess.run(["./here", case], capture_output=True, text=True, check=False, timeout=60,
                                     env={**os.environ, "WARPBOOK_CHECK": "all", "WARPBOOK_TRACE": "first"})
                if said is None:
                    self.assertNotIn("Race", ran.stderr)
                    self.assertIn(NOTHING, ran.stderr)
                    continue
                self.assertIn("========= " + said, ran.stderr)
                self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)

    def test_a_named_array_as_one_of_wider_elements(self):
        made = self.run_text(CASTS, "--no-run", "--output", "here")
        self.assertEqual(made.returncode, 0, made.stderr)
        say = lambda word: subprocess.run(["./here", word], capture_output=True, text=True, check=False).stderr  # noqa: E731
        first = next(i for i, text in enumerate(CASTS.splitlines(), 1) if "void a(" in text)
        for number, access in enumerate(CAST_ACCESSES):
            kernel = "abcdefgh"[number]
            with self.subTest(kernel):
                said = say(kernel + "1")
                self.assertIn(f"========= Invalid {access} bytes\n=========     at {kernel} in p.cu:{first + number}\n", said)
                self.assertIn("Address is misaligned: at byte ", said)
                self.assertNotIn("misaligned", say(kernel + "4"))
        self.assertEqual(say("right"), NOTHING)

    def test_declarations_that_nvcc_refuses(self):
        ran = self.run_text(REFUSED_TOGETHER, "--no-run")
        wanted = {}
        for line, text in enumerate(REFUSED_TOGETHER.splitlines(), 1):
            if "  // " in text:
                wanted[line] = text.partition("  // ")[2]
        said = {int(line): text for line, text in re.findall(r"^p\.cu:(\d+):\d+: error: (.*)", ran.stderr, re.MULTILINE)}
        self.assertEqual(set(said), set(wanted), ran.stderr)
        # Of this, the compiler keeps no line.
        self.assertIn('dynamic initialization is not supported for a __device__ variable "begins"', ran.stderr)
        for line, reason in wanted.items():
            self.assertIn(reason, said[line])

    def test_copies_beyond_the_hosts_heap(self):
        made = self.run_text(HOST_HEAP, "--no-run", "--output", "here")
        self.assertEqual(made.returncode, 0, made.stderr)
        for case in "abcder":
            with self.subTest(case):
                said = subprocess.run(["./here", case], capture_output=True, text=True, check=False).stderr
                if case == "r":
                    self.assertEqual(said, NOTHING)
                    continue
                line = next(i for i, text in enumerate(HOST_HEAP.splitlines(), 1) if text.endswith(f"WRONG {case}"))
                self.assertIn(f"at p.cu:{line}\n=========     The copy is of ", said)

    def test_the_hosts_race_in_a_function_of_the_standard_library(self):
        ran = self.run_text("""
#include <algorithm>
__global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }
int main() { int* m; cudaMallocManaged(&m, 128); fill<<<1, 32>>>(m);
std::sort(m, m + 32);
cudaDeviceSynchronize(); cudaFree(m); }
""")
        self.assertIn("Race reported between Read access of the host at p.cu:5 and Write access of a kernel at p.cu:3\n", ran.stderr)

    def test_no_report_says_line_0(self):
        """The optimiser makes one store of two."""
        ran = self.run_text("""
__global__ void k(int* p, int n) {
  if (n > 3)
    p[n] = n * 3;
  else
    p[n] = n + 1;
}
int main() { int* p; cudaMalloc(&p, 4); k<<<1, 1>>>(p, 9); cudaFree(p); }
""")
        self.assertRegex(ran.stderr, r"at k in p\.cu:[3-6]\n")


class Warned(InAFolder):
    def test_a_leak_is_one_line_and_leaves_the_status(self):
        ran = self.run_text("int main() {\n  int* p; cudaMalloc(&p, 100);\n}\n")
        self.assertEqual((ran.returncode, ran.stderr),
                         (0, "========= Warning: leaked 100 bytes in 1 allocation at p.cu:2: free them by cudaFree\n"
                             "========= ERROR SUMMARY: 0 errors, 1 warning\n"))

    def test_warps_at_different_barriers_are_told_and_go_on(self):
        text = """#include <cstdio>
__global__ void k(int* o) {
  __shared__ int s;
  if (threadIdx.x < 32 * WARPS) {
    s = 1;
    __syncthreads();
  } else {
    __syncthreads();
    o[threadIdx.x] = s;
  }
}
int main() { int *o, h[64] = {}; cudaMalloc(&o, 256); cudaMemset(o, 0, 256); k<<<1, 64>>>(o);
std::printf("%s ", cudaGetErrorString(cudaDeviceSynchronize())); cudaMemcpy(h, o, 256, cudaMemcpyDeviceToHost);
std::printf("%d\\n", h[63]); cudaFree(o); }
"""
        ran = self.run_text(text, "--flags=-DWARPS=1")
        self.assertEqual((ran.stdout, ran.returncode), ("no error 1\n", 0), ran.stderr)
        self.assertIn("Warning: warps of a block meet at different barriers, at p.cu:6 and at p.cu:8\n", ran.stderr)
        self.assertIn("ERROR SUMMARY: 0 errors, 1 warning\n", ran.stderr)
        ran = self.run_text(text, "--flags=-DWARPS=1/2")  # within a warp it is a mistake
        self.assertIn("Divergent thread(s) in block", ran.stderr)
        self.assertEqual(ran.returncode, 1)

    def test_what_was_not_checked_is_said(self):
        text = """
__global__ void k(int* p, int last) { if (blockIdx.x == 0 || last == 0) p[0] = threadIdx.x + last;
if (blockIdx.x == last) p[threadIdx.x % 32] = blockIdx.x; }
int main() { int* p; cudaMalloc(&p, 1 << 20); cudaMemset(p, 0, 1 << 20); k<<<BLOCKS, 256>>>(p, BLOCKS - 1);
cudaDeviceSynchronize(); cudaFree(p); }
"""
        ran = self.run_text(text, "--flags=-DBLOCKS=64")
        self.assertNotIn("global races:", ran.stderr)
        self.assertIn("Race reported", ran.stderr)
        ran = self.run_text(text, "--flags=-DBLOCKS=8192")
        self.assertIn("========= global races: checked in 1,024 of 8,192 blocks; WARPBOOK_TRACE=all checks all\n", ran.stderr)
        self.assertEqual(ran.stderr.count("Race reported"), 2, ran.stderr)  # in the first block; with the last
        ran = self.run_text(text, "--flags=-DBLOCKS=8192", WARPBOOK_TRACE="all")
        self.assertNotIn("global races:", ran.stderr)

    def test_shared_memory_that_was_not_checked_is_said(self):
        """Blocks that are not counted, and none of a kernel without shared memory."""
        text = """
__global__ void k(int* p) { __shared__ int s[256]; s[threadIdx.x] = blockIdx.x; __syncthreads(); p[blockIdx.x] = s[0]; }
__global__ void none(int* p) { p[blockIdx.x] = 0; }
int main() { int* p; cudaMalloc(&p, 1 << 20); KERNEL<<<8192, 256>>>(p); cudaDeviceSynchronize(); cudaFree(p); }
"""
        said = "========= shared memory: races, and reads of what nobody wrote, checked in 1,024 of 8,192 blocks; " \
               "WARPBOOK_TRACE=all checks all\n"
        self.assertIn(said, self.run_text(text, "--flags=-DKERNEL=k").stderr)
        self.assertNotIn("shared memory:", self.run_text(text, "--flags=-DKERNEL=none").stderr)

    def test_memory_that_is_not_looked_at_for_races_is_said(self):
        text = """
__device__ int variable;
__global__ void k(int* p, int* host) { if (threadIdx.x == WRITER) host[0] = p[0]; variable = 1; }
__global__ void large(int* p) { p[threadIdx.x] = 1; }
int main() { int *p, *l; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); cudaMalloc(&l, MIB << 20);
int host = 0; cudaHostRegister(&host, 4, 0); k<<<1, 32>>>(p, &host); large<<<1, 32>>>(l); cudaDeviceSynchronize(); cudaFree(p); cudaFree(l); }
"""
        variables = "========= global races: not checked in memory of the host and what kernels allocate\n"
        allocations = "========= global races: not checked in allocations above 64 MiB\n"
        for flags, said in [("-DWRITER=0 -DMIB=65", allocations + variables), ("-DWRITER=0 -DMIB=1", variables),
                            ("-DWRITER=99 -DMIB=65", allocations), ("-DWRITER=99 -DMIB=1", "")]:
            with self.subTest(flags):
                ran = self.run_text(text, f"--flags={flags}")
                self.assertEqual(ran.stderr, said + NOTHING)


if __name__ == "__main__":
    unittest.main()
