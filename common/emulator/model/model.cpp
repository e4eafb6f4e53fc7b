#include "common/emulator/model/model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace warpbook::emulator {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kBusBytesPerSecond = 25e9;  // unmeasured: PCIe 4.0 x16 in practice
constexpr double kPacketBytes = 64;
// Of the rounded maximum. Measured: memory.bytes_in_flight follows it (2 where the DRAM and the latency are equally
// slow), and so does memory.one_access_a_thread (2.5).
constexpr double kCorner = 2.3;
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

/// Warp instructions' worth of work: a warp issues what its busiest lane runs, whatever the others do.
double issue_slots(const DeviceTable& device, const Totals& totals) {
  const auto work = [&](WorkKind kind) { return totals[index(Counter::warp_work, kind)]; };
  const double wide = work(WorkKind::divisions_64_wide);
  return work(WorkKind::instructions) * device.slots_per_instruction +
         work(WorkKind::divisions_32) * device.division32_slots +
         (work(WorkKind::divisions_64) - wide) * device.division64_slots + wide * device.division64_wide_slots;
}

/// Clocks that a block's busiest warps need for their own work, by themselves: as many as they can issue, or as those
/// instructions take that wait for each other. Divisions take an index apart: each waits for the one before.
double own_clocks(const DeviceTable& device, const LaunchShape& shape, const Totals& totals) {
  const auto work = [&](WorkKind kind) { return totals[index(Counter::block_work, kind)] / shape.blocks; };
  const double wide = work(WorkKind::divisions_64_wide);
  const double instructions =
      std::max(work(WorkKind::instructions) * device.alone_clocks, work(WorkKind::chained) * device.chained_clocks);
  return instructions * device.slots_per_instruction + work(WorkKind::divisions_32) * device.division32_clocks +
         (work(WorkKind::divisions_64) - wide) * device.division64_clocks + wide * device.division64_wide_clocks;
}

/// Time of the DRAM. What the L2 held of changed lines has to leave, as far as new ones come; what it holds of them at
/// the end was not yet paid for.
double dram_seconds(const DeviceTable& device, double read, double written, bool from_graph) {
  const double changed = static_cast<double>(device.l2_dirty_bytes);
  const double share = changed / static_cast<double>(device.l2_bytes);
  const double pushed_out = std::min(changed, share * (read + written));
  const double left_behind = std::min(changed, (1 - share) * written);
  const double writes = from_graph ? written : written + pushed_out - left_behind;
  const double bytes = read + writes;
  if (bytes <= 0) return 0;
  const double mixed = 2 * std::min(read, writes) / bytes;  // 1: as much of the one as of the other
  return bytes /
         (device.dram_bytes_per_second - mixed * (device.dram_bytes_per_second - device.dram_mixed_bytes_per_second));
}

double l2_write_seconds(const DeviceTable& device, const Totals& totals) {
  const double partial = at(totals, Counter::l2_partial_sectors);
  return at(totals, Counter::l2_written_lines) * device.l2_line_write_seconds +
         (at(totals, Counter::l2_sectors, Operation::store) - partial) * device.l2_sector_write_seconds +
         partial * device.l2_partial_write_seconds;
}

/// The chance that a word is as it was `additions` additions ago: nobody changed it, or the changes of each element add
/// up to nothing, as those of a random walk do.
double recurrence(const RetryTally& sums, bool shared, double additions) {
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, sums.additions));
  const double untouched = std::exp(-additions * (1 - static_cast<double>(sums.unchanged) / all));
  const double mean = sums.steps / all;
  const double variance = sums.squares / all - mean * mean;
  if (sums.unit == 0 || variance <= 0) return untouched;
  const double of_one = std::max(1e-9, additions / (shared ? 2 : 1));
  const double back = std::min(1.0, sums.unit / std::sqrt(2 * kPi * of_one * variance)) *
                      std::exp(-of_one * mean * mean / (2 * variance));
  return untouched + (1 - untouched) * (shared ? back * back : back);
}

/// Tries that an addition takes where `present` others are at the word: one succeeds if the word is as it was when it
/// was last seen, which is as long ago as the others need for a try each.
double tries_beside(const RetryTally& sums, bool shared, double present) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 40; ++i) {
    const double chance = (low + high) / 2;
    (chance < recurrence(sums, shared, present * chance) ? low : high) = chance;
  }
  return 1 / high;
}

/// The same where `visits` in all come to a word, `present` of them at a time, and fewer and fewer towards the end.
double tries(const RetryTally& sums, bool shared, double visits, double present) {
  constexpr int kParts = 16;
  double towards_the_end = 0;
  for (int i = 0; i < kParts; ++i) towards_the_end += tries_beside(sums, shared, present * (i + 0.5) / kParts) / kParts;
  const double share = std::min(1.0, present / std::max(visits, 1.0));
  return (1 - share) * tries_beside(sums, shared, present) + share * towards_the_end;
}

/// Time of loops of compare and swap: of the line where most of them are, of the whole card's L2, and of the word where
/// most of them are, which one after the other changes.
double retry_seconds(const DeviceTable& device, const LaunchShape& shape) {
  const RetryShape& loops = shape.retries;
  if (loops.lanes < 1) return 0;
  const double places = static_cast<double>(device.multiprocessors) *
                        resident_blocks(device, shape.threads, shape.shared_bytes) * shape.threads;
  const double threads = std::min(places, shape.blocks * shape.threads);
  const double present = std::min(1.0, threads / loops.lanes);  // of all additions, at a time
  // Who is done makes room for others, who waits stays: the card's places fill with those at the hottest words.
  const double waiting = std::min(1.0, threads / std::max(1.0, loops.crowd));
  const double at_hottest =
      tries(loops.sums, loops.hottest_shared, loops.hottest_visits, loops.hottest_visits * waiting);
  const double meetings = loops.meeting * loops.visits;
  const double at_any = tries(loops.sums, loops.hottest_shared, meetings, meetings * present);
  // A request's words let its lanes go one by one: while it tries, half of them are still there.
  const double packets = 2 * loops.line_packets / (loops.line_visits + loops.line_packets);  // of a try
  const double a_try =
      std::max(packets * device.retry_packet_seconds, loops.line_turns / loops.line_visits * device.retry_turn_seconds);
  const double changing = static_cast<double>(loops.sums.additions - loops.sums.unchanged) /
                          static_cast<double>(std::max<std::uint64_t>(1, loops.sums.additions));
  return std::max({loops.line_lanes * at_hottest * a_try, loops.turns * at_any / device.retry_sectors_per_second,
                   loops.hottest_lanes * changing * device.retry_seconds});
}

double atomic_seconds(const DeviceTable& device, const LaunchShape& shape, const Totals& totals) {
  const double turns =
      at(totals, Counter::l2_sectors, Operation::reduction) + at(totals, Counter::l2_sectors, Operation::atomic);
  return std::max({shape.hottest_line_seconds, turns / device.atomic_sectors_per_second, retry_seconds(device, shape)});
}

/// A round trip to memory: to the L2, and on to the DRAM as often as the L2 has to fetch, or is fetching already for a
/// block that runs at the same time.
double round_trip_seconds(const DeviceTable& device, const Totals& totals) {
  const double asked = at(totals, Counter::l2_sectors, Operation::load) * 32;
  const double l2 = device.l2_latency_clocks / clock_hz(device);
  const double fetched = at(totals, Counter::dram_read_bytes) + at(totals, Counter::l2_awaited_sectors) * 32;
  const double missed = asked > 0 ? std::min(1.0, fetched / asked) : 1.0;
  return l2 + missed * std::max(0.0, device.dram_latency_seconds - l2);
}

/// Time that the blocks need one after another in the places that the card has for them, each waiting for its memory.
double latency_seconds(const DeviceTable& device, const LaunchShape& shape, const Totals& totals) {
  const double warps = at(totals, Counter::warps);
  if (warps == 0 || shape.blocks == 0) return 0;
  const double places =
      static_cast<double>(device.multiprocessors) * resident_blocks(device, shape.threads, shape.shared_bytes);
  const double waves = std::ceil(shape.blocks / places);
  // Where all blocks run at once, the slowest is the last; where there are many waves, it mostly ends before the
  // others. That it stops to count with their square is a choice: it is not measured.
  const auto rounds = [&](Counter counter, std::uint64_t slowest) {
    const double mean = at(totals, counter) / shape.blocks;
    return mean + std::max(0.0, static_cast<double>(slowest) - mean) / (waves * waves);
  };
  const double l1_rounds = rounds(Counter::l1_rounds, shape.slowest.l1);
  const double global_rounds = rounds(Counter::global_rounds, shape.slowest.global);
  const double shared_rounds = rounds(Counter::shared_rounds, shape.slowest.shared);
  const double barriers = at(totals, Counter::barriers) / shape.blocks;
  const double shared_retries = rounds(Counter::shared_retries, shape.slowest.retries);
  const double exchanges = rounds(Counter::shared_exchanges, shape.slowest.exchanges);
  const double exchange_queue = rounds(Counter::shared_exchange_queue, shape.slowest.exchange_queue);
  const double round_trip = round_trip_seconds(device, totals);
  const double retry_rounds = at(totals, Counter::retry_rounds) / warps;
  const double block_seconds = device.block_start_seconds + global_rounds * round_trip +
                               retry_rounds * device.retry_seconds +
                               (own_clocks(device, shape, totals) + l1_rounds * device.l1_latency_clocks +
                                shared_rounds * device.shared_latency_clocks + barriers * device.barrier_clocks +
                                shared_retries * device.shared_retry_clocks + exchanges * device.exchange_clocks +
                                exchange_queue * device.exchange_wavefront_clocks) /
                                   clock_hz(device);
  // The first block's start and its first round trip are part of every kernel's start.
  return std::max(0.0, waves * block_seconds - device.block_start_seconds - std::min(1.0, global_rounds) * round_trip);
}

double overhead_seconds(const DeviceTable& device, bool from_graph) {
  return from_graph ? device.graph_launch_seconds : device.launch_seconds;
}

double start_seconds(const DeviceTable& device, bool from_graph) {
  return from_graph ? device.graph_start_seconds : device.start_seconds;
}

}  // namespace

const char* resource_name(Resource resource) {
  switch (resource) {
  case Resource::dram:
    return "DRAM";
  case Resource::l2_reads:
    return "L2 reads";
  case Resource::l2_writes:
    return "L2 writes";
  case Resource::l1:
    return "L1 and shared memory";
  case Resource::issue:
    return "issue slots";
  case Resource::atomics:
    return "atomics";
  case Resource::latency:
    return "latency";
  case Resource::blocks:
    return "block launches";
  case Resource::count:
    break;
  }
  return "?";
}

ModelledTime model_launch(const DeviceTable& device, const LaunchShape& shape, const Totals& totals) {
  ModelledTime result;
  const auto seconds = [&](Resource resource) -> double& {
    return result.resource_seconds[static_cast<std::size_t>(resource)];
  };
  // Blocks are not divided: a multiprocessor with one more than the others is the last to be done.
  const double blocks = std::max(1.0, shape.blocks);
  const double busy = blocks / std::ceil(blocks / device.multiprocessors);

  seconds(Resource::dram) =
      dram_seconds(device, at(totals, Counter::dram_read_bytes) + at(totals, Counter::dram_filled_bytes),
                   at(totals, Counter::dram_dirty_bytes), shape.from_graph) +
      at(totals, Counter::dram_atomic_sectors) * device.dram_atomic_seconds;
  // A packet takes its time on the way however little of it is used.
  seconds(Resource::l2_reads) = at(totals, Counter::l2_read_packets) * kPacketBytes / device.l2_bytes_per_second;
  seconds(Resource::l2_writes) = l2_write_seconds(device, totals);
  seconds(Resource::l1) = l1_clocks(device, totals) / busy / clock_hz(device);
  seconds(Resource::issue) = issue_slots(device, totals) / (busy * device.schedulers) / clock_hz(device);
  seconds(Resource::atomics) = atomic_seconds(device, shape, totals);
  // Blocks that come and go: as fast as they are launched, or as their places become free.
  const double launching = shape.blocks * device.block_launch_seconds;
  const double waiting = latency_seconds(device, shape, totals);
  seconds(launching > waiting ? Resource::blocks : Resource::latency) = std::max(launching, waiting);

  const auto slowest = std::max_element(result.resource_seconds.begin(), result.resource_seconds.end());
  result.limit = static_cast<Resource>(slowest - result.resource_seconds.begin());
  // A maximum with rounded corners: resources that are nearly as busy as the slowest one get in its way.
  double sum = 0;
  for (const double busy_seconds : result.resource_seconds)
    sum += std::pow(busy_seconds / std::max(*slowest, kTiny), kCorner);
  result.seconds = overhead_seconds(device, shape.from_graph) + *slowest * (sum > 0 ? std::pow(sum, 1 / kCorner) : 0);
  // Where memory is touched, it takes until the first of it is there.
  if (at(totals, Counter::dram_read_bytes) + at(totals, Counter::dram_dirty_bytes) > 0)
    result.seconds += start_seconds(device, shape.from_graph);
  return result;
}

double modelled_copy_seconds(const DeviceTable& device, std::size_t bytes_read, std::size_t bytes_written,
                             bool from_graph) {
  return overhead_seconds(device, from_graph) + start_seconds(device, from_graph) +
         dram_seconds(device, static_cast<double>(bytes_read), static_cast<double>(bytes_written), from_graph);
}

double modelled_bus_seconds(std::size_t bytes) { return kBusSeconds + static_cast<double>(bytes) / kBusBytesPerSecond; }

}  // namespace warpbook::emulator
