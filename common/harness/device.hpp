/// \file
/// The device that runs the steps. This is the one place of the harness that knows whether it is an emulated one.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/harness/fenced_array.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// There is no device that could be used: one line. Ends a program with status 3.
class NoDevice : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// True where the program was built for the emulator: times are modelled, and counters exist.
bool device_emulated() noexcept;

/// Describes device 0. \throws NoDevice when there is none, when the driver is too old for the program, or when the
/// program holds no code for the device.
DeviceInfo query_device();

/// Bytes of device memory that can be allocated now. \throws CudaError
std::size_t device_free_bytes();

/// Bytes of host memory that can be allocated now; the largest number where the system does not tell.
std::size_t host_free_bytes();

/// Guard bands for arrays. The emulator checks every access against its allocation and points at the line of code, so
/// there the array ends where its allocation ends.
FenceWidth device_fences() noexcept;

/// What launches counted, all together, on the emulator; nothing on a GPU.
struct LaunchCounters {
  unsigned launches = 0;          ///< How many.
  std::vector<Counter> counters;  ///< Under Nsight Compute's names.
  bool extrapolated = false;      ///< They come from a sample of the blocks.
  std::string limited_by;         ///< The resource that the longest one's modelled time is made of.
};
/// What was counted since the last call.
LaunchCounters take_launch_counters();

/// The first thing that the emulator found wrong in kernels since the last call, on one line; empty on a GPU. The
/// emulator itself has printed all of them.
std::string take_device_report();

/// Begins to follow what the first warp of each kernel touches. Does nothing on a GPU.
void map_accesses();
/// The drawing of it since then, as SVG; ends it. Empty on a GPU.
std::string take_access_map(const std::string& title);

}  // namespace warpbook
