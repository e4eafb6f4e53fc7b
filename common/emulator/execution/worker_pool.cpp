#include "common/emulator/execution/worker_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <semaphore>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/execution/block_runner.hpp"
#include "common/emulator/execution/clusters.hpp"
#include "common/emulator/execution/progress.hpp"
#include "common/emulator/execution/schedule.hpp"
#include "common/emulator/include/warpbook_emulator.h"

namespace warpbook::emulator {
namespace {

constexpr unsigned kMaxWorkers = 256;

/// Of a worker, besides its thread-locals.
constexpr std::size_t kStackBytes = std::size_t{4} << 20;

/// Below this many CUDA threads, waking others takes longer than the launch.
constexpr std::uint64_t kThreadsWorthWaking = 4096;

/// CUDA threads that a worker takes at a time at most, in whole blocks. Few: whoever watches the blocks wants them in
/// about their order.
constexpr std::uint64_t kThreadsAtATime = 2048;

/// As `run_one_block` has it.
std::atomic<double> share_of_grid{-1};

unsigned cores() {
  if (const char* text = std::getenv("WARPBOOK_WORKERS"); text != nullptr) {
    const std::string_view view = text;
    unsigned count = 0;
    const auto [rest, error] = std::from_chars(view.data(), view.data() + view.size(), count);
    if (error == std::errc{} && rest == view.data() + view.size() && count >= 1 && count <= kMaxWorkers) {
      return count;
    }
    std::fprintf(stderr, "WARPBOOK_WORKERS: \"%s\" is no number from 1 to %u\n", text, kMaxWorkers);
    std::exit(2);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return std::clamp(static_cast<unsigned>(CPU_COUNT(&set)), 1U, kMaxWorkers);
  }
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxWorkers);
}

/// What the launch under way came to so far: one at a time.
std::atomic<int> launch_error{cudaSuccess};

/// Blocks that a worker has taken, and not begun.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What other workers see of a worker, to let it run or to wait for it.
struct alignas(128) Seat {
  unsigned index = 0;
  Range mine;
  std::binary_semaphore turn{0};   ///< of a worker whose block waits: it goes on
  std::uint64_t epoch = 0;         ///< in which `still` counts
  unsigned still = 0;              ///< how often its block found nothing new
  std::uint64_t block = 0;         ///< the one that waits
  std::vector<Watched> watched{};  ///< what for; empty: not known

  /// What it waits for is as it was.
  bool waits_in_vain() const {
    return !watched.empty() &&
           std::all_of(watched.begin(), watched.end(), [](const Watched& one) { return one.now() == one.value; });
  }
};

/// A launch on a thread of its own, and the host, which waits for it at first.
class Beside {
public:
  /// Comes back when the launch is done, or where only the host can help it.
  template <class Start> bool begin(Start&& start) {
    done_ = parked_ = false;
    host_waits_ = true;
    start();
    std::unique_lock lock(mutex_);
    change_.wait(lock, [&] { return done_ || parked_; });
    under_way_ = !done_;
    host_waits_ = done_;
    return done_;
  }

  void finish() {
    std::unique_lock lock(mutex_);
    waits_since_ = Clock::now();
    host_waits_ = true;
    change_.wait(lock, [&] { return done_; });
    under_way_ = false;
  }

  bool under_way() const { return under_way_.load(); }

  /// Whether it is done within this time, and the host has yet to learn of it.
  bool ends_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return under_way_ && change_.wait_for(lock, time, [&] { return done_; });
  }

  // The launch:

  /// All of its blocks wait, and have done so since then. Returns how long they did so while nobody could help;
  /// nothing: the host can.
  std::optional<std::chrono::steady_clock::duration> stand(std::chrono::steady_clock::time_point since) {
    constexpr std::chrono::milliseconds kSoon{20};
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    if (!parked_) {
      if (now - since < kSoon) return std::nullopt;
      parked_ = true;
      change_.notify_all();
    }
    if (!host_waits_) return std::nullopt;
    return now - std::max(since, waits_since_);
  }

  void end() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    change_.notify_all();
  }

private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::condition_variable change_;
  bool done_ = false;
  bool parked_ = false;     ///< The host went on.
  bool host_waits_ = true;  ///< and no longer does
  std::atomic<bool> under_way_{false};
  Clock::time_point waits_since_;
};

/// The seat of this operating system thread, while it is at a launch.
thread_local constinit Seat* this_seat = nullptr;

/// A launch under way. Each worker reads it block by block; what they write lies apart.
///
/// Blocks that wait for others keep their worker, which sleeps meanwhile. Another one runs in its place: one whose
/// block has waited the longest, or a new one for a block that has not begun, as long as the card would hold that as
/// well. So no more workers run at a time than in any launch. Where that is one, blocks take turns in a fixed order.
struct alignas(128) Job {
  LaunchInfo launch;
  KernelCall call;
  Schedule schedule;
  std::uint64_t blocks;
  unsigned workers;
  std::uint64_t most;  ///< blocks that a worker takes at a time
  Beside* beside;      ///< of a launch that the host may help; else null
  alignas(128) std::atomic<std::uint64_t> next{0};
  alignas(128) std::atomic<unsigned> present{1};  ///< workers that are at it, asleep or not, or have been sent to it

  // Once a block has waited for others. Read without order: who sees it late takes a block more, and `leave` asks
  // again.
  std::atomic<bool> waited{false};
  std::mutex mutex{};                             ///< of what follows
  std::vector<Range> returned{};                  ///< taken by workers that sleep
  std::deque<Seat*> asleep{};                     ///< the one that waits the longest first
  std::uint64_t epoch = 1;                        ///< counts how often something changed
  unsigned standing = 0;                          ///< workers that found nothing new for long in this epoch
  bool stands = false;                            ///< It has been told that nothing changes any more.
  bool blind = false;                             ///< some of them do not know what they look at
  std::chrono::steady_clock::time_point since{};  ///< the epoch began

  /// Has a worker that is counted in `present` run blocks until there are no more.
  void work(BlockRunner& runner, Seat& seat) {
    this_seat = &seat;
    seat.mine = {};
    seat.epoch = 0;
    while (!launch_has_failed() && take(seat.mine)) {
      const std::uint64_t block = nth_block(launch, seat.mine.begin++);
      if (const cudaError_t result = runner.run(launch, call, block, schedule); result != cudaSuccess) {
        int expected = cudaSuccess;
        launch_error.compare_exchange_strong(expected, result);
      }
      runner.leave();
      if (waited.load(std::memory_order_relaxed) && ends_turn()) break;
    }
    leave(seat);
  }

  /// Something of the launch changed. The caller holds the lock.
  void move() {
    ++epoch;
    standing = 0;
    blind = false;
    since = std::chrono::steady_clock::now();
  }

  /// A worker found nothing new. True where that holds for all of them, for so long that it will not change any more.
  bool stand(Seat& seat, bool is_blind) {
    constexpr unsigned kTurns = 64;
    constexpr std::chrono::seconds kKnown{2};
    constexpr std::chrono::seconds kUnknown{20};  // it may wait for something that nobody sees it look at
    if (seat.epoch != epoch) {
      seat.epoch = epoch;
      seat.still = 0;
    }
    if (++seat.still == kTurns) ++standing;
    blind |= is_blind;
    if (standing < present.load()) return false;
    auto stood = std::chrono::steady_clock::now() - since;
    if (beside != nullptr) {
      const auto alone = beside->stand(since);
      if (!alone) return false;
      stood = *alone;
    }
    if (stood <= (blind ? kUnknown : kKnown)) return false;
    // The first block of them tells.
    return std::none_of(asleep.begin(), asleep.end(), [&](const Seat* other) { return other->block < seat.block; });
  }

  /// What the worker has taken is for others. The caller holds the lock.
  void give_back(Seat& seat) {
    if (seat.mine.begin < seat.mine.end) returned.push_back(seat.mine);
    seat.mine.end = seat.mine.begin;
  }

  /// Blocks that have not begun, of those that nobody has taken. The caller holds the lock.
  std::uint64_t left() const {
    std::uint64_t count = blocks - std::min(blocks, next.load(std::memory_order_relaxed));
    for (const Range& range : returned) count += range.end - range.begin;
    return count;
  }

  /// Of those that sleep and may find something new, the one that does so the longest. The caller holds the lock.
  auto first_to_wake() {
    return std::find_if(asleep.begin(), asleep.end(), [](const Seat* seat) { return !seat->waits_in_vain(); });
  }

  /// Lets it go on; where there is none such, the one that sleeps the longest at all. The caller holds the lock.
  void wake_one() {
    if (asleep.empty()) return;
    auto place = first_to_wake();
    if (place == asleep.end()) place = asleep.begin();
    Seat* const seat = *place;
    asleep.erase(place);
    seat->turn.release();
  }

private:
  bool take(Range& mine) {
    if (mine.begin < mine.end) return true;
    if (waited.load(std::memory_order_relaxed)) {
      const std::lock_guard lock(mutex);
      if (!returned.empty()) {
        mine = returned.back();
        returned.pop_back();
        return true;
      }
    }
    // Fewer towards the end, so that all are done at about the same time.
    constexpr std::uint64_t kShares = 4;  // of a worker in what is left
    const std::uint64_t rest = blocks - std::min(blocks, next.load(std::memory_order_relaxed));
    const std::uint64_t count = std::clamp<std::uint64_t>(rest / (workers * kShares), 1, most);
    const std::uint64_t first = next.fetch_add(count, std::memory_order_relaxed);
    mine = {first, std::min(blocks, first + count)};
    return first < blocks;
  }

  /// A block has ended. True where others sleep who may have waited for that: they come before those that have not
  /// begun.
  bool ends_turn() {
    const std::lock_guard lock(mutex);
    move();
    return first_to_wake() != asleep.end();
  }

  void leave(Seat& seat) {
    if (!waited.load()) {
      present.fetch_sub(1);
      return;
    }
    const std::lock_guard lock(mutex);
    give_back(seat);
    present.fetch_sub(1);
    move();
    wake_one();
  }
};

class WorkerPool {
public:
  WorkerPool() : starts_(worker_count()), runners_(worker_count()), seats_(worker_count()) {
    runners_[0] = std::make_unique<BlockRunner>(0);
    for (unsigned i = 0; i < seats_.size(); ++i) seats_[i].index = i;
  }

  LaunchResult run(LaunchInfo& launch, const KernelCall& call) {
    const std::lock_guard one_launch(launch_mutex_);
    return run(launch, call, *runners_[0], nullptr);
  }

  std::optional<LaunchResult> run_beside(const LaunchInfo& launch, const KernelCall& call) {
    if (!has_thread_ && !start_thread_beside()) {
      LaunchInfo own = launch;
      return run(own, call);
    }
    launch_beside_ = launch;
    call_beside_ = call;
    if (beside_.begin([&] { start_beside_.release(); })) return result_beside_;
    return std::nullopt;
  }

  LaunchResult finish_beside() {
    beside_.finish();
    return result_beside_;
  }

  bool is_beside() const { return beside_.under_way(); }
  bool beside_ends_within(std::chrono::milliseconds time) { return beside_.ends_within(time); }

private:
  LaunchResult run(LaunchInfo& launch, const KernelCall& call, BlockRunner& runner, Beside* beside) {
    launch.id = ++launches_;
    launch.arguments = call.arguments;
    launch.argument_bytes = call.bytes;
    launch_error.store(cudaSuccess);
    grid_arrivals.store(0);
    const std::uint64_t all_blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    const double share = share_of_grid.load();
    const auto first = share < 0 ? 0 : static_cast<std::uint64_t>(share * static_cast<double>(all_blocks - 1));
    const std::uint64_t blocks = share < 0 ? all_blocks : first + 1;
    const std::uint64_t threads_of_block = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
    const std::uint64_t threads = (blocks - first) * threads_of_block;
    const auto workers =
        static_cast<unsigned>(std::min<std::uint64_t>({runners_.size(), blocks - first, launch.resident_blocks}));
    const std::uint64_t most = std::max<std::uint64_t>(1, kThreadsAtATime / threads_of_block);
    Job job{launch, call, schedule(), blocks, workers, most, beside};
    job.next.store(first);
    current_ = &job;

    observer().launch_begin(launch);
    const bool shared =
        workers > 1 && threads >= kThreadsWorthWaking && !observer().in_order() && launch.cluster_blocks() == 1;
    if (shared) {
      begin(job, workers - 1);
    }
    {
      const LaunchProgress progress(job.launch, blocks, job.next);
      job.work(runner, seats_[0]);
      observer().worker_end(launch, 0);
      if (shared || job.waited.load()) {
        finish();
      }
    }
    const double seconds = observer().launch_end(launch);
    return {static_cast<cudaError_t>(launch_error.load()), seconds, launch.id};
  }

  bool start_thread_beside() {
    const auto body = [](void* argument) -> void* {
      give_signal_stack();
      auto& pool = *static_cast<WorkerPool*>(argument);
      for (BlockRunner runner(0);;) {
        pool.start_beside_.acquire();
        {
          const std::lock_guard one_launch(pool.launch_mutex_);
          pool.result_beside_ = pool.run(pool.launch_beside_, pool.call_beside_, runner, &pool.beside_);
        }
        pool.beside_.end();
      }
    };
    has_thread_ = start_thread(body, this);
    return has_thread_;
  }

public:
  /// As `let_others_run`.
  Turn let_others_run(Waiting waiting, std::uint64_t block, std::vector<Watched> watched) {
    Job& job = *current_;
    Seat& seat = *this_seat;
    {
      const std::lock_guard lock(job.mutex);
      if (!job.waited.exchange(true)) job.move();
      if (launch_has_failed() || job.stands) return {Turn::Outcome::launch_ended};
      seat.block = block;
      seat.watched = std::move(watched);
      job.give_back(seat);
      if (waiting == Waiting::moves) {
        job.move();
      } else if (job.stand(seat, waiting == Waiting::blind)) {
        job.stands = true;
        return {Turn::Outcome::standstill, job.left()};
      }
      // Of clusters, one goes on as long as it can before the next one begins.
      const bool others_wait = job.launch.cluster_blocks() > 1 && job.first_to_wake() != job.asleep.end();
      const bool fits = !others_wait && job.present.load() < job.launch.resident_blocks;
      if (job.left() == 0 || !fits || !begin_another(job)) {
        if (job.asleep.empty()) {
          sched_yield();  // for those on other cores, if there are any
          return {};
        }
        job.wake_one();
      }
      job.asleep.push_back(&seat);
    }
    seat.turn.acquire();
    return {launch_has_failed() ? Turn::Outcome::launch_ended : Turn::Outcome::go_on};
  }

private:
  /// A worker that only takes part where blocks wait for each other.
  struct Extra {
    Extra(WorkerPool& pool, unsigned index) : pool(pool), runner(index) { seat.index = index; }
    WorkerPool& pool;
    Seat seat;
    BlockRunner runner;
    Job* job = nullptr;
    std::binary_semaphore start{0};
  };

  void begin(Job& job, unsigned helpers) {
    while (started_ < helpers) {
      const unsigned index = started_ + 1;
      runners_[index] = std::make_unique<BlockRunner>(index);
      starts_[index] = {this, index};
      const auto body = [](void* argument) -> void* {
        give_signal_stack();
        const Start& start = *static_cast<Start*>(argument);
        start.pool->serve(start.index);
      };
      if (!start_thread(body, &starts_[index])) break;  // At a limit of threads, those that are there do the work.
      started_ = index;
    }
    // Before they come: who comes late finds the place that the card has for its block.
    job.present.store(1 + std::min(started_, helpers));
    job_.store(&job);
    generation_.fetch_add(1);
    generation_.notify_all();
  }

  struct Start {
    WorkerPool* pool;
    unsigned index;
  };

  /// Has one worker more run blocks of the job, in place of the caller. False where this machine gives none. The caller
  /// holds the job's lock.
  bool begin_another(Job& job) {
    if (idle_.empty()) {
      const auto index = static_cast<unsigned>(seats_.size() + extras_.size());
      try {
        extras_.push_back(std::make_unique<Extra>(*this, index));
      } catch (const std::bad_alloc&) {
        return false;
      }
      const auto body = [](void* argument) -> void* {
        give_signal_stack();
        Extra& extra = *static_cast<Extra*>(argument);
        extra.pool.serve(extra);
      };
      if (!start_thread(body, extras_.back().get())) {
        extras_.pop_back();
        return false;
      }
      idle_.push_back(extras_.back().get());
    }
    Extra* const extra = idle_.back();
    idle_.pop_back();
    extra->job = &job;
    job.present.fetch_add(1);
    working_.fetch_add(1);
    extra->start.release();
    return true;
  }

  [[noreturn]] void serve(Extra& extra) {
    for (;;) {
      extra.start.acquire();
      extra.job->work(extra.runner, extra.seat);
      observer().worker_end(extra.job->launch, extra.seat.index);
      {
        const std::lock_guard lock(extra.job->mutex);
        idle_.push_back(&extra);
      }
      if (working_.fetch_sub(1) == 1) working_.notify_one();
    }
  }

  bool start_thread(void* (*body)(void*), void* argument) {
    // A thread's stack holds its thread-locals too, which are the shared arrays of all kernels of the program: that can
    // be more than stacks usually have. CUDA threads bring their own.
    const AddressRange shared = shared_range();
    const std::size_t bytes = kStackBytes + static_cast<std::size_t>(shared.end - shared.begin);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes / 4096 * 4096);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread{};
    const int error = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return error == 0;
  }

  /// Waits for those who took part; who has not woken up by now is too late.
  void finish() {
    job_.store(nullptr);
    for (unsigned working = working_.load(); working != 0; working = working_.load()) working_.wait(working);
  }

  /// Takes no lock: all wake up at once, and one behind the other they would take as long as a short launch.
  [[noreturn]] void serve(unsigned index) {
    unsigned seen = 0;
    for (;;) {
      generation_.wait(seen);
      seen = generation_.load();
      // First this, then the job: so either it is still there, or `finish` sees that somebody is here.
      working_.fetch_add(1);
      if (Job* const job = job_.load(); job != nullptr && index < job->workers) {
        job->work(*runners_[index], seats_[index]);
        observer().worker_end(job->launch, index);
      }
      if (working_.fetch_sub(1) == 1) working_.notify_one();
    }
  }

  std::mutex launch_mutex_;
  std::uint64_t launches_ = 0;

  bool has_thread_ = false;  ///< for launches beside the host
  Beside beside_;
  LaunchInfo launch_beside_;
  KernelCall call_beside_;
  LaunchResult result_beside_;
  std::binary_semaphore start_beside_{0};

  alignas(128) std::atomic<Job*> job_{nullptr};
  std::atomic<unsigned> generation_{0};  ///< launches that were shared
  std::atomic<unsigned> working_{0};     ///< helpers that may be at the job
  alignas(128) unsigned started_ = 0;
  std::vector<Start> starts_;
  std::vector<std::unique_ptr<BlockRunner>> runners_;
  std::vector<Seat> seats_;
  Job* current_ = nullptr;  ///< the launch under way
  std::vector<std::unique_ptr<Extra>> extras_;
  std::vector<Extra*> idle_;  ///< of these; guarded by the job's lock
};

std::atomic<const WorkerPool*> made_pool = nullptr;  ///< null until something is launched

WorkerPool& pool() {
  // Never destroyed: its threads are detached, and wait for launches until the process ends.
  static WorkerPool& instance = []() -> WorkerPool& {
    auto* const made = new WorkerPool;
    made_pool = made;
    return *made;
  }();
  return instance;
}

}  // namespace

void give_signal_stack() {
  constexpr std::size_t kBytes = std::size_t{512} << 10;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

unsigned worker_count() {
  static const unsigned count = cores();
  return count;
}

std::atomic<std::uint64_t> grid_arrivals{0};

// Without order: what went with the error is read behind `finish`.
bool launch_has_failed() { return launch_error.load(std::memory_order_relaxed) != cudaSuccess; }

void run_one_block(double share) { share_of_grid.store(share); }

LaunchResult run_blocks(LaunchInfo& launch, const KernelCall& call) { return pool().run(launch, call); }

std::optional<LaunchResult> run_blocks_beside(const LaunchInfo& launch, const KernelCall& call) {
  return pool().run_beside(launch, call);
}

bool launch_is_beside() {
  const WorkerPool* const made = made_pool;
  return made != nullptr && made->is_beside();
}

bool launch_beside_ends_within(std::chrono::milliseconds time) {
  return launch_is_beside() && pool().beside_ends_within(time);
}

LaunchResult finish_beside() { return pool().finish_beside(); }

Turn let_others_run(Waiting waiting, std::uint64_t block, std::vector<Watched> watched) {
  return pool().let_others_run(waiting, block, std::move(watched));
}

unsigned most_workers() {
  const DeviceTable& device = device_table();
  return worker_count() + static_cast<unsigned>(device.multiprocessors * device.blocks_per_multiprocessor);
}

}  // namespace warpbook::emulator
