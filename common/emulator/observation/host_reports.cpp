#include "common/emulator/observation/host_reports.hpp"

#include <cmath>
#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/emulator/base/text.hpp"
#include "common/emulator/execution/host_ranges.hpp"
#include "common/emulator/execution/symbols.hpp"
#include "common/emulator/observation/source_location.hpp"

namespace warpbook::emulator {
namespace {

const char* verb(bool writes) { return writes ? "Write" : "Read"; }

std::string line(const void* pc) {
  const std::string text = pc == nullptr ? std::string{} : source_location(pc);
  return text.empty() ? std::string{"an unknown line"} : text;
}

/// "4 of allocation 1 of 8 bytes, allocated at ...", or of a `__managed__` variable.
std::string byte_of(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  const Allocation* allocation = find_allocation(address);
  if (allocation == nullptr) {
    const Variable variable = variable_near(address);
    return formatted("{} of variable '{}'", at - variable.range.begin, variable.name);
  }
  return formatted("{} of allocation {} of {} bytes, allocated at {}", at - allocation->begin, allocation->serial,
                   allocation->bytes, line(allocation->pc));
}

}  // namespace

void report_api_error(const ApiError& error) {
  Finding finding;
  finding.kind = error.kind;
  finding.place = error.pc == nullptr ? std::string{} : calling_location(error.pc);
  finding.sites = {error.pc, error.function};
  finding.text = formatted("========= Program hit {} (error {}) due to \"{}\" on CUDA API call to {}\n"
                           "=========     at {}\n{}",
                           error.name, static_cast<int>(error.error), error.text, error.function,
                           finding.place.empty() ? "an unknown line" : finding.place,
                           error.advice.empty() ? std::string{} : formatted("=========     {}\n", error.advice));
  publish_finding(finding);
}

void report_leaks() {
  struct Leak {
    std::size_t bytes = 0;
    std::size_t count = 0;
    const void* pc = nullptr;
  };
  std::vector<Leak> leaks;  // in the order of the first allocation
  std::map<const void*, std::size_t> by_line;
  for (const Allocation& allocation : live_allocations()) {
    const auto [known, fresh] = by_line.try_emplace(allocation.pc, leaks.size());
    if (fresh) leaks.push_back({0, 0, allocation.pc});
    leaks[known->second].bytes += allocation.bytes;
    ++leaks[known->second].count;
  }
  for (const Leak& leak : leaks) {
    Finding finding;
    finding.kind = "leak";
    finding.place = leak.pc == nullptr ? std::string{} : source_location(leak.pc);
    finding.warning = true;
    finding.text =
        formatted("========= Warning: leaked {} bytes in {} allocation{} at {}: free them by cudaFree\n", leak.bytes,
                  leak.count, leak.count == 1 ? "" : "s", finding.place.empty() ? "an unknown line" : finding.place);
    publish_finding(finding);
  }
}

void report_early_wait(const void* pc) {
  Finding finding;
  finding.kind = "early_wait";
  finding.place = pc == nullptr ? std::string{} : source_location(pc);
  finding.sites = {pc, nullptr};
  finding.warning = true;
  finding.text = formatted("========= Warning: nothing is waited for at {}: the event is not recorded by then\n"
                           "=========     Call cudaEventRecord before, behind the work that is to be done.\n",
                           finding.place.empty() ? "an unknown line" : finding.place);
  publish_finding(finding);
}

void report_cut_fill(double value, unsigned bytes, const void* pc) {
  constexpr double kMost = 0x1p31;
  const auto mask = (std::uint32_t{1} << 8 * bytes) - 1;
  const std::uint32_t left =
      std::abs(value) <= kMost ? static_cast<std::uint32_t>(static_cast<std::int64_t>(value)) & mask : 0;
  Finding finding;
  finding.kind = "cut_fill";
  finding.place = pc == nullptr ? std::string{} : calling_location(pc);
  finding.sites = {pc, nullptr};
  finding.warning = true;
  finding.text = formatted("========= Warning: a memset that is given {} sets {} to {}, at {}\n"
                           "=========     It knows no elements: other values are for a kernel to write, or a copy.\n",
                           value, bytes == 1 ? "each byte" : formatted("each {} bytes", bytes), left, line(pc));
  publish_finding(finding);
}

void report_unwritten_copy(const UnwrittenCopy& copy) {
  const Allocation* allocation = find_allocation(copy.first);
  const auto offset = static_cast<const std::byte*>(copy.first) - allocation->begin;
  Finding finding;
  finding.kind = "uninitialised_copy";
  finding.place = copy.pc == nullptr ? std::string{} : calling_location(copy.pc);
  finding.sites = {copy.pc, nullptr};
  finding.warning = true;
  finding.text = formatted(
      "========= Warning: the host copies memory that nobody wrote, {} of {} bytes, at {}\n"
      "=========     The first of them is byte {} of allocation {} of {} bytes, allocated at {}{}\n"
      "=========     Does a kernel write all of them? The grid may have too few threads.\n",
      copy.missing, copy.bytes, line(copy.pc), offset, allocation->serial, allocation->bytes, line(allocation->pc),
      offset % 4 == 0 ? formatted(", element {} of 4 bytes", offset / 4) : std::string{});
  publish_finding(finding);
}

void report_host_race(const HostRace& race) {
  Finding finding;
  finding.kind = "host_race";
  finding.place = calling_location(race.host_pc);
  finding.other_place = race.device_pc == nullptr ? std::string{} : source_location(race.device_pc);
  finding.sites = {race.host_pc, race.device_pc};
  finding.text = formatted(
      "========= Race reported between {} access of the host at {} and {} access of a {} at {}\n{}"
      "=========     Address is at byte {}\n"
      "=========     The host does not wait for the device by itself: synchronise with the device, the stream or an "
      "event before.\n",
      verb(race.host_writes), finding.place.empty() ? "an unknown line" : finding.place, verb(race.device_writes),
      race.device, line(race.device_pc),
      race.kernel == nullptr ? std::string{} : formatted("=========     in {}\n", race.kernel), byte_of(race.address));
  publish_finding(finding);
}

void report_copy_race(const CopyRace& race) {
  const Allocation* allocation = find_allocation(race.address);
  Finding finding;
  finding.kind = "stream_race";
  finding.place = race.copy.pc == nullptr ? std::string{} : source_location(race.copy.pc);
  finding.other_place = race.other_pc == nullptr ? std::string{} : source_location(race.other_pc);
  finding.sites = {race.copy.pc, race.other_pc};
  finding.text = formatted(
      "========= Race reported between {} access of a {} at {} and {} access of a {} in another stream at {}\n{}"
      "=========     Address is at byte {} of allocation {} of {} bytes, allocated at {}\n"
      "=========     Nothing orders the two streams, or branches of a graph: let one wait for an event that the other "
      "records.\n",
      verb(race.copy.writes), race.copy.kind(), line(race.copy.pc), verb(race.other_writes), race.other,
      line(race.other_pc), race.kernel == nullptr ? std::string{} : formatted("=========     in {}\n", race.kernel),
      static_cast<const std::byte*>(race.address) - allocation->begin, allocation->serial, allocation->bytes,
      line(allocation->pc));
  publish_finding(finding);
}

void host_access(const void* address, std::size_t bytes, Operation operation, const void* pc) {
  if (local_range().begin != nullptr) return;  // The emulator's own work inside of a kernel.
  const Allocation* allocation = find_allocation(address);
  const FreedAllocation freed = allocation == nullptr ? find_freed(address) : FreedAllocation{};
  if (managed_range.contains(address) || (allocation != nullptr && allocation->kind != MemoryKind::device)) {
    // Atomics make flags, which are there to be looked at meanwhile.
    if (operation == Operation::load || operation == Operation::store)
      observer().host_touched(address, bytes, operation == Operation::store, pc);
    else
      observer().host_polled(address, bytes);
    return;
  }
  Finding finding;
  const char* const does = operation == Operation::load ? "read" : operation == Operation::store ? "write" : "access";
  finding.sites = {pc, nullptr};
  if (allocation == nullptr && freed.allocation.serial == 0) {
    thread_local const void* told = nullptr;
    const Allocation* const beside = in_arena(address) ? nearest_allocation(address) : nullptr;
    if (beside == nullptr || std::exchange(told, pc) == pc) return;
    finding.kind = "out_of_bounds";
    finding.place = calling_location(pc);
    finding.text = formatted("========= Invalid host {} of size {} bytes\n"
                             "=========     at {}\n"
                             "=========     Address is out of bounds: {}\n"
                             "=========     Compare the index with the number of elements before the access.\n",
                             does, bytes, finding.place, beside_allocation(*beside, address));
    // The rest of the last page is there, and the program goes on as on a GPU.
    constexpr std::ptrdiff_t kPage = 4096;
    const auto offset = static_cast<const std::byte*>(address) - beside->begin;
    if (offset < 0 || offset / kPage > static_cast<std::ptrdiff_t>(beside->bytes - 1) / kPage)
      end_program(SIGSEGV, std::move(finding));
    else
      publish_finding(finding);
    return;
  }
  const Allocation& touched = allocation != nullptr ? *allocation : freed.allocation;
  const auto offset = static_cast<const std::byte*>(address) - touched.begin;
  finding.kind = "host_access";
  finding.place = calling_location(pc);
  finding.text = formatted("========= Invalid host {} of size {} bytes\n"
                           "=========     at {}\n"
                           "=========     Address is at byte {} of allocation {} of {} bytes, allocated at {}{}\n"
                           "=========     The host does not reach what cudaMalloc gives: copy it by cudaMemcpy.\n",
                           does, bytes, finding.place, offset, touched.serial, touched.bytes, line(touched.pc),
                           allocation != nullptr ? std::string{} : ", freed at " + line(freed.pc));
  end_program(SIGSEGV, std::move(finding));
}

}  // namespace warpbook::emulator
