// nvcc's atomics with a memory order. A flag hands on what was written before it.
// prints: handed 41
// prints: sums 64 64 -64 64.0 64.0
// prints: bounds -31 32 4294967295
// prints: bits 0 63 0
// prints: exchanged 7 8 9
// prints: refused 9 1
// prints: product 65536
#include <cstdio>
__global__ void hand_on(int* data, int* flag, int* got) {
  if (blockIdx.x == 0) {
    *data = 41;
    __nv_atomic_store_n(flag, 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  } else {
    while (__nv_atomic_load_n(flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == 0) continue;
    *got = *data;
  }
}
struct All {
  int count, down, least, most, ands, ors, xors, taken;
  unsigned high;
  unsigned long long wide;
  float sum;
  double sum_wide, product;
};
__global__ void change(All* all) {
  const int mine = threadIdx.x;
  __nv_atomic_add(&all->count, 1, __NV_ATOMIC_RELAXED);
  __nv_atomic_add(&all->wide, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  __nv_atomic_sub(&all->down, 1, __NV_ATOMIC_ACQ_REL);
  __nv_atomic_add(&all->sum, 1, __NV_ATOMIC_RELAXED);
  __nv_atomic_sub(&all->sum_wide, -1, __NV_ATOMIC_RELAXED);
  __nv_atomic_fetch_min(&all->least, mine - 31, __NV_ATOMIC_SEQ_CST);
  __nv_atomic_max(&all->most, mine - 31, __NV_ATOMIC_RELAXED);
  __nv_atomic_max(&all->high, unsigned(mine) - 31u, __NV_ATOMIC_RELAXED);
  __nv_atomic_and(&all->ands, mine, __NV_ATOMIC_RELAXED);
  __nv_atomic_or(&all->ors, mine, __NV_ATOMIC_RELAXED);
  __nv_atomic_xor(&all->xors, mine, __NV_ATOMIC_RELAXED);
  if (mine >= 16) return;
  double seen = 0;
  __nv_atomic_load(&all->product, &seen, __NV_ATOMIC_RELAXED);
  double next = seen * 2;
  while (!__nv_atomic_compare_exchange(&all->product, &seen, &next, true, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED))
    next = seen * 2;
}
__global__ void exchange(All* all) {
  int first = __nv_atomic_exchange_n(&all->taken, 8, __NV_ATOMIC_RELAXED), put = 9, second, expected = 5;
  __nv_atomic_exchange(&all->taken, &put, &second, __NV_ATOMIC_RELAXED);
  printf("exchanged %d %d %d\n", first, second, __nv_atomic_load_n(&all->taken, __NV_ATOMIC_RELAXED));
  const bool done =
      __nv_atomic_compare_exchange_n(&all->taken, &expected, 1, false, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED);
  __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
  printf("refused %d %d\n", expected, !done);
}
int main() {
  int* words;
  cudaMallocManaged(&words, 12);
  words[1] = 0;
  hand_on<<<2, 1>>>(words, words + 1, words + 2);
  cudaDeviceSynchronize();
  std::printf("handed %d\n", words[2]);
  All* all;
  cudaMallocManaged(&all, sizeof *all);
  *all = {};
  all->ands = 63, all->taken = 7, all->product = 1;
  change<<<1, 64>>>(all);
  cudaDeviceSynchronize();
  std::printf("sums %d %llu %d %.1f %.1f\n", all->count, all->wide, all->down, all->sum, all->sum_wide);
  std::printf("bounds %d %d %u\n", all->least, all->most, all->high);
  std::printf("bits %d %d %d\n", all->ands, all->ors, all->xors);
  exchange<<<1, 1>>>(all);
  cudaDeviceSynchronize();
  std::printf("product %.0f\n", all->product);
  cudaFree(all), cudaFree(words);
}
