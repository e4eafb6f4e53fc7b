/// \file
/// Leaves one stack for another: what a barrier costs is mostly this.
#pragma once

#include <cstddef>
#include <cstdint>

// Where nobody else has to be told of it, a barrier switches stacks by itself: see below.
#if defined(__x86_64__) && !defined(WARPBOOK_BOOST_SWITCH) && !__has_feature(address_sanitizer) &&                     \
    !__has_feature(thread_sanitizer)
#define WARPBOOK_OWN_BARRIER 1
#endif

namespace warpbook::emulator {

/// A place where a stack was left.
using Fiber = void*;

/// A stack that will begin with `main(argument, place)`, the argument being that of the switch to it. `main` must not
/// return. On x86-64, `place` is what this returned, and stays good: whoever enters it again begins anew.
Fiber make_fiber(std::byte* top, std::size_t bytes, void (*main)(void* argument, Fiber place));

// A switch leaves this stack for `to` and keeps this place in `*own`; it comes back when somebody switches to that.
//
// On x86-64 there are two, for the processor's sake: it foresees a return by the calls that it remembers, and each one
// that it foresees wrongly costs some 20 clocks. Threads that wait at a barrier came there by the same calls, so
// one that is left and one that is entered look alike to it, as long as every call is met by a return. Boost's
// jump_fcontext ends in a jump, behind which every return was foreseen wrongly.
// Floating point's modes are not kept: kernels do not change them.

/// From a thread that waits to another one that waits: a call, and a return. One that waits at a barrier has `value`
/// for the barrier's result.
extern "C" void warpbook_switch_to_waiting(Fiber* own, Fiber to, std::uint64_t value);

/// To a stack that begins, or that runs no thread: a call, and a jump. The calls of the thread that was left stay
/// remembered.
extern "C" void warpbook_switch_to_idle(Fiber* own, Fiber to, void* argument);

#if defined(WARPBOOK_OWN_BARRIER)
// Threads that begin one after another, each where the one before came to a barrier, leave more calls behind than the
// processor remembers: later it foresees none of their returns. So a stack that is done with its thread makes the calls
// once more that led to the kernel, for the thread that goes on; and where the kernel would be called, it jumps to that
// thread's place behind the barrier. When the kernel returns there, the calls are remembered. The place is one in the
// kernel itself: `block_barrier` has no frame that would have to return as well.

/// Where a thread goes that has come to a barrier, and what it finds there.
struct Entry {
  Fiber place;
  std::uint64_t value;  ///< the result of the barrier that this place is behind, if it is
};

/// What `block_barrier` asks: `place` is its own.
extern "C" Entry warpbook_arrive(bool predicate, Fiber place, const void* pc);

/// Leaves this stack for good; `value` is the argument where a stack begins, and the result behind a barrier.
[[noreturn]] inline void leave_for(Fiber to, std::uint64_t value) {
  asm volatile("movq %0, %%rsp\n\t"
               "popq %%r15\n\t"
               "popq %%r14\n\t"
               "popq %%r13\n\t"
               "popq %%r12\n\t"
               "popq %%rbx\n\t"
               "popq %%rbp\n\t"
               "popq %%rcx\n\t"
               "jmpq *%%rcx"
               :
               : "r"(to), "a"(value), "d"(value)
               : "memory");
  __builtin_unreachable();
}
#endif

}  // namespace warpbook::emulator
