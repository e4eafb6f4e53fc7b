#include "common/emulator/observation/confinement.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/emulator/include/warpbook_emulator.h"
#include "common/emulator/include/warpbook_launch.h"
#include "common/emulator/observation/source_location.hpp"

namespace warpbook::emulator {

thread_local constinit const void* confining_frame = nullptr;

namespace {

constinit const OwnedPiece* pieces = nullptr;
constinit std::size_t piece_count = 0;
constinit bool is_confined = false;

const OwnedPiece* piece_at(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  const OwnedPiece* const end = pieces + piece_count;
  const OwnedPiece* const found = std::find_if(pieces, end, [=](const OwnedPiece& piece) {
    const auto* const begin = static_cast<const std::byte*>(piece.begin);
    return at >= begin && at < begin + piece.bytes;
  });
  return found == end ? nullptr : found;
}

bool holds(const OwnedPiece& piece, const void* address, std::size_t bytes) {
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(address) - static_cast<const std::byte*>(piece.begin));
  return bytes <= piece.bytes - offset;
}

/// Nothing that was registered for the program's end is run: it may be the confined code's.
[[noreturn]] void end_confined(const char* what, const void* pc) {
  confining_frame = nullptr;
  const std::string place = source_location(pc);
  fmt::print(stderr, "========= {}{}{}\n", what, place.empty() ? "" : " at ", place);
  std::fflush(stderr);
  _exit(kConfinedStatus);
}

bool is_callee(const void* callee, const void* const* callees, std::size_t count) {
  return std::find(callees, callees + count, callee) != callees + count;
}

}  // namespace

void check_host_access(const void* address, std::size_t bytes, Operation operation, const void* pc) {
  if (bytes == 0) return;
  if (in_arena(address))
    end_confined(operation == Operation::load ? "Host code reads device memory" : "Host code writes device memory", pc);
  if (operation == Operation::load) return;
  const auto* const at = static_cast<const std::byte*>(address);
  const auto* const frame = static_cast<const std::byte*>(confining_frame);
  if (at > __builtin_frame_address(0) && at < frame && bytes <= static_cast<std::size_t>(frame - at)) return;
  const OwnedPiece* const piece = piece_at(address);
  if (piece == nullptr || !holds(*piece, address, bytes))
    end_confined("Host code writes memory that is not its own", pc);
}

void end_for_local_bounds(const void* pc) { end_confined("Host code leaves an array of its stack", pc); }

void confine_write(Home& home, const void* address, std::size_t bytes) {
  if (!is_confined || home.space != Space::elsewhere || home.bad) return;
  const OwnedPiece* const piece = piece_at(address);
  home.bad = piece == nullptr || !holds(*piece, address, bytes);
  if (home.bad) return;
  const auto* const begin = static_cast<const std::byte*>(piece->begin);
  home.range = {begin, begin + piece->bytes};
}

void confine(const void* frame, const OwnedPiece* own, std::size_t count) {
  pieces = own;
  piece_count = count;
  is_confined = true;
  confining_frame = frame;
}

void release() {
  confining_frame = nullptr;
  is_confined = false;
}

}  // namespace warpbook::emulator

// NOLINTBEGIN(readability-identifier-naming): the compiler pass knows these names.
extern "C" {

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
  if (!is_callee(reinterpret_cast<const void*>(call->invoke), callees, invokes) ||
      !is_callee(call->kernel, callees + invokes, others) ||
      (keep != nullptr && !is_callee(keep, callees + invokes, others)))
    end_confined("A launch of what is no kernel of this file", __builtin_return_address(0));
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
