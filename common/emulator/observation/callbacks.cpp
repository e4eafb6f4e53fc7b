// What instrumented code calls: clang's thread-sanitizer callbacks and those of pass/struct_copy_pass.cpp.
// They are called millions of times a second, from instrumented code: they call no inline function that a kernel file
// could define as well, and allocate nothing.

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/emulator/base/tally.hpp"
#include "common/emulator/execution/host_ranges.hpp"
#include "common/emulator/observation/checks.hpp"
#include "common/emulator/observation/confinement.hpp"
#include "common/emulator/observation/host_reports.hpp"
#include "common/emulator/observation/trace.hpp"

namespace {

using warpbook::emulator::AccessShape;
using warpbook::emulator::BlockContext;
using warpbook::emulator::BlockWatch;
using warpbook::emulator::check_host_access;
using warpbook::emulator::CountedLoad;
using warpbook::emulator::current_block;
using warpbook::emulator::current_observer_data;
using warpbook::emulator::host_is_confined;
using warpbook::emulator::LoadWalk;
using warpbook::emulator::Operation;

[[gnu::always_inline]] inline bool is_shared_with_device(const void* address) {
  return warpbook::emulator::in_arena(address) || warpbook::emulator::managed_range.contains(address);
}

[[gnu::always_inline]] inline void observe(AccessShape shape, const void* address, const void* pc) {
  if (current_observer_data == nullptr) {
    if (host_is_confined) [[unlikely]]
      check_host_access(address, shape.bytes, shape.operation, pc);
    // To the host, what is volatile is as good as atomic: a flag.
    if (is_shared_with_device(address)) [[unlikely]]
      warpbook::emulator::host_access(address, shape.bytes, shape.is_volatile ? Operation::atomic : shape.operation,
                                      pc);
    return;
  }
  static_cast<BlockWatch*>(current_observer_data)->access(address, shape, pc);
}

template <std::uint8_t bytes, Operation operation, std::uint8_t alignment = bytes, bool is_volatile = false>
[[gnu::always_inline]] inline void observe(const void* address, const void* pc) {
  observe({bytes, alignment, operation, is_volatile}, address, pc);
}

void observe_range(const void* address, std::size_t bytes, Operation operation, const void* pc) {
  if (bytes == 0) return;
  if (current_observer_data == nullptr) {
    if (host_is_confined) [[unlikely]]
      check_host_access(address, bytes, operation, pc);
    if (is_shared_with_device(address)) [[unlikely]]
      warpbook::emulator::host_access(address, bytes, operation, pc);
    return;
  }
  static_cast<BlockWatch*>(current_observer_data)->range(address, bytes, operation, pc);
}

template <Operation operation> void observe_atomic(const void* address, std::uint32_t bytes, const void* pc) {
  switch (bytes) {
  case 1:
    return observe<1, operation>(address, pc);
  case 2:
    return observe<2, operation>(address, pc);
  case 4:
    return observe<4, operation>(address, pc);
  case 8:
    return observe<8, operation>(address, pc);
  case 16:
    return observe<16, operation>(address, pc);
  default:
    return observe_range(address, bytes, operation, pc);
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the compiler calls these names.
extern "C" {

WARPBOOK_EXPORT void __tsan_init() {}
WARPBOOK_EXPORT void __tsan_func_entry(void*) {}
WARPBOOK_EXPORT void __tsan_func_exit() {}
WARPBOOK_EXPORT void __tsan_vptr_update(void**, void*) {}
WARPBOOK_EXPORT void __tsan_vptr_read(void**) {}
WARPBOOK_EXPORT void __tsan_ignore_thread_begin() {}
WARPBOOK_EXPORT void __tsan_ignore_thread_end() {}

// Macros, because the names are the compiler's.
#define WARPBOOK_DEFINE_ACCESS(bytes)                                                                                  \
  WARPBOOK_EXPORT void __tsan_read##bytes(void* address) {                                                             \
    observe<bytes, Operation::load>(address, __builtin_return_address(0));                                             \
  }                                                                                                                    \
  WARPBOOK_EXPORT void __tsan_write##bytes(void* address) {                                                            \
    observe<bytes, Operation::store>(address, __builtin_return_address(0));                                            \
  }                                                                                                                    \
  WARPBOOK_EXPORT void __tsan_volatile_read##bytes(void* address) {                                                    \
    observe<bytes, Operation::load, bytes, true>(address, __builtin_return_address(0));                                \
  }                                                                                                                    \
  WARPBOOK_EXPORT void __tsan_volatile_write##bytes(void* address) {                                                   \
    observe<bytes, Operation::store, bytes, true>(address, __builtin_return_address(0));                               \
  }
#define WARPBOOK_DEFINE_UNALIGNED_ACCESS(bytes)                                                                        \
  WARPBOOK_EXPORT void __tsan_unaligned_read##bytes(void* address) {                                                   \
    observe<bytes, Operation::load, 1>(address, __builtin_return_address(0));                                          \
  }                                                                                                                    \
  WARPBOOK_EXPORT void __tsan_unaligned_write##bytes(void* address) {                                                  \
    observe<bytes, Operation::store, 1>(address, __builtin_return_address(0));                                         \
  }                                                                                                                    \
  WARPBOOK_EXPORT void __tsan_unaligned_volatile_read##bytes(void* address) {                                          \
    observe<bytes, Operation::load, 1, true>(address, __builtin_return_address(0));                                    \
  }                                                                                                                    \
  WARPBOOK_EXPORT void __tsan_unaligned_volatile_write##bytes(void* address) {                                         \
    observe<bytes, Operation::store, 1, true>(address, __builtin_return_address(0));                                   \
  }
WARPBOOK_DEFINE_ACCESS(1)
WARPBOOK_DEFINE_ACCESS(2)
WARPBOOK_DEFINE_ACCESS(4)
WARPBOOK_DEFINE_ACCESS(8)
WARPBOOK_DEFINE_ACCESS(16)
WARPBOOK_DEFINE_UNALIGNED_ACCESS(2)
WARPBOOK_DEFINE_UNALIGNED_ACCESS(4)
WARPBOOK_DEFINE_UNALIGNED_ACCESS(8)
WARPBOOK_DEFINE_UNALIGNED_ACCESS(16)
#undef WARPBOOK_DEFINE_ACCESS
#undef WARPBOOK_DEFINE_UNALIGNED_ACCESS

WARPBOOK_EXPORT void __tsan_read_range(void* address, std::size_t bytes) {
  observe_range(address, bytes, Operation::load, __builtin_return_address(0));
}
WARPBOOK_EXPORT void __tsan_write_range(void* address, std::size_t bytes) {
  observe_range(address, bytes, Operation::store, __builtin_return_address(0));
}

WARPBOOK_EXPORT void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  observe_range(from, bytes, Operation::load, __builtin_return_address(0));
  observe_range(to, bytes, Operation::store, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
WARPBOOK_EXPORT void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  observe_range(from, bytes, Operation::load, __builtin_return_address(0));
  observe_range(to, bytes, Operation::store, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
WARPBOOK_EXPORT void* __tsan_memset(void* to, int value, std::size_t bytes) {
  observe_range(to, bytes, Operation::store, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}

/// Announces an atomic, which the calling code does itself right after. `result_used` 0: a reduction.
WARPBOOK_EXPORT void __warpbook_atomic(const void* address, std::uint32_t bytes, std::uint32_t result_used) {
  if (result_used == 0)
    observe_atomic<Operation::reduction>(address, bytes, __builtin_return_address(0));
  else
    observe_atomic<Operation::atomic>(address, bytes, __builtin_return_address(0));
}

/// A load of a loop whose loads are otherwise handed over together; called before it is done.
WARPBOOK_EXPORT void __warpbook_counted_load(const void* address, CountedLoad* load) {
  const void* const pc = __builtin_return_address(0);
  // Without order: all threads store the same, and nothing comes with it.
  if (load->pc != pc) __atomic_store_n(&load->pc, pc, __ATOMIC_RELAXED);
  const auto bytes = static_cast<std::uint8_t>(load->bytes);
  observe({bytes, static_cast<std::uint8_t>(load->alignment), Operation::load}, address, pc);
}

/// A loop begins that only loads. Returns 0 where its loads have to be told one by one.
WARPBOOK_EXPORT std::uint32_t __warpbook_counted_loads(const CountedLoad* loads, const LoadWalk* walks,
                                                       std::uint32_t count, std::uint64_t turns) {
  if (current_observer_data == nullptr) return 0;
  return static_cast<BlockWatch*>(current_observer_data)->counted_loads({loads, count}, walks, turns) ? 1 : 0;
}

/// An inner loop begins, whose turns are counted.
WARPBOOK_EXPORT void __warpbook_loop(std::uint32_t number) {
  if (current_observer_data != nullptr) static_cast<BlockWatch*>(current_observer_data)->begin_loop(number);
}

/// An access leaves a thread's own array; called before it is done.
WARPBOOK_EXPORT void __warpbook_local_bounds(std::int64_t offset, std::uint64_t bytes, std::uint64_t array_bytes,
                                             std::uint32_t writes) {
  if (current_block == nullptr) {
    if (host_is_confined) warpbook::emulator::end_for_local_bounds(__builtin_return_address(0));
    return;
  }
  warpbook::emulator::bad_local_access(*current_block,
                                       {offset, bytes, array_bytes, writes != 0 ? Operation::store : Operation::load},
                                       __builtin_return_address(0));
}

/// The same of a variable outside of functions, by its name.
WARPBOOK_EXPORT void __warpbook_variable_bounds(std::int64_t offset, std::uint64_t bytes, std::uint64_t array_bytes,
                                                std::uint32_t writes, const void* variable) {
  if (current_block == nullptr) return;
  warpbook::emulator::bad_local_access(
      *current_block, {offset, bytes, array_bytes, writes != 0 ? Operation::store : Operation::load, variable},
      __builtin_return_address(0));
}

/// A variable of the thread's own begins whose address may outlive it, or a function returns that had one: what lies
/// there is something else now.
WARPBOOK_EXPORT void __warpbook_local_begins(const void* variable, std::uint64_t) {
  if (current_observer_data != nullptr) static_cast<BlockWatch*>(current_observer_data)->begin_local(variable);
}
/// It ends.
WARPBOOK_EXPORT void __warpbook_local_ends(const void* variable, std::uint64_t bytes) {
  if (current_observer_data == nullptr) return;
  static_cast<BlockWatch*>(current_observer_data)->end_local(variable, bytes, __builtin_return_address(0));
}

/// A part of such a variable is accessed, by the variable's name.
WARPBOOK_EXPORT void __warpbook_local_read(const void* address, std::uint64_t bytes) {
  if (current_observer_data == nullptr) return;
  static_cast<BlockWatch*>(current_observer_data)
      ->check_local(address, bytes, Operation::load, __builtin_return_address(0), nullptr);
}
WARPBOOK_EXPORT void __warpbook_local_write(const void* address, std::uint64_t bytes) {
  if (current_observer_data == nullptr) return;
  static_cast<BlockWatch*>(current_observer_data)
      ->check_local(address, bytes, Operation::store, __builtin_return_address(0), nullptr);
}

/// An index leaves a row, or an array in a struct; called before the access is done.
WARPBOOK_EXPORT void __warpbook_row_bounds(std::int64_t index, std::uint64_t elements) {
  if (current_observer_data == nullptr) return;
  const void* const pc = __builtin_return_address(0);
  auto& watch = *static_cast<BlockWatch*>(current_observer_data);
  if (watch.is_new_global({pc, pc})) warpbook::emulator::report_row_bounds(*current_block, index, elements, pc);
}

/// A turn of a loop begins that nothing leads out of. An access that leaves its array may yet end the thread.
WARPBOOK_EXPORT void __warpbook_endless_loop() {
  constexpr std::uint32_t kMostTurns = 1U << 24;
  static thread_local std::uint32_t turns = 0;
  if (current_block == nullptr || ++turns < kMostTurns) return;
  turns = 0;
  warpbook::emulator::endless_loop(*current_block, __builtin_return_address(0));
}

/// An access to a thread's own array as one of another type does not begin where that may; called before it is done.
WARPBOOK_EXPORT void __warpbook_local_alignment(std::int64_t offset, std::uint64_t bytes, std::uint32_t writes) {
  if (current_block == nullptr) return;
  warpbook::emulator::misaligned_local_access(*current_block,
                                              {offset, bytes, 0, writes != 0 ? Operation::store : Operation::load},
                                              __builtin_return_address(0));
}

/// A member is accessed of what does not begin where its type may; called before it is done.
WARPBOOK_EXPORT void __warpbook_stated_alignment(const void* address, std::uint64_t alignment, std::uint32_t writes) {
  if (current_observer_data == nullptr) return;
  const void* const pc = __builtin_return_address(0);
  auto& watch = *static_cast<BlockWatch*>(current_observer_data);
  if (!watch.is_new_global({pc, pc})) return;
  warpbook::emulator::report_misaligned_member(*current_block, address, alignment,
                                               writes != 0 ? Operation::store : Operation::load, pc);
}

/// A local variable is read that has no value yet; called before it is done.
WARPBOOK_EXPORT void __warpbook_uninitialised_local(std::uint64_t bytes) {
  if (current_observer_data == nullptr) return;
  const void* const pc = __builtin_return_address(0);
  auto& watch = *static_cast<BlockWatch*>(current_observer_data);
  if (watch.looks_for_unwritten() && watch.is_new_global({pc, pc}))
    warpbook::emulator::report_uninitialised_local(*current_block, bytes, {pc, nullptr});
}

// A local variable that may have no value has none, and it matters; see pass/unset_values.hpp. A read is told before
// what comes of it.
WARPBOOK_EXPORT void __warpbook_unset_read(bool, std::uint64_t bytes) {
  if (current_observer_data == nullptr) return;
  static_cast<BlockWatch*>(current_observer_data)->note_unset_read({__builtin_return_address(0), bytes});
}
WARPBOOK_EXPORT void __warpbook_unset_use(bool, std::uint64_t bytes) {
  if (current_observer_data == nullptr) return;
  static_cast<BlockWatch*>(current_observer_data)->use_unset(bytes, __builtin_return_address(0));
}
WARPBOOK_EXPORT void __warpbook_unset_store(bool, const void* address, std::uint64_t bytes) {
  if (current_observer_data == nullptr) return;
  static_cast<BlockWatch*>(current_observer_data)->store_unset(address, bytes, __builtin_return_address(0));
}

/// The atomic to come is one for the threads of its block alone.
WARPBOOK_EXPORT void __warpbook_block_scope() {
  if (current_observer_data != nullptr) static_cast<BlockWatch*>(current_observer_data)->expect_block_scope();
}

/// The load to come does not see what its kernel writes.
WARPBOOK_EXPORT void __warpbook_read_only(const void* address, std::uint64_t bytes) {
  if (current_observer_data != nullptr)
    static_cast<BlockWatch*>(current_observer_data)
        ->stale_read(address, static_cast<unsigned>(bytes), __builtin_return_address(0), false);
}

/// The volatile store to come adds to what was read there.
WARPBOOK_EXPORT void __warpbook_volatile_update() {
  if (current_observer_data != nullptr) static_cast<BlockWatch*>(current_observer_data)->expect_update();
}

/// The table of an object's virtual functions is about to be read.
WARPBOOK_EXPORT void __warpbook_virtual(const void* object) {
  if (current_observer_data != nullptr && warpbook::emulator::in_arena(object))
    static_cast<BlockWatch*>(current_observer_data)->check_table(*current_block, object, __builtin_return_address(0));
}

/// An integer is divided by zero; called before it is done. On the host it is what it is anywhere.
WARPBOOK_EXPORT void __warpbook_division_by_zero() {
  const void* const pc = __builtin_return_address(0);
  if (current_observer_data == nullptr) {
    warpbook::emulator::end_program(SIGFPE, pc);
    return;
  }
  auto& watch = *static_cast<BlockWatch*>(current_observer_data);
  if (watch.is_new_global({pc, pc})) warpbook::emulator::report_division_by_zero(*current_block, pc);
}

// What the host loads and stores as an atomic: its own flags, or those that it shares with kernels. All of them in the
// strictest order.
#define WARPBOOK_DEFINE_ATOMIC(bits)                                                                                   \
  WARPBOOK_EXPORT std::uint##bits##_t __tsan_atomic##bits##_load(const std::uint##bits##_t* address, int) {            \
    observe<bits / 8, Operation::atomic>(address, __builtin_return_address(0));                                        \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                                 \
  }                                                                                                                    \
  WARPBOOK_EXPORT void __tsan_atomic##bits##_store(std::uint##bits##_t* address, std::uint##bits##_t value, int) {     \
    observe<bits / 8, Operation::atomic>(address, __builtin_return_address(0));                                        \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                                \
  }
WARPBOOK_DEFINE_ATOMIC(8)
WARPBOOK_DEFINE_ATOMIC(16)
WARPBOOK_DEFINE_ATOMIC(32)
WARPBOOK_DEFINE_ATOMIC(64)
#undef WARPBOOK_DEFINE_ATOMIC

WARPBOOK_EXPORT void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
WARPBOOK_EXPORT void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
