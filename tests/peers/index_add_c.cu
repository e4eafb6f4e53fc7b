/// \file
/// The amalgamated index_add.cuh as a shared library with a C interface, for peers.py.
#include "index_add.cuh"

#include <cstddef>
#include <cstdint>

/// Contiguous tensors. With `workspace` null only `workspace_bytes` is set.
/// \param type 0 half, 1 float, 2 double, 3 int32.
/// \param index `entries` values. \param shape `dims` sizes of dst; src has `entries` along `dim`.
/// \param stream a cudaStream_t.
/// \return a cudaError_t.
extern "C" int warpbook_index_add(void* workspace, std::size_t* workspace_bytes, void* dst, const std::int64_t* index,
                                  const void* src, int type, int dims, const std::int64_t* shape, int dim,
                                  std::int64_t entries, void* stream) {
  if (dims < 1 || dims > warpbook::kMaxViewDims || dim < 0 || dim >= dims) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  std::int64_t src_shape[warpbook::kMaxViewDims] = {};
  for (int d = 0; d < dims; ++d) src_shape[d] = d == dim ? entries : shape[d];
  warpbook::IndexAddProblem problem;
  problem.dim = dim;
  problem.dst = warpbook::contiguous_view(dims, shape);
  problem.src = warpbook::contiguous_view(dims, src_shape);
  const auto add = [&]<class T>(T* to, const T* from) {
    return static_cast<int>(warpbook::index_add(workspace, *workspace_bytes, problem, to, index, from, nullptr,
                                                static_cast<cudaStream_t>(stream)));
  };
  switch (type) {
  case 0:
    return add(static_cast<__half*>(dst), static_cast<const __half*>(src));
  case 1:
    return add(static_cast<float*>(dst), static_cast<const float*>(src));
  case 2:
    return add(static_cast<double*>(dst), static_cast<const double*>(src));
  case 3:
    return add(static_cast<std::int32_t*>(dst), static_cast<const std::int32_t*>(src));
  default:
    return static_cast<int>(cudaErrorInvalidValue);
  }
}
