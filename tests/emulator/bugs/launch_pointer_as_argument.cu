// A launch by the kernel's address is handed the device's pointer instead of the address of the variable that holds it.
// expect: invalid_launch

#include <cuda_runtime.h>

__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  int value = 3;
  cudaMalloc(&out, 32 * sizeof(int));
  void* pointer[] = {out, &value};
  void* variable[] = {&out, &value};
  if (fixed)
    cudaLaunchKernel(reinterpret_cast<const void*>(fill), dim3(1), dim3(32), variable, 0, nullptr);
  else
    cudaLaunchKernel(reinterpret_cast<const void*>(fill), dim3(1), dim3(32), pointer, 0, nullptr);  // <- bug
  cudaDeviceSynchronize();
  cudaFree(out);
}
