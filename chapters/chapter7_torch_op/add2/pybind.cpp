/// \file
/// add2 bound by pybind11, as the article does it: a function of a Python module, and no operator of PyTorch.
///
/// PyTorch knows nothing of such a function. So what an operator's registration says has to be done by hand (the device,
/// gradients, the version of `out`), and what only a registration can say is missing: torch.compile cannot look inside.
#include <c10/core/GradMode.h>
#include <torch/csrc/utils/pybind.h>

#include "checked_add2.hpp"

namespace {

void add2_from_python(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(out.is_cuda(), "add2: out must be on a GPU, and is on ", out.device());
  const bool wanted = out.requires_grad() || a.requires_grad() || b.requires_grad();
  TORCH_CHECK(!wanted || !c10::GradMode::is_enabled(), "add2: has no gradient, and a tensor requires one");
  add2(out, a, b);
  if (!out.is_inference()) out.unsafeGetTensorImpl()->bump_version();
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("add2", &add2_from_python, pybind11::arg("out"), pybind11::arg("a"), pybind11::arg("b"), "out = a + b");
}
