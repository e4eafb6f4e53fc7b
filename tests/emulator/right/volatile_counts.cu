// Volatile variables that one thread at a time adds to, in a critical section or in its turn; and one that all set alike.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void locked(int* lock, volatile int* count) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0)
    ;
  __threadfence();
  *count = *count + 1;
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void in_turn(unsigned* next, volatile unsigned* serving, int* sum) {
  if (threadIdx.x != 0) return;
  const unsigned ticket = atomicAdd(next, 1U);
  while (*serving != ticket)
    ;
  __threadfence();
  *sum += 1;
  __threadfence();
  *serving = *serving + 1;
}

__global__ void mark(volatile int* changed) { *changed |= 1; }

int main() {
  int *numbers, found[5];
  cudaMalloc(&numbers, sizeof found);
  cudaMemset(numbers, 0, sizeof found);
  locked<<<16, 32>>>(numbers, numbers + 1);
  auto* const turns = reinterpret_cast<unsigned*>(numbers);
  in_turn<<<16, 32>>>(turns, turns + 2, numbers + 3);
  mark<<<4, 64>>>(numbers + 4);
  cudaMemcpy(found, numbers, sizeof found, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d\n", found[1], found[2], found[3], found[4]);
  cudaFree(numbers);
  return found[1] == 16 && found[2] == 16 && found[3] == 16 && found[4] == 1 ? 0 : 1;
}
