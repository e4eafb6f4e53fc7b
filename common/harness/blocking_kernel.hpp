/// \file
/// Kernels that go before what is timed: one that holds a stream until the host lets go, so that the host's own time to
/// enqueue work is over when the device gets to it (the technique is NVBench's), and one that does nothing.
#pragma once

#include <cuda_runtime.h>

#include "common/cuda/resources.hpp"

namespace warpbook {

/// Whether the program holds code for the device: what CUDA says of a kernel's attributes.
cudaError_t blocking_kernel_present();

/// Enqueues `count` kernels that do nothing. \throws CudaError
void enqueue_empty_kernels(const Stream& stream, int count);

/// Holds one stream at a time.
class BlockingKernel {
public:
  /// \throws CudaError
  BlockingKernel();

  /// Work enqueued from now on waits, until `release` or for at most half a second: work that waits for the device
  /// itself would otherwise hang. \throws CudaError
  void hold(const Stream& stream);
  /// Lets the work begin. Call it before waiting for the stream.
  void release() noexcept;
  /// True where the kernel gave up waiting. To be asked after waiting for the stream.
  bool timed_out() const noexcept;

private:
  PinnedBuffer flags_;  // Two ints: "go on", set by the host; "gave up", set by the device.
  long long patience_clocks_;
};

}  // namespace warpbook
