/// \file
/// The model of time: how long a launch or a copy would take on the emulated card.
#pragma once

#include <array>
#include <cstddef>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/observation/counters.hpp"
#include "common/emulator/observation/launch_shape.hpp"

namespace warpbook::emulator {

/// What a launch can be limited by.
enum class Resource : unsigned { dram, l2_reads, l2_writes, l1, issue, atomics, latency, blocks, count };

/// The resource's name, for people: "DRAM", "issue slots".
const char* resource_name(Resource resource);

/// The modelled time of a launch, and what it comes from.
struct ModelledTime {
  double seconds = 0;               ///< launch overhead included
  Resource limit = Resource::dram;  ///< The resource that takes the longest.
  std::array<double, static_cast<std::size_t>(Resource::count)> resource_seconds{};  ///< What each resource takes.
};

/// The time of a launch on data that the L2 does not hold: its overhead and a rounded maximum over its resources. By
/// itself it finds the L2 full of changed lines, as it does behind a program that streams through memory (and behind
/// a flush of it); in a graph, what the launch before left there, and leaves as much.
ModelledTime model_launch(const DeviceTable& device, const LaunchShape& shape, const Totals& totals);

/// The time of a copy or fill inside the card's memory, launch included.
double modelled_copy_seconds(const DeviceTable& device, std::size_t bytes_read, std::size_t bytes_written,
                             bool from_graph);

/// The time of a copy between host and card, over the bus.
double modelled_bus_seconds(std::size_t bytes);

}  // namespace warpbook::emulator
