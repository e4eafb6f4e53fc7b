/// \file
/// add2 bound to PyTorch: torch.ops.add2.add2(out, a, b). This one file is what all three ways of building compile.
///
/// The article's binding casts whatever pointer it is given and launches on the default stream. Each line below stands
/// for something that then goes wrong: another type's bits are added, memory is read beyond its end, the kernel runs
/// before its inputs are there, on another GPU than the tensors', or not at all and nobody hears of it.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include "add2.hpp"

namespace {

void check_one(const char* name, const at::Tensor& tensor, const at::Tensor& out) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat, "add2: ", name, " must be of type Float, and is ",
              tensor.scalar_type());
  TORCH_CHECK(tensor.device() == out.device(), "add2: ", name, " is on ", tensor.device(), ", and out on ",
              out.device());
  TORCH_CHECK(tensor.sizes() == out.sizes(), "add2: ", name, " has the shape ", tensor.sizes(), ", and out ",
              out.sizes());
  TORCH_CHECK(tensor.is_contiguous(), "add2: ", name, " must be contiguous, and has the strides ", tensor.strides());
}

//! [add2]
void add2(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
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

/// What autograd calls, and then the operator itself. There is no gradient, so a tensor that wants one is refused; and
/// the change of `out` is counted, by which autograd notices where it has kept `out` as it was.
void add2_autograd(c10::DispatchKeySet keys, at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  const bool wanted = out.requires_grad() || a.requires_grad() || b.requires_grad();
  TORCH_CHECK(!wanted || !c10::GradMode::is_enabled(), "add2: has no gradient, and a tensor requires one");
  static const auto next = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("add2::add2", "")
                               .typed<void(at::Tensor&, const at::Tensor&, const at::Tensor&)>();
  next.redispatch(keys & c10::after_ADInplaceOrView_keyset, out, a, b);
  if (!out.is_inference()) out.unsafeGetTensorImpl()->bump_version();
}

/// What torch.compile calls to learn what comes out: nothing does, and nothing is computed.
void add2_meta(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  check_one("a", a, out);
  check_one("b", b, out);
}

}  // namespace

TORCH_LIBRARY(add2, m) {
  m.def("add2(Tensor(a!) out, Tensor a, Tensor b) -> ()", {at::Tag::pt2_compliant_tag});  // a!: out is written to.
}
TORCH_LIBRARY_IMPL(add2, CUDA, m) { m.impl("add2", &add2); }
TORCH_LIBRARY_IMPL(add2, Autograd, m) { m.impl("add2", &add2_autograd); }
TORCH_LIBRARY_IMPL(add2, Meta, m) { m.impl("add2", &add2_meta); }
