/// \file
/// Device arrays between guard bands: bytes of a known pattern on both sides, which no kernel may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/cuda/resources.hpp"
#include "common/harness/chapter.hpp"
#include "common/harness/transfer.hpp"

namespace warpbook {

/// How wide the guard bands are, in bytes. The one before is rounded up to 256.
struct FenceWidth {
  std::size_t before = 4096;  ///< In front of the array.
  std::size_t after = 4096;   ///< Behind it.
};

/// What happened to a fence.
struct FenceDamage {
  std::int64_t before_bytes = 0;  ///< Bytes changed in front of the array.
  std::int64_t after_bytes = 0;   ///< Bytes changed behind it.
  std::int64_t nearest_before =
      0;  ///< How far in front of the array's first byte the nearest one lies; 1 is next to it.
  std::int64_t nearest_after = 0;  ///< How far behind the array's last byte the nearest one lies; 1 is next to it.

  /// True where anything was changed.
  explicit operator bool() const { return before_bytes > 0 || after_bytes > 0; }
  /// "16 bytes behind y were overwritten, the nearest 4 bytes past its end"; empty for no damage.
  std::string describe(const std::string& array) const;
};

/// One array of a case on the device, `offset_bytes` behind a 256-byte boundary, between its fences.
class FencedArray {
public:
  /// Allocates; the contents are what `fill_fences` and the owner write. \throws CudaError
  FencedArray(const BufferLayout& layout, FenceWidth fence);

  /// The first element. Valid (not nullptr) for empty arrays, too.
  std::byte* data() const { return buffer_.data() + before_; }
  /// Size of the array in bytes, without fences.
  std::size_t bytes() const { return bytes_; }
  /// Bytes that such an array takes on the device.
  static std::size_t footprint(const BufferLayout& layout, FenceWidth fence);

  /// Writes the pattern into both fences.
  void fill_fences(Transfer& transfer) const;
  /// Compares both fences with the pattern.
  FenceDamage inspect_fences(Transfer& transfer) const;

private:
  std::size_t before_;
  std::size_t bytes_;
  std::size_t after_;
  DeviceBuffer buffer_;
};

}  // namespace warpbook
