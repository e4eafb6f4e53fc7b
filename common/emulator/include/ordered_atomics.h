/// \file
/// Atomics with a memory order: nvcc's `__nv_atomic_load_n` and its kin, and libcu++'s in a kernel. They are CUDA's
/// other atomics, between the fences of their order; all scopes are the same here.
#pragma once

#include <cstdint>
#include <type_traits>

#include "atomic_functions.h"
#include "warpbook_builtins.h"

namespace warpbook::emulator::ordered {

template <unsigned kBytes> struct Word;
template <> struct Word<1> {
  using type = std::uint8_t;
};
template <> struct Word<2> {
  using type = std::uint16_t;
};
template <> struct Word<4> {
  using type = std::uint32_t;
};
template <> struct Word<8> {
  using type = std::uint64_t;
};
template <> struct Word<16> {
  using type = std::uint64_t __attribute__((vector_size(16)));
};

template <class T> inline constexpr bool is_word = sizeof(T) == 4 || sizeof(T) == 8;

template <class Order> WARPBOOK_DEVICE_FUNCTION void fence_before(Order order) {
  if (static_cast<int>(order) >= __ATOMIC_RELEASE) memory_fence();
}
template <class Order> WARPBOOK_DEVICE_FUNCTION void fence_after(Order order) {
  if (static_cast<int>(order) != __ATOMIC_RELAXED && static_cast<int>(order) != __ATOMIC_RELEASE) memory_fence();
}

/// The bits that were there, replaced by what comes of them and `value`'s.
template <class T, class Order>
WARPBOOK_DEVICE_FUNCTION T update(AtomicOperation operation, T* place, T value, Order order) {
  using Bits = typename Word<sizeof(T)>::type;
  fence_before(order);
  Bits before;
  if constexpr (sizeof(T) == 4)
    before = atomic_u32(operation, place, __builtin_bit_cast(Bits, value));
  else
    before = atomic_u64(operation, place, __builtin_bit_cast(Bits, value));
  fence_after(order);
  return __builtin_bit_cast(T, before);
}
template <class T, class Order> WARPBOOK_DEVICE_FUNCTION T atomic_load(T* place, Order order) {
  return update(AtomicOperation::bit_or, place, __builtin_bit_cast(T, typename Word<sizeof(T)>::type{}), order);
}
template <class T, class Order> WARPBOOK_DEVICE_FUNCTION void atomic_store(T* place, T value, Order order) {
  update(AtomicOperation::exchange, place, value, order);
}
template <class T, class Order>
WARPBOOK_DEVICE_FUNCTION bool atomic_compare_exchange(T* place, T* expected, T desired, Order order) {
  using Bits = typename Word<sizeof(T)>::type;
  const Bits compare = __builtin_bit_cast(Bits, *expected);
  fence_before(order);
  Bits before;
  if constexpr (sizeof(T) == 4)
    before = atomic_cas_32(place, compare, __builtin_bit_cast(Bits, desired));
  else
    before = atomic_cas_64(place, compare, __builtin_bit_cast(Bits, desired));
  fence_after(order);
  *expected = __builtin_bit_cast(T, before);
  return before == compare;
}
/// Integers and pointers, these by bytes, and what CUDA adds of floats.
template <class T, class Delta, class Order> WARPBOOK_DEVICE_FUNCTION T atomic_add(T* place, Delta delta, Order order) {
  if constexpr (std::is_floating_point_v<T>) {
    fence_before(order);
    const T before = atomicAdd(place, static_cast<T>(delta));
    fence_after(order);
    return before;
  } else {
    return update(AtomicOperation::add, place,
                  __builtin_bit_cast(T, static_cast<typename Word<sizeof(T)>::type>(delta)), order);
  }
}

/// By an integer's sign; those that need none are for each type of a word.
template <class T, class Order>
WARPBOOK_DEVICE_FUNCTION T atomic_bound(AtomicOperation operation, T* place, T value, Order order) {
  static_assert(std::is_integral_v<T> && is_word<T>, "an integer of 4 or 8 bytes");
  fence_before(order);
  const T before = atomic_integer(operation, place, value);
  fence_after(order);
  return before;
}

template <class T> using Value = std::remove_cv_t<T>;

}  // namespace warpbook::emulator::ordered

enum {
  __NV_ATOMIC_RELAXED = __ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME = __ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE = __ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE = __ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL = __ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST = __ATOMIC_SEQ_CST
};
enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};

// ---- nvcc's names. Elements have 4 or 8 bytes.

WARPBOOK_DEVICE_FUNCTION void __nv_atomic_thread_fence(int order, int = __NV_THREAD_SCOPE_SYSTEM) {
  if (order != __NV_ATOMIC_RELAXED) warpbook::emulator::memory_fence();
}
template <class T>
WARPBOOK_DEVICE_FUNCTION warpbook::emulator::ordered::Value<T> __nv_atomic_load_n(T* place, int order,
                                                                                  int = __NV_THREAD_SCOPE_SYSTEM) {
  using Value = warpbook::emulator::ordered::Value<T>;
  return warpbook::emulator::ordered::atomic_load(const_cast<Value*>(place), order);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void __nv_atomic_load(T* place, warpbook::emulator::ordered::Value<T>* result, int order,
                                               int = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_load_n(place, order);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION warpbook::emulator::ordered::Value<T>
__nv_atomic_exchange_n(T* place, warpbook::emulator::ordered::Value<T> value, int order,
                       int = __NV_THREAD_SCOPE_SYSTEM) {
  using Value = warpbook::emulator::ordered::Value<T>;
  return warpbook::emulator::ordered::update(warpbook::emulator::AtomicOperation::exchange, const_cast<Value*>(place),
                                             value, order);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void __nv_atomic_exchange(T* place, warpbook::emulator::ordered::Value<T>* value,
                                                   warpbook::emulator::ordered::Value<T>* result, int order,
                                                   int = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_exchange_n(place, *value, order);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void __nv_atomic_store_n(T* place, warpbook::emulator::ordered::Value<T> value, int order,
                                                  int = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_exchange_n(place, value, order);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION void __nv_atomic_store(T* place, warpbook::emulator::ordered::Value<T>* value, int order,
                                                int = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_exchange_n(place, *value, order);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION bool __nv_atomic_compare_exchange_n(T* place, warpbook::emulator::ordered::Value<T>* expected,
                                                             warpbook::emulator::ordered::Value<T> desired, bool,
                                                             int success, int failure, int = __NV_THREAD_SCOPE_SYSTEM) {
  using Value = warpbook::emulator::ordered::Value<T>;
  return warpbook::emulator::ordered::atomic_compare_exchange(const_cast<Value*>(place), expected, desired,
                                                              success > failure ? success : failure);
}
template <class T>
WARPBOOK_DEVICE_FUNCTION bool __nv_atomic_compare_exchange(T* place, warpbook::emulator::ordered::Value<T>* expected,
                                                           warpbook::emulator::ordered::Value<T>* desired, bool weak,
                                                           int success, int failure, int = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(place, expected, *desired, weak, success, failure);
}

#define WARPBOOK_ORDERED(name, ...)                                                                                    \
  template <class T>                                                                                                   \
  WARPBOOK_DEVICE_FUNCTION T __nv_atomic_fetch_##name(T* place, warpbook::emulator::NotDeduced<T> value, int order,    \
                                                      int = __NV_THREAD_SCOPE_SYSTEM) {                                \
    using warpbook::emulator::AtomicOperation;                                                                         \
    return warpbook::emulator::ordered::__VA_ARGS__;                                                                   \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  WARPBOOK_DEVICE_FUNCTION void __nv_atomic_##name(T* place, warpbook::emulator::NotDeduced<T> value, int order,       \
                                                   int = __NV_THREAD_SCOPE_SYSTEM) {                                   \
    __nv_atomic_fetch_##name(place, value, order);                                                                     \
  }
WARPBOOK_ORDERED(add, atomic_add(place, value, order))
WARPBOOK_ORDERED(sub, atomic_add(place, static_cast<T>(std::is_integral_v<T> ? T{} - value : -value), order))
WARPBOOK_ORDERED(min, atomic_bound(AtomicOperation::minimum, place, value, order))
WARPBOOK_ORDERED(max, atomic_bound(AtomicOperation::maximum, place, value, order))
WARPBOOK_ORDERED(and, update(AtomicOperation::bit_and, place, value, order))
WARPBOOK_ORDERED(or, update(AtomicOperation::bit_or, place, value, order))
WARPBOOK_ORDERED(xor, update(AtomicOperation::bit_xor, place, value, order))
#undef WARPBOOK_ORDERED
