// A kernel prints a string of the host's; as it should be, a copy of it.
// expect: out_of_bounds

#include <cstdio>
#include <cuda_runtime.h>

__global__ void greet(const char* name, int length) {
  printf("%d%% of %*d letters: %.*s\n", 100, 3, length, length, name);
  printf("Hello, %s\n", name);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  char name[] = "reader";
  char* copy;
  cudaMalloc(&copy, sizeof(name));
  cudaMemcpy(copy, name, sizeof(name), cudaMemcpyHostToDevice);
  greet<<<1, 1>>>(fixed ? copy : name, fixed ? 6 : 0);
  cudaDeviceSynchronize();
  cudaFree(copy);
}
