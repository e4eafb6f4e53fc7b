/// \file
/// add2 for tensors: checks, device, stream, error. Both bindings call it.
///
/// The article's binding casts whatever pointer it is given and launches on the default stream. Each line below stands
/// for something that then goes wrong: another type's bits are added, memory is read beyond its end, the kernel runs
/// before its inputs are there, on another GPU than the tensors', or not at all and nobody hears of it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "add2.hpp"

inline void check_one(const char* name, const at::Tensor& tensor, const at::Tensor& out) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat, "add2: ", name, " must be of type Float, and is ",
              tensor.scalar_type());
  TORCH_CHECK(tensor.device() == out.device(), "add2: ", name, " is on ", tensor.device(), ", and out on ",
              out.device());
  TORCH_CHECK(tensor.sizes() == out.sizes(), "add2: ", name, " has the shape ", tensor.sizes(), ", and out ",
              out.sizes());
  TORCH_CHECK(tensor.is_contiguous(), "add2: ", name, " must be contiguous, and has the strides ", tensor.strides());
}

//! [add2]
inline void add2(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  check_one("out", out, out);
  check_one("a", a, out);
  check_one("b", b, out);
  const c10::OptionalDeviceGuard guard(out.device());  // The tensors' GPU is the current one until this returns.
  const c10::Stream stream = c10::impl::VirtualGuardImpl(out.device().type()).getStream(out.device());
  const int error = add2_launch(out.mutable_data_ptr<float>(), a.const_data_ptr<float>(), b.const_data_ptr<float>(),
                                out.numel(), stream.native_handle());
  TORCH_CHECK(error == 0, "add2: ", add2_error_text(error));
}
//! [add2]
