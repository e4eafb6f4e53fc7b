/// \file
/// Leaves one stack for another: what a barrier costs is mostly this.
#pragma once

#include <cstddef>

namespace warpbook::emulator {

/// A place where a stack was left.
using Fiber = void*;

/// A stack that will begin with `main(argument)`, the argument being that of the switch to it. `main` must not
/// return.
Fiber make_fiber(std::byte* top, std::size_t bytes, void (*main)(void* argument));

// A switch leaves this stack for `to` and keeps this place in `*own`; it comes back when somebody switches to that.
//
// On x86-64 there are three, for the processor's sake: it foresees a return by the calls that it remembers, and each
// one that it foresees wrongly costs some 20 clocks. Threads that wait at a barrier came there by the same calls, so
// one that is left and one that is entered look alike to it, as long as every call is met by a return. Boost's
// jump_fcontext ends in a jump, behind which every return was foreseen wrongly.
// Floating point's modes are not kept: kernels do not change them.

/// From a thread that waits to another one that waits: a call, and a return.
extern "C" void warpbook_switch_to_waiting(Fiber* own, Fiber to);

/// To a stack that begins, or that runs no thread: a call, and a jump. The calls of the thread that was left stay
/// remembered.
extern "C" void warpbook_switch_to_idle(Fiber* own, Fiber to, void* argument);

/// From a stack that is done with its thread to one that waits: a jump, and a return, for which the processor still
/// remembers the call of a thread that waits.
inline void switch_from_idle(Fiber* own, Fiber to) {
#if defined(__x86_64__) && !defined(WARPBOOK_BOOST_SWITCH)
  asm volatile("leaq 1f(%%rip), %%rax\n\t"
               "pushq %%rax\n\t"
               "jmp warpbook_switch_to_waiting\n"
               "1:"
               : "+D"(own), "+S"(to)
               :
               : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                 "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
#else
  warpbook_switch_to_waiting(own, to);
#endif
}

}  // namespace warpbook::emulator
