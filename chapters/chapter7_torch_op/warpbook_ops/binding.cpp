/// \file
/// The finished kernels as PyTorch operators, torch.ops.warpbook_ops.*: schemas first, then an operator a function.
///
/// A schema says what an operator changes: `Tensor(a!)` is written to. torch.compile, autograd and functionalization
/// believe it. The functions here are registered for CUDA and for CPU tensors alike, because which library runs a
/// kernel is `Launch`'s affair. What an operator's result looks like without running it, and the formula of its
/// gradient, are Python's: see __init__.py.
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <algorithm>
#include <string>

#include "checks.hpp"
#include "device.hpp"

namespace warpbook_ops {
namespace {

using at::ScalarType;
using at::Tensor;

constexpr std::array kNumbers = {TypeNumber{ScalarType::Float, 0}, TypeNumber{ScalarType::Half, 1},
                                 TypeNumber{ScalarType::BFloat16, 2}};  // Of elementwise and upsample_nearest.
constexpr std::array kSummed = {TypeNumber{ScalarType::Half, 0}, TypeNumber{ScalarType::BFloat16, 1},
                                TypeNumber{ScalarType::Float, 2}};  // Of scatter_add and inner_product.
constexpr std::array kIndexAdded = {TypeNumber{ScalarType::Half, 0},     TypeNumber{ScalarType::Float, 1},
                                    TypeNumber{ScalarType::Double, 2},   TypeNumber{ScalarType::Int, 3},
                                    TypeNumber{ScalarType::BFloat16, 4}, TypeNumber{ScalarType::Long, 5}};
constexpr int kHalfByFloat = 3;  // Of multiply: z float, x half, y float.
constexpr std::int64_t kMostViewDims = 25;
constexpr std::int64_t kMostPermutedDims = 8;

// ------------------------------------------------------------------------------------------------------ elementwise

void check_alike(const char* op, const Tensor& a, const char* name, const Tensor& b) {
  check_same_type(op, a, b);
  check_same_shape(op, a, b);
  check_contiguous(op, name, b);
}

/// out = a + b.
void add2(Tensor& out, const Tensor& a, const Tensor& b) {
  constexpr auto kOp = "add2";
  const int type = type_number(kOp, "out", out, kNumbers);
  check_contiguous(kOp, "out", out);
  check_alike(kOp, out, "a", a);
  check_alike(kOp, out, "b", b);
  at::assert_no_partial_overlap(out, a);
  at::assert_no_partial_overlap(out, b);
  Launch launch(kOp, {out, a, b});
  launch.finish(launch.kernels().add(out.mutable_data_ptr(), a.const_data_ptr(), b.const_data_ptr(), type, out.numel(),
                                     launch.stream()));
}

Tensor mul(const Tensor& a, const Tensor& b) {
  constexpr auto kOp = "mul";
  const bool mixed = a.scalar_type() == ScalarType::Half && b.scalar_type() == ScalarType::Float;
  const int type = mixed ? kHalfByFloat : type_number(kOp, "a", a, kNumbers);
  check_contiguous(kOp, "a", a);
  if (!mixed) check_same_type(kOp, a, b);
  check_same_shape(kOp, a, b);
  check_contiguous(kOp, "b", b);
  Tensor out = at::empty_like(mixed ? b : a);
  Launch launch(kOp, {out, a, b});
  launch.finish(launch.kernels().multiply(out.mutable_data_ptr(), a.const_data_ptr(), b.const_data_ptr(), type,
                                          out.numel(), launch.stream()));
  return out;
}

Tensor mul_add(const Tensor& a, const Tensor& b, const Tensor& c) {
  constexpr auto kOp = "mul_add";
  const int type = type_number(kOp, "a", a, kNumbers);
  check_contiguous(kOp, "a", a);
  check_alike(kOp, a, "b", b);
  check_alike(kOp, a, "c", c);
  Tensor out = at::empty_like(a);
  Launch launch(kOp, {out, a, b, c});
  launch.finish(launch.kernels().multiply_add(out.mutable_data_ptr(), a.const_data_ptr(), b.const_data_ptr(),
                                              c.const_data_ptr(), type, out.numel(), launch.stream()));
  return out;
}

Tensor scale(const Tensor& x, const Tensor& factor) {
  constexpr auto kOp = "scale";
  const int type = type_number(kOp, "x", x, kNumbers);
  check_contiguous(kOp, "x", x);
  TORCH_CHECK(factor.scalar_type() == ScalarType::Float && factor.numel() == 1, kOp,
              ": factor must be one Float, and is ", factor.numel(), " of type ", factor.scalar_type());
  Tensor out = at::empty_like(x);
  Launch launch(kOp, {out, x, factor});
  launch.finish(launch.kernels().scale(out.mutable_data_ptr(), x.const_data_ptr(), factor.const_data_ptr(), type,
                                       x.numel(), launch.stream()));
  return out;
}

// ------------------------------------------------------------------------------------------------------------ moves

Tensor make_contiguous(const Tensor& x) {
  constexpr auto kOp = "make_contiguous";
  const int bytes = movable_bytes(kOp, x);
  TORCH_CHECK(x.dim() <= kMostViewDims, kOp, ": x has ", x.dim(), " dimensions; accepted are up to ", kMostViewDims);
  Tensor out = at::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::Contiguous));
  Launch launch(kOp, {out, x});
  launch.finish(launch.kernels().make_contiguous(out.mutable_data_ptr(), x.const_data_ptr(), static_cast<int>(x.dim()),
                                                 x.sizes().data(), x.strides().data(), 0, bytes, launch.stream()));
  return out;
}

void write_into_(Tensor& view, const Tensor& src) {
  constexpr auto kOp = "write_into_";
  const int bytes = movable_bytes(kOp, view);
  TORCH_CHECK(view.dim() <= kMostViewDims, kOp, ": the view has ", view.dim(), " dimensions; accepted are up to ",
              kMostViewDims);
  check_alike(kOp, view, "src", src);
  at::assert_no_internal_overlap(view);
  at::assert_no_overlap(view, src);
  Launch launch(kOp, {view, src});
  launch.finish(launch.kernels().write_into_view(view.mutable_data_ptr(), src.const_data_ptr(),
                                                 static_cast<int>(view.dim()), view.sizes().data(),
                                                 view.strides().data(), 0, bytes, launch.stream()));
}

Tensor permute(const Tensor& x, at::IntArrayRef dims) {
  constexpr auto kOp = "permute";
  const int bytes = movable_bytes(kOp, x);
  check_contiguous(kOp, "x", x);
  TORCH_CHECK(x.dim() <= kMostPermutedDims, kOp, ": x has ", x.dim(), " dimensions; accepted are up to ",
              kMostPermutedDims);
  TORCH_CHECK(static_cast<std::int64_t>(dims.size()) == x.dim(), kOp, ": dims must name each of the ", x.dim(),
              " dimensions once, and is ", dims);
  std::array<int, kMostPermutedDims> permutation{};
  c10::SmallVector<std::int64_t, kMostPermutedDims> shape;
  unsigned seen = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::int64_t from = at::maybe_wrap_dim(dims[d], x.dim());
    seen |= 1U << static_cast<unsigned>(from);
    permutation[d] = static_cast<int>(from);
    shape.push_back(x.size(from));
  }
  TORCH_CHECK(seen == (1U << dims.size()) - 1, kOp, ": dims must name each of the ", x.dim(),
              " dimensions once, and is ", dims);
  Tensor out = at::empty(shape, x.options());
  Launch launch(kOp, {out, x});
  launch.finish(launch.kernels().permute(out.mutable_data_ptr(), x.const_data_ptr(), static_cast<int>(x.dim()),
                                         x.sizes().data(), permutation.data(), bytes, launch.stream()));
  return out;
}

// ------------------------------------------------------------------------------------------------------------- sums

/// An index must be of Long, and lie in [0, rows). To see the latter, the host waits for the device.
void check_index(const char* op, const Tensor& index, std::int64_t rows, bool values) {
  TORCH_CHECK(index.scalar_type() == ScalarType::Long, op, ": index must be of type Long, and is ",
              index.scalar_type());
  check_dims(op, "index", index, 1);
  check_contiguous(op, "index", index);
  if (!values || index.numel() == 0) return;
  const auto [least, most] = at::aminmax(index);
  const auto from = least.item<std::int64_t>();
  const auto to = most.item<std::int64_t>();
  TORCH_CHECK_INDEX(from >= 0 && to < rows, op, ": index has ", from < 0 ? from : to, "; accepted is 0 to ", rows - 1);
}

void scatter_add_(Tensor& self, const Tensor& index, const Tensor& src, bool check_values) {
  constexpr auto kOp = "scatter_add_";
  const int type = type_number(kOp, "self", self, kSummed);
  check_dims(kOp, "self", self, 1);
  check_contiguous(kOp, "self", self);
  check_same_type(kOp, self, src);
  check_same_shape(kOp, index, src);
  check_contiguous(kOp, "src", src);
  at::assert_no_overlap(self, src);
  check_index(kOp, index, self.numel(), check_values);
  if (index.numel() == 0) return;
  Launch launch(kOp, {self, index, src});
  const auto run = [&](void* workspace, std::size_t& bytes) {
    return launch.kernels().scatter_add(workspace, &bytes, self.mutable_data_ptr(), src.const_data_ptr(),
                                        index.const_data_ptr(), index.numel(), self.numel(), type, 8, launch.stream());
  };
  std::size_t bytes = 0;
  const int error = run(nullptr, bytes);
  launch.finish(error != 0 ? error : run(launch.workspace(bytes), bytes));
}

void index_add_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source, const at::Scalar& alpha,
                bool check_values) {
  constexpr auto kOp = "index_add_";
  const int type = type_number(kOp, "self", self, kIndexAdded);
  check_same_type(kOp, self, source);
  TORCH_CHECK(self.dim() >= 1 && self.dim() <= kMostViewDims, kOp, ": self has ", self.dim(),
              " dimensions; accepted are 1 to ", kMostViewDims);
  check_dims(kOp, "source", source, self.dim());
  dim = at::maybe_wrap_dim(dim, self.dim());
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    const std::int64_t wanted = d == dim ? index.numel() : self.size(d);
    TORCH_CHECK(source.size(d) == wanted, kOp, ": source must have ", wanted, " along dimension ", d, ", and has ",
                source.size(d));
  }
  TORCH_CHECK(!alpha.isComplex(), kOp, ": alpha must be a real number");
  TORCH_CHECK(self.is_floating_point() || !alpha.isFloatingPoint(), kOp,
              ": alpha must be an integer where self is one, and is a fraction");
  at::assert_no_internal_overlap(self);
  at::assert_no_overlap(self, source);
  check_index(kOp, index, self.size(dim), check_values);
  if (source.numel() == 0) return;
  Launch launch(kOp, {self, index, source});
  const auto run = [&](void* workspace, std::size_t& bytes) {
    return launch.kernels().index_add(workspace, &bytes, self.mutable_data_ptr(), index.const_data_ptr<std::int64_t>(),
                                      source.const_data_ptr(), type, static_cast<int>(self.dim()), self.sizes().data(),
                                      self.strides().data(), source.strides().data(), static_cast<int>(dim),
                                      index.numel(), alpha.toDouble(), self.is_floating_point() ? 1 : alpha.toLong(),
                                      launch.stream());
  };
  std::size_t bytes = 0;
  const int error = run(nullptr, bytes);
  launch.finish(error != 0 ? error : run(launch.workspace(bytes), bytes));
}

Tensor inner_product(const Tensor& a, const Tensor& b) {
  constexpr auto kOp = "inner_product";
  const int type = type_number(kOp, "a", a, kSummed);
  check_dims(kOp, "a", a, 1);
  check_contiguous(kOp, "a", a);
  check_alike(kOp, a, "b", b);
  Tensor out = at::empty({}, a.options());
  Launch launch(kOp, {out, a, b});
  const auto run = [&](void* workspace, std::size_t& bytes) {
    return launch.kernels().inner_product(workspace, &bytes, out.mutable_data_ptr(), a.const_data_ptr(),
                                          b.const_data_ptr(), a.numel(), type, launch.stream());
  };
  std::size_t bytes = 0;
  const int error = run(nullptr, bytes);
  launch.finish(error != 0 ? error : run(launch.workspace(bytes), bytes));
  return out;
}

// ---------------------------------------------------------------------------------------------------------- upsample

/// Forward `to` is larger than `from`; backward the gradient of `to` becomes that of `from`.
struct Images {
  std::array<std::int64_t, 6> sizes;  // Batch, channels, height and width of x, height and width of y.
  std::array<double, 2> scales;       // 0: from the sizes.
};

Images make_images(const char* op, at::IntArrayRef x, at::IntArrayRef y_size, std::optional<double> scale_h,
                   std::optional<double> scale_w) {
  TORCH_CHECK(x.size() == 4, op, ": x must have 4 dimensions (batch, channels, height, width), and has ", x.size());
  TORCH_CHECK(y_size.size() == 2, op, ": output_size must be a height and a width, and is ", y_size);
  for (const std::int64_t size : {x[2], x[3], y_size[0], y_size[1]}) {
    TORCH_CHECK(size >= 1 && size <= INT32_MAX, op, ": heights and widths must be 1 to 2^31 - 1, and one is ", size);
  }
  for (const auto& s : {scale_h, scale_w}) {
    TORCH_CHECK(!s || (std::isfinite(*s) && *s > 0), op, ": scales must be finite and above 0, and one is ", *s);
  }
  return {.sizes = {x[0], x[1], x[2], x[3], y_size[0], y_size[1]},
          .scales = {scale_h.value_or(0), scale_w.value_or(0)}};
}

/// Which of the two layouts a tensor has; contiguous in both, it is nchw.
bool is_channels_last(const char* op, const char* name, const Tensor& x) {
  if (x.is_contiguous()) return false;
  TORCH_CHECK(x.is_contiguous(at::MemoryFormat::ChannelsLast), op, ": ", name,
              " must be contiguous, as NCHW or channels last, and has the strides ", x.strides(), " for the shape ",
              x.sizes());
  return true;
}

Tensor run_upsample(const char* op, const char* name, const Tensor& in, at::IntArrayRef out_shape, const Images& images,
                    bool backward) {
  const int type = type_number(op, name, in, kNumbers);
  const bool channels_last = is_channels_last(op, name, in);
  Tensor out = at::empty(out_shape, in.options().memory_format(channels_last ? at::MemoryFormat::ChannelsLast
                                                                             : at::MemoryFormat::Contiguous));
  Launch launch(op, {out, in});
  launch.finish(launch.kernels().upsample_nearest(out.mutable_data_ptr(), in.const_data_ptr(), images.sizes.data(),
                                                  images.scales.data(), channels_last ? 1 : 0, backward ? 1 : 0, type,
                                                  launch.stream()));
  return out;
}

Tensor upsample_nearest2d(const Tensor& x, at::IntArrayRef output_size, std::optional<double> scale_h,
                          std::optional<double> scale_w) {
  constexpr auto kOp = "upsample_nearest2d";
  const Images images = make_images(kOp, x.sizes(), output_size, scale_h, scale_w);
  return run_upsample(kOp, "x", x, {x.size(0), x.size(1), output_size[0], output_size[1]}, images, false);
}

Tensor upsample_nearest2d_backward(const Tensor& grad, at::IntArrayRef output_size, at::IntArrayRef input_size,
                                   std::optional<double> scale_h, std::optional<double> scale_w) {
  constexpr auto kOp = "upsample_nearest2d_backward";
  const Images images = make_images(kOp, input_size, output_size, scale_h, scale_w);
  check_dims(kOp, "grad", grad, 4);
  const bool fits = grad.size(0) == input_size[0] && grad.size(1) == input_size[1] && grad.size(2) == output_size[0] &&
                    grad.size(3) == output_size[1];
  TORCH_CHECK(fits, kOp, ": grad must be as large as the output, and is ", grad.sizes());
  return run_upsample(kOp, "grad", grad, input_size, images, true);
}

// --------------------------------------------------------------------------------------- what autograd is to know of

/// An operator's name, as a template's argument.
template <std::size_t kLength> struct Name {
  consteval Name(
      const char (&name)[kLength]) {  // NOLINT(google-explicit-constructor): `Changing<"add2">` is the point.
    std::copy_n(name, kLength, text);
  }
  char text[kLength];
};

bool requires_grad(const Tensor& tensor) { return tensor.requires_grad(); }
template <class T> bool requires_grad(const T&) { return false; }

/// Stands before an operator that changes its first argument, and has no gradient: refuses tensors that want one, as
/// PyTorch's own functions with out= do, and counts the change, so that autograd notices where it has kept the tensor
/// as it was. Without it autograd would take the tensor for unchanged, and hand out a wrong gradient. It is a template,
/// and no boxed fallback for all operators, because that costs more than all of add2's checks.
template <Name kName, class Operator> class Changing;
template <Name kName, class... Rest> class Changing<kName, void(Tensor&, Rest...)> {
public:
  static void run(c10::DispatchKeySet keys, Tensor& changed, Rest... rest) {
    TORCH_CHECK(!c10::GradMode::is_enabled() || !(requires_grad(changed) || ... || requires_grad(rest)), kName.text,
                ": has no gradient, and a tensor requires one; accepted are tensors that do not (.detach()), or any "
                "within torch.no_grad()");
    static const auto next = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow((std::string("warpbook_ops::") + kName.text).c_str(), "")
                                 .template typed<void(Tensor&, Rest...)>();
    next.redispatch(keys & c10::after_ADInplaceOrView_keyset, changed, rest...);
    if (!changed.is_inference()) changed.unsafeGetTensorImpl()->bump_version();
  }
};
template <Name kName, class... Arguments> auto* changing(void (*)(Arguments...)) {
  return &Changing<kName, void(Arguments...)>::run;
}

}  // namespace

TORCH_LIBRARY(warpbook_ops, m) {
  m.set_python_module("warpbook_ops");  // There are the functions that tell what a result looks like.
  const std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag};
  m.def("load_kernels(str device, str path) -> ()",
        [](std::string device, std::string path) { load_kernels(device, path); });
  m.def("add2(Tensor(a!) out, Tensor a, Tensor b) -> ()", tags);
  m.def("mul(Tensor a, Tensor b) -> Tensor", tags);
  m.def("mul_add(Tensor a, Tensor b, Tensor c) -> Tensor", tags);
  m.def("scale(Tensor x, Tensor factor) -> Tensor", tags);
  m.def("make_contiguous(Tensor x) -> Tensor", tags);
  m.def("write_into_(Tensor(a!) view, Tensor src) -> ()", tags);
  m.def("permute(Tensor x, int[] dims) -> Tensor", tags);
  m.def("scatter_add_(Tensor(a!) self, Tensor index, Tensor src, *, bool check_index=True) -> ()", tags);
  m.def("index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1, bool check_index=True) "
        "-> ()",
        tags);
  m.def("inner_product(Tensor a, Tensor b) -> Tensor", tags);
  m.def("upsample_nearest2d(Tensor x, SymInt[2] output_size, float? scale_h=None, float? scale_w=None) -> Tensor",
        tags);
  m.def("upsample_nearest2d_backward(Tensor grad, SymInt[2] output_size, SymInt[4] input_size, float? scale_h=None, "
        "float? scale_w=None) -> Tensor",
        tags);
}

namespace {

void register_all(torch::Library& m) {
  m.impl("add2", &add2);
  m.impl("mul", &mul);
  m.impl("mul_add", &mul_add);
  m.impl("scale", &scale);
  m.impl("make_contiguous", &make_contiguous);
  m.impl("write_into_", &write_into_);
  m.impl("permute", &permute);
  m.impl("scatter_add_", &scatter_add_);
  m.impl("index_add_", &index_add_);
  m.impl("inner_product", &inner_product);
  m.impl("upsample_nearest2d", &upsample_nearest2d);
  m.impl("upsample_nearest2d_backward", &upsample_nearest2d_backward);
}

}  // namespace

TORCH_LIBRARY_IMPL(warpbook_ops, CUDA, m) { register_all(m); }
TORCH_LIBRARY_IMPL(warpbook_ops, CPU, m) { register_all(m); }
TORCH_LIBRARY_IMPL(warpbook_ops, Autograd, m) {
  m.impl("add2", changing<"add2">(&add2));
  m.impl("write_into_", changing<"write_into_">(&write_into_));
  m.impl("scatter_add_", changing<"scatter_add_">(&scatter_add_));
  m.impl("index_add_", changing<"index_add_">(&index_add_));
}

}  // namespace warpbook_ops
