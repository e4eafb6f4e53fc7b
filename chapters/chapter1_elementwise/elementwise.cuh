/// \file
/// elementwise: z[i] = f(x[i], ...) for any function of one to three inputs, at the speed of the memory. The take-away
/// of chapter 1.
///
///     struct Silu {
///       __device__ float operator()(float x) const { return x / (1 + __expf(-x)); }
///     };
///     cudaError_t error = warpbook::elementwise(Silu{}, z, x, count, stream);
///
/// What is true of all functions below:
/// - `f` is copied to the kernel and must be trivially copyable. f(x) must convert to the output's type; each type may
///   have 1, 2, 4, 8 or 16 bytes, and they may differ: float from half, say. Where f has a member
///   `pairs(half2, ...)` (or bfloat162) beside `operator()`, and all types are half (or bfloat16), it is called with
///   two neighbours at a time. f must not care in what order elements come.
/// - Arrays are in device memory and hold `count` elements each. They may begin anywhere where their type may: no
///   alignment beyond the element's own size is asked for, and none costs more than a few percent.
/// - The output may be an input (z == x: in place). It must not overlap one otherwise.
/// - The work is queued on `stream`. The call does not wait, allocates nothing, asks the device nothing, and can be
///   captured in a graph.
/// - Returned is cudaErrorInvalidValue for a negative count, 2^63 bytes or more, and a null or misaligned array with a
///   count above 0; else what CUDA says of the launch. A count of 0 is no error, and nothing is launched.
///
/// Source of the technique: OneFlow's elementwise template (packs, a grid for all, a factory for functions with state
/// on the device); the treatment of misaligned arrays is this chapter's own.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "chapters/chapter1_elementwise/functors.cuh"
#include "chapters/chapter1_elementwise/v6_dispatch.cuh"

namespace warpbook {

namespace detail {

/// A factory that always gives the same function.
template <class F> struct Always {
  F f;
  __device__ F operator()() const { return f; }
};

template <class T> bool acceptable_array(const T* data, std::int64_t count) {
  return data != nullptr && reinterpret_cast<std::uintptr_t>(data) % sizeof(T) == 0 &&
         count <= std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(T));
}

template <class Factory, class Z, class... X>
cudaError_t elementwise_checked(const Factory& factory, Z* z, std::int64_t count, cudaStream_t stream, const X*... x) {
  static_assert(std::is_trivially_copyable_v<Factory>, "a kernel's argument is copied byte by byte");
  if (count == 0) return cudaSuccess;
  if (count < 0 || !acceptable_array(z, count) || !(acceptable_array(x, count) && ...)) return cudaErrorInvalidValue;
  return chapter1::v6::run(factory, z, count, stream, x...);
}

}  // namespace detail

/// z[i] = f(x[i]).
template <class F, class Z, class X>
cudaError_t elementwise(const F& f, Z* z, const X* x, std::int64_t count, cudaStream_t stream) {
  return detail::elementwise_checked(detail::Always<F>{f}, z, count, stream, x);
}

/// z[i] = f(x[i], y[i]).
template <class F, class Z, class X, class Y>
cudaError_t elementwise(const F& f, Z* z, const X* x, const Y* y, std::int64_t count, cudaStream_t stream) {
  return detail::elementwise_checked(detail::Always<F>{f}, z, count, stream, x, y);
}

/// z[i] = f(x[i], y[i], w[i]).
template <class F, class Z, class X, class Y, class W>
cudaError_t elementwise(const F& f, Z* z, const X* x, const Y* y, const W* w, std::int64_t count, cudaStream_t stream) {
  return detail::elementwise_checked(detail::Always<F>{f}, z, count, stream, x, y, w);
}

/// z[i] = f(x[i]) with f = factory(), called once by each thread on the device: for functions with state that lies
/// there. `factory` is what must be trivially copyable then.
template <class Factory, class Z, class X>
cudaError_t elementwise_with_factory(const Factory& factory, Z* z, const X* x, std::int64_t count,
                                     cudaStream_t stream) {
  return detail::elementwise_checked(factory, z, count, stream, x);
}

/// z[i] = f(x[i], y[i]) with f = factory(), likewise.
template <class Factory, class Z, class X, class Y>
cudaError_t elementwise_with_factory(const Factory& factory, Z* z, const X* x, const Y* y, std::int64_t count,
                                     cudaStream_t stream) {
  return detail::elementwise_checked(factory, z, count, stream, x, y);
}

/// z[i] = f(x[i], y[i], w[i]) with f = factory(), likewise.
template <class Factory, class Z, class X, class Y, class W>
cudaError_t elementwise_with_factory(const Factory& factory, Z* z, const X* x, const Y* y, const W* w,
                                     std::int64_t count, cudaStream_t stream) {
  return detail::elementwise_checked(factory, z, count, stream, x, y, w);
}

}  // namespace warpbook
