// A copy in three dimensions has one slice more than its destination.
// expect: invalid_copy

#include <cuda_runtime.h>

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  constexpr int kDepth = 4;
  int host[(kDepth + 1) * 4 * 4] = {};
  cudaPitchedPtr volume;
  cudaMalloc3D(&volume, {16, 4, kDepth});
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host, 16, 16, 4);
  copy.dstPtr = volume;
  copy.extent = {16, 4, kDepth + (fixed ? 0U : 1U)};
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);  // <- bug
  cudaFree(volume.ptr);
}
