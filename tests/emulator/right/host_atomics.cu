// Atomics of the host: its own of all widths, and one that it shares with a kernel that it has not waited for.
#include <atomic>
#include <cstdint>
#include <cstdio>

__global__ void count(int* n) { atomicAdd(n, 1); }

template <class T> bool holds(T value) {
  std::atomic<T> place{0};
  place.store(value, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic_signal_fence(std::memory_order_acquire);
  return place.load(std::memory_order_acquire) == value && place.exchange(1) == value && place == 1;
}

int main() {
  bool right = holds<std::uint8_t>(0x81) && holds<std::int16_t>(-0x7fff) && holds(1u << 31) && holds(1ull << 63);
  int* n;
  cudaMallocManaged(&n, sizeof(int));
  count<<<1, 32>>>(n);
  while (__atomic_load_n(n, __ATOMIC_ACQUIRE) < 32) {
  }
  __atomic_store_n(n, 0, __ATOMIC_RELEASE);
  count<<<1, 32>>>(n);
  cudaDeviceSynchronize();
  right = right && *n == 32;
  // A loop of compare and swap begins with a guess.
  count<<<1, 32>>>(n);
  for (int i = 0; i < 10; ++i) {
    int old, guess;
    do {
      guess = *n;
      old = __sync_val_compare_and_swap(n, guess, guess + 100);
    } while (old != guess);
  }
  cudaDeviceSynchronize();
  right = right && *n == 1064;
  std::printf("%d\n", *n - 1032);
  cudaFree(n);
  return right ? 0 : 1;
}
