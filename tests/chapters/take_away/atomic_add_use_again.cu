/// \file
/// A second file of the same program, with a kernel of its own: what the header defines may be defined in both.
#include "atomic_add.cuh"

cudaError_t add_elsewhere(__half* dst, const __half* value, const int* index, int count, int places,
                          cudaStream_t stream);

namespace {

__global__ void add_kernel(__half* dst, const __half* value, const int* index, int count, int places) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) warpbook::fast_atomic_add(dst, index[i], places, value[i]);
}

}  // namespace

cudaError_t add_elsewhere(__half* dst, const __half* value, const int* index, int count, int places,
                          cudaStream_t stream) {
  return warpbook::launch(add_kernel, {.grid = count / 256 + 1, .block = 256, .stream = stream}, dst, value, index,
                          count, places);
}
