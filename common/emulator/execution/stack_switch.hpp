/// \file
/// Tells sanitizers of jumps between stacks, where the emulator is built with one that follows them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/emulator/execution/fiber_stacks.hpp"

#if defined(__has_feature) && __has_feature(address_sanitizer)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#define WARPBOOK_ADDRESS_SANITIZER 1
#elif defined(__has_feature) && __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define WARPBOOK_THREAD_SANITIZER 1
#endif

namespace warpbook::emulator {

#if defined(WARPBOOK_ADDRESS_SANITIZER)
/// One worker's stacks, as sanitizers are told of them. The address sanitizer would take a jump for an overflow.
class KnownStacks {
public:
  explicit KnownStacks(const FiberStacks& stacks) : stacks_(stacks) {}
  void make(unsigned /*index*/) {}
  void enter() {}

  /// To be made right before a jump to `to`, which lies on the stack that will be used.
  class Switch {
  public:
    Switch(const KnownStacks& known, const void* to) {
      const std::span<const std::byte> fiber = known.stacks_.stack_around(to);
      if (!fiber.empty()) {
        __sanitizer_start_switch_fiber(&kept_, fiber.data(), fiber.size());
        return;
      }
      pthread_attr_t attributes;
      void* bottom = nullptr;
      std::size_t bytes = 0;
      pthread_getattr_np(pthread_self(), &attributes);
      pthread_attr_getstack(&attributes, &bottom, &bytes);
      pthread_attr_destroy(&attributes);
      __sanitizer_start_switch_fiber(&kept_, bottom, bytes);
    }
    /// Back on this stack.
    void finish() { __sanitizer_finish_switch_fiber(kept_, nullptr, nullptr); }
    /// On a stack for the first time.
    static void begin() { __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr); }

  private:
    void* kept_ = nullptr;
  };

private:
  const FiberStacks& stacks_;
};
#elif defined(WARPBOOK_THREAD_SANITIZER)
/// As above. The thread sanitizer keeps a history for each thread, and takes a stack for one.
class KnownStacks {
public:
  explicit KnownStacks(const FiberStacks& stacks) : stacks_(stacks) {}
  ~KnownStacks() {
    for (void* fiber : fibers_) __tsan_destroy_fiber(fiber);
  }
  KnownStacks(const KnownStacks&) = delete;
  KnownStacks& operator=(const KnownStacks&) = delete;

  /// A stack is used from its top on, for the first time or after what was on it has been abandoned.
  void make(unsigned index) {
    if (index < fibers_.size()) {
      __tsan_destroy_fiber(fibers_[index]);
      fibers_[index] = __tsan_create_fiber(0);
    } else {
      fibers_.push_back(__tsan_create_fiber(0));
    }
  }
  /// What is on no stack of these is on the operating system's of the thread that calls.
  void enter() { own_ = __tsan_get_current_fiber(); }

  class Switch {
  public:
    Switch(const KnownStacks& known, const void* to) {
      const std::size_t index = known.stacks_.index_of(to);
      __tsan_switch_to_fiber(index < known.fibers_.size() ? known.fibers_[index] : known.own_, 0);
    }
    void finish() {}
    static void begin() {}
  };

private:
  const FiberStacks& stacks_;
  std::vector<void*> fibers_;
  void* own_ = nullptr;
};
#else
/// One worker's stacks, as sanitizers are told of them. Here: none is told.
class KnownStacks {
public:
  /// The stacks outlive this.
  explicit KnownStacks(const FiberStacks& /*stacks*/) {}
  /// The stack of this number is used from its top on.
  void make(unsigned /*index*/) {}
  /// What is on no stack of these is on the operating system's of the thread that calls.
  void enter() {}

  /// To be made right before a jump, on the stack that is left.
  class Switch {
  public:
    /// `to` lies on the stack that will be used.
    Switch(const KnownStacks& /*known*/, const void* /*to*/) {}
    /// Back on this stack.
    void finish() {}
    /// On a stack for the first time.
    static void begin() {}
  };
};
#endif

}  // namespace warpbook::emulator
