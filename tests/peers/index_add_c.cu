/// \file
/// The amalgamated index_add.cuh as a shared library with a C interface, for peers.py.
#include "index_add.cuh"

#include <cstddef>
#include <cstdint>

/// Contiguous tensors. With `workspace` null only `workspace_bytes` is set.
/// \param type 0 half, 1 bfloat16, 2 float, 3 double, 4 int8, 5 uint8, 6 int16, 7 int32, 8 int64.
/// \param index `entries` values of int64. \param shape `dims` sizes of dst; src has `entries` along `dim`.
/// \param stream a cudaStream_t.
/// \return a cudaError_t.
extern "C" int warpbook_index_add(void* workspace, std::size_t* workspace_bytes, void* dst, const void* index,
                                  const void* src, int type, int dims, const std::int64_t* shape, int dim,
                                  std::int64_t entries, void* stream) {
  if (type < 0 || type > 8 || dims < 1 || dims > warpbook::kMaxViewDims || dim < 0 || dim >= dims) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  std::int64_t src_shape[warpbook::kMaxViewDims] = {};
  for (int d = 0; d < dims; ++d) src_shape[d] = d == dim ? entries : shape[d];
  warpbook::IndexAddProblem problem;
  problem.type = static_cast<warpbook::IndexAddType>(type);
  problem.dim = dim;
  problem.dst = warpbook::contiguous_view(dims, shape);
  problem.src = warpbook::contiguous_view(dims, src_shape);
  return static_cast<int>(warpbook::index_add(workspace, *workspace_bytes, problem, dst, index, src, nullptr,
                                              static_cast<cudaStream_t>(stream)));
}
