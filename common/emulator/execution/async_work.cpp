#include "common/emulator/execution/async_work.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <iterator>
#include <mutex>

namespace warpbook::emulator {
namespace {

constexpr std::size_t kMost = 4096;  ///< of a program that never waits, the latest

struct Pending {
  std::mutex mutex;
  std::deque<AsyncWork> work;
  std::atomic<bool> any{false};  ///< asked at each access of the host
  unsigned stream = 0;
  Progress progress;
};

Pending& pending() {
  static Pending& all = *new Pending;  // NOLINT(cppcoreguidelines-owning-memory): programs use it while they end
  return all;
}

/// True where `progress` has the work in it.
bool is_in(const AsyncWork& work, const Progress& progress) {
  const auto done = progress.find(work.stream);
  return done != progress.end() && work.operation <= done->second;
}

}  // namespace

void join(Progress& progress, const Progress& other) {
  for (const auto& [stream, operations] : other) progress[stream] = std::max(progress[stream], operations);
}

void async_operation(unsigned stream, const Progress& progress) {
  pending().stream = stream;
  pending().progress = progress;
}

unsigned current_stream() { return pending().stream; }

const Progress& current_progress() { return pending().progress; }

std::vector<AsyncWork> concurrent_work() {
  Pending& all = pending();
  const std::lock_guard lock(all.mutex);
  std::vector<AsyncWork> found;
  std::copy_if(all.work.begin(), all.work.end(), std::back_inserter(found),
               [&](const AsyncWork& work) { return !is_in(work, all.progress); });
  return found;
}

void async_begin(AsyncWork work) {
  Pending& all = pending();
  const std::lock_guard lock(all.mutex);
  work.stream = all.stream;
  work.operation = all.progress[all.stream];
  if (all.work.size() == kMost) all.work.pop_front();
  all.work.push_back(work);
  all.any = true;
}

void async_end(const Progress& progress) {
  Pending& all = pending();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.work, [&](const AsyncWork& work) { return is_in(work, progress); });
  all.any = !all.work.empty();
}

void visit_async(const std::function<bool(const AsyncWork&)>& is_told) {
  Pending& all = pending();
  // Without order: whoever has to see another thread's work waited for that thread, and so sees this.
  if (!all.any.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.work, is_told);
  all.any = !all.work.empty();
}

}  // namespace warpbook::emulator
