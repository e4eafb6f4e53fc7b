// A launch by the kernel's address is handed an int where the kernel takes a size_t.
// expect: invalid_launch

#include <cuda_runtime.h>

__global__ void fill(int* out, std::size_t count) {
  if (threadIdx.x < count) out[threadIdx.x] = 1;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  int count = 32;
  std::size_t wide = 32;
  cudaMalloc(&out, 32 * sizeof(int));
  void* narrow_ones[] = {&out, &count};
  void* wide_ones[] = {&out, &wide};
  if (fixed)
    cudaLaunchKernel(reinterpret_cast<const void*>(fill), dim3(1), dim3(32), wide_ones, 0, nullptr);
  else
    cudaLaunchKernel(reinterpret_cast<const void*>(fill), dim3(1), dim3(32), narrow_ones, 0, nullptr);  // <- bug
  cudaDeviceSynchronize();
  cudaFree(out);
}
