// Two threads write one element, but only from the third launch on.
// expect: global_race

#include <cuda_runtime.h>

__global__ void write(int* out, int step, int shared_by) {
  const int i = threadIdx.x;
  out[step < 2 ? i : i / shared_by] = i;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  for (int step = 0; step < 5; ++step) write<<<1, 64>>>(out, step, fixed ? 1 : 2);
  cudaDeviceSynchronize();
  cudaFree(out);
}
