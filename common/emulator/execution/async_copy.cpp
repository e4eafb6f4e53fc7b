/// Asynchronous copies: kept until their thread waits for them.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "common/emulator/execution/block_runner.hpp"
#include "common/emulator/include/cuda_pipeline.h"

namespace warpbook::emulator {
namespace {

struct Copy {
  void* shared;
  const void* global;
  std::size_t bytes;
  std::size_t zero_fill;
  const void* pc;
  std::uint64_t group;
  const void* barrier;  ///< whose phase waits for it; null: none does
  bool parity;          ///< that phase's
  std::array<std::byte, 16> before;  ///< what the source held when it began
};

/// The copies of one thread that are under way, oldest first.
struct Pipeline {
  std::vector<Copy> copies;
  std::uint64_t groups = 0;  ///< committed so far
};

/// The pipelines of the block that this operating system thread runs.
struct Pipelines {
  std::uint64_t launch = 0;
  std::uint64_t block = 0;
  std::vector<Pipeline> threads;
};

thread_local Pipelines all;

Pipeline& pipeline() {
  const BlockContext& block = *current_block;
  if (all.launch != block.launch->id || all.block != block.linear_block) {
    all.launch = block.launch->id;
    all.block = block.linear_block;
    all.threads.assign(block.threads, {});
  }
  return all.threads[block.thread];
}

/// The first `count` copies of the running thread are done.
void finish(Pipeline& mine, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Copy& copy = mine.copies[i];
    observer().access(*current_block, AccessKind::copied, copy.shared, static_cast<unsigned>(copy.bytes), copy.pc);
    const std::size_t copied = copy.bytes - copy.zero_fill;
    if (std::memcmp(copy.before.data(), copy.global, copied) != 0) [[unlikely]]
      observer().stale_read(*current_block, copy.global, static_cast<unsigned>(copied), copy.pc, true);
    std::memcpy(copy.shared, copy.global, copied);
    std::memset(static_cast<std::byte*>(copy.shared) + copied, 0, copy.zero_fill);
  }
  mine.copies.erase(mine.copies.begin(), mine.copies.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

void async_copy(void* shared, const void* global, std::size_t bytes, std::size_t zero_fill) {
  const void* pc = __builtin_return_address(0);
  const bool to_global = in_arena(shared);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || zero_fill > bytes || to_global) {
    {
      const BlockContext& block = *current_block;
      const Unwatched unwatched;
      observer().report(
          "invalid_async_copy", pc,
          "========= Invalid asynchronous copy of " + std::to_string(bytes) + " bytes at " + observer().locate(pc) +
              (to_global ? ": it goes to shared memory, and this is global" : ": 4, 8 or 16 are possible") +
              "\n=========     in kernel " + block.launch->name + ", " + describe_thread(block) + "\n");
    }
    abort_kernel(cudaErrorLaunchFailure);
  }
  if (zero_fill < bytes) {
    observer().access(*current_block, AccessKind::copying, global, static_cast<unsigned>(bytes), pc);
  }
  BlockContext& block = *current_block;
  if (block.traced) observer().copy_goes_on(block, block.thread, shared, static_cast<unsigned>(bytes), pc, true);
  Pipeline& mine = pipeline();
  Copy& copy = mine.copies.emplace_back(Copy{shared, global, bytes, zero_fill, pc, mine.groups, nullptr, false, {}});
  std::memcpy(copy.before.data(), global, bytes - zero_fill);
}

void async_commit() { ++pipeline().groups; }

void async_wait(std::size_t groups_left) {
  Pipeline& mine = pipeline();
  std::size_t done = 0;
  // A group that is not committed yet is not waited for.
  while (done < mine.copies.size() && mine.copies[done].group + groups_left < mine.groups) ++done;
  finish(mine, done);
}

void async_wait_all() {
  Pipeline& mine = pipeline();
  finish(mine, mine.copies.size());
}

void async_arrive(const void* barrier) {
  std::uint64_t word;  // libcu++'s: its last bit is the phase's parity
  std::memcpy(&word, barrier, sizeof word);
  for (Copy& copy : pipeline().copies) {
    if (copy.barrier != nullptr) continue;
    copy.barrier = barrier;
    copy.parity = word >> 63 != 0;
  }
}

void async_phase_over(const void* barrier, bool parity) {
  pipeline();
  BlockContext& block = *current_block;
  const unsigned self = block.thread;
  for (block.thread = 0; block.thread < block.threads; ++block.thread) {
    Pipeline& other = all.threads[block.thread];
    std::size_t done = other.copies.size();
    while (done != 0 && (other.copies[done - 1].barrier != barrier || other.copies[done - 1].parity != parity)) --done;
    finish(other, done);
  }
  block.thread = self;
}

void copies_go_on(BlockContext& block) {
  if (all.launch != block.launch->id || all.block != block.linear_block) return;
  for (unsigned thread = 0; thread < block.threads; ++thread)
    for (const Copy& copy : all.threads[thread].copies)
      observer().copy_goes_on(block, thread, copy.shared, static_cast<unsigned>(copy.bytes), copy.pc, false);
}

}  // namespace warpbook::emulator
