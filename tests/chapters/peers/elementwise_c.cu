/// \file
/// The amalgamated elementwise.cuh as a shared library with a C interface, for peers.py.
#include "elementwise.cuh"

#include <cstdint>

namespace {

template <class Z, class X, class Y>
int multiply(void* z, const void* x, const void* y, std::int64_t count, void* stream) {
  return static_cast<int>(warpbook::elementwise(warpbook::Multiply{}, static_cast<Z*>(z), static_cast<const X*>(x),
                                                static_cast<const Y*>(y), count, static_cast<cudaStream_t>(stream)));
}

template <class T>
int multiply_add(void* z, const void* x, const void* y, const void* w, std::int64_t n, void* stream) {
  return static_cast<int>(warpbook::elementwise(warpbook::MultiplyAdd{}, static_cast<T*>(z), static_cast<const T*>(x),
                                                static_cast<const T*>(y), static_cast<const T*>(w), n,
                                                static_cast<cudaStream_t>(stream)));
}

template <class Z, class X> int scale(void* z, const void* x, const void* factor, std::int64_t count, void* stream) {
  return static_cast<int>(warpbook::elementwise_with_factory(warpbook::ScaleFrom<Z>{static_cast<const float*>(factor)},
                                                             static_cast<Z*>(z), static_cast<const X*>(x), count,
                                                             static_cast<cudaStream_t>(stream)));
}

}  // namespace

// Of all: arrays in device memory, a cudaStream_t, a cudaError_t back; an unknown type is cudaErrorInvalidValue.

/// z = x * y. \param type 0: float, 1: half, 2: bfloat16, 3: z float, x half, y float.
extern "C" int warpbook_multiply(void* z, const void* x, const void* y, int type, std::int64_t count, void* stream) {
  switch (type) {
  case 0:
    return multiply<float, float, float>(z, x, y, count, stream);
  case 1:
    return multiply<__half, __half, __half>(z, x, y, count, stream);
  case 2:
    return multiply<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(z, x, y, count, stream);
  case 3:
    return multiply<float, __half, float>(z, x, y, count, stream);
  default:
    return cudaErrorInvalidValue;
  }
}

/// z = x * y + w. \param type 0: float, 1: half, 2: bfloat16.
extern "C" int warpbook_multiply_add(void* z, const void* x, const void* y, const void* w, int type, std::int64_t count,
                                     void* stream) {
  switch (type) {
  case 0:
    return multiply_add<float>(z, x, y, w, count, stream);
  case 1:
    return multiply_add<__half>(z, x, y, w, count, stream);
  case 2:
    return multiply_add<__nv_bfloat16>(z, x, y, w, count, stream);
  default:
    return cudaErrorInvalidValue;
  }
}

/// z = x * *factor. \param factor one float in device memory.
/// \param type 0: float, 1: half, 2: bfloat16, 3: z float, x half.
extern "C" int warpbook_scale(void* z, const void* x, const void* factor, int type, std::int64_t count, void* stream) {
  switch (type) {
  case 0:
    return scale<float, float>(z, x, factor, count, stream);
  case 1:
    return scale<__half, __half>(z, x, factor, count, stream);
  case 2:
    return scale<__nv_bfloat16, __nv_bfloat16>(z, x, factor, count, stream);
  case 3:
    return scale<float, __half>(z, x, factor, count, stream);
  default:
    return cudaErrorInvalidValue;
  }
}
