/// \file
/// three bindings: one launcher, called in three ways. What ctypes, pybind11 and TORCH_LIBRARY hand over differs, and
/// so does who has to look at it.
///
/// tensor_stand_in.hpp has a Tensor and a Stack in place of PyTorch's.
#pragma once

#include <cuda_fp16.h>

#include "chapters/chapter7_torch_op/practice/tensor_stand_in.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter7::three_bindings {

template <class T>
__global__ void sum_kernel(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, std::int64_t n) {
  const std::int64_t element = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element < n) c[element] = a[element] + b[element];
}

/// The launcher, which all three call. Nothing is checked here.
template <class T> cudaError_t add2_launch(T* c, const T* a, const T* b, std::int64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  return launch(sum_kernel<T>, {.grid = ceil_div<std::int64_t>(n, 256), .block = 256, .stream = stream}, c, a, b, n);
}

/// As ctypes calls it: addresses as numbers, no types. Python has checked whatever it wants to check.
/// \return CUDA's error as a number
inline int add2_by_address(std::uint64_t c, std::uint64_t a, std::uint64_t b, std::int64_t n, int is_half,
                           std::uint64_t stream) {
  //! [exercise by_address]
  const auto run = [&]<class T>(T) {
    return static_cast<int>(add2_launch(reinterpret_cast<T*>(c), reinterpret_cast<const T*>(a),
                                        reinterpret_cast<const T*>(b), n, reinterpret_cast<cudaStream_t>(stream)));
  };
  return is_half != 0 ? run(__half{}) : run(float{});
  //! [exercise by_address]
}

/// As pybind11 calls it: tensors that nobody has looked at. `device` and `current` are the caller's GPU and stream.
/// \return cudaErrorInvalidValue for tensors that are not all float32 or all float16, of one shape, contiguous, and on
///         `device`
inline cudaError_t add2_checked(const Tensor& out, const Tensor& a, const Tensor& b, int device, cudaStream_t current) {
  //! [exercise checked]
  std::int64_t n = 1;
  for (int d = out.dims - 1; d >= 0; --d) {
    for (const Tensor* t : {&out, &a, &b}) {
      const bool is_row = t->strides[d] == n || t->sizes[d] == 1;
      if (t->dims != out.dims || t->sizes[d] != out.sizes[d] || (!is_row && n != 0)) return cudaErrorInvalidValue;
    }
    n *= out.sizes[d];
  }
  for (const Tensor* t : {&out, &a, &b}) {
    if (t->dims != out.dims || t->type != out.type || t->device != device) return cudaErrorInvalidValue;
  }
  if (out.type == Scalar::int32) return cudaErrorInvalidValue;
  const auto number = [](const void* at) { return reinterpret_cast<std::uint64_t>(at); };
  return static_cast<cudaError_t>(add2_by_address(number(out.data), number(a.data), number(b.data), n,
                                                  out.type == Scalar::float16 ? 1 : 0, number(current)));
  //! [exercise checked]
}

/// As PyTorch's dispatcher calls what TORCH_LIBRARY registered: `add2(Tensor(a!) out, Tensor a, Tensor b) -> ()` finds
/// its arguments on a stack, and takes them off. What lies below them is somebody else's.
inline cudaError_t add2_boxed(Stack& stack, int device, cudaStream_t current) {
  //! [exercise boxed]
  stack.size -= 3;
  const Tensor* const arguments = stack.value + stack.size;
  return add2_checked(arguments[0], arguments[1], arguments[2], device, current);
  //! [exercise boxed]
}

}  // namespace warpbook::chapter7::three_bindings
