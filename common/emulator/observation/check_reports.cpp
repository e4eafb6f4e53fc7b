// What is said of a mistake: in compute-sanitizer's words where it has some, the places in the program, and what to do.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/emulator/base/text.hpp"
#include "common/emulator/execution/host_ranges.hpp"
#include "common/emulator/execution/shared_memory.hpp"
#include "common/emulator/execution/symbols.hpp"
#include "common/emulator/observation/checks.hpp"
#include "common/emulator/observation/findings.hpp"
#include "common/emulator/observation/host_reports.hpp"
#include "common/emulator/observation/source_location.hpp"

namespace warpbook::emulator {
namespace {

constexpr std::uintptr_t kNullPage = 64 << 10;
constexpr const char* kHostsOwn =
    "A kernel reaches only what cudaMalloc and its kin gave; the host's own memory has to be copied.";

/// Where an address lies, and what it means.
struct Place {
  std::string text;  ///< in words that are the same in every run
  const char* kind = "out_of_bounds";
  std::string advice;
};

/// "4 bytes after the end of ...", "at byte 4 of ..., which is element 1".
std::string relative(std::ptrdiff_t offset, std::size_t size, std::size_t width, const std::string& array) {
  const auto bytes = static_cast<std::ptrdiff_t>(size);
  std::string text = offset < 0       ? formatted("{} bytes before the begin of {}", -offset, array)
                     : offset < bytes ? formatted("at byte {} of {}", offset, array)
                                      : formatted("{} bytes after the end of {}", offset - bytes, array);
  if (width != 0 && offset % static_cast<std::ptrdiff_t>(width) == 0)
    text += formatted(", index {} of {} elements of {} bytes", offset / static_cast<std::ptrdiff_t>(width),
                      size / width, width);
  return text;
}

std::string at_line(const char* what, const void* pc) {
  const std::string location = pc == nullptr ? std::string{} : source_location(pc);
  return location.empty() ? std::string{} : formatted(", {} at {}", what, location);
}

std::string describe(const Allocation& allocation) {
  return formatted("allocation {} of {} bytes{}", allocation.serial, allocation.bytes,
                   at_line("allocated", allocation.pc));
}

}  // namespace

std::string beside_allocation(const Allocation& allocation, const void* address) {
  return relative(static_cast<const std::byte*>(address) - allocation.begin, allocation.bytes, 0, describe(allocation));
}

namespace {

/// Beside or in the shared arrays.
Place place_in_shared(const BlockContext& block, const AddressRange& all, const std::byte* at, std::size_t width) {
  std::size_t count = 0;
  const SharedArray* array = shared_arrays(count);
  if (count == 0) return {"beyond the shared arrays", "out_of_bounds", ""};
  if (const SharedArray* before = array_at(at, all)) array = before;
  // The next one, where the one before is another kernel's.
  const auto of_kernel = [&](const SharedArray& one) { return one.function.ends_with(block.launch->name); };
  const SharedArray* const next = array + 1;
  if (at >= all.begin + array->offset + array->bytes && next < shared_arrays(count) + count && !of_kernel(*array) &&
      of_kernel(*next))
    array = next;
  return {relative(at - all.begin - static_cast<std::ptrdiff_t>(array->offset), array->bytes, width,
                   formatted("shared array '{}' of {} bytes", array->name, array->bytes)),
          "out_of_bounds", "Give the array the extents that its indices reach, or keep the indices below them."};
}

Place place_in_dynamic(const BlockContext& block, const std::byte* at, std::size_t width) {
  return {relative(at - block.dynamic_shared, block.launch->dynamic_shared_bytes, width,
                   formatted("{} bytes of dynamic shared memory", block.launch->dynamic_shared_bytes)),
          "out_of_bounds", "The launch's third parameter says how many bytes there are."};
}

/// The place that was meant, 2^32 elements below, where an unsigned index went below 0. An element may be a struct, of
/// which a part is accessed.
std::optional<Place> place_of_unsigned(const BlockContext& block, const std::byte* at, std::size_t width) {
  constexpr std::ptrdiff_t kNear = 64 << 10;
  const auto is_before = [](const std::byte* address, const std::byte* begin) {
    return begin != nullptr && address < begin && begin - address <= kNear;
  };
  const auto find = [&](const std::byte* meant, std::size_t stride) -> std::optional<Place> {
    if (const AddressRange all = shared_range(); is_near_shared(meant, all))
      return place_in_shared(block, all, meant, stride);
    if (is_before(meant, block.dynamic_shared)) return place_in_dynamic(block, meant, stride);
    const Allocation* allocation = in_arena(meant) ? nearest_allocation(meant) : nullptr;
    if (allocation == nullptr || !is_before(meant, allocation->begin)) return std::nullopt;
    return Place{relative(meant - allocation->begin, allocation->bytes, stride, describe(*allocation)), "out_of_bounds",
                 ""};
  };
  for (const std::size_t parts : {1, 2, 3, 4, 5, 6, 7, 8}) {
    std::optional<Place> place = find(at - (parts * width << 32), parts * width);
    if (!place) continue;
    place->advice = "An unsigned index does not go below 0, but on to 4294967295: compare it before the subtraction.";
    return place;
  }
  return std::nullopt;
}

/// So far below all allocations that an index of 32 bits must have changed its sign.
std::optional<Place> place_of_overflow(const std::byte* at, std::size_t width) {
  constexpr std::ptrdiff_t kFewest = 1 << 26;  // elements
  constexpr std::ptrdiff_t kMostParts = 8;     // of an element
  const Allocation* allocation = nearest_allocation(at);
  const std::ptrdiff_t below = allocation == nullptr ? 0 : allocation->begin - at;
  const auto bytes = static_cast<std::ptrdiff_t>(width);
  if (below < kFewest * bytes || below > kMostParts * bytes << 31) return std::nullopt;
  return Place{formatted("{} MiB below all allocations", below >> 20), "out_of_bounds",
               "An int above 2147483647 becomes negative: compute the index in 64 bits, from its first factor on."};
}

/// Bytes between an address and an allocation that does not hold it.
std::size_t distance(const std::byte* at, const Allocation& allocation) {
  const std::byte* const end = allocation.begin + allocation.bytes;
  return static_cast<std::size_t>(at >= end ? at - end : allocation.begin - at);
}

/// The allocation that an access left: the nearest one; or where that is small, and far, a large one that the kernel
/// was given, and which is left by less than its size.
const Allocation* left_allocation(const BlockContext& block, const std::byte* at) {
  const Allocation* best = nearest_allocation(at);
  if (best == nullptr || distance(at, *best) <= best->bytes) return best;
  const LaunchInfo& launch = *block.launch;
  for (std::size_t place = 0; place + sizeof(void*) <= launch.argument_bytes; place += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, static_cast<const std::byte*>(launch.arguments) + place, sizeof word);
    const Allocation* const given = in_arena(word) ? find_allocation(word) : nullptr;
    if (given == nullptr || distance(at, *given) > given->bytes) continue;
    if (distance(at, *best) > best->bytes || distance(at, *given) < distance(at, *best)) best = given;
  }
  return best;
}

Place place_in_arena(const BlockContext& block, const std::byte* at, std::size_t width) {
  const Allocation* allocation = find_allocation(at);
  if (allocation == nullptr) {
    if (const FreedAllocation freed = find_freed(at); freed.allocation.serial != 0)
      return {relative(at - freed.allocation.begin, freed.allocation.bytes, width,
                       describe(freed.allocation) + at_line("freed", freed.pc)),
              "use_after_free", "Free memory after the last kernel that uses it, or set the pointer anew."};
    allocation = left_allocation(block, at);
  }
  const char* const advice = "Compare the index with the number of elements before the access.";
  if (allocation == nullptr) return {"no memory is allocated", "out_of_bounds", advice};
  return {relative(at - allocation->begin, allocation->bytes, width, describe(*allocation)), "out_of_bounds", advice};
}

/// In the shared memory of another block of the cluster, or beside its arrays.
Place place_in_cluster(const BlockContext& block, const ClusterPlace& place, const std::byte* at, std::size_t width) {
  const std::string whose = formatted("the cluster's block {}", place.rank);
  if (place.block->state == ClusterBlock::State::ended)
    return {formatted("in shared memory of {}, which has ended", whose), "cluster_block_ended",
            "End the kernel with a barrier of the cluster, so that its blocks stay as long as others need them."};
  if (place.is_dynamic)
    return {relative(at - place.block->dynamic_shared, block.launch->dynamic_shared_bytes, width,
                     formatted("{} bytes of dynamic shared memory of {}", block.launch->dynamic_shared_bytes, whose)),
            "out_of_bounds", "Ask for enough dynamic shared memory at the launch."};
  std::size_t count = 0;
  const SharedArray* array = nullptr;  // the last that begins at or before the address
  for (const SharedArray* one = shared_arrays(count); count != 0; ++one, --count)
    if (one->offset <= place.offset && (array == nullptr || one->offset > array->offset)) array = one;
  if (array == nullptr) return {formatted("beyond the shared arrays of {}", whose), "out_of_bounds", ""};
  return {relative(at - place.block->static_shared - static_cast<std::ptrdiff_t>(array->offset), array->bytes, width,
                   formatted("shared array '{}' of {} bytes of {}", array->name, array->bytes, whose)),
          "out_of_bounds", "Give the array the extents that its indices reach, or keep the indices below them."};
}

Place place_of(const BlockContext& block, const void* address, std::size_t width) {
  const auto* at = static_cast<const std::byte*>(address);
  if (reinterpret_cast<std::uintptr_t>(address) < kNullPage)
    return {"a null pointer", "out_of_bounds", "The pointer was never set, or its allocation failed."};
  if (find_allocation(at) != nullptr || find_freed(at).allocation.serial != 0) return place_in_arena(block, at, width);
  if (local_range().contains(at))
    return {"in the variables of another thread, or of an earlier launch", "out_of_bounds",
            "Only a thread itself reaches its variables: hand a value over in shared memory, or by a shuffle."};
  if (const AddressRange all = shared_range(); is_near_shared(address, all))
    return place_in_shared(block, all, at, width);
  if (block.dynamic_shared != nullptr &&
      AddressRange{block.dynamic_shared, block.dynamic_shared + kMaxDynamicShared}.contains(address))
    return place_in_dynamic(block, at, width);
  if (const ClusterPlace place = find_in_cluster(block, address); place.block != nullptr)
    return place_in_cluster(block, place, at, width);
  if (const AddressRange range = host_variable_at(address); range.begin != nullptr)
    return {variable_near(address).name.empty() ? "in a string of the host's"
                                                : formatted("in the host's variable '{}'", variable_near(address).name),
            "out_of_bounds", kHostsOwn};
  if (const Variable variable = variable_near(address); !variable.name.empty())
    return {relative(at - variable.range.begin, static_cast<std::size_t>(variable.range.end - variable.range.begin),
                     width, formatted("variable '{}'", variable.name)),
            "out_of_bounds", "Give the variable the extents that its indices reach, or keep the indices below them."};
  if (const HeapPiece heap = heap_near(address); heap.range.begin != nullptr) {
    const auto bytes = static_cast<std::size_t>(heap.range.end - heap.range.begin);
    return {relative(at - heap.range.begin, bytes, width,
                     formatted("{} bytes that a kernel {}", bytes, heap.freed ? "has freed" : "asked for")),
            heap.freed ? "use_after_free" : "out_of_bounds",
            heap.freed ? "Read what is needed before it is freed or deleted."
                       : "Compare the index with the number of elements that were asked for."};
  }
  if (width != 0) {
    if (const auto place = place_of_unsigned(block, at, width)) return *place;
    if (const auto place = place_of_overflow(at, width)) return *place;
  }
  constexpr std::ptrdiff_t kNear = 1 << 30;  // bytes, by which an index went below 0
  if (in_arena(address) || (at < arena_begin && arena_begin - at <= kNear)) return place_in_arena(block, at, width);
  return {"not in the device's memory", "out_of_bounds", kHostsOwn};
}

const char* verb(Operation operation) {
  return operation == Operation::load ? "read" : operation == Operation::store ? "write" : "atomic";
}

const char* capital_verb(Operation operation) {
  return operation == Operation::load ? "Read" : operation == Operation::store ? "Write" : "Atomic";
}

std::string location_or_unknown(const void* pc) {
  const std::string location = source_location(pc);
  return location.empty() ? "an unknown line" : location;
}

uint3 index_in(const dim3& extent, std::uint64_t linear) {
  return {static_cast<unsigned>(linear % extent.x), static_cast<unsigned>(linear / extent.x % extent.y),
          static_cast<unsigned>(linear / extent.x / extent.y)};
}

uint3 thread_index(const BlockContext& block, unsigned linear) { return index_in(block.launch->block, linear); }

std::string triple(const uint3& index) { return formatted("({},{},{})", index.x, index.y, index.z); }

std::string advice_line(const std::string& advice) {
  return advice.empty() ? advice : formatted("=========     {}\n", advice);
}

std::string alignment_advice(std::size_t bytes) {
  return formatted("An access of {0} bytes needs an address that is a multiple of {0}.", bytes);
}

/// A finding of the running block at one instruction, or at two.
Finding finding_at(const BlockContext& block, const char* kind, const void* pc, const void* other_pc = nullptr) {
  Finding finding;
  finding.kind = kind;
  finding.place = source_location(pc);
  if (other_pc != nullptr) finding.other_place = source_location(other_pc);
  finding.sites = {pc, other_pc};
  finding.block = block.linear_block;
  return finding;
}

const char* space_name(const Home& home) {
  return home.space == Space::shared || home.space == Space::cluster ? "shared"
         : home.space == Space::local                                ? "local"
                                                                     : "global";
}

[[gnu::noinline]] void describe_bad_access(const BlockContext& block, const Home& home, const void* address,
                                           std::size_t bytes, Operation operation, const void* pc, BadAccess kind) {
  const Unwatched unwatched;
  const bool misaligned = kind == BadAccess::misaligned;
  const std::string location = source_location(pc);
  const Place place = place_of(block, address, misaligned ? 0 : bytes);
  const bool freed = std::string_view(place.kind) == "use_after_free";
  Finding finding = finding_at(block, misaligned ? "misaligned" : place.kind, pc);
  finding.text = formatted("========= Invalid __{}__ {} of size {} bytes\n"
                           "=========     at {}{}\n"
                           "=========     by {}\n"
                           "=========     Address is {}: {}\n{}",
                           space_name(home), verb(operation), bytes, block.launch->name,
                           location.empty() ? "" : " in " + location, describe_thread(block),
                           misaligned ? "misaligned"
                           : freed    ? "freed"
                                      : "out of bounds",
                           place.text, advice_line(misaligned ? alignment_advice(bytes) : place.advice));
  finding.fatal = true;
  hold_finding(std::move(finding));
}

/// Keeps a mistake that ends the kernel.
void hold_fatal(const BlockContext& block, const char* kind, const void* pc, std::string text) {
  Finding finding = finding_at(block, kind, pc);
  finding.fatal = true;
  finding.text = std::move(text);
  hold_finding(std::move(finding));
}

[[gnu::noinline]] void describe_local_atomic(const BlockContext& block, unsigned bytes, const void* pc) {
  const Unwatched unwatched;
  hold_fatal(block, "local_atomic", pc,
             formatted("========= Invalid __local__ atomic of size {} bytes\n"
                       "=========     at {} in {}\n"
                       "=========     by {}\n"
                       "=========     It is a thread's own variable: atomics are for global and shared memory.\n",
                       bytes, block.launch->name, location_or_unknown(pc), describe_thread(block)));
}

[[gnu::noinline]] void describe_endless_loop(const BlockContext& block, const void* pc) {
  const Unwatched unwatched;
  hold_fatal(block, "endless_loop", pc,
             formatted("========= A loop that never ends\n"
                       "=========     at {} in {}\n"
                       "=========     by {}\n"
                       "=========     Nothing in it changes its condition. A flag that another thread sets is looked "
                       "at again only if it is volatile or atomic.\n",
                       block.launch->name, location_or_unknown(pc), describe_thread(block)));
}

[[gnu::noinline]] void describe_bad_local_access(const BlockContext& block, const LocalAccess& access, const void* pc) {
  const Unwatched unwatched;
  const std::string name = access.variable == nullptr ? std::string{} : variable_near(access.variable).name;
  const std::string array =
      name.empty() ? formatted("{} of {} bytes",
                               access.variable == nullptr ? "an array of the thread's own" : "a constant array",
                               access.array_bytes)
                   : formatted("variable '{}'", name);
  hold_fatal(
      block, "out_of_bounds", pc,
      formatted("========= Invalid __{}__ {} of size {} bytes\n"
                "=========     at {} in {}\n"
                "=========     by {}\n"
                "=========     Address is out of bounds: {}\n"
                "=========     Give the array the extents that its indices reach, or keep the indices below them.\n",
                access.variable == nullptr ? "local" : "global", verb(access.operation), access.bytes,
                block.launch->name, location_or_unknown(pc), describe_thread(block),
                relative(access.offset, access.array_bytes, access.bytes, array)));
}

[[gnu::noinline]] void describe_ended_local(const BlockContext& block, std::size_t bytes, Operation operation,
                                            const void* pc, const void* ended_at) {
  const Unwatched unwatched;
  hold_fatal(block, "ended_local", pc,
             formatted("========= Invalid __local__ {} of size {} bytes\n"
                       "=========     at {} in {}\n"
                       "=========     by {}\n"
                       "=========     Address is of a thread's own variable that has ended{}\n"
                       "=========     A variable lives as long as its braces or its function: hand over its value, or "
                       "declare it outside.\n",
                       verb(operation), bytes, block.launch->name, location_or_unknown(pc), describe_thread(block),
                       ended_at == nullptr ? ", with its function" : at_line("it ended", ended_at)));
}

[[gnu::noinline]] void describe_misaligned_local(const BlockContext& block, const LocalAccess& access, const void* pc) {
  const Unwatched unwatched;
  hold_fatal(block, "misaligned", pc,
             formatted("========= Invalid __local__ {} of size {} bytes\n"
                       "=========     at {} in {}\n"
                       "=========     by {}\n"
                       "=========     Address is misaligned: at byte {} of an array of the thread's own\n{}",
                       verb(access.operation), access.bytes, block.launch->name, location_or_unknown(pc),
                       describe_thread(block), access.offset, advice_line(alignment_advice(access.bytes))));
}

/// Both sides of a race; which of them the emulator ran first means nothing, so they are named by their place in the
/// program.
struct RaceSides {
  const void* pc;
  const void* other_pc;
  Operation operation;
  Operation other_operation;
  std::string who;
  std::string other_who;
  bool block_scope = false;  ///< One is an atomic for its own block alone.
  bool copied = false;       ///< One is an asynchronous copy.
  bool exchanged = false;    ///< A shuffle or a vote is between them.
  Handover handover = Handover::none;

  void sort() {
    if (other_pc >= pc) return;
    std::swap(pc, other_pc);
    std::swap(operation, other_operation);
    std::swap(who, other_who);
  }
};

/// How near two threads that race are: what orders one orders the nearer ones, too.
enum class Apart : unsigned { in_warp, in_block, in_grid, in_cluster };

Apart apart(unsigned thread, unsigned other) {
  return thread / kWarpSize == other / kWarpSize ? Apart::in_warp : Apart::in_block;
}

std::string race_advice(const RaceSides& sides, Apart apart, bool one_line) {
  if (sides.block_scope)
    return "An atomic whose name ends in _block, or of thread_scope_block, is one for the threads of its block alone: "
           "where blocks meet, use a wider one.";
  if (is_atomic(sides.operation) && is_atomic(sides.other_operation))
    return "An atomic of 4 bytes and one of 8 do not know of each other: use one width at a place.";
  if (sides.copied)
    return "An asynchronous copy is done when its thread has waited for it: first __pipeline_wait_prior(), "
           "consumer_wait() or another wait of its kind, then the barrier.";
  if (sides.handover == Handover::unfenced)
    return "A lock or a flag hands on what was written before a fence: put __threadfence() before its release; or use "
           "an atomic here, too.";
  if (sides.handover == Handover::unmarked)
    return "A fence orders what comes before it with what is atomic or volatile behind it: let the flag be that, where "
           "it is set and where it is read.";
  if (apart == Apart::in_cluster)
    return "No barrier of the cluster lies between the two: cluster.sync() orders what its blocks do.";
  const char* const barrier = apart == Apart::in_warp ? "__syncwarp()" : "__syncthreads()";
  if (one_line && sides.operation != Operation::load && sides.other_operation != Operation::load)
    return "Threads write one place in one statement: use an atomic, or give each a place of its own.";
  if (apart == Apart::in_grid)
    return "Nothing orders two blocks of a launch: use an atomic, or give the second step a launch of its own.";
  if (one_line)
    return formatted("One statement reads what another thread writes in it: read, {}, then write; or use an atomic.",
                     barrier);
  if (apart == Apart::in_warp && sides.exchanged)
    return "Between the two is a shuffle or a vote, which orders no memory: __syncwarp() does.";
  return formatted("No barrier lies between the two: {} orders the {}.", barrier,
                   apart == Apart::in_warp ? "lanes of a warp" : "threads of a block");
}

Finding race_finding(const BlockContext& block, const char* kind, RaceSides sides, const std::string& where,
                     Apart apart) {
  constexpr unsigned kAtomic = 4;  // its advice helps with whatever else is wrong there
  sides.sort();
  Finding finding = finding_at(block, kind, sides.pc, sides.other_pc);
  const bool one_line = !finding.place.empty() && finding.place == finding.other_place;
  const bool both_write = sides.operation != Operation::load && sides.other_operation != Operation::load;
  finding.kernel = block.launch->name;
  finding.weight = static_cast<unsigned>(apart) + (one_line && both_write ? kAtomic : 0);
  finding.text = formatted("========= Race reported between {} access at {} and {} access at {}\n"
                           "=========     in {}, {} and {}\n"
                           "=========     Address is {}\n{}",
                           capital_verb(sides.operation), location_or_unknown(sides.pc),
                           capital_verb(sides.other_operation), location_or_unknown(sides.other_pc), block.launch->name,
                           sides.who, sides.other_who, where, advice_line(race_advice(sides, apart, one_line)));
  return finding;
}

void hold_uninitialised(const BlockContext& block, const char* kind, const char* space, const Actor& reader,
                        std::size_t bytes, const void* address, const std::string& advice,
                        const void* stored_at = nullptr) {
  Finding finding = finding_at(block, kind, reader.pc, stored_at);
  finding.text =
      formatted("========= Uninitialized __{}__ memory read of size {} bytes\n"
                "=========     at {} in {}\n"
                "=========     by block {}, thread {}\n"
                "=========     Address is {}\n{}",
                space, bytes, block.launch->name, location_or_unknown(reader.pc), triple(block.block_index),
                triple(thread_index(block, reader.thread)), place_of(block, address, bytes).text, advice_line(advice));
  hold_finding(std::move(finding));
}

}  // namespace

void bad_access(const BlockContext& block, const Home& home, const void* address, std::size_t bytes,
                Operation operation, const void* pc, BadAccess kind) {
  describe_bad_access(block, home, address, bytes, operation, pc, kind);
  abort_kernel(kind == BadAccess::misaligned ? cudaErrorMisalignedAddress : cudaErrorIllegalAddress);
}

void local_atomic(const BlockContext& block, unsigned bytes, const void* pc) {
  describe_local_atomic(block, bytes, pc);
  abort_kernel(cudaErrorInvalidAddressSpace);
}

void endless_loop(const BlockContext& block, const void* pc) {
  describe_endless_loop(block, pc);
  abort_kernel(cudaErrorLaunchTimeout);
}

void ended_local(const BlockContext& block, std::size_t bytes, Operation operation, const void* pc,
                 const void* ended_at) {
  describe_ended_local(block, bytes, operation, pc, ended_at);
  abort_kernel(cudaErrorIllegalAddress);
}

void bad_local_access(const BlockContext& block, const LocalAccess& access, const void* pc) {
  describe_bad_local_access(block, access, pc);
  abort_kernel(cudaErrorIllegalAddress);
}

void misaligned_local_access(const BlockContext& block, const LocalAccess& access, const void* pc) {
  describe_misaligned_local(block, access, pc);
  abort_kernel(cudaErrorMisalignedAddress);
}

void report_race(const BlockContext& block, const Actor& one, const Actor& other, const void* address, bool exchanged) {
  const Unwatched unwatched;
  const auto who = [&](const Actor& actor) {
    return formatted("block {}, thread {}", triple(block.block_index), triple(thread_index(block, actor.thread)));
  };
  const Apart apart = warpbook::emulator::apart(one.thread, other.thread);
  hold_finding(race_finding(block, apart == Apart::in_warp ? "warp_race" : "race",
                            {one.pc, other.pc, one.operation, other.operation, who(one), who(other), false,
                             one.copied || other.copied, exchanged},
                            place_of(block, address, 0).text, apart));
}

void report_cluster_race(const BlockContext& block, const Actor& one, std::uint64_t one_block, const Actor& other,
                         std::uint64_t other_block, const void* address) {
  const Unwatched unwatched;
  const auto who = [&](const Actor& actor, std::uint64_t number) {
    return formatted("block {}, thread {}", triple(index_in(block.launch->grid, number)),
                     triple(thread_index(block, actor.thread)));
  };
  hold_finding(
      race_finding(block, "cluster_race",
                   {one.pc, other.pc, one.operation, other.operation, who(one, one_block), who(other, other_block)},
                   place_of(block, address, 0).text, Apart::in_cluster));
}

Finding global_race(const BlockContext& block, const GlobalRace& race, const void* pc, const void* other_pc) {
  const Unwatched unwatched;
  const std::uint32_t one_block = race.thread / block.threads;
  const std::uint32_t other_block = race.other_thread / block.threads;
  const auto who = [&](std::uint32_t thread) {
    return formatted("block {}, thread {}", triple(index_in(block.launch->grid, thread / block.threads)),
                     triple(thread_index(block, thread % block.threads)));
  };
  return race_finding(block, "global_race",
                      {pc, other_pc, race.operation, race.other_operation, who(race.thread), who(race.other_thread),
                       race.block_scope, false, race.exchanged, race.handover},
                      place_of(block, race.address, 0).text,
                      one_block == other_block ? apart(race.thread % block.threads, race.other_thread % block.threads)
                                               : Apart::in_grid);
}

void report_stream_race(const BlockContext& block, const StreamRace& race) {
  const Unwatched unwatched;
  Finding finding = finding_at(block, "stream_race", race.actor.pc, race.other_pc);
  finding.text = formatted(
      "========= Race reported between {} access at {} and {} access of a {} in another stream at {}\n"
      "=========     in {}, block {}, thread {}{}\n"
      "=========     Address is {}\n"
      "=========     Nothing orders the two streams, or branches of a graph: let one wait for an event that the other "
      "records.\n",
      capital_verb(race.actor.operation), location_or_unknown(race.actor.pc), race.other_writes ? "Write" : "Read",
      race.other, finding.other_place.empty() ? "an unknown line" : finding.other_place, block.launch->name,
      triple(block.block_index), triple(thread_index(block, race.actor.thread)),
      race.kernel == nullptr ? std::string{} : formatted(", and in {}", race.kernel),
      place_of(block, race.address, 0).text);
  hold_finding(std::move(finding));
}

void report_parent_race(const BlockContext& block, const StreamRace& race) {
  const Unwatched unwatched;
  Finding finding = finding_at(block, "parent_race", race.actor.pc, race.other_pc);
  finding.text = formatted(
      "========= Race reported between {} access at {} and {} access of the kernel that launched it at {}\n"
      "=========     in {}, block {}, thread {}, and in {}\n"
      "=========     Address is {}\n"
      "=========     A kernel cannot wait for what it launches: what that needs comes before the launch, behind a "
      "barrier of the block; what needs its results belongs into a launch in cudaStreamTailLaunch.\n",
      capital_verb(race.actor.operation), location_or_unknown(race.actor.pc), race.other_writes ? "Write" : "Read",
      location_or_unknown(race.other_pc), block.launch->name, triple(block.block_index),
      triple(thread_index(block, race.actor.thread)), race.kernel, place_of(block, race.address, 0).text);
  hold_finding(std::move(finding));
}

void report_uninitialised(const BlockContext& block, const Actor& reader, std::size_t bytes, const void* address,
                          const void* stored_at) {
  const Unwatched unwatched;
  hold_uninitialised(block, "uninitialised_shared", "shared", reader, bytes, address,
                     stored_at == nullptr
                         ? "Every block begins with shared memory that holds anything: write it first."
                         : formatted("What is stored there at {} has no value: give the variable one on every path.",
                                     location_or_unknown(stored_at)),
                     stored_at);
}

void report_uninitialised_global(const BlockContext& block, const Actor& reader, std::size_t bytes,
                                 const void* address) {
  const Unwatched unwatched;
  hold_uninitialised(block, "uninitialised_global", "global", reader, bytes, address,
                     "cudaMalloc gives memory that holds anything: copy or set it before it is read.");
}

void report_hosts_table(const BlockContext& block, const void* object, const void* pc) {
  const Unwatched unwatched;
  Finding finding = finding_at(block, "hosts_table", pc, nullptr);
  finding.text = formatted(
      "========= Virtual function called of an object that the host made\n"
      "=========     at {} in {}\n"
      "=========     by {}\n"
      "=========     Address is {}\n"
      "=========     Its table of functions is the host's, which a kernel cannot call: construct it in a kernel.\n",
      block.launch->name, location_or_unknown(pc), describe_thread(block), place_of(block, object, 0).text);
  hold_finding(std::move(finding));
}

void report_uninitialised_local(const BlockContext& block, std::size_t bytes, const UnsetRead& read) {
  const Unwatched unwatched;
  Finding finding = finding_at(block, "uninitialised_local", read.pc, read.used_at);
  if (finding.other_place == finding.place) finding.other_place.clear();
  finding.sites.second = nullptr;
  finding.text = formatted("========= Uninitialized __local__ memory read of size {} bytes\n"
                           "=========     at {} in {}\n"
                           "=========     by {}\n{}"
                           "=========     A variable or array of a thread's own begins with anything: give it a "
                           "value first{}.\n",
                           bytes, block.launch->name, location_or_unknown(read.pc), describe_thread(block),
                           finding.other_place.empty()
                               ? std::string{}
                               : formatted("=========     What comes of it matters at {}\n", finding.other_place),
                           read.used_at == nullptr ? "" : ", on every path");
  hold_finding(std::move(finding));
}

void report_stale_read(const BlockContext& block, const void* address, const void* pc, const void* writer, bool copy) {
  const Unwatched unwatched;
  Finding finding = finding_at(block, copy ? "race" : "stale_read", pc, writer);
  finding.warning = !copy;
  const std::string what =
      copy ? formatted("Race reported between Read access of an asynchronous copy at {} and Write access at {}",
                       location_or_unknown(pc), location_or_unknown(writer))
           : formatted("Warning: a read-only load at {} of what the same kernel wrote at {}", location_or_unknown(pc),
                       location_or_unknown(writer));
  finding.text = formatted(
      "========= {}\n=========     in {}, {}\n=========     Address is {}\n=========     {}\n", what,
      block.launch->name, describe_thread(block), place_of(block, address, 0).text,
      copy
          ? "An asynchronous copy reads until its thread has waited for it: write there behind that."
          : "Textures, __ldg() and ld.global.nc may find what was there before the kernel: read by a plain load, or in "
            "the next kernel.");
  hold_finding(std::move(finding));
}

void report_different_barriers(const BlockContext& block, const void* pc, const void* other_pc) {
  const Unwatched unwatched;
  const auto [first, second] = std::minmax(pc, other_pc);
  Finding finding = finding_at(block, "divergent_barrier", first, second);
  finding.warning = true;
  finding.text = formatted(
      "========= Warning: warps of a block meet at different barriers, at {} and at {}\n"
      "=========     in kernel {}, block {}\n"
      "=========     A GPU takes them for one. CUDA asks that all threads come to the same __syncthreads().\n",
      location_or_unknown(first), location_or_unknown(second), block.launch->name, triple(block.block_index));
  hold_finding(std::move(finding));
}

bool is_placed_by_program(Space space, const void* address) {
  return space != Space::local && (space != Space::elsewhere || !variable_near(address).name.empty());
}

void report_misaligned_member(const BlockContext& block, const void* address, std::size_t alignment,
                              Operation operation, const void* pc) {
  const Unwatched unwatched;
  const Home home = find_home(block, address, 1);
  if (home.bad || !is_placed_by_program(home.space, address)) return;
  Finding finding = finding_at(block, "misaligned", pc);
  finding.text = formatted("========= Misaligned __{}__ {} of a member of a type that is aligned to {} bytes\n"
                           "=========     at {} in {}\n"
                           "=========     by {}\n"
                           "=========     Address is misaligned: {}\n"
                           "=========     nvcc may access several members at once, and a GPU then ends the kernel.\n",
                           space_name(home), verb(operation), alignment, block.launch->name, location_or_unknown(pc),
                           describe_thread(block), place_of(block, address, 0).text);
  hold_finding(std::move(finding));
}

void report_row_bounds(const BlockContext& block, std::int64_t index, std::uint64_t elements, const void* pc) {
  const Unwatched unwatched;
  Finding finding = finding_at(block, "row_bounds", pc);
  finding.warning = true;
  finding.text = formatted("========= Warning: index {} of {} elements, in a row or in a struct's array\n"
                           "=========     at {} in {}\n"
                           "=========     by {}\n"
                           "=========     What is accessed lies {} it, in the next row or member.\n",
                           index, elements, block.launch->name, location_or_unknown(pc), describe_thread(block),
                           index < 0 ? "before" : "behind");
  hold_finding(std::move(finding));
}

void report_division_by_zero(const BlockContext& block, const void* pc) {
  const Unwatched unwatched;
  Finding finding = finding_at(block, "division_by_zero", pc);
  finding.text = formatted("========= Integer division by zero\n"
                           "=========     at {} in {}\n"
                           "=========     by {}\n"
                           "=========     A GPU goes on with a value that means nothing: compare the divisor with 0 "
                           "first.\n",
                           block.launch->name, location_or_unknown(pc), describe_thread(block));
  hold_finding(std::move(finding));
}

void report_inactive_shuffle(const BlockContext& block, const void* pc, unsigned lane, unsigned source) {
  const Unwatched unwatched;
  const unsigned warp = block.thread / kWarpSize;
  Finding finding = finding_at(block, "inactive_shuffle", pc);
  finding.text =
      formatted("========= Shuffle from an inactive lane detected at {}\n"
                "=========     in {}, block {}, thread {}: lane {} takes the value of lane {}, which takes no part\n"
                "=========     Its mask must name the lanes that are read, and they must come to the same shuffle.\n",
                location_or_unknown(pc), block.launch->name, triple(block.block_index),
                triple(thread_index(block, warp * kWarpSize + lane)), lane, source);
  hold_finding(std::move(finding));
}

}  // namespace warpbook::emulator
