#include "common/emulator/execution/block_runner.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "common/emulator/execution/shared_memory.hpp"

namespace warpbook::emulator {

thread_local constinit BlockContext* current_block = nullptr;
thread_local constinit void* current_observer_data = nullptr;
thread_local constinit BlockRunner* current_runner = nullptr;

BlockRunner::BlockRunner(unsigned worker) {
  context_.worker = worker;
  idle_fibers_.reserve(kMaxThreads);
}

BlockRunner::~BlockRunner() = default;

cudaError_t BlockRunner::run(const LaunchInfo& launch, const KernelCall& call, std::uint64_t linear_block,
                             Schedule schedule) {
  call_ = &call;
  error_ = cudaSuccess;
  prepare(launch, linear_block, schedule);
  Observer& watcher = observer();
  watcher.block_begin(context_);
  current_block = &context_;
  current_observer_data = context_.observer_data;
  current_runner = this;
  known_stacks_.enter();
  set_current(next_runnable());
  jump(Switch::to_idle, take_fiber(), &main_);
  current_block = nullptr;
  current_observer_data = nullptr;
  current_runner = nullptr;
  if (context_.aborted) {
    // The fibers stand in the middle of the kernel: start them afresh.
    const unsigned made = fibers_;
    fibers_ = 0;
    idle_fibers_.clear();
    make_fibers(made);
  }
  watcher.block_end(context_);
  return error_;
}

void BlockRunner::prepare(const LaunchInfo& launch, std::uint64_t linear_block, Schedule schedule) {
  const dim3& block = launch.block;
  const dim3& grid = launch.grid;
  const unsigned threads = block.x * block.y * block.z;
  skipped_ = launch.id % kSteps * kStep;
  context_.launch = &launch;
  context_.linear_block = linear_block;
  context_.block_index = {static_cast<unsigned>(linear_block % grid.x),
                          static_cast<unsigned>(linear_block / grid.x % grid.y),
                          static_cast<unsigned>(linear_block / grid.x / grid.y)};
  context_.threads = threads;
  context_.observer_data = nullptr;
  context_.traced = false;
  context_.aborted = false;
  context_.dynamic_shared = poison_shared_memory(launch);

  cluster_ = launch.cluster_blocks() == 1 ? nullptr : &enter_cluster(context_);
  cluster_arrivals_ = 0;
  came_to_cluster_ = false;

  set_order(schedule);
  for (unsigned i = 0; i < threads; ++i) {
    threads_[i].fiber = nullptr;
    threads_[i].wait = Wait::nothing;
  }

  live_ = threads;
  cursor_ = 0;
  waiting_ = 0;
  predicates_ = 0;
  other_barrier_pc_ = nullptr;
  active_mask_waits_ = 0;
  poll_.thread = fence_thread_ = kNone;
  polls_.clear();
  ways_given_ = rotations_ = idle_rotations_ = barriers_ = 0;
  changed_ = moved_ = blind_ = false;
  for (unsigned first = 0; first < threads; first += 64) {
    runnable_[first / 64] = threads - first >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (threads - first)) - 1;
  }
  for (unsigned first = 0; first < threads; first += kWarpSize) {
    Warp& warp = warps_[first / kWarpSize];
    warp.live = threads - first >= kWarpSize ? ~0U : (1U << (threads - first)) - 1;
    warp.pending = 0;
    warp.unset = warp.got_unset = 0;
  }
}

void BlockRunner::set_order(Schedule schedule) {
  const dim3& block = context_.launch->block;
  const unsigned threads = context_.threads;
  const bool same_shape = block.x == order_shape_.x && block.y == order_shape_.y && block.z == order_shape_.z;
  if (same_shape && schedule == order_schedule_ && schedule.order != Schedule::Order::random) {
    return;
  }
  order_shape_ = block;
  order_schedule_ = schedule;
  positions_.resize(threads);
  std::iota(positions_.begin(), positions_.end(), 0U);
  if (schedule.order == Schedule::Order::reverse) {
    std::reverse(positions_.begin(), positions_.end());
  } else if (schedule.order == Schedule::Order::random) {
    std::mt19937_64 engine(schedule.seed * 0x9e3779b97f4a7c15U + context_.launch->id * 0x100000001b3U +
                           context_.linear_block);
    for (std::size_t i = threads - 1; i > 0; --i) {  // std::shuffle's order differs between libraries
      std::swap(positions_[i], positions_[engine() % (i + 1)]);
    }
  }
  for (unsigned i = 0; i < threads; ++i) {
    Thread& thread = threads_[positions_[i]];
    thread.thread = i;
    thread.index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
  }
}

// ---- Fibers -------------------------------------------------------------------------------------------------

void BlockRunner::make_fibers(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    known_stacks_.make(fibers_);
    const FiberStacks::Stack stack = stacks_.stack(fibers_++);
    idle_fibers_.push_back(make_fiber(stack.top, stack.bytes, &BlockRunner::fiber_main));
  }
}

Fiber BlockRunner::take_fiber() {
  if (idle_fibers_.empty()) {
    make_fibers(1);
  }
  const Fiber fiber = idle_fibers_.back();
  idle_fibers_.pop_back();
  if (!idle_fibers_.empty()) prefetch(idle_fibers_.back(), -256);  // it will grow
  return fiber;
}

inline void BlockRunner::jump(Switch kind, Fiber to, Fiber* save_own) {
  KnownStacks::Switch stack(known_stacks_, to);
  if (kind == Switch::to_waiting)
    warpbook_switch_to_waiting(save_own, to, result());
  else
    warpbook_switch_to_idle(save_own, to, this);
  stack.finish();
}

void BlockRunner::fiber_main(void* runner, Fiber place) {
  KnownStacks::Switch::begin();
  static_cast<BlockRunner*>(runner)->run_threads(place);
}

inline void BlockRunner::invoke(const void* kernel) const {
  if (skipped_ == 0)
    call_->invoke(kernel, call_->arguments);
  else
    invoke_further(kernel);
}

/// Further down on the stack.
[[gnu::noinline]] void BlockRunner::invoke_further(const void* kernel) const {
  void* skipped = __builtin_alloca(skipped_);
  asm volatile("" : : "r"(skipped) : "memory");
  call_->invoke(kernel, call_->arguments);
  asm volatile("");  // No call may take this one's place.
}

#if defined(WARPBOOK_OWN_BARRIER)
void BlockRunner::run_threads(Fiber place) {
  // One call for threads that begin and for those that go on, see fiber_switch.hpp. It comes back when a thread has
  // ended, on the stack where that began.
  for (const void* kernel = call_->kernel;;) {
    invoke(kernel);
    finish(current_);
    if (live_ == 0) {
      idle_fibers_.push_back(place);
      leave_for(main_, 0);
    }
    const unsigned next = next_or_resolve();
    set_current(next);
    kernel = call_->kernel;
    if (Fiber& fiber = threads_[next].fiber; fiber != nullptr) {
      waiting_next_ = std::exchange(fiber, nullptr);
      prefetch(threads_[cursor_].fiber, 0);
      idle_fibers_.push_back(place);
      kernel = reinterpret_cast<const void*>(&BlockRunner::go_on);
    }
  }
}

/// Stands for the kernel where a thread goes on.
void BlockRunner::go_on() {
  const BlockRunner& runner = *current_runner;
  leave_for(runner.waiting_next_, runner.result());
}

Entry BlockRunner::arrive(bool predicate, Fiber place, const void* pc) {
  const unsigned self = current_;
  come_to_barrier(predicate, pc);
  const unsigned next = next_or_resolve();
  if (next == self) return {place, result()};
  set_current(next);
  threads_[self].fiber = place;
  if (Fiber& fiber = threads_[next].fiber; fiber != nullptr) {
    prefetch(threads_[cursor_].fiber, 0);
    return {std::exchange(fiber, nullptr), result()};
  }
  leave_for(take_fiber(), reinterpret_cast<std::uintptr_t>(this));
}

extern "C" __attribute__((visibility("hidden"))) Entry warpbook_arrive(bool predicate, Fiber place, const void* pc) {
  return current_runner->arrive(predicate, place, pc);
}
#else
void BlockRunner::run_threads(Fiber /*place*/) {
  // Nothing thread-local here: an idle fiber of the first worker may wake up on another operating system thread.
  for (;;) {
    invoke(call_->kernel);
    finish(current_);
    if (live_ == 0) {
      Fiber* place = &idle_fibers_.emplace_back(nullptr);
      jump(Switch::to_idle, main_, place);
      continue;
    }
    const unsigned next = next_or_resolve();
    set_current(next);
    if (const Fiber fiber = threads_[next].fiber; fiber != nullptr) {
      threads_[next].fiber = nullptr;
      prefetch(threads_[cursor_].fiber, 0);
      Fiber* place = &idle_fibers_.emplace_back(nullptr);
      jump(Switch::to_waiting, fiber, place);
    }
  }
}
#endif

inline void BlockRunner::set_current(unsigned position) {
  current_ = position;
  context_.thread = threads_[position].thread;
  context_.thread_index = threads_[position].index;
}

inline void BlockRunner::finish(unsigned self) {
  if (context_.traced) {
    observer().thread_end(context_);
  }
  threads_[self].wait = Wait::finished;
  --live_;
  const unsigned thread = threads_[self].thread;
  Warp& warp = warps_[thread / kWarpSize];
  warp.live &= ~(1U << thread % kWarpSize);
  if (waiting_ != 0 && waiting_ == live_) {
    complete_barrier();
  }
  if (cluster_arrivals_ != 0 && cluster_arrivals_ == live_) come_to_cluster();
  for (unsigned i = 0; i < warp.pending; ++i) {
    if (warp.meetings[i].arrived == (warp.meetings[i].mask & warp.live)) {
      complete_meeting(thread / kWarpSize, i);
      break;  // at most one waited for this thread alone
    }
  }
}

// ---- Taking turns ---------------------------------------------------------------------------------------------

/// Takes the next runnable thread in the order, from the cursor on; returns its position.
inline unsigned BlockRunner::next_runnable() {
  // Mostly it is the very next one. A branch, unlike a search, lets the processor run ahead.
  const unsigned position = cursor_;
  if (position < context_.threads && (runnable_[position / 64] >> position % 64 & 1U) != 0) {
    runnable_[position / 64] &= ~(std::uint64_t{1} << position % 64);
    cursor_ = position + 1;
    return position;
  }
  return search_runnable();
}

unsigned BlockRunner::search_runnable() {
  const unsigned words = (context_.threads + 63) / 64;
  const unsigned start = cursor_ < context_.threads ? cursor_ : 0;
  unsigned word = start / 64;
  std::uint64_t bits = runnable_[word] & (~std::uint64_t{0} << start % 64);
  for (unsigned i = 0; bits == 0; ++i) {
    if (i == words) {
      return kNone;
    }
    word = word + 1 == words ? 0 : word + 1;
    bits = runnable_[word];
  }
  const unsigned bit = static_cast<unsigned>(std::countr_zero(bits));
  runnable_[word] &= ~(std::uint64_t{1} << bit);
  cursor_ = word * 64 + bit + 1;
  return word * 64 + bit;
}

inline unsigned BlockRunner::next_or_resolve() {
  unsigned next = next_runnable();
  while (next == kNone) {
    if (!release_active_masks()) {
      report_deadlock();
      abort(cudaErrorLaunchFailure);
    }
    next = next_runnable();
  }
  return next;
}

/// Has the stack of whoever is likely next brought into the cache while another thread runs: a block's stacks together
/// are more than it holds.
inline void BlockRunner::prefetch(Fiber fiber, std::ptrdiff_t from) {
  if (fiber == nullptr) return;
  constexpr std::ptrdiff_t kLine = 64;
  constexpr std::ptrdiff_t kBytes = 5 * kLine;  // what a small kernel has there, and the emulator
  const auto* const place = static_cast<const std::byte*>(fiber) + from;
  for (std::ptrdiff_t at = 0; at < kBytes; at += kLine) __builtin_prefetch(place + at, 1);
}

inline void BlockRunner::make_runnable(unsigned position) {
  threads_[position].wait = Wait::nothing;
  runnable_[position / 64] |= std::uint64_t{1} << position % 64;
}

/// Tells the observer that others may run now.
inline void BlockRunner::stop_thread(bool at_barrier) {
  if (context_.traced) observer().thread_stops(context_, at_barrier);
}

/// Runs others until this thread is runnable again and it is its turn.
inline void BlockRunner::wait(unsigned self) {
  const unsigned next = next_or_resolve();
  if (next == self) {
    return;
  }
  set_current(next);
  if (const Fiber to = threads_[next].fiber; to != nullptr) {
    threads_[next].fiber = nullptr;
    prefetch(threads_[cursor_].fiber, 0);
    jump(Switch::to_waiting, to, &threads_[self].fiber);
  } else {
    jump(Switch::to_idle, take_fiber(), &threads_[self].fiber);
  }
}

void BlockRunner::yield() {
  const unsigned self = current_;
  stop_thread(false);
  make_runnable(self);
  cursor_ = self + 1;
  wait(self);
}

// ---- Waiting for other threads and blocks in a loop -------------------------------------------------------------

void BlockRunner::sleep(const void* pc) {
  if (poll_.thread != current_) poll_ = {{}, pc, current_, 0};
  give_way();
}

void BlockRunner::count_fence(const void* pc) {
  constexpr unsigned kMany = 64;
  if (fence_thread_ != current_ || fence_pc_ != pc) {
    fence_thread_ = current_;
    fence_pc_ = pc;
    fences_ = 0;
  }
  if (++fences_ % kMany == 0) sleep(pc);
}

void BlockRunner::give_way() {
  if (polls_.empty()) polls_.resize(context_.threads);
  if (poll_.seen.address == nullptr) blind_ = true;
  Poll& last = polls_[current_];
  if (last.seen != poll_.seen) changed_ = true;
  last = poll_;
  poll_.thread = kNone;
  unsigned others = 0;
  for (unsigned word = 0; word < (context_.threads + 63) / 64; ++word)
    others += static_cast<unsigned>(std::popcount(runnable_[word]));
  if (++ways_given_ > others) end_rotation();
  yield();
}

void BlockRunner::end_rotation() {
  constexpr unsigned kIdle = 2;
  constexpr unsigned kMost = 64;
  ways_given_ = 0;
  ++rotations_;
  idle_rotations_ = changed_ ? 0 : idle_rotations_ + 1;
  moved_ |= std::exchange(changed_, false);
  if (idle_rotations_ >= kIdle || rotations_ >= kMost) wait_for_blocks();
}

/// What the threads that can run wait for; empty where that is much, or not known.
std::vector<Watched> BlockRunner::watched() const {
  constexpr std::size_t kMost = 8;
  std::vector<Watched> all;
  for (unsigned position = 0; position < polls_.size(); ++position) {
    const bool runs = position == current_ || (runnable_[position / 64] >> position % 64 & 1U) != 0;
    const Watched& seen = polls_[position].seen;
    if (!runs || std::find(all.begin(), all.end(), seen) != all.end()) continue;
    if (seen.address == nullptr || all.size() == kMost) return {};
    all.push_back(seen);
  }
  return all;
}

void BlockRunner::wait_for_blocks() {
  const Waiting waiting = moved_ ? Waiting::moves : blind_ ? Waiting::blind : Waiting::stands;
  rotations_ = idle_rotations_ = barriers_ = 0;
  moved_ = blind_ = false;
  observer().block_waits(context_);
  const Turn turn = let_others_run(waiting, context_.linear_block, watched());
  if (turn.outcome == Turn::Outcome::go_on) return;
  if (turn.outcome == Turn::Outcome::standstill) report_standstill(turn.left);
  abort(cudaErrorLaunchFailure);
}

void BlockRunner::abort(cudaError_t error) {
  error_ = error;
  context_.aborted = true;
  Fiber abandoned = nullptr;
  jump(Switch::to_idle, main_, &abandoned);
  __builtin_unreachable();
}

// ---- Barriers -------------------------------------------------------------------------------------------------

BarrierResult BlockRunner::barrier(bool predicate, const void* pc) {
  const unsigned self = current_;
  come_to_barrier(predicate, pc);
  wait(self);
  return arrivals_;
}

inline void BlockRunner::come_to_barrier(bool predicate, const void* pc) {
  const unsigned self = current_;
  stop_thread(true);
  threads_[self].wait = Wait::barrier;
  threads_[self].pc = pc;
  if (waiting_++ == 0) {
    barrier_pc_ = pc;
  } else if (pc != barrier_pc_) {
    other_barrier_pc_ = pc;
  }
  predicates_ += predicate ? 1 : 0;
  if (waiting_ == live_) {
    complete_barrier();
  }
}

void BlockRunner::complete_barrier() {
  if (other_barrier_pc_ != nullptr) [[unlikely]] {
    if (a_warp_diverges()) {
      report_divergence();
      abort(cudaErrorLaunchFailure);
    }
    observer().barriers_differ(context_, barrier_pc_, other_barrier_pc_);
    other_barrier_pc_ = nullptr;
  }
  observer().sync(context_, SyncScope::block, 0, ~0U);
  if (context_.traced) copies_go_on(context_);
  arrivals_ = {predicates_, waiting_};
  waiting_ = 0;
  predicates_ = 0;
  if (live_ == context_.threads) {
    for (unsigned first = 0; first < context_.threads; first += 64) {
      runnable_[first / 64] =
          context_.threads - first >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (context_.threads - first)) - 1;
    }
  } else {
    for (unsigned position = 0; position < context_.threads; ++position) {
      if (threads_[position].wait == Wait::barrier) {
        make_runnable(position);
      }
    }
  }
  cursor_ = 0;
  constexpr unsigned kMany = 1 << 16;  // a loop that waits may have nothing else in it
  if (++barriers_ >= kMany) [[unlikely]] {
    blind_ = true;
    wait_for_blocks();
  }
}

// ---- The barrier of a cluster -----------------------------------------------------------------------------------

void BlockRunner::arrive_at_cluster() {
  if (cluster_ != nullptr && ++cluster_arrivals_ == live_) come_to_cluster();
}

/// All of the block's threads are there.
void BlockRunner::come_to_cluster() {
  cluster_arrivals_ = 0;
  came_to_cluster_ = true;
  cluster_phase_ = cluster_->phase;
  observer().cluster_barrier(context_, true);
  cluster_->blocks[rank_in_cluster(context_)].arrived = true;
  cluster_->complete_phase();
  note_change();
}

void BlockRunner::wait_for_cluster(const void* pc) {
  barrier(false, pc);
  if (cluster_ == nullptr) return;
  if (std::exchange(came_to_cluster_, false)) {  // The first thread that is here waits for all of them.
    while (cluster_->phase == cluster_phase_) poll({&cluster_->phase, sizeof cluster_->phase}, pc);
    observer().cluster_barrier(context_, false);
  }
  barrier(false, pc);
}

/// True where lanes of one warp wait at different barriers.
bool BlockRunner::a_warp_diverges() const {
  std::array<const void*, kMaxWarps> places{};
  for (unsigned position = 0; position < context_.threads; ++position) {
    const Thread& thread = threads_[position];
    if (thread.wait != Wait::barrier) continue;
    const void*& place = places[thread.thread / kWarpSize];
    if (place != nullptr && place != thread.pc) return true;
    place = thread.pc;
  }
  return false;
}

std::uint64_t BlockRunner::meet(Meeting kind, std::uint32_t mask, std::uint64_t value, unsigned source,
                                const void* pc) {
  const unsigned self = current_;
  const unsigned lane = context_.thread % kWarpSize;
  const unsigned warp_index = context_.thread / kWarpSize;
  Thread& thread = threads_[self];
  stop_thread(false);
  if ((mask >> lane & 1U) == 0) [[unlikely]] {
    report_foreign_mask(pc, lane);
    abort(cudaErrorLaunchFailure);
  }
  thread.wait = Wait::meeting;
  thread.kind = kind;
  thread.mask = mask;
  thread.value = value;
  thread.source = static_cast<std::uint8_t>(source);
  thread.pc = pc;

  Warp& warp = warps_[warp_index];
  unsigned index = 0;
  while (index < warp.pending && (warp.meetings[index].mask != mask || warp.meetings[index].kind != kind)) {
    ++index;
  }
  if (index == warp.pending) {
    warp.meetings[warp.pending++] = {mask, 0, kind};
  }
  warp.meetings[index].arrived |= 1U << lane;
  if (warp.meetings[index].arrived == (mask & warp.live)) {
    complete_meeting(warp_index, index);
  }
  wait(self);
  return threads_[self].value;
}

void BlockRunner::complete_meeting(unsigned warp_index, unsigned index) {
  Warp& warp = warps_[warp_index];
  const PendingMeeting meeting = warp.meetings[index];
  warp.meetings[index] = warp.meetings[--warp.pending];
  const SyncScope scope = meeting.kind == Meeting::sync ? SyncScope::warp : SyncScope::exchange;
  observer().sync(context_, scope, warp_index, meeting.arrived);

  const auto each_lane = [&](auto&& visit) {
    for (std::uint32_t rest = meeting.arrived; rest != 0; rest &= rest - 1) {
      visit(static_cast<unsigned>(std::countr_zero(rest)));
    }
  };
  const unsigned* const positions = &positions_[std::size_t{warp_index} * kWarpSize];
  std::array<std::uint64_t, kWarpSize> values;
  each_lane([&](unsigned lane) { values[lane] = threads_[positions[lane]].value; });
  if (meeting.kind == Meeting::shuffle && (warp.unset | warp.got_unset) != 0) [[unlikely]]
    hand_on_nothing(warp_index, meeting.arrived);
  const auto result = [&](const Thread& thread) -> std::uint64_t {
    std::uint64_t lanes = 0;
    switch (meeting.kind) {
    case Meeting::shuffle:
      if ((meeting.arrived >> thread.source & 1U) != 0) return values[thread.source];
      // A lane that did not come gives what CUDA leaves undefined: a pattern that is easy to see.
      observer().inactive_shuffle(context_, thread.pc, thread.thread % kWarpSize, thread.source);
      return 0xdeadbeefdeadbeefU;
    case Meeting::ballot:
      each_lane([&](unsigned lane) { lanes |= std::uint64_t{values[lane] != 0} << lane; });
      return lanes | std::uint64_t{meeting.arrived} << 32;
    case Meeting::match_any:
      each_lane([&](unsigned lane) { lanes |= std::uint64_t{values[lane] == thread.value} << lane; });
      return lanes;
    case Meeting::sync:
      return 0;
    }
    return 0;
  };
  unsigned first = context_.threads;
  each_lane([&](unsigned lane) {
    Thread& thread = threads_[positions[lane]];
    thread.value = result(thread);
    make_runnable(positions[lane]);
    first = std::min(first, positions[lane]);
  });
  cursor_ = first;
}

AddressRange BlockRunner::own_stack(const void* address) const {
  if (const ArraysApart apart = own_arrays(); apart.last != nullptr) return apart.range;
  const auto around = [&](const void* place) {
    const std::span<const std::byte> stack = stacks_.stack_around(place);
    return AddressRange{stack.data(), stack.data() + stack.size()};
  };
  const bool is_guarded = !around(address).contains(address);
  const AddressRange own = around(__builtin_frame_address(0));
  if (is_guarded || own.begin == own.end) return local_range();
  return {own.begin, stacks_.top_of(own.begin) - skipped_};
}

/// Of a shuffle that these lanes came to: who gets what has no value.
void BlockRunner::hand_on_nothing(unsigned warp_index, std::uint32_t arrived) {
  Warp& warp = warps_[warp_index];
  const std::uint32_t brought = warp.unset & arrived;
  for (std::uint32_t rest = arrived; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const unsigned source = threads_[positions_[warp_index * kWarpSize + lane]].source;
    warp.got_unset = (warp.got_unset & ~(1U << lane)) | (brought >> source & 1U) << lane;
  }
  warp.unset &= ~arrived;
}

std::uint32_t BlockRunner::active_mask(const void* pc) {
  const unsigned self = current_;
  stop_thread(false);
  threads_[self].wait = Wait::active_mask;
  threads_[self].pc = pc;
  ++active_mask_waits_;
  wait(self);
  return static_cast<std::uint32_t>(threads_[self].value);
}

/// Nobody can run: those who wait for their active mask have it now.
bool BlockRunner::release_active_masks() {
  if (active_mask_waits_ == 0) {
    return false;
  }
  for (unsigned first = 0; first < context_.threads; first += kWarpSize) {
    const unsigned lanes = std::min(kWarpSize, context_.threads - first);
    const unsigned* const positions = &positions_[first];
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (threads_[positions[lane]].wait != Wait::active_mask) {
        continue;
      }
      const void* pc = threads_[positions[lane]].pc;
      std::uint32_t mask = 0;
      for (unsigned other = lane; other < lanes; ++other) {
        const Thread& thread = threads_[positions[other]];
        mask |= std::uint32_t{thread.wait == Wait::active_mask && thread.pc == pc} << other;
      }
      for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const unsigned position = positions[std::countr_zero(rest)];
        threads_[position].value = mask;
        make_runnable(position);
      }
    }
  }
  active_mask_waits_ = 0;
  cursor_ = 0;
  return true;
}

// ---- Reports --------------------------------------------------------------------------------------------------

std::string BlockRunner::where(const void* pc) const {
  const std::string line = observer().locate(pc);
  return line.empty() ? function_name(pc) : line;
}

void BlockRunner::report(const char* kind, const void* pc, const std::string& text) {
  observer().report(kind, pc,
                    "========= " + text + "\n=========     in kernel " + context_.launch->name + ", " +
                        describe_thread(context_) + "\n");
}

void BlockRunner::report_divergence() {
  const Unwatched unwatched;
  report("divergent_barrier", other_barrier_pc_,
         "Barrier error detected. Divergent thread(s) in block: some wait at " + where(barrier_pc_) + ", others at " +
             where(other_barrier_pc_) +
             ".\n=========     All threads of a block must come to the same __syncthreads().");
}

void BlockRunner::report_foreign_mask(const void* pc, unsigned lane) {
  const Unwatched unwatched;
  report("invalid_mask", pc,
         "Barrier error detected. Invalid arguments at " + where(pc) + " by " + describe_thread(context_) +
             ": the mask does not name the calling lane " + std::to_string(lane) + ".");
}

void BlockRunner::report_deadlock() {
  const Unwatched unwatched;
  struct Group {
    const void* pc;
    Wait wait;
    Meeting kind;
    std::uint32_t mask;
    unsigned first;
    unsigned count;
  };
  std::vector<Group> groups;
  for (unsigned i = 0; i < context_.threads; ++i) {
    const Thread& thread = threads_[positions_[i]];
    if (thread.wait != Wait::barrier && thread.wait != Wait::meeting) {
      continue;
    }
    const std::uint32_t mask = thread.wait == Wait::meeting ? thread.mask : 0;
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.pc == thread.pc && group.wait == thread.wait && group.mask == mask;
    });
    if (found != groups.end()) {
      ++found->count;
    } else {
      groups.push_back({thread.pc, thread.wait, thread.kind, mask, i, 1});
    }
  }
  std::string text =
      "Barrier error detected. Deadlock: every thread of the block that has not returned waits for another.";
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < groups.size() && i < kShown; ++i) {
    const Group& group = groups[i];
    const uint3 index = threads_[positions_[group.first]].index;
    char mask[48] = "";
    if (group.wait == Wait::meeting) {
      std::snprintf(mask, sizeof mask, " for the lanes of mask 0x%08x", group.mask);
    }
    text += "\n=========     " + std::to_string(group.count) + " thread(s), the first (" + std::to_string(index.x) +
            "," + std::to_string(index.y) + "," + std::to_string(index.z) + "), wait " +
            (group.wait == Wait::barrier ? "at __syncthreads()" : "in a warp-level operation") + mask + ": " +
            where(group.pc);
  }
  if (groups.size() > kShown) {
    text += "\n=========     and " + std::to_string(groups.size() - kShown) + " more places";
  }
  report("deadlock", groups.front().pc, text);
}

void BlockRunner::report_standstill(std::uint64_t left) {
  const Unwatched unwatched;
  const void* pc = polls_.empty() ? barrier_pc_ : polls_[current_].pc;
  const std::string line = observer().locate_caller(pc);
  report("deadlock", pc,
         "Deadlock: no block of the launch goes on. The first of them waits at " + (line.empty() ? where(pc) : line) +
             (left != 0
                  ? "\n=========     The card holds " + std::to_string(context_.launch->resident_blocks) +
                        " of these blocks at a time; " + std::to_string(left) +
                        " more begin when one of them ends.\n=========     Blocks that wait "
                        "for each other have to be there at once: launch fewer, or end the kernel where they meet."
                  : "\n=========     What is waited for does not come: look at who is to change it."));
}

}  // namespace warpbook::emulator
