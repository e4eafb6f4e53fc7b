/// \file
/// What operators say of arguments that they cannot take: one sentence, what was wrong and what is accepted. A
/// TORCH_CHECK becomes a RuntimeError in Python, TORCH_CHECK_VALUE a ValueError, TORCH_CHECK_INDEX an IndexError.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstdint>

namespace warpbook_ops {

/// A type and its number in the kernels' interface.
struct TypeNumber {
  at::ScalarType type;
  int number;
};

/// A tensor's number among the types that an operator takes. \throws c10::Error
template <std::size_t kTypes>
int type_number(const char* op, const char* name, const at::Tensor& tensor,
                const std::array<TypeNumber, kTypes>& accepted) {
  for (const TypeNumber& entry : accepted) {
    if (entry.type == tensor.scalar_type()) return entry.number;
  }
  std::string names;
  for (const TypeNumber& entry : accepted)
    names += (names.empty() ? "" : ", ") + std::string(c10::toString(entry.type));
  TORCH_CHECK(false, op, ": ", name, " is of type ", tensor.scalar_type(), "; accepted are ", names);
}

inline void check_same_type(const char* op, const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), op, ": the types must be the same, and are ", a.scalar_type(),
              " and ", b.scalar_type());
}

inline void check_same_shape(const char* op, const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.sizes() == b.sizes(), op, ": the shapes must be the same, and are ", a.sizes(), " and ", b.sizes());
}

inline void check_contiguous(const char* op, const char* name, const at::Tensor& tensor) {
  TORCH_CHECK(tensor.is_contiguous(), op, ": ", name, " must be contiguous, and has the strides ", tensor.strides(),
              " for the shape ", tensor.sizes(), " (", name, ".contiguous() is)");
}

inline void check_dims(const char* op, const char* name, const at::Tensor& tensor, std::int64_t dims) {
  TORCH_CHECK(tensor.dim() == dims, op, ": ", name, " must have ", dims, dims == 1 ? " dimension" : " dimensions",
              ", and has ", tensor.dim());
}

/// Numbers of a tensor's elements, of a type whose size is all that counts.
inline int movable_bytes(const char* op, const at::Tensor& tensor) {
  const auto bytes = static_cast<int>(tensor.element_size());
  TORCH_CHECK(bytes >= 1 && bytes <= 16 && (bytes & (bytes - 1)) == 0, op, ": elements of ", bytes,
              " bytes cannot be moved; accepted are 1, 2, 4, 8 and 16");
  return bytes;
}

}  // namespace warpbook_ops
