/// \file
/// Launching kernels: what is checked, and what becomes of errors.

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/execution/shared_memory.hpp"
#include "common/emulator/execution/symbols.hpp"
#include "common/emulator/execution/worker_pool.hpp"
#include "common/emulator/include/warpbook_chevrons.h"
#include "common/emulator/include/warpbook_launch.h"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/device_runtime.hpp"
#include "common/emulator/runtime/faults.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

/// The kernels' `__launch_bounds__`.
std::map<const void*, unsigned>& launch_bounds() {
  static auto& instance = *new std::map<const void*, unsigned>;
  return instance;
}

/// The kernels' `__cluster_dims__`.
std::map<const void*, dim3>& cluster_dims() {
  static auto& instance = *new std::map<const void*, dim3>;
  return instance;
}

// The same on every device since compute capability 3.0.
constexpr unsigned kMaxThreadsPerBlock = 1024;
constexpr dim3 kMaxBlock{1024, 1024, 64};
constexpr dim3 kMaxGrid{0x7fffffff, 65535, 65535};

/// What the compiler would have to tell: enough for occupancy to be about right.
constexpr int kGuessedRegisters = 32;

/// What is known of a kernel.
struct Kernel {
  std::string name;
  unsigned most_threads = kMaxThreadsPerBlock;  ///< of a block
  std::size_t static_shared = 0;
  std::size_t max_dynamic_shared = 0;
  int carveout = cudaSharedmemCarveoutDefault;
  dim3 cluster{0, 0, 0};              ///< that it is compiled for; 0: for any
  bool takes_large_clusters = false;  ///< of more blocks than every card holds
};

Kernel& kernel_of(const void* address) {
  static auto& kernels = *new std::map<const void*, Kernel>;
  const auto [entry, fresh] = kernels.try_emplace(address);
  Kernel& kernel = entry->second;
  if (fresh) {
    kernel.name = function_name(address);
    kernel.static_shared = static_shared_bytes(address);
    if (const auto bounds = launch_bounds().find(address); bounds != launch_bounds().end())
      kernel.most_threads = std::min(kMaxThreadsPerBlock, bounds->second);
    if (const auto dims = cluster_dims().find(address); dims != cluster_dims().end()) kernel.cluster = dims->second;
    const std::size_t usual = device_table().shared_bytes_per_block;
    kernel.max_dynamic_shared = usual - std::min(usual, kernel.static_shared);
  }
  return kernel;
}

bool within(const dim3& extents, const dim3& limit) {
  return extents.x >= 1 && extents.y >= 1 && extents.z >= 1 && extents.x <= limit.x && extents.y <= limit.y &&
         extents.z <= limit.z;
}

/// What a launch says of its clusters; 0: nothing.
dim3 asked_cluster(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (const cudaLaunchAttribute& attribute = config.attrs[i]; attribute.id == cudaLaunchAttributeClusterDimension)
      return {attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z};
  return {0, 0, 0};
}

/// The extents of its clusters, where `check_cluster` found nothing wrong.
dim3 cluster_of(const cudaLaunchConfig_t& config, const Kernel& kernel) {
  if (kernel.cluster.x != 0) return kernel.cluster;
  const dim3 asked = asked_cluster(config);
  return asked.x == 0 ? dim3{1, 1, 1} : asked;
}

bool is_cooperative(const cudaLaunchConfig_t& config) {
  return std::any_of(config.attrs, config.attrs + config.numAttrs, [](const cudaLaunchAttribute& attribute) {
    return attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative != 0;
  });
}

/// Blocks of this shape that the card holds at a time.
unsigned blocks_on_card(const cudaLaunchConfig_t& config, const Kernel& kernel) {
  return static_cast<unsigned>(device_table().multiprocessors) *
         resident_blocks(device_table(), config.blockDim.x * config.blockDim.y * config.blockDim.z,
                         kernel.static_shared + config.dynamicSmemBytes);
}

/// What was wrong with a launch.
struct Reason {
  const char* kind = "invalid_launch";
  std::string text{};
};

std::string text_of(const dim3& d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

/// Blocks of a cluster.
int most_in_cluster(const Kernel& kernel) { return kernel.takes_large_clusters ? 16 : 8; }

cudaError_t check_cluster(const cudaLaunchConfig_t& config, const Kernel& kernel, Reason& reason) {
  const dim3 asked = asked_cluster(config);
  const dim3& own = kernel.cluster;
  const dim3 cluster = cluster_of(config, kernel);
  const std::uint64_t blocks = std::uint64_t{cluster.x} * cluster.y * cluster.z;
  if (own.x != 0 && asked.x != 0 && (own.x != asked.x || own.y != asked.y || own.z != asked.z)) {
    reason.text = "Clusters of " + text_of(asked) + " blocks are asked for, and " + kernel.name + " is compiled for " +
                  text_of(own) + " by its __cluster_dims__.";
    return cudaErrorInvalidClusterSize;
  }
  if (blocks == 1) return cudaSuccess;
  if (device_table().compute_major < 9) {
    reason.text = "Clusters need a card of compute capability 9.0 or newer; WARPBOOK_GPU=h200 is one.";
    return cudaErrorNotSupported;
  }
  const auto most = static_cast<unsigned>(most_in_cluster(kernel));
  if (blocks == 0 || blocks > most) {
    reason.text = "A cluster of " + text_of(cluster) + " blocks: from 1 to " + std::to_string(most) +
                  " are possible; cudaFuncSetAttribute with cudaFuncAttributeNonPortableClusterSizeAllowed allows 16.";
    return cudaErrorInvalidClusterSize;
  }
  if (const dim3& grid = config.gridDim;
      grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    reason.text = "The grid of " + text_of(grid) + " blocks has to be a multiple of its clusters, which have " +
                  text_of(cluster) + ".";
    return cudaErrorInvalidClusterSize;
  }
  return cudaSuccess;
}

cudaError_t check_launch(const cudaLaunchConfig_t& config, const Kernel& kernel, const void* pc, Reason& reason) {
  const dim3& block = config.blockDim;
  if (!within(config.gridDim, kMaxGrid)) {
    reason.text =
        "The grid is " + text_of(config.gridDim) + " blocks: from (1,1,1) to " + text_of(kMaxGrid) + " are possible.";
    return cudaErrorInvalidConfiguration;
  }
  if (!within(block, kMaxBlock) || block.x * block.y * block.z > kMaxThreadsPerBlock) {
    reason.text = "The block is " + text_of(block) + " threads: from (1,1,1) to " + text_of(kMaxBlock) +
                  ", and 1024 in all, are possible.";
    return cudaErrorInvalidConfiguration;
  }
  if (const unsigned threads = block.x * block.y * block.z; threads > kernel.most_threads) {
    reason.text = "The block has " + std::to_string(threads) + " threads, and " + kernel.name +
                  " is compiled for at most " + std::to_string(kernel.most_threads) + " by its __launch_bounds__.";
    return cudaErrorInvalidValue;
  }
  if (kernel.static_shared > device_table().shared_bytes_per_block) {
    // nvcc refuses to compile such a kernel.
    observer().report("too_much_shared", pc,
                      "========= " + kernel.name + " uses too much shared data (" +
                          std::to_string(kernel.static_shared) + " bytes, at most " +
                          std::to_string(device_table().shared_bytes_per_block) + ")\n");
    return cudaErrorInvalidConfiguration;
  }
  if (config.dynamicSmemBytes > kernel.max_dynamic_shared) {
    reason.text =
        std::to_string(config.dynamicSmemBytes) + " bytes of dynamic shared memory are asked for, at most " +
        std::to_string(kernel.max_dynamic_shared) +
        " are possible here; cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize allows more.";
    return cudaErrorInvalidValue;
  }
  if (config.numAttrs != 0 && config.attrs == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_cluster(config, kernel, reason);
      error != cudaSuccess || !is_cooperative(config)) {
    return error;
  }
  const std::uint64_t blocks = std::uint64_t{config.gridDim.x} * config.gridDim.y * config.gridDim.z;
  if (blocks > blocks_on_card(config, kernel)) {
    reason.text = "A cooperative launch has all blocks on the card at a time: these are " + std::to_string(blocks) +
                  ", and it holds " + std::to_string(blocks_on_card(config, kernel)) + ".";
    return cudaErrorCooperativeLaunchTooLarge;
  }
  return cudaSuccess;
}

std::shared_ptr<const void> keep_arguments(const KernelCall& call) {
  if (call.keep != nullptr) return call.keep(call.arguments);
  struct Bytes {
    alignas(16) std::byte bytes[16];
  };
  const std::size_t pieces = (call.bytes + sizeof(Bytes) - 1) / sizeof(Bytes);
  const std::shared_ptr<Bytes[]> copy(new Bytes[pieces]);
  std::memcpy(copy.get(), call.arguments, call.bytes);
  return {copy, copy.get()};
}

/// What `<<<>>>` said, until the launch takes it.
thread_local cudaLaunchConfig_t configured;
/// The same in kernels, by the thread of the block that this operating system thread runs: others may have their turn
/// before the launch.
thread_local std::map<unsigned, cudaLaunchConfig_t> configured_in_kernel;

}  // namespace

void configure(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream) {
  cudaLaunchConfig_t& config = in_kernel() ? configured_in_kernel[current_block->thread] : configured;
  config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
}

namespace {

LaunchInfo launch_info(const cudaLaunchConfig_t& config, const void* address, const Kernel& kernel) {
  LaunchInfo launch;
  launch.kernel = address;
  launch.name = kernel.name.c_str();
  launch.grid = config.gridDim;
  launch.block = config.blockDim;
  launch.dynamic_shared_bytes = config.dynamicSmemBytes;
  launch.static_shared_bytes = kernel.static_shared;
  launch.resident_blocks = blocks_on_card(config, kernel);
  launch.cooperative = is_cooperative(config);
  launch.cluster = cluster_of(config, kernel);
  const unsigned blocks = launch.cluster_blocks();
  launch.resident_blocks = std::max(blocks, launch.resident_blocks / blocks * blocks);
  return launch;
}

/// Whether one of the arguments leads to memory that the host can write while the kernel runs.
bool uses_memory_of_host(const KernelCall& call) {
  for (std::size_t at = 0; at + sizeof(void*) <= call.bytes; at += sizeof(void*)) {
    const void* pointer = nullptr;
    std::memcpy(&pointer, static_cast<const std::byte*>(call.arguments) + at, sizeof pointer);
    if (!in_arena(pointer)) continue;
    const Allocation* allocation = find_allocation(pointer);
    if (allocation != nullptr && allocation->kind != MemoryKind::device) return true;
  }
  return false;
}

/// What a launch does when its turn has come. `arguments` keeps those of the call, where they do not outlive it.
Work work_of(const LaunchInfo& info, const KernelCall& call, const std::shared_ptr<const void>& arguments,
             const void* pc) {
  KernelCall kept = call;
  if (arguments != nullptr) kept.arguments = arguments.get();
  return [launch = info, kept, arguments, pc](bool from_graph) mutable {
    launch.from_graph = from_graph;
    if (launch_loses_device()) {
      set_sticky(cudaErrorDevicesUnavailable);
      return 0.0;
    }
    const auto end = [](const LaunchResult& result) {
      if (result.error != cudaSuccess) set_sticky(result.error);
      return result.modelled_seconds + run_followers(result.error != cudaSuccess);
    };
    if (!from_graph && arguments != nullptr && uses_memory_of_host(kept)) {
      const auto result = run_blocks_beside(launch, kept);
      if (!result) {
        goes_on_beside(arguments, [end] { return end(finish_beside()); });
        return 0.0;
      }
      async_begin({.launch = result->launch, .name = launch.name, .pc = pc});
      return end(*result);
    }
    const LaunchResult result = run_blocks(launch, kept);
    async_begin({.launch = launch.id, .name = launch.name, .pc = pc});
    return end(result);
  };
}

}  // namespace

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const KernelCall& call) {
  const ApiCall api("cudaLaunchKernel");
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (call.kernel == nullptr) {
    return remember(cudaErrorInvalidDeviceFunction);
  }
  const CUstream_st* stream = find_stream(config.stream);
  if (stream == nullptr) {
    return remember(cudaErrorInvalidResourceHandle);
  }
  const Kernel& kernel = kernel_of(call.kernel);
  Reason reason;
  if (const cudaError_t error = check_launch(config, kernel, ApiCall::pc(), reason); error != cudaSuccess) {
    if (!reason.text.empty()) ApiCall::explain(reason.kind, reason.text);
    return remember(error);
  }
  const bool outlives = stream->capture != nullptr || launch_is_beside() || uses_memory_of_host(call);
  const std::shared_ptr<const void> arguments = outlives ? keep_arguments(call) : nullptr;
  // What goes wrong in the kernel is for later calls to tell, as on a GPU.
  const cudaError_t error =
      submit(config.stream, cudaGraphNodeTypeKernel,
             work_of(launch_info(config, call.kernel, kernel), call, arguments, ApiCall::pc()), true);
  return error == cudaSuccess ? error : remember(error);
}

namespace {

constexpr unsigned kDeepestLaunch = 24;  // CUDA C++ Programming Guide, dynamic parallelism, configuration options

std::string where_in_kernel(const BlockContext& block) {
  return "in kernel " + std::string(block.launch->name) + ", " + describe_thread(block);
}

/// A child sees neither its parent's shared memory nor a thread's own: where an argument leads there, the kernel ends.
bool leads_to_own_memory(const KernelCall& call, const BlockContext& block, const void* pc) {
  const AddressRange shared = shared_range();
  const AddressRange local = local_range();
  const AddressRange dynamic{block.dynamic_shared, block.dynamic_shared + block.launch->dynamic_shared_bytes};
  for (std::size_t at = 0; at + sizeof(void*) <= call.bytes; at += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, static_cast<const std::byte*>(call.arguments) + at, sizeof word);
    const bool in_shared = shared.contains(word) || dynamic.contains(word);
    if (!in_shared && !local.contains(word)) continue;
    const std::string place = observer().locate(pc);
    observer().report("own_memory_to_child", pc,
                      std::string("========= A kernel is launched with a pointer to ") +
                          (in_shared ? "shared" : "local") + " memory of its parent\n=========     at " +
                          (place.empty() ? "an unknown line" : place) + "\n=========     " + where_in_kernel(block) +
                          "\n=========     A child sees global memory alone: hand over the value, or a place there.\n");
    return true;
  }
  return false;
}

void launch_from_kernel(const cudaLaunchConfig_t& config, const KernelCall& call, const void* pc) {
  BlockContext& block = *current_block;
  cudaError_t error = cudaSuccess;
  bool ends = false;
  const bool foreign = is_foreign_stream(config.stream);
  Work work;
  {
    const Unwatched unwatched;
    static std::mutex& mutex = *new std::mutex;  // of what is known of kernels
    const std::lock_guard lock(mutex);
    const Kernel& kernel = kernel_of(call.kernel);
    Reason reason;
    error = check_launch(config, kernel, pc, reason);
    if (foreign) {
      error = cudaErrorInvalidResourceHandle;
      reason.text = "A stream of the host is none for kernels.";
    } else if (error == cudaSuccess && nesting_in_kernel() > kDeepestLaunch) {
      error = cudaErrorLaunchMaxDepthExceeded;
      reason.text = "At most 24 kernels can be nested.";
    }
    if (error == cudaSuccess) {
      ends = leads_to_own_memory(call, block, pc);
      LaunchInfo launch = launch_info(config, call.kernel, kernel);
      if (config.stream != cudaStreamTailLaunch) launch.child = observer().asks_for_kernel(block);
      work = work_of(launch, call, keep_arguments(call), pc);
    } else {
      observer().api_failed({"cudaLaunchKernel", pc, error, cudaGetErrorName(error), cudaGetErrorString(error),
                             reason.kind, reason.text + (reason.text.empty() ? "" : " ") + where_in_kernel(block)});
    }
  }
  if (ends) abort_kernel(cudaErrorIllegalAddress);
  remember(error == cudaSuccess ? submit_in_kernel(config.stream, std::move(work)) : error);
}

}  // namespace

cudaError_t kernel_attributes(cudaFuncAttributes* attributes, const void* address) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (attributes == nullptr || address == nullptr) {
    return remember(attributes == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction);
  }
  const Kernel& kernel = kernel_of(address);
  const int version = device_table().compute_major * 10 + device_table().compute_minor;
  *attributes = {};
  attributes->sharedSizeBytes = kernel.static_shared;
  attributes->maxThreadsPerBlock = static_cast<int>(kernel.most_threads);
  attributes->numRegs = kGuessedRegisters;
  attributes->ptxVersion = attributes->binaryVersion = version;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(kernel.max_dynamic_shared);
  attributes->preferredShmemCarveout = kernel.carveout;
  return remember(cudaSuccess);
}

cudaError_t set_kernel_attribute(const void* address, cudaFuncAttribute attribute, int value) {
  const ApiCall api("cudaFuncSetAttribute");
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (address == nullptr) {
    return remember(cudaErrorInvalidDeviceFunction);
  }
  Kernel& kernel = kernel_of(address);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    const std::size_t most = device_table().shared_bytes_per_block_optin;
    if (value < 0 || static_cast<std::size_t>(value) + kernel.static_shared > most) {
      return remember(cudaErrorInvalidValue);
    }
    kernel.max_dynamic_shared = static_cast<std::size_t>(value);
  } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
    if (value < cudaSharedmemCarveoutDefault || value > cudaSharedmemCarveoutMaxShared) {
      return remember(cudaErrorInvalidValue);
    }
    kernel.carveout = value;
  } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
    kernel.takes_large_clusters = value != 0;
  } else {
    return remember(cudaErrorInvalidValue);
  }
  return remember(cudaSuccess);
}

cudaError_t active_blocks(int* blocks, const void* address, int block_size, std::size_t dynamic_shared) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (blocks == nullptr || address == nullptr || block_size <= 0) {
    return remember(address == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
  }
  const DeviceTable& device = device_table();
  const Kernel& kernel = kernel_of(address);
  const int warps = (block_size + static_cast<int>(kWarpSize) - 1) / static_cast<int>(kWarpSize);
  const int threads = warps * static_cast<int>(kWarpSize);
  const std::size_t shared = kernel.static_shared + dynamic_shared + device.shared_bytes_reserved;
  *blocks = 0;
  if (block_size <= static_cast<int>(kMaxThreadsPerBlock) && dynamic_shared <= kernel.max_dynamic_shared) {
    *blocks = std::min({device.blocks_per_multiprocessor, device.threads_per_multiprocessor / threads,
                        device.registers_per_multiprocessor / (threads * kGuessedRegisters)});
    if (shared != 0) {
      *blocks = std::min(*blocks, static_cast<int>(device.shared_bytes_per_multiprocessor / shared));
    }
  }
  return remember(cudaSuccess);
}

cudaError_t active_clusters(int* clusters, const void* address, const cudaLaunchConfig_t* config) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) return remember(state);
  if (clusters == nullptr || address == nullptr || config == nullptr)
    return remember(address == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
  const Kernel& kernel = kernel_of(address);
  Reason reason;
  if (const cudaError_t error = check_cluster(*config, kernel, reason); error != cudaSuccess) return remember(error);
  const dim3 cluster = cluster_of(*config, kernel);
  *clusters = static_cast<int>(blocks_on_card(*config, kernel) / (cluster.x * cluster.y * cluster.z));
  return remember(cudaSuccess);
}

cudaError_t largest_cluster(int* blocks, const void* address, const cudaLaunchConfig_t* config) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) return remember(state);
  if (blocks == nullptr || address == nullptr || config == nullptr)
    return remember(address == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
  *blocks = device_table().compute_major < 9 ? 1 : most_in_cluster(kernel_of(address));
  return remember(cudaSuccess);
}

cudaError_t available_shared(std::size_t* bytes, const void* address, int blocks, int block_size) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (bytes == nullptr || address == nullptr || blocks <= 0 || block_size <= 0) {
    return remember(cudaErrorInvalidValue);
  }
  const DeviceTable& device = device_table();
  const std::size_t each = device.shared_bytes_per_multiprocessor / static_cast<std::size_t>(blocks);
  const std::size_t taken = kernel_of(address).static_shared + device.shared_bytes_reserved;
  *bytes = each < taken ? 0 : std::min<std::size_t>(each - taken, device.shared_bytes_per_block_optin);
  return remember(cudaSuccess);
}

cudaError_t best_block_size(int* min_grid_size, int* block_size, const void* kernel, std::size_t dynamic_shared,
                            int limit) {
  if (min_grid_size == nullptr || block_size == nullptr || limit < 0) {
    return remember(cudaErrorInvalidValue);
  }
  int best_threads = 0;
  *block_size = *min_grid_size = 0;
  const int most = static_cast<int>(kMaxThreadsPerBlock);
  for (int size = limit == 0 ? most : std::min(limit, most); size > 0;
       size = (size - 1) / static_cast<int>(kWarpSize) * static_cast<int>(kWarpSize)) {
    int blocks = 0;
    if (const cudaError_t error = active_blocks(&blocks, kernel, size, dynamic_shared); error != cudaSuccess) {
      return error;
    }
    if (blocks * size > best_threads) {
      best_threads = blocks * size;
      *block_size = size;
      *min_grid_size = blocks * device_table().multiprocessors;
    }
  }
  return cudaSuccess;
}

}  // namespace warpbook::emulator

// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
void __warpbook_launch(const void* kernel, void (*invoke)(const void* kernel, const void* arguments),
                       const void* arguments, std::size_t bytes) {
  using namespace warpbook::emulator;
  if (in_kernel()) {
    const cudaLaunchConfig_t& config = configured_in_kernel[current_block->thread];
    launch_from_kernel(config, {kernel, invoke, arguments, nullptr, bytes}, __builtin_return_address(0));
    return;
  }
  const ApiCall api("cudaLaunchKernel");
  // What it returns, cudaGetLastError tells.
  launch_kernel(configured, {kernel, invoke, arguments, nullptr, bytes});
}

/// A kernel of the program is compiled for at most so many threads of a block; its module calls this before it begins.
// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_launch_bounds(const void* kernel, std::size_t threads) {
  using namespace warpbook::emulator;
  const RuntimeLock lock;
  launch_bounds()[kernel] = static_cast<unsigned>(threads);
}

/// A kernel of the program is compiled for clusters of these extents, 16 bits each; as above.
// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_cluster_dims(const void* kernel, std::size_t packed) {
  using namespace warpbook::emulator;
  const RuntimeLock lock;
  const auto extent = [&](unsigned place) { return static_cast<unsigned>(packed >> 16 * place & 0xffff); };
  cluster_dims()[kernel] = {extent(0), extent(1), extent(2)};
}
