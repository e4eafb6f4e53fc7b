// A kernel prints a name that is a string of the host's, and one of its own that reads the same.
// expect: out_of_bounds

#include <cstdio>
#include <cuda_runtime.h>

__global__ void greet(const char* name) {
  const char* own = "reader";
  printf("Hello, %s\n", own);
  printf("Hello, %s\n", name);  // <- bug
}

__global__ void greet_own() { printf("Hello, %s and %s\n", "reader", "another reader"); }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  const char* name = argc > 2 ? "somebody else" : "another reader";
  char* copy;
  cudaMalloc(&copy, 15);
  cudaMemcpy(copy, name, 15, cudaMemcpyHostToDevice);
  greet<<<1, 1>>>(fixed ? copy : name);
  greet_own<<<1, 1>>>();
  cudaDeviceSynchronize();
  cudaFree(copy);
}
