/// \file
/// add2 bound to PyTorch: torch.ops.add2.add2(out, a, b). This one file is what all three ways of building compile.
///
/// Registered with PyTorch, it is an operator like PyTorch's own: torch.compile can trace it, autograd is asked first, and
/// a program in C++ has it, too.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include "checked_add2.hpp"

namespace {

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

//! [register]
TORCH_LIBRARY(add2, m) {
  m.def("add2(Tensor(a!) out, Tensor a, Tensor b) -> ()", {at::Tag::pt2_compliant_tag});  // a!: out is written to.
}
TORCH_LIBRARY_IMPL(add2, CUDA, m) { m.impl("add2", &add2); }
TORCH_LIBRARY_IMPL(add2, Autograd, m) { m.impl("add2", &add2_autograd); }
TORCH_LIBRARY_IMPL(add2, Meta, m) { m.impl("add2", &add2_meta); }
//! [register]
