#include "common/emulator/execution/worker_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "common/emulator/execution/block_runner.hpp"
#include "common/emulator/execution/schedule.hpp"

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

/// A launch under way. Each worker reads it block by block; what they write lies apart.
struct alignas(128) Job {
  LaunchInfo launch;
  KernelCall call;
  Schedule schedule;
  std::uint64_t blocks;
  unsigned workers;
  std::uint64_t most;  ///< blocks that a worker takes at a time
  alignas(128) std::atomic<std::uint64_t> next{0};

  void work(BlockRunner& runner) {
    while (!launch_has_failed()) {
      // Fewer towards the end, so that all are done at about the same time.
      constexpr std::uint64_t kShares = 4;  // of a worker in what is left
      const std::uint64_t left = blocks - std::min(blocks, next.load(std::memory_order_relaxed));
      const std::uint64_t count = std::clamp<std::uint64_t>(left / (workers * kShares), 1, most);
      const std::uint64_t first = next.fetch_add(count, std::memory_order_relaxed);
      if (first >= blocks) {
        return;
      }
      for (std::uint64_t block = first; block < std::min(blocks, first + count); ++block) {
        if (const cudaError_t result = runner.run(launch, call, block, schedule); result != cudaSuccess) {
          int expected = cudaSuccess;
          launch_error.compare_exchange_strong(expected, result);
          return;
        }
      }
    }
  }
};

class WorkerPool {
public:
  WorkerPool() : starts_(worker_count()), runners_(worker_count()) { runners_[0] = std::make_unique<BlockRunner>(0); }

  LaunchResult run(LaunchInfo& launch, const KernelCall& call) {
    const std::lock_guard one_launch(launch_mutex_);
    launch.id = ++launches_;
    launch_error.store(cudaSuccess);
    const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    const std::uint64_t threads_of_block = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
    const std::uint64_t threads = blocks * threads_of_block;
    const auto workers = static_cast<unsigned>(std::min<std::uint64_t>(runners_.size(), blocks));
    const std::uint64_t most = std::max<std::uint64_t>(1, kThreadsAtATime / threads_of_block);
    Job job{launch, call, schedule(), blocks, workers, most};

    observer().launch_begin(launch);
    const bool share = workers > 1 && threads >= kThreadsWorthWaking && !observer().in_order();
    if (share) {
      begin(job, workers - 1);
    }
    job.work(*runners_[0]);
    observer().worker_end(launch, 0);
    if (share) {
      finish();
    }
    const double seconds = observer().launch_end(launch);
    return {static_cast<cudaError_t>(launch_error.load()), seconds};
  }

private:
  void begin(Job& job, unsigned helpers) {
    while (started_ < helpers) {
      const unsigned index = started_ + 1;
      runners_[index] = std::make_unique<BlockRunner>(index);
      if (!start_thread(index)) break;  // At a limit of threads, those that are there do the work.
      started_ = index;
    }
    job_.store(&job);
    generation_.fetch_add(1);
    generation_.notify_all();
  }

  struct Start {
    WorkerPool* pool;
    unsigned index;
  };

  bool start_thread(unsigned index) {
    // A thread's stack holds its thread-locals too, which are the shared arrays of all kernels of the program: that can
    // be more than stacks usually have. CUDA threads bring their own.
    const AddressRange shared = shared_range();
    const std::size_t bytes = kStackBytes + static_cast<std::size_t>(shared.end - shared.begin);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes / 4096 * 4096);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    starts_[index] = {this, index};
    const auto body = [](void* argument) -> void* {
      give_signal_stack();
      const Start& start = *static_cast<Start*>(argument);
      start.pool->serve(start.index);
    };
    pthread_t thread{};
    const int error = pthread_create(&thread, &attributes, body, &starts_[index]);
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
      if (Job* const job = job_.load(); job != nullptr) {
        job->work(*runners_[index]);
        observer().worker_end(job->launch, index);
      }
      if (working_.fetch_sub(1) == 1) working_.notify_one();
    }
  }

  std::mutex launch_mutex_;
  std::uint64_t launches_ = 0;

  alignas(128) std::atomic<Job*> job_{nullptr};
  std::atomic<unsigned> generation_{0};  ///< launches that were shared
  std::atomic<unsigned> working_{0};     ///< helpers that may be at the job
  alignas(128) unsigned started_ = 0;
  std::vector<Start> starts_;
  std::vector<std::unique_ptr<BlockRunner>> runners_;
};

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

bool launch_has_failed() { return launch_error.load(std::memory_order_relaxed) != cudaSuccess; }

LaunchResult run_blocks(LaunchInfo& launch, const KernelCall& call) {
  // Never destroyed: its threads are detached, and wait for launches until the process ends.
  static WorkerPool& pool = *new WorkerPool;
  return pool.run(launch, call);
}

}  // namespace warpbook::emulator
