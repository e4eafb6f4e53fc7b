/// \file
/// Where an operator runs: its device, its stream, and its tensors as kernels may touch them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <vector>

#include "kernels.hpp"

namespace warpbook_ops {

/// One operator's call. On CUDA it makes the tensors' device the current one and takes that device's current stream, so
/// that the kernel comes after what PyTorch has queued there and before what it will. On the CPU it lends the tensors'
/// memory to the emulator; there one call runs at a time.
class Launch {
public:
  /// \param op for messages. \param tensors all on one device; they must outlive the call. References, because to copy
  /// a tensor is to count its users, twice. \throws c10::Error
  Launch(const char* op, std::initializer_list<std::reference_wrapper<const at::Tensor>> tensors);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  const Kernels& kernels() const { return kernels_; }
  void* stream() const { return stream_; }

  /// Memory for a kernel to work in, until the operator returns. PyTorch's allocator hands it out again only behind
  /// what is on the stream now. At least one byte.
  void* workspace(std::size_t bytes);

  /// Ends the call: what the launch returned, and on the emulator what the kernel did. \throws c10::Error with CUDA's
  /// words.
  void finish(int error);

private:
  void lend(const at::Tensor& tensor);

  const char* op_;
  const at::Tensor& like_;
  c10::OptionalDeviceGuard guard_;
  const Kernels& kernels_;
  void* stream_ = nullptr;
  at::Tensor workspace_;
  std::unique_lock<std::mutex> emulator_;
  std::vector<void*> lent_;
};

}  // namespace warpbook_ops
