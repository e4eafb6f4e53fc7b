// A variable is printed that only one path gives a value.
// expect: uninitialised_local

#include <cstdio>
#include <cuda_runtime.h>

__global__ void show(int n) {
  int digits;
  if (n > 9) digits = 2;
  if (n >= 0 && n <= 9) digits = 1;
  printf("%d has %d digits\n", n, digits);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  show<<<1, 1>>>(fixed ? 7 : -7);
  cudaDeviceSynchronize();
}
