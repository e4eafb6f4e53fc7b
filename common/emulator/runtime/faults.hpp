/// \file
/// Faults on demand, so that programs can be tried on what a device seldom does: memory that runs out at a certain
/// allocation, a device that is lost at a certain launch.
#pragma once

namespace warpbook::emulator {

/// Counts an allocation. True for the one that is to fail.
bool allocation_fails();

/// Counts a launch. True for the one at which the device is lost.
bool launch_loses_device();

/// True from that launch on; a reset does not bring the device back.
bool device_is_lost();

}  // namespace warpbook::emulator
