/// \file
/// Tensor and Stack stand for PyTorch's own: as much of them as a binding has to know.
#pragma once

#include <cstdint>

namespace warpbook::chapter7::three_bindings {

enum class Scalar { float32, float16, int32 };

inline constexpr int kMostDims = 4;

struct Tensor {
  void* data;
  Scalar type;
  int device;
  int dims;
  std::int64_t sizes[kMostDims];
  std::int64_t strides[kMostDims];  // In elements.
};

/// Arguments by value, the last one on top.
struct Stack {
  Tensor value[8];
  int size;
};

}  // namespace warpbook::chapter7::three_bindings
