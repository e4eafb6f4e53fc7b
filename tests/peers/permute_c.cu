/// \file
/// The amalgamated permute.cuh as a shared library with a C interface, for peers.py.
#include "permute.cuh"

#include <cstdint>

/// \param shape,permutation `rank` values each, as in `torch.permute` of a contiguous tensor.
/// \param stream a cudaStream_t.
/// \return a cudaError_t.
extern "C" int warpbook_permute(void* dst, const void* src, int rank, const std::int64_t* shape, const int* permutation,
                                int element_bytes, void* stream) {
  return static_cast<int>(
      warpbook::permute(dst, src, rank, shape, permutation, element_bytes, static_cast<cudaStream_t>(stream)));
}
