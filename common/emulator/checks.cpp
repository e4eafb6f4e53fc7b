#include "common/emulator/checks.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/emulator/shared_memory.hpp"
#include "common/emulator/source_location.hpp"

namespace warpbook::emulator {
namespace {

constexpr std::uintptr_t kNullPage = 64 << 10;
constexpr std::ptrdiff_t kNear = 64 << 10;  // this close to the shared arrays, an address was meant to be in one

/// The instructions that a finding is about; the same again is not printed again.
using Sites = std::pair<const void*, const void*>;

struct Finding {
  std::uint64_t block;
  Sites sites;
  bool fatal;  ///< it ended the kernel
  std::string text;
  std::size_t order = 0;  ///< in which it was held back: of one block, that of its threads
};

/// What was printed of a site, and how often it was found again.
struct Seen {
  std::string headline;
  std::uint64_t again = 0;
};

/// All that was found. Leaked: programs read it while they end.
struct Findings {
  std::mutex mutex;
  std::vector<Finding> held;           ///< of the running launch
  std::vector<std::string> published;  ///< for take_reports
  std::map<Sites, Seen> seen;          ///< of the whole program
};

void print_counts();

Findings& findings() {
  static Findings& all = [&]() -> Findings& {
    std::atexit(print_counts);
    return *new Findings;  // NOLINT(cppcoreguidelines-owning-memory)
  }();
  return all;
}

void print_counts() {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  for (const auto& [sites, seen] : all.seen)
    if (seen.again != 0) fmt::print(stderr, "========= {} more: {}\n", seen.again, seen.headline);
}

/// A report's first two lines as one.
std::string headline(const std::string& text) {
  constexpr std::string_view kPrefix = "========= ";
  const std::size_t end = text.find('\n');
  const std::size_t second = text.find_first_not_of("= ", end + 1);
  if (end == std::string::npos || second == std::string::npos) return text;
  return text.substr(kPrefix.size(), end - kPrefix.size()) + " " +
         text.substr(second, text.find('\n', second) - second);
}

AddressRange range_of(const std::byte* begin, std::size_t bytes) { return {begin, begin + bytes}; }

/// True when the access lies in the range from its first byte to its last.
bool holds(const AddressRange& range, const void* address, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(address);
  return at >= range.begin && at < range.end && bytes <= static_cast<std::size_t>(range.end - at);
}

/// Where the program and its libraries lie: constants, and variables outside of functions.
std::vector<AddressRange> loaded_segments() {
  std::vector<AddressRange> segments;
  const auto visit = [](dl_phdr_info* info, std::size_t, void* data) {
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const auto& header = info->dlpi_phdr[i];
      if (header.p_type != PT_LOAD) continue;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as integers.
      const auto* begin = reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr);
      static_cast<std::vector<AddressRange>*>(data)->push_back(range_of(begin, header.p_memsz));
    }
    return 0;
  };
  dl_iterate_phdr(visit, &segments);
  return segments;
}

/// The loaded segment that holds the address, or an empty range.
AddressRange segment_of(const void* address) {
  static std::mutex mutex;
  static std::vector<AddressRange> segments;
  const std::lock_guard lock(mutex);
  const auto find = [&]() -> AddressRange {
    for (const AddressRange& segment : segments)
      if (segment.contains(address)) return segment;
    return {};
  };
  AddressRange found = find();
  if (found.begin == nullptr) {
    segments = loaded_segments();  // a library may have come since
    found = find();
  }
  return found;
}

/// True when the address is in the shared arrays or next to them.
bool is_near(const void* address, const AddressRange& shared) {
  const auto* at = static_cast<const std::byte*>(address);
  return shared.begin != nullptr && at >= shared.begin - kNear && at < shared.end + kNear;
}

/// The last shared array that begins at or before the address; nullptr where there is none.
const SharedArray* array_at(const void* address, const AddressRange& all) {
  std::size_t count = 0;
  const SharedArray* arrays = shared_arrays(count);
  const auto offset = static_cast<const std::byte*>(address) - all.begin;
  const SharedArray* next =
      std::upper_bound(arrays, arrays + count, offset, [](std::ptrdiff_t value, const SharedArray& array) {
        return value < static_cast<std::ptrdiff_t>(array.offset);
      });
  return next == arrays ? nullptr : next - 1;
}

/// "4 bytes after the end of ...", "inside of ..." in bytes from the array's begin.
std::string relative(std::ptrdiff_t offset, std::size_t size, const std::string& array) {
  const auto bytes = static_cast<std::ptrdiff_t>(size);
  if (offset < 0) return fmt::format("{} bytes before the begin of {}", -offset, array);
  if (offset >= bytes) return fmt::format("{} bytes after the end of {}", offset - bytes, array);
  return fmt::format("at byte {} of {}", offset, array);
}

/// Where the address lies, in words that are the same in every run.
std::string place(const BlockContext& block, const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  if (reinterpret_cast<std::uintptr_t>(address) < kNullPage) return "a null pointer";
  if (in_arena(address)) {
    const Allocation* allocation = find_allocation(address);
    if (allocation == nullptr) allocation = nearest_allocation(address);
    if (allocation == nullptr) return "no memory is allocated";
    return relative(at - allocation->begin, allocation->bytes,
                    fmt::format("allocation {} of {} bytes", allocation->serial, allocation->bytes));
  }
  if (const AddressRange all = shared_range(); is_near(address, all)) {
    std::size_t count = 0;
    const SharedArray* array = shared_arrays(count);
    if (count == 0) return "beyond the shared arrays";
    if (const SharedArray* before = array_at(address, all)) array = before;
    return relative(at - all.begin - static_cast<std::ptrdiff_t>(array->offset), array->bytes,
                    fmt::format("shared array '{}' of {} bytes", array->name, array->bytes));
  }
  if (block.dynamic_shared == nullptr || !range_of(block.dynamic_shared, kMaxDynamicShared).contains(address))
    return "not in the device's memory";
  return relative(at - block.dynamic_shared, block.launch->dynamic_shared_bytes,
                  fmt::format("{} bytes of dynamic shared memory", block.launch->dynamic_shared_bytes));
}

const char* verb(Operation operation) {
  switch (operation) {
  case Operation::load:
    return "read";
  case Operation::store:
    return "write";
  case Operation::reduction:
  case Operation::atomic:
    break;
  }
  return "atomic";
}

const char* capital_verb(Operation operation) {
  return operation == Operation::load ? "Read" : operation == Operation::store ? "Write" : "Atomic";
}

std::string location_or_unknown(const void* pc) {
  const std::string location = source_location(pc);
  return location.empty() ? "an unknown line" : location;
}

uint3 thread_index(const BlockContext& block, unsigned linear) {
  const dim3& extent = block.launch->block;
  return {linear % extent.x, linear / extent.x % extent.y, linear / extent.x / extent.y};
}

std::string triple(const uint3& index) { return fmt::format("({},{},{})", index.x, index.y, index.z); }

void add_finding(Finding finding) {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  finding.order = all.held.size();
  all.held.push_back(std::move(finding));
}

/// While it lives, this thread's accesses are its own: text is made by library functions that the program may hold an
/// instrumented copy of, whose callbacks would come back here.
class Unwatched {
public:
  Unwatched() : block_(current_block) { current_block = nullptr; }
  ~Unwatched() { current_block = block_; }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

private:
  BlockContext* block_;
};

[[gnu::noinline]] void describe_bad_access(const BlockContext& block, const Home& home, const void* address,
                                           std::size_t bytes, Operation operation, const void* pc, BadAccess kind) {
  const Unwatched unwatched;
  const std::string location = source_location(pc);
  const std::string text =
      fmt::format("========= Invalid __{}__ {} of size {} bytes\n"
                  "=========     at {}{}\n"
                  "=========     by {}\n"
                  "=========     Address is {}: {}\n",
                  home.space == Space::shared ? "shared" : "global", verb(operation), bytes, block.launch->name,
                  location.empty() ? "" : " in " + location, describe_thread(block),
                  kind == BadAccess::misaligned ? "misaligned" : "out of bounds", place(block, address));
  add_finding({block.linear_block, {pc, nullptr}, true, text});
}

}  // namespace

Home find_home(const BlockContext& block, const void* address, std::size_t bytes) {
  Home home;
  const auto settle = [&](Space space, AddressRange range) {
    home.space = space;
    home.range = range;
    home.bad = !holds(range, address, bytes);
  };
  if (in_arena(address)) {
    const Allocation* allocation = find_allocation(address);
    settle(Space::global, allocation == nullptr ? AddressRange{} : range_of(allocation->begin, allocation->bytes));
    return home;
  }
  if (block.dynamic_shared != nullptr && range_of(block.dynamic_shared, kMaxDynamicShared).contains(address)) {
    settle(Space::shared, range_of(block.dynamic_shared, block.launch->dynamic_shared_bytes));
    return home;
  }
  if (const AddressRange local = local_range(); local.contains(address)) {
    settle(Space::local, local);
    return home;
  }
  if (const AddressRange all = shared_range(); all.contains(address)) {
    std::size_t count = 0;
    shared_arrays(count);
    const SharedArray* array = array_at(address, all);
    if (count == 0)  // a stripped program: no bounds but these
      settle(Space::shared, all);
    else
      settle(Space::shared, array == nullptr ? AddressRange{} : range_of(all.begin + array->offset, array->bytes));
    return home;
  }
  if (const AddressRange range = registered_range(address); range.begin != nullptr) {
    settle(Space::global, range);
    return home;
  }
  if (const AddressRange segment = segment_of(address); segment.begin != nullptr) {
    settle(Space::elsewhere, segment);
    return home;
  }
  // A wild address: near a shared array it is one that left it.
  home.space = is_near(address, shared_range()) ? Space::shared : Space::global;
  home.bad = true;
  return home;
}

void bad_access(const BlockContext& block, const Home& home, const void* address, std::size_t bytes,
                Operation operation, const void* pc, BadAccess kind) {
  describe_bad_access(block, home, address, bytes, operation, pc, kind);
  abort_kernel(kind == BadAccess::misaligned ? cudaErrorMisalignedAddress : cudaErrorIllegalAddress);
}

void report_race(const BlockContext& block, const Actor& one, const Actor& other, const void* address) {
  const Unwatched unwatched;
  // The order in which the emulator ran them means nothing: name them by their place in the program.
  const bool swap = other.pc < one.pc;
  const Actor& first = swap ? other : one;
  const Actor& second = swap ? one : other;
  const auto access = [](const Actor& actor) {
    return fmt::format("{} access at {}", capital_verb(actor.operation), location_or_unknown(actor.pc));
  };
  add_finding({block.linear_block,
               {first.pc, second.pc},
               false,
               fmt::format("========= Race reported between {} and {}\n"
                           "=========     in {}, block {}, threads {} and {}\n"
                           "=========     Address is {}\n"
                           "=========     No barrier lies between the two\n",
                           access(first), access(second), block.launch->name, triple(block.block_index),
                           triple(thread_index(block, first.thread)), triple(thread_index(block, second.thread)),
                           place(block, address))});
}

void report_uninitialised(const BlockContext& block, const Actor& reader, std::size_t bytes, const void* address) {
  const Unwatched unwatched;
  add_finding({block.linear_block,
               {reader.pc, nullptr},
               false,
               fmt::format("========= Uninitialized __shared__ memory read of size {} bytes\n"
                           "=========     at {} in {}\n"
                           "=========     by block {}, thread {}\n"
                           "=========     Address is {}\n",
                           bytes, block.launch->name, location_or_unknown(reader.pc), triple(block.block_index),
                           triple(thread_index(block, reader.thread)), place(block, address))});
}

void publish_findings() {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  if (all.held.empty()) return;
  // Blocks begin in order, so the first block that ended the kernel is the same in every run; what later blocks still
  // found is not.
  std::uint64_t last_block = ~std::uint64_t{0};
  for (const Finding& finding : all.held)
    if (finding.fatal) last_block = std::min(last_block, finding.block);
  std::sort(all.held.begin(), all.held.end(),
            [](const Finding& a, const Finding& b) { return std::tie(a.block, a.order) < std::tie(b.block, b.order); });
  std::set<Sites> published;
  for (const Finding& finding : all.held) {
    if (finding.block > last_block || !published.insert(finding.sites).second) continue;
    all.published.push_back(finding.text);
    const auto [seen, is_new] = all.seen.try_emplace(finding.sites, Seen{headline(finding.text)});
    if (is_new)
      std::fputs(finding.text.c_str(), stderr);
    else
      ++seen->second.again;
  }
  all.held.clear();
}

void add_report(const std::string& text) {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  all.published.push_back(text);
  std::fputs(text.c_str(), stderr);
}

std::vector<std::string> take_reports() {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.published, {});
}

}  // namespace warpbook::emulator
