/// \file
/// The amalgamated atomic_add.cuh as a shared library with a C interface, for peers.py.
#include "atomic_add.cuh"

#include <cstddef>
#include <cstdint>

namespace {

/// Calls `f.operator()<T>()` for "half" 0, "bfloat16" 1, "float" 2.
template <class F> int with_type(int type, F&& f) {
  switch (type) {
  case 0:
    return static_cast<int>(f.template operator()<__half>());
  case 1:
    return static_cast<int>(f.template operator()<__nv_bfloat16>());
  case 2:
    return static_cast<int>(f.template operator()<float>());
  default:
    return static_cast<int>(cudaErrorInvalidValue);
  }
}

}  // namespace

/// \param workspace_bytes as for `warpbook::scatter_add`: set where workspace is null.
/// \param type 0 half, 1 bfloat16, 2 float. \param index_bytes 4 or 8. \param stream a cudaStream_t.
/// \return a cudaError_t.
extern "C" int warpbook_scatter_add(void* workspace, std::size_t* workspace_bytes, void* dst, const void* value,
                                    const void* index, std::int64_t count, std::int64_t places, int type,
                                    int index_bytes, void* stream) {
  return with_type(type, [&]<class T>() {
    const auto add = [&]<class Index>(Index) {
      return warpbook::scatter_add(workspace, *workspace_bytes, static_cast<T*>(dst), static_cast<const T*>(value),
                                   static_cast<const Index*>(index), count, places, static_cast<cudaStream_t>(stream));
    };
    return index_bytes == 4 ? add(std::int32_t{}) : add(std::int64_t{});
  });
}

/// The same for `warpbook::inner_product`.
extern "C" int warpbook_inner_product(void* workspace, std::size_t* workspace_bytes, void* dst, const void* a,
                                      const void* b, std::int64_t count, int type, void* stream) {
  return with_type(type, [&]<class T>() {
    return warpbook::inner_product(workspace, *workspace_bytes, static_cast<T*>(dst), static_cast<const T*>(a),
                                   static_cast<const T*>(b), count, static_cast<cudaStream_t>(stream));
  });
}
