/// \file
/// Atomics for kernels: one access told to the observer, then the operation as the host has it.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "common/emulator/base/tally.hpp"
#include "common/emulator/execution/block_runner.hpp"
#include "common/emulator/execution/retry_tally.hpp"
#include "common/emulator/include/atomic_functions.h"
#include "common/emulator/include/warpbook_reductions.h"

namespace warpbook::emulator {
namespace {

/// Comes before every atomic. A thread that does nothing but atomics for long may be waiting for another one of its
/// block.
inline void before(const void* address, unsigned bytes, const void* pc, AccessKind kind = AccessKind::atomic) {
  observer().access(*current_block, kind, address, bytes, pc);
  current_runner->count_atomic();
}

/// Comes behind those that programs wait by: tells the engine whether anything changed. Returns what was there before.
template <class T> inline T found(const void* address, T before, const void* pc) {
  if (__atomic_load_n(static_cast<const T*>(address), __ATOMIC_RELAXED) != before)
    current_runner->note_change();
  else
    current_runner->poll({address, sizeof before}, pc);
  return before;
}

/// Replaces a value by what `update` makes of it; returns the one before. The first look needs no order: the exchange
/// fails where it was too old.
template <class T, class Update> T replace(T* address, Update&& update) {
  T before{};
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  T after = update(before);
  while (!__atomic_compare_exchange(address, &before, &after, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    after = update(before);
  }
  return before;
}

template <class T> T integer(AtomicOperation operation, void* where, T value) {
  T* address = static_cast<T*>(where);
  switch (operation) {
  case AtomicOperation::add:
    return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);
  case AtomicOperation::exchange:
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);
  case AtomicOperation::minimum:
    return __atomic_fetch_min(address, value, __ATOMIC_SEQ_CST);
  case AtomicOperation::maximum:
    return __atomic_fetch_max(address, value, __ATOMIC_SEQ_CST);
  case AtomicOperation::bit_and:
    return __atomic_fetch_and(address, value, __ATOMIC_SEQ_CST);
  case AtomicOperation::bit_or:
    return __atomic_fetch_or(address, value, __ATOMIC_SEQ_CST);
  case AtomicOperation::bit_xor:
    return __atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST);
  }
  return value;
}

template <class T> T compare_and_swap(void* address, T compare, T value) {
  ++retry_tally.exchanges;
  if (!__atomic_compare_exchange_n(static_cast<T*>(address), &compare, value, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST))
    ++retry_tally.failed;
  return compare;
}

constexpr std::uint16_t kHalfOne = 0x3c00;
constexpr std::uint16_t kHalfTwo = 0x4000;

/// The value of 2 bytes, a half or a bfloat16.
double value_of(std::uint16_t bits, bool is_half) {
  if (is_half) return static_cast<double>(std::bit_cast<_Float16>(bits));
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

}  // namespace

std::int32_t atomic_i32(AtomicOperation operation, void* address, std::int32_t value) {
  const void* const pc = __builtin_return_address(0);
  before(address, 4, pc);
  return found(address, integer(operation, address, value), pc);
}

std::uint32_t atomic_u32(AtomicOperation operation, void* address, std::uint32_t value) {
  const void* const pc = __builtin_return_address(0);
  before(address, 4, pc);
  return found(address, integer(operation, address, value), pc);
}

std::int64_t atomic_i64(AtomicOperation operation, void* address, std::int64_t value) {
  const void* const pc = __builtin_return_address(0);
  before(address, 8, pc);
  return found(address, integer(operation, address, value), pc);
}

std::uint64_t atomic_u64(AtomicOperation operation, void* address, std::uint64_t value) {
  const void* const pc = __builtin_return_address(0);
  before(address, 8, pc);
  return found(address, integer(operation, address, value), pc);
}

float atomic_add_float(float* address, float value) {
  before(address, 4, __builtin_return_address(0), AccessKind::float_atomic);
  return replace(address, [=](float old) { return old + value; });
}

double atomic_add_double(double* address, double value) {
  before(address, 8, __builtin_return_address(0), AccessKind::float_atomic);
  return replace(address, [=](double old) { return old + value; });
}

// As on a GPU, the elements of a vector are atomic one by one, not together.
float2 atomic_add_float2(float2* address, float2 value) {
  __warpbook_tally[kAtomicFlags] |= kElements;
  before(address, 8, __builtin_return_address(0), AccessKind::float_atomic);
  return {replace(&address->x, [=](float old) { return old + value.x; }),
          replace(&address->y, [=](float old) { return old + value.y; })};
}

float4 atomic_add_float4(float4* address, float4 value) {
  __warpbook_tally[kAtomicFlags] |= kElements;
  before(address, 16, __builtin_return_address(0), AccessKind::float_atomic);
  return {replace(&address->x, [=](float old) { return old + value.x; }),
          replace(&address->y, [=](float old) { return old + value.y; }),
          replace(&address->z, [=](float old) { return old + value.z; }),
          replace(&address->w, [=](float old) { return old + value.w; })};
}

std::uint16_t atomic_cas_16(void* address, std::uint16_t compare, std::uint16_t value) {
  const void* const pc = __builtin_return_address(0);
  before(address, 2, pc);
  return found(address, compare_and_swap(address, compare, value), pc);
}

std::uint32_t atomic_cas_32(void* address, std::uint32_t compare, std::uint32_t value) {
  const void* const pc = __builtin_return_address(0);
  before(address, 4, pc);
  return found(address, compare_and_swap(address, compare, value), pc);
}

std::uint64_t atomic_cas_64(void* address, std::uint64_t compare, std::uint64_t value) {
  const void* const pc = __builtin_return_address(0);
  before(address, 8, pc);
  return found(address, compare_and_swap(address, compare, value), pc);
}

std::uint32_t atomic_increment(std::uint32_t* address, std::uint32_t limit) {
  before(address, 4, __builtin_return_address(0));
  return replace(address, [=](std::uint32_t old) { return old >= limit ? 0 : old + 1; });
}

std::uint32_t atomic_decrement(std::uint32_t* address, std::uint32_t limit) {
  before(address, 4, __builtin_return_address(0));
  return replace(address, [=](std::uint32_t old) { return old == 0 || old > limit ? limit : old - 1; });
}

std::uint16_t atomic_update_16(void* address, std::uint16_t operand,
                               std::uint16_t (*update)(std::uint16_t bits, std::uint16_t operand)) {
  before(address, 2, __builtin_return_address(0), AccessKind::float_atomic);
  const std::uint16_t found =
      replace(static_cast<std::uint16_t*>(address), [=](std::uint16_t old) { return update(old, operand); });
  const bool is_half = update(kHalfOne, kHalfOne) == kHalfTwo;
  retry_tally.add(value_of(found, is_half), value_of(update(found, operand), is_half));
  return found;
}

void reduce_pairs(void* address, const void* operands, unsigned pairs,
                  std::uint32_t (*update)(std::uint32_t bits, std::uint32_t operand)) {
  __warpbook_tally[kAtomicFlags] = kUnused | kElements;
  before(address, 4 * pairs, __builtin_return_address(0), AccessKind::float_atomic);
  for (unsigned i = 0; i < pairs; ++i) {
    std::uint32_t operand = 0;
    std::memcpy(&operand, static_cast<const std::byte*>(operands) + std::size_t{4} * i, sizeof operand);
    replace(static_cast<std::uint32_t*>(address) + i, [=](std::uint32_t old) { return update(old, operand); });
  }
}

std::uint32_t atomic_update_32(void* address, std::uint32_t operand,
                               std::uint32_t (*update)(std::uint32_t bits, std::uint32_t operand)) {
  // CUDA's additions to pairs of narrow floats are instructions that return the old value, whether or not it is used.
  __warpbook_tally[kAtomicFlags] = 0;
  before(address, 4, __builtin_return_address(0), AccessKind::float_atomic);
  return replace(static_cast<std::uint32_t*>(address), [=](std::uint32_t old) { return update(old, operand); });
}

}  // namespace warpbook::emulator
