/// \file
/// Launches by a kernel's address alone, with arguments by their addresses. The compiler pass tells of each kernel how
/// to call it (pass/kernel_registry.cpp).

#include <cstddef>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/emulator/include/cuda_runtime_api.h"
#include "common/emulator/include/warpbook_launch.h"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

struct Callable {
  void (*invoke)(const void* kernel, const void* arguments);
  const unsigned* places;  ///< of the parameters, and the end behind the last
  const unsigned* sizes;
  unsigned count;
};

/// Where the array of the launch to come ends; null: nobody knows.
thread_local constinit void** arguments_end = nullptr;

std::unordered_map<const void*, Callable>& callables() {
  static auto& instance = *new std::unordered_map<const void*, Callable>;
  return instance;
}

cudaError_t launch_untyped(const cudaLaunchConfig_t& config, const void* kernel, void** arguments) {
  const RuntimeLock lock;
  const auto found = callables().find(kernel);
  if (found == callables().end()) {
    ApiCall::explain("invalid_launch", "The address is no kernel's whose parameters are known here.");
    return remember(cudaErrorInvalidDeviceFunction);
  }
  const Callable& callable = found->second;
  void** const end = std::exchange(arguments_end, nullptr);
  if (end != nullptr && end - arguments < static_cast<std::ptrdiff_t>(callable.count)) {
    ApiCall::explain("invalid_launch", "The kernel has " + std::to_string(callable.count) +
                                           " parameters, and the array of their addresses " +
                                           std::to_string(end - arguments) + ".");
    return remember(cudaErrorInvalidValue);
  }
  if (arguments == nullptr && callable.count != 0) return remember(cudaErrorInvalidValue);
  struct alignas(16) Piece {
    std::byte bytes[16];
  };
  const std::size_t bytes = callable.places[callable.count];
  std::vector<Piece> pack(bytes / sizeof(Piece) + 1);
  for (unsigned i = 0; i < callable.count; ++i)
    std::memcpy(pack.data()->bytes + callable.places[i], arguments[i], callable.sizes[i]);
  return launch_kernel(config, {kernel, callable.invoke, pack.data(), nullptr, bytes});
}

cudaLaunchConfig_t configuration(dim3 grid, dim3 block, std::size_t dynamic_shared, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_shared;
  config.stream = stream;
  return config;
}

}  // namespace
}  // namespace warpbook::emulator

using namespace warpbook::emulator;

// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_kernel(const void* kernel,
                                                  void (*invoke)(const void* kernel, const void* arguments),
                                                  const unsigned* places, const unsigned* sizes, unsigned count) {
  callables()[kernel] = {invoke, places, sizes, count};
}

/// The launch that follows is handed an array of addresses that ends there.
// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_launch_arguments(void** end) { arguments_end = end; }

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t dynamic_shared,
                             cudaStream_t stream) {
  const ApiCall api("cudaLaunchKernel");
  return launch_untyped(configuration(grid, block, dynamic_shared, stream), kernel, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  const ApiCall api("cudaLaunchKernelExC");
  return config == nullptr ? remember(cudaErrorInvalidValue) : launch_untyped(*config, kernel, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        std::size_t dynamic_shared, cudaStream_t stream) {
  const ApiCall api("cudaLaunchCooperativeKernel");
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config = configuration(grid, block, dynamic_shared, stream);
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return launch_untyped(config, kernel, arguments);
}
