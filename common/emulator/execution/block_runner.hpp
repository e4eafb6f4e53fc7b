/// \file
/// Runs one block at a time on one operating system thread: its CUDA threads are fibers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/emulator/execution/clusters.hpp"
#include "common/emulator/execution/engine.hpp"
#include "common/emulator/execution/fiber_stacks.hpp"
#include "common/emulator/execution/fiber_switch.hpp"
#include "common/emulator/execution/schedule.hpp"
#include "common/emulator/execution/stack_switch.hpp"
#include "common/emulator/execution/worker_pool.hpp"
#include "common/emulator/include/warpbook_builtins.h"
#include "common/emulator/include/warpbook_launch.h"

namespace warpbook::emulator {

/// What lanes of a warp meet for.
enum class Meeting : std::uint8_t { sync, shuffle, ballot, match_any };

/// The threads of one block, which fiber each is on, and what each waits for.
///
/// Threads start one after the other on the same fiber until one has to wait; then the next begins on another fiber. A
/// fiber jumps straight to the next one that can run: there is no scheduler to go through. Barriers count; a warp's
/// lanes meet per mask. Threads take turns in the order of the schedule.
class alignas(128) BlockRunner {
public:
  static constexpr unsigned kMaxThreads = 1024;                   ///< Threads of a block.
  static constexpr unsigned kMaxWarps = kMaxThreads / kWarpSize;  ///< Warps of a block.

  /// \param worker the number of the worker whose blocks it runs.
  explicit BlockRunner(unsigned worker);
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Runs all threads of a block. Returns cudaSuccess, or the error that aborted it.
  cudaError_t run(const LaunchInfo& launch, const KernelCall& call, std::uint64_t linear_block, Schedule schedule);

  /// What became of the block is known: it leaves its cluster, where it is in one.
  void leave() {
    if (cluster_ != nullptr) leave_cluster(*cluster_, context_);
  }

  // What follows is called from inside the block's threads.

  /// `__syncthreads`: returns how many threads came with a true predicate, and how many came.
  BarrierResult barrier(bool predicate, const void* pc);
#if defined(WARPBOOK_OWN_BARRIER)
  /// The same from outside of the library: where the thread that came goes, having kept its `place`.
  Entry arrive(bool predicate, Fiber place, const void* pc);
#endif

  /// A warp-level operation: waits for the live lanes of `mask` to come to an operation of the same kind and mask.
  /// Returns, for a shuffle, the value of lane `source`; for a ballot, the lanes with a value that is not 0 (low half)
  /// and those that came (high half); for a match, the lanes with the same value.
  std::uint64_t meet(Meeting kind, std::uint32_t mask, std::uint64_t value, unsigned source, const void* pc);

  /// `__activemask`: the lanes of the warp that come to the same call before any of them has to wait.
  std::uint32_t active_mask(const void* pc);

  /// Lets the block's other threads run.
  void yield();

  /// A thread has read what it may be waiting for. Those who find the same a few times let others run.
  void poll(const Watched& seen, const void* pc) {
    if (poll_.thread != current_ || poll_.seen != seen) {
      poll_ = {seen, pc, current_, 1};
      return;
    }
    constexpr unsigned kTries = 4;
    if (++poll_.tries >= kTries) give_way();
  }

  /// A thread comes to the barrier of the cluster, and goes on.
  void arrive_at_cluster();
  /// It waits until all threads of the cluster have come there.
  void wait_for_cluster(const void* pc);
  /// A block of the cluster.
  const ClusterBlock& cluster_block(unsigned rank) const { return cluster_->blocks[rank]; }

  /// `__nanosleep`: lets others run.
  void sleep(const void* pc);
  /// The running thread passes a fence, which may be all that there is in a loop that waits.
  void count_fence(const void* pc);
  /// Something atomic has changed memory.
  void note_change() { changed_ = true; }

  /// Now and then lets other threads run: one that repeats an atomic may wait for what another one will write. In a
  /// random order often, so that they come between two atomics that should have been one.
  void count_atomic() {
    if (++atomics_ % (order_schedule_.order == Schedule::Order::random ? 3 : kAtomicsBeforeYield) == 0) {
      yield();
    }
  }

  /// Ends the block. Does not return.
  [[noreturn]] void abort(cudaError_t error);

  /// What the running thread brings to its next shuffle is computed of a variable without a value.
  void bring_nothing() { warps_[context_.thread / kWarpSize].unset |= 1U << context_.thread % kWarpSize; }
  /// Whether it got such a thing from its last one.
  bool got_nothing() const {
    return (warps_[context_.thread / kWarpSize].got_unset >> context_.thread % kWarpSize & 1U) != 0;
  }

  /// The block that runs.
  BlockContext& context() { return context_; }
  /// Where the threads' stacks, and so their local arrays, lie.
  AddressRange local_range() const { return stacks_.range(); }
  /// The running thread's; all of them where the address lies in a guard page.
  AddressRange own_stack(const void* address) const;
  /// The running thread's arrays, where they are kept apart from its stack.
  ArraysApart own_arrays() const { return stacks_.arrays_apart(__builtin_frame_address(0)); }

private:
  static constexpr unsigned kNone = ~0U;
  static constexpr std::size_t kStep = 4096;  ///< So far apart begin the stacks of launches that follow each other,
  static constexpr std::size_t kSteps = 4;    ///< and so many of them: what one left of its variables is no variable.
  enum class Switch : std::uint8_t { to_waiting, to_idle };  // see fiber_switch.hpp
  enum class Wait : std::uint8_t { nothing, barrier, meeting, active_mask, finished };

  /// A thread, kept at its position in the schedule.
  struct Thread {
    Fiber fiber = nullptr;  ///< where it waits; nullptr before it has begun
    const void* pc = nullptr;
    std::uint64_t value = 0;  ///< brought to a meeting, then taken from it
    uint3 index{};
    std::uint32_t thread = 0;  ///< its linear index
    std::uint32_t mask = 0;
    std::uint8_t source = 0;
    Wait wait = Wait::nothing;
    Meeting kind = Meeting::sync;
  };
  /// What a thread saw when it had to wait.
  struct Poll {
    Watched seen;
    const void* pc = nullptr;
    unsigned thread = kNone;  ///< its position
    unsigned tries = 0;
  };
  struct PendingMeeting {
    std::uint32_t mask;
    std::uint32_t arrived;
    Meeting kind;
  };
  struct Warp {
    std::uint32_t live = 0;
    std::uint32_t unset = 0;      ///< lanes that bring what has no value to the next shuffle
    std::uint32_t got_unset = 0;  ///< lanes that got such a thing from the last one
    unsigned pending = 0;
    std::array<PendingMeeting, kWarpSize> meetings;
  };
  static constexpr unsigned kAtomicsBeforeYield = 4096;

  static void fiber_main(void* runner, Fiber place);
  void run_threads(Fiber place);
  static void go_on();
  void prepare(const LaunchInfo& launch, std::uint64_t linear_block, Schedule schedule);
  void set_order(Schedule schedule);
  void finish(unsigned self);
  void come_to_cluster();
  unsigned next_runnable();
  unsigned search_runnable();
  unsigned next_or_resolve();
  void set_current(unsigned position);
  static void prefetch(Fiber fiber, std::ptrdiff_t from);
  void make_runnable(unsigned position);
  void stop_thread(bool at_barrier);
  void wait(unsigned self);
  void jump(Switch kind, Fiber to, Fiber* save_own);
  Fiber take_fiber();
  void come_to_barrier(bool predicate, const void* pc);
  std::uint64_t result() const { return std::bit_cast<std::uint64_t>(arrivals_); }
  void complete_barrier();
  void complete_meeting(unsigned warp, unsigned index);
  [[gnu::noinline]] void hand_on_nothing(unsigned warp, std::uint32_t arrived);
  bool release_active_masks();
  [[gnu::noinline]] void give_way();
  void end_rotation();
  void wait_for_blocks();
  std::vector<Watched> watched() const;
  bool a_warp_diverges() const;
  // What they say is destroyed when they return; then the block is aborted, which destroys nothing.
  [[gnu::noinline]] void report_divergence();
  [[gnu::noinline]] void report_foreign_mask(const void* pc, unsigned lane);
  [[gnu::noinline]] void report_deadlock();
  [[gnu::noinline]] void report_standstill(std::uint64_t left);
  void report(const char* kind, const void* pc, const std::string& text);
  std::string where(const void* pc) const;
  void make_fibers(unsigned count);

  BlockContext context_;
  const KernelCall* call_ = nullptr;
  std::size_t skipped_ = 0;  ///< bytes of each stack, before the kernel's
  cudaError_t error_ = cudaSuccess;
  unsigned live_ = 0;
  unsigned current_ = 0;  ///< position of the thread that runs
  unsigned cursor_ = 0;   ///< position from which on the next runnable thread is looked for

  // The barrier that threads wait at.
  unsigned waiting_ = 0;
  unsigned predicates_ = 0;
  const void* barrier_pc_ = nullptr;
  const void* other_barrier_pc_ = nullptr;  ///< of a thread that came to another barrier, if any
  BarrierResult arrivals_{};

  Cluster* cluster_ = nullptr;       ///< where the launch has clusters of several blocks
  unsigned cluster_arrivals_ = 0;    ///< threads that came to its barrier
  std::uint32_t cluster_phase_ = 0;  ///< of the barrier that the block came to last
  bool came_to_cluster_ = false;     ///< and none of its threads waits there yet

  std::array<std::uint64_t, kMaxThreads / 64> runnable_{};  ///< by position
  std::array<Warp, kMaxWarps> warps_{};
  std::vector<Thread> threads_{kMaxThreads + 1};  ///< by position, and one that is nobody's
  std::vector<unsigned> positions_{};             ///< by thread
  dim3 order_shape_{0, 0, 0};  ///< the block's extents and the schedule that `threads_` is in order for
  Schedule order_schedule_{};
  unsigned active_mask_waits_ = 0;
  unsigned atomics_ = 0;

  // Of threads that wait in loops. A rotation: each that can run has had its turn.
  Poll poll_;                    ///< the last one
  std::vector<Poll> polls_;      ///< by position, what each saw when it gave way; empty before one has
  unsigned ways_given_ = 0;      ///< in this rotation
  unsigned rotations_ = 0;       ///< since the block waited for others
  unsigned idle_rotations_ = 0;  ///< of these the last ones, in which nothing changed
  bool changed_ = false;         ///< somebody saw something new, or changed it, in this rotation
  bool moved_ = false;           ///< in one of the rotations
  bool blind_ = false;           ///< somebody looked at what is not known
  const void* fence_pc_ = nullptr;
  unsigned fence_thread_ = kNone;
  unsigned fences_ = 0;    ///< of this thread there, one after another
  unsigned barriers_ = 0;  ///< since the block waited for others

  void invoke(const void* kernel) const;
  void invoke_further(const void* kernel) const;

  Fiber main_ = nullptr;
  Fiber waiting_next_ = nullptr;  ///< whom a stack that is done with its thread leaves itself for
  FiberStacks stacks_;
  KnownStacks known_stacks_{stacks_};
  std::vector<Fiber> idle_fibers_;
  unsigned fibers_ = 0;  ///< made so far
};

/// True the first time that it is asked of a place in the program.
bool is_first_at(const void* pc);

/// Tells the observer of the block's asynchronous copies that nobody has waited for.
void copies_go_on(BlockContext& block);

/// The runner of this operating system thread; nullptr outside of kernels.
extern thread_local constinit BlockRunner* current_runner __attribute__((tls_model("initial-exec")));

}  // namespace warpbook::emulator
