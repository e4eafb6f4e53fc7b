/// \file
/// The functions that kernels call: built-in variables, barriers, warp-level operations.

#include "common/emulator/include/warpbook_builtins.h"

#include <sched.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "common/emulator/execution/block_runner.hpp"
#include "common/emulator/execution/engine.hpp"
#include "common/emulator/execution/worker_pool.hpp"

namespace warpbook::emulator {

// Outside of kernels there is no thread: compilers may ask all the same, for code that both sides share.
unsigned thread_index_x() noexcept { return current_block == nullptr ? 0 : current_block->thread_index.x; }
unsigned thread_index_y() noexcept { return current_block == nullptr ? 0 : current_block->thread_index.y; }
unsigned thread_index_z() noexcept { return current_block == nullptr ? 0 : current_block->thread_index.z; }
unsigned block_index_x() noexcept { return current_block == nullptr ? 0 : current_block->block_index.x; }
unsigned block_index_y() noexcept { return current_block == nullptr ? 0 : current_block->block_index.y; }
unsigned block_index_z() noexcept { return current_block == nullptr ? 0 : current_block->block_index.z; }
unsigned block_extent_x() noexcept { return current_block == nullptr ? 1 : current_block->launch->block.x; }
unsigned block_extent_y() noexcept { return current_block == nullptr ? 1 : current_block->launch->block.y; }
unsigned block_extent_z() noexcept { return current_block == nullptr ? 1 : current_block->launch->block.z; }
unsigned grid_extent_x() noexcept { return current_block == nullptr ? 1 : current_block->launch->grid.x; }
unsigned grid_extent_y() noexcept { return current_block == nullptr ? 1 : current_block->launch->grid.y; }
unsigned grid_extent_z() noexcept { return current_block == nullptr ? 1 : current_block->launch->grid.z; }
bool in_kernel() noexcept { return current_block != nullptr; }
unsigned lane_index() noexcept { return current_block == nullptr ? 0 : current_block->thread % kWarpSize; }

void* dynamic_shared() noexcept { return current_block == nullptr ? nullptr : current_block->dynamic_shared; }
std::size_t dynamic_shared_bytes() noexcept {
  return current_block == nullptr ? 0 : current_block->launch->dynamic_shared_bytes;
}

bool is_shared(const void* address) noexcept {
  if (current_block == nullptr) return false;
  const auto* const dynamic = static_cast<const std::byte*>(current_block->dynamic_shared);
  return shared_range().contains(address) || AddressRange{dynamic, dynamic + dynamic_shared_bytes()}.contains(address);
}
bool is_local(const void* address) noexcept { return local_range().contains(address); }

// What follows are tail calls on purpose: a thread that wakes up on its own stack returns, and the processor, which
// remembers the calls of another thread, mispredicts every return.

#if !defined(WARPBOOK_OWN_BARRIER)
BarrierResult block_barrier(bool predicate) { return current_runner->barrier(predicate, __builtin_return_address(0)); }
#endif

void warp_barrier(unsigned mask) { current_runner->meet(Meeting::sync, mask, 0, 0, __builtin_return_address(0)); }

std::uint64_t warp_shuffle(unsigned mask, std::uint64_t value, unsigned source_lane) {
  return current_runner->meet(Meeting::shuffle, mask, value, source_lane, __builtin_return_address(0));
}

bool is_first_at(const void* pc) {
  static std::mutex& mutex = *new std::mutex;
  static auto& told = *new std::set<const void*>;
  const std::lock_guard lock(mutex);
  return told.insert(pc).second;
}

void invalid_shuffle_width(int width) {
  const BlockContext& block = *current_block;
  const void* const pc = __builtin_return_address(0);
  const Unwatched unwatched;
  if (!is_first_at(pc)) return;
  const std::string place = observer().locate(pc);
  observer().report("shuffle_width", pc,
                    "========= A shuffle of width " + std::to_string(width) + "\n=========     at " +
                        (place.empty() ? "an unknown line" : place) + "\n=========     in kernel " +
                        block.launch->name + ", " + describe_thread(block) +
                        "\n=========     The width is a power of two, at most 32: a lane gets anything by another.\n");
}

std::uint64_t warp_ballot(unsigned mask, bool predicate) {
  return current_runner->meet(Meeting::ballot, mask, predicate ? 1 : 0, 0, __builtin_return_address(0));
}

unsigned warp_match_any(unsigned mask, std::uint64_t value) {
  return static_cast<unsigned>(current_runner->meet(Meeting::match_any, mask, value, 0, __builtin_return_address(0)));
}

unsigned warp_active_mask() { return current_runner->active_mask(__builtin_return_address(0)); }

namespace {

void fence(bool of_block, const void* pc) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (current_block == nullptr) return;
  observer().fence(*current_block, of_block);
  current_runner->count_fence(pc);
}

}  // namespace

void memory_fence() { fence(false, __builtin_return_address(0)); }
void memory_fence_block() { fence(true, __builtin_return_address(0)); }

bool is_cooperative_launch() { return current_block->launch->cooperative; }

void grid_barrier() {
  const void* const pc = __builtin_return_address(0);
  BlockContext& block = *current_block;
  if (!block.launch->cooperative) {
    {
      const Unwatched unwatched;
      const std::string place = observer().locate(pc);
      observer().report("grid_barrier", pc,
                        "========= A barrier of the whole grid in a launch that is not cooperative\n=========     at " +
                            (place.empty() ? "an unknown line" : place) + "\n=========     in kernel " +
                            block.launch->name + ", " + describe_thread(block) +
                            "\n=========     Launch the kernel by cudaLaunchCooperativeKernel.\n");
    }
    abort_kernel(cudaErrorLaunchFailure);
  }
  current_runner->barrier(false, pc);
  if (block.thread == 0) {
    const std::uint64_t blocks = std::uint64_t{block.launch->grid.x} * block.launch->grid.y * block.launch->grid.z;
    memory_fence();
    observer().grid_barrier(block, true);
    const std::uint64_t before = grid_arrivals.fetch_add(1);
    current_runner->note_change();
    while (grid_arrivals.load() / blocks == before / blocks)
      current_runner->poll({&grid_arrivals, sizeof grid_arrivals}, pc);
    observer().grid_barrier(block, false);
    memory_fence();
  }
  current_runner->barrier(false, pc);
}

void yield_thread() { current_runner->sleep(__builtin_return_address(0)); }

void wait_for_block(const unsigned* word, unsigned bits) {
  while ((__atomic_load_n(word, __ATOMIC_ACQUIRE) & bits) == 0) {
    if (launch_has_failed()) abort_kernel(cudaErrorLaunchFailure);
    sched_yield();
  }
}

void trap_thread() {
  const void* pc = __builtin_return_address(0);
  {
    const BlockContext& block = *current_block;
    const Unwatched unwatched;
    const std::string place = observer().locate(pc);
    observer().report("trap", pc,
                      "========= Trap in kernel " + std::string(block.launch->name) +
                          (place.empty() ? "" : " at " + place) + ", " + describe_thread(block) + "\n");
  }
  abort_kernel(cudaErrorLaunchFailure);
}

void observe_read(const void* address, unsigned bytes) {
  observer().access(*current_block, AccessKind::read, address, bytes, __builtin_return_address(0));
}

void observe_write(const void* address, unsigned bytes) {
  observer().access(*current_block, AccessKind::write, address, bytes, __builtin_return_address(0));
}

}  // namespace warpbook::emulator

// NOLINTBEGIN(readability-identifier-naming): pass/unset_values.cpp calls these names, around a shuffle.
extern "C" {
WARPBOOK_EXPORT void __warpbook_unset_lane(bool) { warpbook::emulator::current_runner->bring_nothing(); }
WARPBOOK_EXPORT bool __warpbook_unset_shuffled() { return warpbook::emulator::current_runner->got_nothing(); }
}
// NOLINTEND(readability-identifier-naming)
