// A pointer to a variable of a loop's body is used behind the loop, where a thread had the best value so far.
// expect: ended_local

#include <cuda_runtime.h>

template <bool kFixed> __global__ void best_of(int* out, int n) {
  int kept = 0;
  const int* best = &kept;
  for (int i = 0; i < n; ++i) {
    const int value = (static_cast<int>(threadIdx.x) * 7 + i * 5) % 11;
    if (value <= *best) continue;
    kept = value;
    best = kFixed ? &kept : &value;
  }  // <- other
  out[threadIdx.x] = *best;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  void (*run)(int*, int) = fixed ? best_of<true> : best_of<false>;
  run<<<1, 32>>>(out, 4);
  cudaDeviceSynchronize();
  cudaFree(out);
}
