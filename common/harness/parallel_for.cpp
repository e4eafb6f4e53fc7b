#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "common/harness/chapter.hpp"
#include "common/harness/interrupt.hpp"

namespace warpbook {
namespace {

/// Cores that this process may use: taskset and containers leave it fewer than there are.
unsigned usable_cores() {
#ifdef __linux__
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&cores)));
#endif
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

void parallel_for(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const std::int64_t threads = std::min<std::int64_t>(count, usable_cores());
  // Several parts a thread, so that an uneven load evens out and an interrupt is noticed soon.
  const std::int64_t part = std::max<std::int64_t>(1, count / (threads * 8));

  std::atomic<std::int64_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      while (true) {
        const std::int64_t begin = next.fetch_add(part);
        if (begin >= count) return;
        throw_if_interrupted();
        body(begin, std::min(begin + part, count));
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = count;  // The others stop at their next part.
    }
  };

  {
    std::vector<std::jthread> workers;
    try {
      for (std::int64_t i = 1; i < threads; ++i) workers.emplace_back(work);
    } catch (const std::system_error& error) {
      next = count;
      throw std::system_error(error.code(), "no more threads can be started");
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace warpbook
