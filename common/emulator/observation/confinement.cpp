#include "common/emulator/observation/confinement.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>

#include "common/emulator/base/text.hpp"
#include "common/emulator/execution/fiber_stacks.hpp"
#include "common/emulator/include/warpbook_emulator.h"
#include "common/emulator/include/warpbook_launch.h"
#include "common/emulator/observation/source_location.hpp"

namespace warpbook::emulator {

thread_local constinit bool host_is_confined = false;

namespace {

enum class Side : unsigned char { none, host, kernels };

/// A piece, and who touched it first.
struct Owned {
  OwnedPiece piece;
  std::atomic<Side> side = Side::none;
};

std::unique_ptr<Owned[]> pieces;
constinit std::size_t piece_count = 0;
constinit bool is_confined = false;

constexpr std::size_t kHostArrayBytes = std::size_t{4} << 20;
/// How far one function's arrays may reach below the range that a thread has.
constexpr std::size_t kGapBytes = std::size_t{2} << 20;
/// Those of the host code that is confined, kept apart as a kernel's are.
ArraysApart host_arrays;
std::byte* last_host_array = nullptr;

Owned* piece_at(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  for (std::size_t i = 0; i < piece_count; ++i) {
    const auto* const begin = static_cast<const std::byte*>(pieces[i].piece.begin);
    if (at >= begin && at < begin + pieces[i].piece.bytes) return &pieces[i];
  }
  return nullptr;
}

/// False where the other side touched it before.
bool claim(Owned& owned, Side side) {
  Side before = Side::none;
  return owned.side.compare_exchange_strong(before, side) || before == side;
}

bool holds(const OwnedPiece& piece, const void* address, std::size_t bytes) {
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(address) - static_cast<const std::byte*>(piece.begin));
  return bytes <= piece.bytes - offset;
}

/// Nothing that was registered for the program's end is run: it may be the confined code's.
[[noreturn]] void end_confined(const char* what, const void* pc) {
  host_is_confined = false;
  const std::string place = source_location(pc);
  std::fputs(formatted("========= {}{}{}\n", what, place.empty() ? "" : " at ", place).c_str(), stderr);
  std::fflush(stderr);
  _exit(kConfinedStatus);
}

bool is_callee(const void* callee, const void* const* callees, std::size_t count) {
  return std::find(callees, callees + count, callee) != callees + count;
}

}  // namespace

void check_host_access(const void* address, std::size_t bytes, Operation operation, const void* pc) {
  if (bytes == 0) return;
  const bool reads = operation == Operation::load;
  if (in_arena(address)) end_confined(reads ? "Host code reads device memory" : "Host code writes device memory", pc);
  if (host_arrays.range.contains(address) &&
      bytes <= static_cast<std::size_t>(host_arrays.range.end - static_cast<const std::byte*>(address)))
    return;
  if (shared_range().contains(address)) end_confined("Host code touches shared memory", pc);
  Owned* const owned = piece_at(address);
  if (owned == nullptr) {
    if (!reads) end_confined("Host code writes memory that is not its own", pc);
    return;
  }
  if (!holds(owned->piece, address, bytes) || (!reads && owned->piece.writable == 0))
    end_confined(reads ? "Host code reads memory that is not its own" : "Host code writes memory that is not its own",
                 pc);
  if (owned->piece.writable != 0 && !claim(*owned, Side::host))
    end_confined("Host code touches a variable that a kernel touched, as no GPU lets it", pc);
}

void end_for_local_bounds(const void* pc) { end_confined("Host code leaves an array of its stack", pc); }

void confine_access(Home& home, const void* address, std::size_t bytes, Operation operation) {
  if (!is_confined || home.space != Space::elsewhere || home.bad) return;
  const auto* const at = static_cast<const std::byte*>(address);
  Owned* const owned = piece_at(address);
  if (owned == nullptr) {
    home.bad = operation != Operation::load;
    home.range = {at, at + bytes};  // What lies beside it is looked up anew.
    return;
  }
  const auto* const begin = static_cast<const std::byte*>(owned->piece.begin);
  home.range = {begin, begin + owned->piece.bytes};
  home.bad = !holds(owned->piece, address, bytes) ||
             (owned->piece.writable == 0 ? operation != Operation::load : !claim(*owned, Side::kernels));
}

void keep_arrays_apart() {
  FiberStacks::keep_arrays_apart();
  static const auto memory = std::make_unique_for_overwrite<std::byte[]>(kGapBytes + kHostArrayBytes);
  std::byte* const begin = memory.get() + kGapBytes;
  last_host_array = begin + kHostArrayBytes;
  host_arrays = {{begin, last_host_array}, &last_host_array};
}

void confine(const OwnedPiece* own, std::size_t count) {
  if (pieces == nullptr) {  // Whose they are holds for the whole program.
    pieces = std::make_unique<Owned[]>(count);
    for (std::size_t i = 0; i < count; ++i) pieces[i].piece = own[i];
    piece_count = count;
  }
  is_confined = true;
  host_is_confined = true;
}

void release() {
  host_is_confined = false;
  is_confined = false;
}

}  // namespace warpbook::emulator

// NOLINTBEGIN(readability-identifier-naming): the compiler pass knows these names.
extern "C" {

/// Where confined code's functions find the place of their arrays: clang's SafeStack asks.
WARPBOOK_EXPORT void** __safestack_pointer_address() {
  using namespace warpbook::emulator;
  const ArraysApart own = own_arrays();
  const ArraysApart& arrays = own.last != nullptr ? own : host_arrays;
  if (*arrays.last < arrays.range.begin)
    end_confined("The arrays of a thread's functions do not fit its stack", __builtin_return_address(0));
  return reinterpret_cast<void**>(arrays.last);
}

/// Confined code is about to call this.
WARPBOOK_EXPORT void __warpbook_calls(const void* callee, const void* const* callees, std::size_t count) {
  using namespace warpbook::emulator;
  if (!is_callee(callee, callees, count))
    end_confined("A call of what is no function of this file", __builtin_return_address(0));
}

/// Confined code is about to launch this. `callees`: first those that hand kernels their arguments, then the others.
WARPBOOK_EXPORT void __warpbook_launches(const warpbook::emulator::KernelCall* call, const void* const* callees,
                                         std::size_t invokes, std::size_t others) {
  using namespace warpbook::emulator;
  const auto* const keep = reinterpret_cast<const void*>(call->keep);
  if (in_arena(call->arguments)) end_confined("Host code reads device memory", __builtin_return_address(0));
  if (!is_callee(reinterpret_cast<const void*>(call->invoke), callees, invokes) ||
      !is_callee(call->kernel, callees + invokes, others) ||
      (keep != nullptr && !is_callee(keep, callees + invokes, others)))
    end_confined("A launch of what is no kernel of this file", __builtin_return_address(0));
}

/// A load is about to be made from a constant of `all` bytes.
WARPBOOK_EXPORT void __warpbook_within(const void* address, std::size_t bytes, const void* constant, std::size_t all) {
  using namespace warpbook::emulator;
  const auto offset = static_cast<const std::byte*>(address) - static_cast<const std::byte*>(constant);
  if (offset < 0 || static_cast<std::size_t>(offset) > all || bytes > all - static_cast<std::size_t>(offset))
    end_confined("A read beside a constant", __builtin_return_address(0));
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
