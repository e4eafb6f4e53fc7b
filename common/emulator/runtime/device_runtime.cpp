#include "common/emulator/runtime/device_runtime.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

namespace warpbook::emulator {
namespace {

struct Follower {
  std::uint64_t block = 0;  ///< that asked for it
  std::size_t number = 0;   ///< of all; a block's come in its order
  bool tail = false;
  Work work;
};

/// Of the launch under way: there is one at a time.
struct DeviceRuntime {
  std::mutex mutex;
  std::vector<Follower> followers;
  std::map<std::pair<std::uint64_t, unsigned>, cudaError_t> errors;  ///< by block and thread
  std::set<cudaStream_t> streams;
  std::uintptr_t streams_made = 0;
  unsigned nesting = 0;
};

DeviceRuntime& device_runtime() {
  static DeviceRuntime& instance = *new DeviceRuntime;
  return instance;
}

std::pair<std::uint64_t, unsigned> this_thread() { return {current_block->linear_block, current_block->thread}; }

}  // namespace

cudaError_t last_error_in_kernel(bool take) {
  const auto thread = this_thread();
  const Unwatched unwatched;
  DeviceRuntime& device = device_runtime();
  const std::lock_guard lock(device.mutex);
  const auto found = device.errors.find(thread);
  if (found == device.errors.end()) return cudaSuccess;
  const cudaError_t error = found->second;
  if (take) device.errors.erase(found);
  return error;
}

cudaError_t remember_in_kernel(cudaError_t error) {
  if (error == cudaSuccess) return error;
  const auto thread = this_thread();
  const Unwatched unwatched;
  DeviceRuntime& device = device_runtime();
  const std::lock_guard lock(device.mutex);
  device.errors[thread] = error;
  return error;
}

bool is_foreign_stream(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamPerThread || stream == cudaStreamTailLaunch ||
      stream == cudaStreamFireAndForget)
    return false;
  const Unwatched unwatched;
  DeviceRuntime& device = device_runtime();
  const std::lock_guard lock(device.mutex);
  return !device.streams.contains(stream);
}

cudaError_t submit_in_kernel(cudaStream_t stream, Work work) {
  if (is_foreign_stream(stream)) return cudaErrorInvalidResourceHandle;
  const std::uint64_t block = current_block->linear_block;
  const Unwatched unwatched;
  DeviceRuntime& device = device_runtime();
  const std::lock_guard lock(device.mutex);
  device.followers.push_back({block, device.followers.size(), stream == cudaStreamTailLaunch, std::move(work)});
  return cudaSuccess;
}

unsigned nesting_in_kernel() { return device_runtime().nesting + 1; }

double run_followers(bool failed) {
  DeviceRuntime& device = device_runtime();
  std::vector<Follower> followers = std::exchange(device.followers, {});
  device.errors.clear();
  if (failed) return 0.0;
  std::sort(followers.begin(), followers.end(), [](const Follower& left, const Follower& right) {
    return std::tuple(left.tail, left.block, left.number) < std::tuple(right.tail, right.block, right.number);
  });
  double seconds = 0.0;
  ++device.nesting;
  for (const Follower& follower : followers)
    if (sticky_error() == cudaSuccess) seconds += follower.work(false);
  --device.nesting;
  return seconds;
}

cudaError_t create_stream_in_kernel(cudaStream_t* stream, unsigned flags) {
  if (stream == nullptr || flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
  const Unwatched unwatched;
  DeviceRuntime& device = device_runtime();
  const std::lock_guard lock(device.mutex);
  constexpr std::uintptr_t kFirst = 0x100;  // Behind all that mean something of their own.
  *stream = reinterpret_cast<cudaStream_t>(kFirst + device.streams_made++);
  device.streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t destroy_stream_in_kernel(cudaStream_t stream) {
  const Unwatched unwatched;
  DeviceRuntime& device = device_runtime();
  const std::lock_guard lock(device.mutex);
  return device.streams.erase(stream) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

}  // namespace warpbook::emulator
