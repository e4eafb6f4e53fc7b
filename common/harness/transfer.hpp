/// \file
/// Copies between host and device through two pinned buffers, so that host work runs beside the transfer.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "common/cuda/resources.hpp"

namespace warpbook {

/// Moves data in chunks. All copies are done when a call returns.
class Transfer {
public:
  /// \throws CudaError
  explicit Transfer(const Stream& stream);

  /// Fills device memory: `fill(chunk, offset)` makes the bytes from `offset` on. Parts of a chunk's work may run on
  /// all cores inside `fill`.
  void upload(void* device, std::size_t bytes, const std::function<void(std::span<std::byte>, std::size_t)>& fill);
  /// Copies host memory to the device.
  void upload(void* device, std::span<const std::byte> bytes);
  /// Reads device memory: `consume(chunk, offset)` gets the bytes from `offset` on; it returns false to stop early.
  void download(const void* device, std::size_t bytes,
                const std::function<bool(std::span<const std::byte>, std::size_t)>& consume);
  /// Copies device memory to the host.
  void download(const void* device, std::span<std::byte> bytes);
  /// True where device memory holds exactly `expected`.
  bool holds(const void* device, std::span<const std::byte> expected);

private:
  const Stream& stream_;
  std::array<PinnedBuffer, 2> staging_;
  std::array<Event, 2> done_;
};

}  // namespace warpbook
