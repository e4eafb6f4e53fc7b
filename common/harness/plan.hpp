/// \file
/// What a run will do, decided before it begins: steps, cases, and cases that cannot be run.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "common/harness/chapter.hpp"
#include "common/harness/options.hpp"
#include "common/harness/results.hpp"

namespace warpbook {

/// A case that was asked for does not fit the memory: one line. Ends a program with status 3.
class TooLittleMemory : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Memory that a case has to find.
struct Memory {
  std::size_t device_bytes = 0;  ///< On the device.
  std::size_t host_bytes = 0;    ///< On the host.
  bool shared = false;           ///< The device's memory is the host's: the emulator.
};

/// What is free now. \throws CudaError
Memory free_memory();

/// What a case needs: its arrays, the poison, the reference, the copies to measure the ceiling with.
/// Numbers beyond 64 bits become the largest.
Memory needed_memory(const Case& problem);

/// Why a case does not fit: "needs 3 GiB of device memory, 1 GiB is free"; empty where it fits.
std::string does_not_fit(const Memory& needed, const Memory& free);

/// A run.
struct Plan {
  std::vector<const Step*> steps;   ///< What is run on each case.
  std::vector<SelectedCase> cases;  ///< What is run.
  std::vector<LeftOut> left_out;    ///< What is not.
};

/// Leaves out what does not fit the memory, and on the emulator what would take long, unless it was asked for by name.
/// \throws TooLittleMemory for a case asked for by name; CudaError
Plan make_plan(std::vector<const Step*> steps, std::vector<SelectedCase> cases);

}  // namespace warpbook
