#include "common/emulator/execution/fiber_switch.hpp"

#if defined(__x86_64__) && !defined(WARPBOOK_BOOST_SWITCH)

#include <array>
#include <cstdint>

// rdi: own, rsi: to, rdx: argument or value. What is pushed is what a function must keep; the frame information lets
// debuggers look through, on the stack that was left and on the one that is entered. warpbook_begin_fiber is what a new
// stack "returns" to: rbx holds its main function.
asm(R"(
  .macro warpbook_switch name
  .p2align 4
  .globl \name
  .hidden \name
  .type \name, @function
\name:
  .cfi_startproc
  .irp register, %rbp, %rbx, %r12, %r13, %r14, %r15
  pushq \register
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset \register, 0
  .endr
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  .irp register, %r15, %r14, %r13, %r12, %rbx, %rbp
  popq \register
  .cfi_adjust_cfa_offset -8
  .cfi_restore \register
  .endr
  .endm

  .text
  warpbook_switch warpbook_switch_to_waiting
  movq %rdx, %rax
  ret
  .cfi_endproc
  .size warpbook_switch_to_waiting, . - warpbook_switch_to_waiting

  warpbook_switch warpbook_switch_to_idle
  popq %rax
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rax
  jmpq *%rax
  .cfi_endproc
  .size warpbook_switch_to_idle, . - warpbook_switch_to_idle

  .p2align 4
  .globl warpbook_begin_fiber
  .hidden warpbook_begin_fiber
  .type warpbook_begin_fiber, @function
warpbook_begin_fiber:
  .cfi_startproc
  .cfi_undefined %rip
  movq %rdx, %rdi
  leaq -56(%rsp), %rsi
  subq $64, %rsp
  callq *%rbx
  ud2
  .cfi_endproc
  .size warpbook_begin_fiber, . - warpbook_begin_fiber
)");

extern "C" void warpbook_begin_fiber();

#if defined(WARPBOOK_OWN_BARRIER)
// rdi: predicate. What is kept is what a switch keeps, and the place behind it is the kernel's.
asm(R"(
  .p2align 4
  .globl _ZN8warpbook8emulator13block_barrierEb
  .type _ZN8warpbook8emulator13block_barrierEb, @function
_ZN8warpbook8emulator13block_barrierEb:
  .cfi_startproc
  movq (%rsp), %rdx
  .irp register, %rbp, %rbx, %r12, %r13, %r14, %r15
  pushq \register
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset \register, 0
  .endr
  movq %rsp, %rsi
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  callq warpbook_arrive
  movq %rax, %rsp
  .cfi_adjust_cfa_offset -8
  movq %rdx, %rax
  .irp register, %r15, %r14, %r13, %r12, %rbx, %rbp
  popq \register
  .cfi_adjust_cfa_offset -8
  .cfi_restore \register
  .endr
  ret
  .cfi_endproc
  .size _ZN8warpbook8emulator13block_barrierEb, . - _ZN8warpbook8emulator13block_barrierEb
)");
#endif

namespace warpbook::emulator {

Fiber make_fiber(std::byte* top, std::size_t /*bytes*/, void (*main)(void* argument, Fiber place)) {
  // What the switch pops: r15, r14, r13, r12, rbx, rbp, and where it returns to. There the stack is aligned to 16, as
  // it has to be before a call.
  using Frame = std::array<std::uintptr_t, 9>;
  auto* const frame = reinterpret_cast<Frame*>(top - reinterpret_cast<std::uintptr_t>(top) % 16 - sizeof(Frame));
  *frame = {
      0, 0, 0, 0, reinterpret_cast<std::uintptr_t>(main), 0, reinterpret_cast<std::uintptr_t>(&warpbook_begin_fiber),
      0};
  return frame;
}

}  // namespace warpbook::emulator

#else

#include <boost/context/detail/fcontext.hpp>

namespace warpbook::emulator {
namespace {

namespace fcontext = boost::context::detail;

/// What a stack that is left hands to the one that is entered.
struct Message {
  Fiber* own;
  void* argument;
};

using Main = void (*)(void*, Fiber);

}  // namespace

Fiber make_fiber(std::byte* top, std::size_t bytes, Main main) {
  // Boost passes nothing to a new stack but what the first jump brings: `main` comes along in a jump of its own.
  const fcontext::fcontext_t made = fcontext::make_fcontext(top, bytes, [](fcontext::transfer_t caller) {
    const auto run = reinterpret_cast<Main>(caller.data);
    const fcontext::transfer_t first = fcontext::jump_fcontext(caller.fctx, nullptr);
    const Message message = *static_cast<Message*>(first.data);
    *message.own = first.fctx;
    run(message.argument, nullptr);
  });
  return fcontext::jump_fcontext(made, reinterpret_cast<void*>(main)).fctx;
}

extern "C" void warpbook_switch_to_idle(Fiber* own, Fiber to, void* argument) {
  Message message{own, argument};
  const fcontext::transfer_t back = fcontext::jump_fcontext(to, &message);
  *static_cast<Message*>(back.data)->own = back.fctx;
}

extern "C" void warpbook_switch_to_waiting(Fiber* own, Fiber to, std::uint64_t /*value*/) {
  warpbook_switch_to_idle(own, to, nullptr);
}

}  // namespace warpbook::emulator

#endif
