/// \file
/// What inline PTX asks of the emulator, but for matrices.

#include "common/emulator/include/warpbook_ptx.h"

#include <array>
#include <bit>
#include <chrono>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/execution/block_runner.hpp"
#include "common/emulator/execution/clusters.hpp"
#include "common/emulator/include/cuda_bf16.h"
#include "common/emulator/include/cuda_fp16.h"

namespace warpbook::emulator {
namespace {

std::uint32_t multiprocessors() { return static_cast<std::uint32_t>(device_table().multiprocessors); }

/// Where a 32-bit address leads to if it belongs to the range; a little outside of it, too.
void* place_in(AddressRange range, std::uint32_t address) {
  constexpr std::int64_t kOutside = std::int64_t{1} << 20;
  const auto low = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(range.begin));
  const std::int64_t offset = static_cast<std::int32_t>(address - low);
  if (offset < -kOutside || offset > range.end - range.begin + kOutside) return nullptr;
  return const_cast<std::byte*>(range.begin) + offset;
}

enum NarrowFlags : std::uint32_t { kBfloat = 1, kSaturates = 2, kKeepsNan = 4, kRectifies = 8 };

template <class T> T narrow_operation(std::uint32_t operation, std::uint32_t flags, T a, T b, T c) {
  const auto result = [&] {
    switch (operation) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return __hfma(a, b, c);
    case 4:
      return -a;
    case 5:
      return __habs(a);
    case 6:
      return (flags & kKeepsNan) != 0 ? __hmin_nan(a, b) : __hmin(a, b);
    case 7:
      return (flags & kKeepsNan) != 0 ? __hmax_nan(a, b) : __hmax(a, b);
    case 8:
      return hexp2(a);
    default:
      return htanh(a);
    }
  }();
  if ((flags & kSaturates) != 0) return narrow_saturated(result);
  if ((flags & kRectifies) != 0 && result.wide() < 0.0F) return T::nearest(0.0F);
  return result;
}

template <class T>
std::uint32_t narrow_pair(std::uint32_t operation, std::uint32_t flags, std::uint32_t a, std::uint32_t b,
                          std::uint32_t c) {
  std::uint32_t result = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    const auto half = [=](std::uint32_t pair) { return T::from_bits(static_cast<std::uint16_t>(pair >> shift)); };
    result |= std::uint32_t{narrow_operation<T>(operation, flags, half(a), half(b), half(c)).bits()} << shift;
  }
  return result;
}

/// The named barriers of the block that this operating system thread runs.
struct NamedBarriers {
  static constexpr unsigned kBarriers = 16;
  std::uint64_t launch = 0;
  std::uint64_t block = 0;
  std::array<std::uint32_t, kBarriers> arrived{};
  std::array<std::uint32_t, kBarriers> turns{};
};

NamedBarriers& named_barriers() {
  thread_local NamedBarriers all;
  const BlockContext& block = *current_block;
  if (all.launch != block.launch->id || all.block != block.linear_block) {
    all = {};
    all.launch = block.launch->id;
    all.block = block.linear_block;
  }
  return all;
}

}  // namespace
}  // namespace warpbook::emulator

using warpbook::emulator::AddressRange;
using warpbook::emulator::current_block;
using warpbook::emulator::current_runner;
using warpbook::emulator::kWarpSize;
using warpbook::emulator::Meeting;

// NOLINTBEGIN(readability-identifier-naming): the compiler pass calls these names.
extern "C" {

// Outside of kernels there is no thread: compilers may ask all the same, for code that both sides share.
std::uint32_t __warpbook_ptx_warpid() noexcept {
  return current_block == nullptr ? 0 : current_block->thread / kWarpSize;
}
std::uint32_t __warpbook_ptx_nwarpid() noexcept {
  return current_block == nullptr ? 0 : (current_block->threads + kWarpSize - 1) / kWarpSize;
}
std::uint32_t __warpbook_ptx_smid() noexcept {
  return current_block == nullptr
             ? 0
             : static_cast<std::uint32_t>(current_block->linear_block % warpbook::emulator::multiprocessors());
}
std::uint32_t __warpbook_ptx_nsmid() noexcept { return warpbook::emulator::multiprocessors(); }
std::uint32_t __warpbook_ptx_dynamic_smem_size() noexcept {
  return current_block == nullptr ? 0 : static_cast<std::uint32_t>(current_block->launch->dynamic_shared_bytes);
}
std::uint64_t __warpbook_ptx_globaltimer() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::uint64_t __warpbook_ptx_shared_address(const void* pointer) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

void* __warpbook_ptx_shared_pointer(std::uint64_t address) noexcept {
  constexpr std::uint64_t kNowhere = std::uint64_t{1} << 63;  // No pointer of the host's looks so.
  if (current_block != nullptr && address >> 32 == 0) {
    const std::byte* dynamic = current_block->dynamic_shared;
    const auto low = static_cast<std::uint32_t>(address);
    const AddressRange ranges[] = {{dynamic, dynamic + current_block->launch->dynamic_shared_bytes},
                                   warpbook::emulator::shared_range()};
    void* near = nullptr;
    for (const AddressRange& range : ranges) {
      void* place = range.begin == range.end ? nullptr : warpbook::emulator::place_in(range, low);
      if (place != nullptr && range.contains(place)) return place;
      if (near == nullptr) near = place;
    }
    if (near != nullptr) return near;
  }
  return reinterpret_cast<void*>(address | kNowhere);  // NOLINT(performance-no-int-to-ptr)
}

void* __warpbook_ptx_cluster_pointer(std::uint64_t address) noexcept {
  using namespace warpbook::emulator;
  const auto low = static_cast<std::uint32_t>(address);
  if (current_block != nullptr && current_block->launch->cluster_blocks() > 1)
    for (const AddressRange& range : cluster_ranges(*current_block))
      if (void* const place = place_in(range, low); place != nullptr && range.contains(place)) return place;
  return __warpbook_ptx_shared_pointer(address);
}

std::uint32_t __warpbook_ptx_narrow(std::uint32_t operation, std::uint32_t flags, std::uint32_t a, std::uint32_t b,
                                    std::uint32_t c) noexcept {
  return (flags & warpbook::emulator::kBfloat) != 0
             ? warpbook::emulator::narrow_pair<__nv_bfloat16>(operation, flags, a, b, c)
             : warpbook::emulator::narrow_pair<__half>(operation, flags, a, b, c);
}

std::uint32_t __warpbook_ptx_narrowed(float value, std::uint32_t kind, std::uint32_t mode) noexcept {
  if (kind == 0) return (mode == 1 ? __float2half_rz(value) : __half::nearest(value)).bits();
  if (kind == 1)
    return (mode == 1 ? warpbook::emulator::rounded_toward<__nv_bfloat16>(value, warpbook::emulator::Toward::zero)
                      : __nv_bfloat16::nearest(value))
        .bits();
  // Of tf32, 13 bits of a float are left out.
  constexpr std::uint32_t kLeftOut = 0x1fff;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) return bits;  // infinite, or no number
  const std::uint32_t more = mode == 1 ? 0 : mode == 2 ? 0x1000 : 0xfff + (bits >> 13 & 1U);
  return (bits + more) & ~kLeftOut;
}

std::uint32_t __warpbook_ptx_sum_half2(std::uint32_t bits, std::uint32_t operand) {
  return warpbook::emulator::narrow_pair_sum<__half2>(bits, operand);
}
std::uint32_t __warpbook_ptx_sum_bfloat162(std::uint32_t bits, std::uint32_t operand) {
  return warpbook::emulator::narrow_pair_sum<__nv_bfloat162>(bits, operand);
}

std::uint32_t __warpbook_ptx_reduce(std::uint32_t operation, std::uint32_t value, std::uint32_t mask) {
  const void* const pc = __builtin_return_address(0);
  const auto combine = [=](std::uint32_t a, std::uint32_t b) {
    const auto x = static_cast<std::int32_t>(a);
    const auto y = static_cast<std::int32_t>(b);
    switch (operation) {
    case 0:
      return a + b;
    case 1:
      return a < b ? a : b;
    case 2:
      return x < y ? a : b;
    case 3:
      return a > b ? a : b;
    case 4:
      return x > y ? a : b;
    case 5:
      return a & b;
    case 6:
      return a | b;
    default:
      return a ^ b;
    }
  };
  const std::uint64_t lanes = current_runner->meet(Meeting::ballot, mask, 1, 0, pc) >> 32;
  std::uint32_t total = 0;
  bool first = true;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    const auto other = static_cast<std::uint32_t>(current_runner->meet(Meeting::shuffle, mask, value, lane, pc));
    total = first ? other : combine(total, other);
    first = false;
  }
  return total;
}

void __warpbook_ptx_named_barrier(std::uint32_t barrier, std::uint32_t threads, bool waits) {
  const void* const pc = __builtin_return_address(0);
  warpbook::emulator::BlockContext& block = *current_block;
  const bool all = threads == 0 || threads >= block.threads;
  if (all && waits && barrier == 0) {
    current_runner->barrier(false, pc);
    return;
  }
  warpbook::emulator::NamedBarriers& barriers = warpbook::emulator::named_barriers();
  if (barrier >= warpbook::emulator::NamedBarriers::kBarriers) {
    {
      const warpbook::emulator::Unwatched unwatched;
      warpbook::emulator::observer().report(
          "invalid_barrier", pc,
          "========= Barrier error detected. There are 16 barriers, and no " + std::to_string(barrier) + ", at " +
              warpbook::emulator::observer().locate(pc) + "\n=========     in kernel " + block.launch->name + ", " +
              warpbook::emulator::describe_thread(block) + "\n");
    }
    warpbook::emulator::abort_kernel(cudaErrorLaunchFailure);
  }
  const std::uint32_t turn = barriers.turns[barrier];
  if (++barriers.arrived[barrier] >= (all ? block.threads : threads)) {
    // For those who look for races, all of the block has met: none is told that is not one.
    warpbook::emulator::observer().sync(block, warpbook::emulator::SyncScope::block, 0, ~0U);
    barriers.arrived[barrier] = 0;
    ++barriers.turns[barrier];
    current_runner->note_change();
    return;
  }
  while (waits && barriers.turns[barrier] == turn) {
    current_runner->poll({&barriers.turns[barrier], sizeof turn}, pc);
  }
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
