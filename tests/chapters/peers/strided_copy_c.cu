/// \file
/// The amalgamated strided_copy.cuh as a shared library with a C interface, for peers.py.
#include "strided_copy.cuh"

#include <algorithm>
#include <cstdint>

namespace {

warpbook::TensorView make_view(int dims, const std::int64_t* sizes, const std::int64_t* strides, std::int64_t offset) {
  warpbook::TensorView view;
  view.dims = dims;
  const int given = std::clamp(dims, 0, warpbook::kMaxViewDims);
  std::copy(sizes, sizes + given, view.sizes.begin());
  std::copy(strides, strides + given, view.strides.begin());
  view.offset = offset;
  return view;
}

}  // namespace

/// \param sizes,strides `dims` values each, and an offset, all in elements, as in `torch.as_strided`.
/// \param stream a cudaStream_t.
/// \return a cudaError_t.
extern "C" int warpbook_make_contiguous(void* dst, const void* src, int dims, const std::int64_t* sizes,
                                        const std::int64_t* strides, std::int64_t offset, int element_bytes,
                                        void* stream) {
  return static_cast<int>(warpbook::make_contiguous(dst, src, make_view(dims, sizes, strides, offset), element_bytes,
                                                    static_cast<cudaStream_t>(stream)));
}

/// The same, into the view: `dst` is the array that it is one of.
extern "C" int warpbook_write_into_view(void* dst, const void* src, int dims, const std::int64_t* sizes,
                                        const std::int64_t* strides, std::int64_t offset, int element_bytes,
                                        void* stream) {
  return static_cast<int>(warpbook::write_into_view(dst, make_view(dims, sizes, strides, offset), src, element_bytes,
                                                    static_cast<cudaStream_t>(stream)));
}
