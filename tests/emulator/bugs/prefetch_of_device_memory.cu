// Memory of cudaMalloc is to be moved ahead, as managed memory can be.
// expect: api_error

#include <cuda_runtime.h>

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  float* data;
  if (fixed)
    cudaMallocManaged(&data, 4096);
  else
    cudaMalloc(&data, 4096);
  cudaMemPrefetchAsync(data, 4096, {cudaMemLocationTypeDevice, 0}, 0, nullptr);  // <- bug
  cudaDeviceSynchronize();
  cudaFree(data);
}
