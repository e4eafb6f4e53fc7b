/// \file
/// The clock that a device's multiprocessors really run at, found by CUDA alone: no library of the driver's is needed,
/// and no right to ask it.
#pragma once

#include "common/cuda/resources.hpp"

namespace warpbook {

/// Hertz, as a single thread counts its clocks between two events of about a third of a millisecond; right to a
/// percent. Of no meaning on the emulator. \throws CudaError
double measured_clock_hertz(const Stream& stream);

}  // namespace warpbook
