/// \file
/// A case's arrays: made and computed on the host once, and laid out on the device for the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/harness/chapter.hpp"
#include "common/harness/fenced_array.hpp"
#include "common/harness/transfer.hpp"

namespace warpbook {

/// Bytes on the host, not initialised: the first touch happens on all cores.
class HostBytes {
public:
  HostBytes() = default;
  /// \throws std::bad_alloc
  explicit HostBytes(std::size_t bytes) : data_(std::make_unique_for_overwrite<std::byte[]>(bytes)), bytes_(bytes) {}

  /// The bytes.
  std::span<std::byte> span() { return {data_.get(), bytes_}; }
  /// The bytes.
  std::span<const std::byte> span() const { return {data_.get(), bytes_}; }

private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t bytes_ = 0;
};

/// A case's contents on the host.
class HostCase {
public:
  /// Makes the inputs from the seed, and computes the reference. \throws std::bad_alloc
  HostCase(const Case& problem, std::uint64_t seed);

  /// The case that this is the content of.
  const Case& problem() const { return problem_; }
  /// What the arrays hold that steps read.
  std::vector<std::span<const std::byte>> inputs() const;
  /// The reference result.
  std::span<const std::byte> expected() const { return expected_.span(); }
  /// What the output holds before a launch, where the case updates it; else empty.
  std::span<const std::byte> initial() const { return initial_.span(); }

  /// Bytes of host memory that a case takes, with what verification needs besides.
  static std::size_t footprint(const Case& problem);

private:
  const Case& problem_;
  std::vector<HostBytes> inputs_;
  HostBytes initial_;
  HostBytes expected_;
};

/// A case's arrays on the device.
class DeviceArrays {
public:
  /// Allocates. \throws CudaError
  DeviceArrays(const Case& problem, FenceWidth fence);

  /// Pointers as steps take them.
  Arrays arrays() const;
  /// The arrays that steps read.
  const std::vector<FencedArray>& inputs() const { return inputs_; }
  /// The array that steps write.
  const FencedArray& output() const { return output_; }
  /// What steps may use as they like.
  const FencedArray& scratch() const { return scratch_; }
  /// Copies the inputs' contents from another set of the same case. \throws CudaError
  void copy_inputs_from(const DeviceArrays& other, const Stream& stream) const;

  /// Bytes of device memory that a set takes.
  static std::size_t footprint(const Case& problem, FenceWidth fence);

private:
  std::vector<FencedArray> inputs_;
  FencedArray output_;
  FencedArray scratch_;
};

/// A case on the device: the arrays that steps are verified on, and what the output holds before each launch.
class DeviceCase {
public:
  /// Allocates and fills everything. \throws CudaError
  DeviceCase(const HostCase& host, FenceWidth fence, Transfer& transfer);

  /// The arrays that steps are verified on.
  const DeviceArrays& main() const { return main_; }

  /// Enqueues what an output gets before a launch: the first content of an updated one, or the poison, which is the
  /// complement of the reference. No element of it is right by chance, whatever the type.
  void restore(const DeviceArrays& set, const Stream& stream) const;

  /// Bytes of device memory that a case takes.
  static std::size_t footprint(const Case& problem, FenceWidth fence);

private:
  DeviceArrays main_;
  DeviceBuffer before_launch_;
};

}  // namespace warpbook
