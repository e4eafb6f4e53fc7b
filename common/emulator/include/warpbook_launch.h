/// \file
/// How a typed kernel call reaches the emulator's engine.
#pragma once

#ifndef __clang__
#pragma GCC system_header  // Attributes and words that other compilers warn of.
#endif

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "driver_types.h"
#include "warpbook_export.h"

namespace warpbook::emulator {

/// A kernel and its arguments, with their types erased.
struct KernelCall {
  const void* kernel = nullptr;
  /// Calls the kernel once, as one CUDA thread.
  void (*invoke)(const void* kernel, const void* arguments) = nullptr;
  const void* arguments = nullptr;
  /// Copies the arguments, for launches that happen later; nullptr: they are `bytes` bytes that can be copied as such.
  std::shared_ptr<const void> (*keep)(const void* arguments) = nullptr;
  std::size_t bytes = 0;
};

/// Checks the configuration and runs the kernel, or records it where the stream is being captured.
WARPBOOK_EXPORT cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const KernelCall& call);

#if __cplusplus >= 201402L
template <std::size_t, class T> struct ArgumentSlot {
  T value;
};

template <class Indices, class... Parameters> struct ArgumentPack;

/// The arguments of one launch. Not a tuple: its accessors would be instrumented with the kernel's file.
template <std::size_t... kIndex, class... Parameters>
struct ArgumentPack<std::index_sequence<kIndex...>, Parameters...> : ArgumentSlot<kIndex, Parameters>... {
  __attribute__((no_sanitize("thread", "coverage"))) static void invoke(const void* kernel, const void* arguments) {
    [[maybe_unused]] const auto* pack = static_cast<const ArgumentPack*>(arguments);
    reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel))(
        static_cast<const ArgumentSlot<kIndex, Parameters>*>(pack)->value...);
  }
  static std::shared_ptr<const void> keep(const void* arguments) {
    return std::make_shared<ArgumentPack>(*static_cast<const ArgumentPack*>(arguments));
  }
  /// How to copy a pack; of plain bytes nothing, which spares each kernel the compiling of a shared pointer of its own.
  static constexpr auto keeper() {
#if __cplusplus >= 201703L
    if constexpr ((std::is_trivially_copyable_v<Parameters> && ...)) {
      return nullptr;
    } else {
      return &keep;
    }
#else
    return &keep;
#endif
  }
};

/// The argument pack of a kernel with these parameters.
template <class... Parameters> using Arguments = ArgumentPack<std::index_sequence_for<Parameters...>, Parameters...>;

/// The erased call of `kernel` with `arguments`, which must outlive it.
template <class... Parameters>
KernelCall erased_call(void (*kernel)(Parameters...), const Arguments<Parameters...>& arguments) {
  return {reinterpret_cast<const void*>(kernel), &Arguments<Parameters...>::invoke, &arguments,
          Arguments<Parameters...>::keeper(), sizeof arguments};
}
#endif

}  // namespace warpbook::emulator
