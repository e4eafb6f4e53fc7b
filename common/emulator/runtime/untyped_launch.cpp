/// \file
/// Launches by a kernel's address alone, with arguments by their addresses. The compiler pass tells of each kernel how
/// to call it (pass/kernel_registry.cpp).

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// A variable of the program that an argument of the launch to come may be.
struct ArgumentVariable {
  const void* begin;
  const std::byte* end;  ///< null where nobody knows
  bool is_float;         ///< a number with a fraction: a part of its bytes means nothing
};
/// On the heap: a library that is loaded late finds little memory of a thread's own.
thread_local std::vector<ArgumentVariable> argument_variables;

/// What is wrong with the address of an argument, in words; "" where nothing is known to be.
std::string wrong_argument(const std::vector<ArgumentVariable>& variables, const void* address, unsigned size,
                           unsigned number) {
  const std::string argument = "Argument " + std::to_string(number + 1);
  if (const Allocation* allocation = find_allocation(address);
      allocation != nullptr && allocation->kind == MemoryKind::device)
    return argument + " is an address of the device's memory, which the host cannot read: hand over that of the "
                      "host's variable (&pointer).";
  const auto known =
      std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.begin == address; });
  if (known == variables.end() || known->end == nullptr) return {};
  const auto rest = static_cast<std::size_t>(known->end - static_cast<const std::byte*>(address));
  if (rest == size || (rest > size && !known->is_float)) return {};
  return argument + " is a variable of " + std::to_string(rest) + " bytes, and the kernel's parameter of " +
         std::to_string(size) + ": their types have to be the same.";
}

std::unordered_map<const void*, Callable>& callables() {
  static auto& instance = *new std::unordered_map<const void*, Callable>;
  return instance;
}

cudaError_t launch_untyped(const cudaLaunchConfig_t& config, const void* kernel, void** arguments) {
  const RuntimeLock lock;
  const std::vector<ArgumentVariable> variables = std::exchange(argument_variables, {});
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
  for (unsigned i = 0; i < callable.count; ++i)
    if (const std::string wrong = wrong_argument(variables, arguments[i], callable.sizes[i], i); !wrong.empty()) {
      ApiCall::explain("invalid_launch", wrong);
      return remember(cudaErrorInvalidValue);
    }
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

/// An argument of the launch that follows may be this variable of the program, which ends there.
// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_launch_variable(const void* begin, const void* end, std::uint32_t is_float) {
  argument_variables.push_back({begin, static_cast<const std::byte*>(end), is_float != 0});
}

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
