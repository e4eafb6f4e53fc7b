// A lane leaves a pointer to its own variable in shared memory, and uses it when the variable has ended.
// expect: ended_local

#include <cuda_runtime.h>

template <bool kFixed> __global__ void add_later(int* out, int n) {
  __shared__ int* slots[32];
  int kept = n;
  if (n > 2) {
    int sum = n + threadIdx.x;
    slots[threadIdx.x] = kFixed ? &kept : &sum;
    *slots[threadIdx.x] += 1;
  }  // <- other
  __syncwarp();
  out[threadIdx.x] = *slots[threadIdx.x];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  void (*run)(int*, int) = fixed ? add_later<true> : add_later<false>;
  run<<<1, 32>>>(out, 4);
  cudaDeviceSynchronize();
  cudaFree(out);
}
