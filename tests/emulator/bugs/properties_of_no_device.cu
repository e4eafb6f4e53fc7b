// The grid is chosen by the properties of a device that there is not.
// expect: api_error

#include <cuda_runtime.h>

__global__ void set(int* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = i;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  cudaDeviceProp device{};
  device.multiProcessorCount = 1;
  cudaGetDeviceProperties(&device, fixed ? 0 : 1);  // <- bug
  int* out;
  cudaMalloc(&out, 1000 * sizeof(int));
  set<<<device.multiProcessorCount, 128>>>(out, 1000);
  cudaDeviceSynchronize();
  cudaFree(out);
}
