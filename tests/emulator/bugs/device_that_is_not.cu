// A device is chosen by a number that counts from 1.
// expect: api_error

#include <cuda_runtime.h>

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int count = 0;
  cudaGetDeviceCount(&count);
  cudaSetDevice(fixed ? count - 1 : count);  // <- bug
  int* data;
  cudaMalloc(&data, 4);
  cudaFree(data);
}
