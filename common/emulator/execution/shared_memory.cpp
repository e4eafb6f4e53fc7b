#include "common/emulator/execution/shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "common/emulator/execution/symbols.hpp"

namespace warpbook::emulator {
namespace {

struct Piece {
  std::size_t offset;
  std::size_t bytes;
};

/// The `__shared__` arrays that a kernel declares itself. Those of functions that it calls are learned from what it
/// touches.
const std::vector<Piece>& pieces_of(const void* kernel) {
  if (kernel != nullptr) {
    note_kernel(kernel);
  }
  static std::mutex mutex;
  static auto& known = *new std::map<const void*, std::vector<Piece>>;
  const std::lock_guard lock(mutex);
  const auto [entry, fresh] = known.try_emplace(kernel);
  if (fresh) {
    const std::string prefix = static_variable_prefix(function_symbol(kernel));
    for (const TlsVariable& variable : tls_variables()) {
      if (!prefix.empty() && variable.symbol.starts_with(prefix)) {
        entry->second.push_back({variable.offset, variable.bytes});
      }
    }
  }
  return entry->second;
}

std::byte* map_dynamic_shared() {
  void* memory = mmap(nullptr, kMaxDynamicShared, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return static_cast<std::byte*>(memory);
}

/// What one operating system thread remembers of the launch whose blocks it runs.
struct Worker {
  std::byte* dynamic_shared = map_dynamic_shared();
  std::uint64_t launch_id = 0;
  const std::vector<Piece>* pieces = &pieces_of(nullptr);
  std::vector<Piece> learned;  ///< of the launch: arrays of functions that the kernel calls
  std::byte* base = const_cast<std::byte*>(shared_range().begin);

  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { munmap(dynamic_shared, kMaxDynamicShared); }
};

Worker& this_worker() {
  thread_local Worker worker;
  return worker;
}

}  // namespace

void learn_shared_array(std::size_t offset, std::size_t bytes) {
  Worker& worker = this_worker();
  const auto is_it = [=](const Piece& piece) { return piece.offset == offset; };
  if (std::none_of(worker.pieces->begin(), worker.pieces->end(), is_it) &&
      std::none_of(worker.learned.begin(), worker.learned.end(), is_it)) {
    worker.learned.push_back({offset, bytes});
  }
}

std::byte* poison_shared_memory(const LaunchInfo& launch) {
  Worker& worker = this_worker();
  if (worker.launch_id != launch.id) {
    worker.launch_id = launch.id;
    worker.pieces = &pieces_of(launch.kernel);
    worker.learned.clear();
  }
  for (const Piece& piece : worker.learned) {
    std::memset(worker.base + piece.offset, kPoison, piece.bytes);
  }
  for (const Piece& piece : *worker.pieces) {
    std::memset(worker.base + piece.offset, kPoison, piece.bytes);
  }
  if (launch.dynamic_shared_bytes != 0) {
    std::memset(worker.dynamic_shared, kPoison, launch.dynamic_shared_bytes);
  }
  return worker.dynamic_shared;
}

std::size_t static_shared_bytes(const void* kernel) {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces_of(kernel)) {
    bytes += (piece.bytes + 15) / 16 * 16;
  }
  return bytes;
}

}  // namespace warpbook::emulator
