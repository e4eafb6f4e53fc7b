#include "common/emulator/model.hpp"

#include <algorithm>
#include <cmath>

namespace warpbook::emulator {
namespace {

constexpr double kWarp = 32;
constexpr unsigned kAssumedRegisters = 32;   // a thread; the compiler's real figure is not known here
constexpr double kBusBytesPerSecond = 25e9;  // unmeasured: PCIe 4.0 x16 in practice
constexpr double kPacketBytes = 64;
constexpr double kCorner =
    4;  // of the rounded maximum; measured: one float a thread, where DRAM and latency are equally slow
constexpr double kTiny = 1e-30;        // seconds, in place of none
constexpr double kBusSeconds = 10e-6;  // unmeasured: one copy's own cost

double at(const Totals& totals, Counter counter) { return totals[index(counter)]; }
double at(const Totals& totals, Counter group, Operation operation) { return totals[index(group, operation)]; }

/// Clocks that all multiprocessors' L1 pipes are busy: a global request takes one per line (its tags) or per 128 bytes
/// of data, a shared one as many as it has wavefronts.
double l1_clocks(const DeviceTable& device, const Totals& totals) {
  double clocks = 0;
  for (const Operation operation : {Operation::load, Operation::store, Operation::reduction, Operation::atomic}) {
    const double data = at(totals, Counter::global_sectors, operation) * 32 / device.l1_bytes_per_clock;
    clocks += std::max(at(totals, Counter::global_lines, operation), data);
    clocks += at(totals, Counter::shared_wavefronts, operation) * 128 / device.l1_bytes_per_clock;
  }
  return clocks;
}

double issue_slots(const DeviceTable& device, const Totals& totals) {
  return (at(totals, Counter::instructions) * device.slots_per_instruction +
          at(totals, Counter::divisions_32) * device.division32_slots +
          at(totals, Counter::divisions_64) * device.division64_slots) /
         kWarp;
}

/// Time that the blocks need one after another in the places that the card has for them, each waiting for its memory.
double latency_seconds(const DeviceTable& device, const LaunchShape& shape, const Totals& totals) {
  const double warps = at(totals, Counter::warps);
  if (warps == 0 || shape.blocks == 0) return 0;
  const double places =
      static_cast<double>(device.multiprocessors) * resident_blocks(device, shape.threads, shape.shared_bytes);
  const double waves = std::ceil(shape.blocks / places);
  const double global_rounds = at(totals, Counter::global_rounds) / warps;
  const double shared_rounds = at(totals, Counter::shared_rounds) / warps;
  const double barriers = at(totals, Counter::barriers) / shape.blocks;
  const double block_seconds =
      device.block_start_seconds + global_rounds * device.dram_latency_seconds +
      (shared_rounds * device.l1_latency_clocks + barriers * device.barrier_clocks) / clock_hz(device);
  return waves * block_seconds;
}

}  // namespace

const char* resource_name(Resource resource) {
  switch (resource) {
  case Resource::dram:
    return "DRAM";
  case Resource::l2:
    return "L2";
  case Resource::l1:
    return "L1 and shared memory";
  case Resource::issue:
    return "issue slots";
  case Resource::atomics:
    return "atomics";
  case Resource::latency:
    return "latency";
  case Resource::count:
    break;
  }
  return "?";
}

unsigned resident_blocks(const DeviceTable& device, unsigned threads, std::size_t shared_bytes) {
  const unsigned warps = std::max(1U, (threads + 31) / 32);
  const auto limit = [](int available, unsigned used) { return static_cast<unsigned>(available) / used; };
  unsigned blocks = static_cast<unsigned>(device.blocks_per_multiprocessor);
  blocks = std::min(blocks, limit(device.threads_per_multiprocessor, warps * 32));
  blocks = std::min(blocks, limit(device.registers_per_multiprocessor, warps * 32 * kAssumedRegisters));
  const std::size_t shared = shared_bytes + device.shared_bytes_reserved;
  if (shared != 0) {
    const std::size_t fit = device.shared_bytes_per_multiprocessor / shared;
    blocks = std::min(blocks, static_cast<unsigned>(std::min<std::size_t>(fit, blocks)));
  }
  return std::max(1U, blocks);
}

ModelledTime model_launch(const DeviceTable& device, const LaunchShape& shape, const Totals& totals) {
  ModelledTime result;
  const auto seconds = [&](Resource resource) -> double& {
    return result.resource_seconds[static_cast<std::size_t>(resource)];
  };
  // Few blocks leave multiprocessors idle; in the last wave, too, some have nothing to do.
  const double busy = std::min<double>(device.multiprocessors, std::max(1.0, shape.blocks));

  seconds(Resource::dram) =
      (at(totals, Counter::dram_read_bytes) + at(totals, Counter::dram_dirty_bytes)) / device.dram_bytes_per_second;
  // A packet takes its time on the way however little of it is used.
  seconds(Resource::l2) = at(totals, Counter::l2_read_packets) * kPacketBytes / device.l2_bytes_per_second;
  seconds(Resource::l1) = l1_clocks(device, totals) / busy / clock_hz(device);
  seconds(Resource::issue) = issue_slots(device, totals) / (busy * device.schedulers) / clock_hz(device);
  seconds(Resource::atomics) = std::max(shape.hottest_address * device.atomic_address_seconds,
                                        at(totals, Counter::atomic_operations) / device.atomics_per_second);
  seconds(Resource::latency) = latency_seconds(device, shape, totals);

  const auto slowest = std::max_element(result.resource_seconds.begin(), result.resource_seconds.end());
  result.limit = static_cast<Resource>(slowest - result.resource_seconds.begin());
  // A maximum with rounded corners: resources that are nearly as busy as the slowest one get in its way.
  double sum = 0;
  for (const double busy_seconds : result.resource_seconds)
    sum += std::pow(busy_seconds / std::max(*slowest, kTiny), kCorner);
  result.seconds = (shape.from_graph ? device.graph_launch_seconds : device.launch_seconds) +
                   *slowest * (sum > 0 ? std::pow(sum, 1 / kCorner) : 0);
  return result;
}

double modelled_copy_seconds(const DeviceTable& device, std::size_t bytes_read, std::size_t bytes_written) {
  return device.launch_seconds + static_cast<double>(bytes_read + bytes_written) / device.dram_bytes_per_second;
}

double modelled_copy_seconds(std::size_t bytes_read, std::size_t bytes_written) {
  return modelled_copy_seconds(device_table(), bytes_read, bytes_written);
}

double modelled_bus_seconds(std::size_t bytes) { return kBusSeconds + static_cast<double>(bytes) / kBusBytesPerSecond; }

}  // namespace warpbook::emulator
