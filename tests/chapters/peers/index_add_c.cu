/// \file
/// The amalgamated index_add.cuh as a shared library with a C interface, for peers.py.
#include "index_add.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace {

warpbook::TensorView make_view(int dims, const std::int64_t* sizes, const std::int64_t* strides) {
  warpbook::TensorView view;
  view.dims = dims;
  std::copy(sizes, sizes + dims, view.sizes.begin());
  std::copy(strides, strides + dims, view.strides.begin());
  return view;
}

/// What `add` returns for a value of the type of this number.
template <class Add> int with_type(int type, const Add& add) {
  switch (type) {
  case 0:
    return add(__half{});
  case 1:
    return add(float{});
  case 2:
    return add(double{});
  case 3:
    return add(std::int32_t{});
  case 4:
    return add(__nv_bfloat16{});
  case 5:
    return add(std::int64_t{});
  default:
    return static_cast<int>(cudaErrorInvalidValue);
  }
}

}  // namespace

/// Contiguous tensors. With `workspace` null only `workspace_bytes` is set.
/// \param type 0 half, 1 float, 2 double, 3 int32, 4 bfloat16, 5 int64.
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
  return with_type(type, [&]<class T>(T) {
    return static_cast<int>(warpbook::index_add(workspace, *workspace_bytes, problem, static_cast<T*>(dst), index,
                                                static_cast<const T*>(src), nullptr,
                                                static_cast<cudaStream_t>(stream)));
  });
}

/// The same for tensors of any strides, with a factor: `alpha` of types with a fraction, `alpha_integer` of integers.
/// \param sizes of dst; src has `entries` along `dim`. \param dst_strides, src_strides in elements, `dims` each.
/// \param type as above.
extern "C" int warpbook_index_add_strided(void* workspace, std::size_t* workspace_bytes, void* dst,
                                          const std::int64_t* index, const void* src, int type, int dims,
                                          const std::int64_t* sizes, const std::int64_t* dst_strides,
                                          const std::int64_t* src_strides, int dim, std::int64_t entries, double alpha,
                                          std::int64_t alpha_integer, void* stream) {
  if (dims < 1 || dims > warpbook::kMaxViewDims || dim < 0 || dim >= dims) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  warpbook::IndexAddProblem problem;
  problem.dim = dim;
  problem.dst = make_view(dims, sizes, dst_strides);
  problem.src = make_view(dims, sizes, src_strides);
  problem.src.sizes[static_cast<std::size_t>(dim)] = entries;
  problem.alpha = alpha;
  problem.alpha_integer = alpha_integer;
  return with_type(type, [&]<class T>(T) {
    return static_cast<int>(warpbook::index_add(workspace, *workspace_bytes, problem, static_cast<T*>(dst), index,
                                                static_cast<const T*>(src), nullptr,
                                                static_cast<cudaStream_t>(stream)));
  });
}
