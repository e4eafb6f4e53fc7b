/// \file
/// Atomics. They are real ones, since blocks run on several operating system threads; each goes through the emulator's
/// library, which tells its observer of one access at the line of the call.
#pragma once

#include <cstdint>
#include <type_traits>

#include "vector_types.h"
#include "warpbook_export.h"

namespace warpbook::emulator {

enum class AtomicOperation { add, exchange, minimum, maximum, bit_and, bit_or, bit_xor };

// Each returns the value before.
WARPBOOK_EXPORT std::int32_t atomic_i32(AtomicOperation operation, void* address, std::int32_t value);
WARPBOOK_EXPORT std::uint32_t atomic_u32(AtomicOperation operation, void* address, std::uint32_t value);
WARPBOOK_EXPORT std::int64_t atomic_i64(AtomicOperation operation, void* address, std::int64_t value);
WARPBOOK_EXPORT std::uint64_t atomic_u64(AtomicOperation operation, void* address, std::uint64_t value);
WARPBOOK_EXPORT float atomic_add_float(float* address, float value);
WARPBOOK_EXPORT double atomic_add_double(double* address, double value);
WARPBOOK_EXPORT float2 atomic_add_float2(float2* address, float2 value);
WARPBOOK_EXPORT float4 atomic_add_float4(float4* address, float4 value);
WARPBOOK_EXPORT std::uint16_t atomic_cas_16(void* address, std::uint16_t compare, std::uint16_t value);
WARPBOOK_EXPORT std::uint32_t atomic_cas_32(void* address, std::uint32_t compare, std::uint32_t value);
WARPBOOK_EXPORT std::uint64_t atomic_cas_64(void* address, std::uint64_t compare, std::uint64_t value);
/// Wraps to 0 above `limit`; wraps to `limit` below 0 and from above it.
WARPBOOK_EXPORT std::uint32_t atomic_increment(std::uint32_t* address, std::uint32_t limit);
WARPBOOK_EXPORT std::uint32_t atomic_decrement(std::uint32_t* address, std::uint32_t limit);

/// For types of 2 and 4 bytes that the library does not know: replaces the bits by what `update` makes of them and
/// `operand`.
WARPBOOK_EXPORT std::uint16_t atomic_update_16(void* address, std::uint16_t operand,
                                               std::uint16_t (*update)(std::uint16_t bits, std::uint16_t operand));
WARPBOOK_EXPORT std::uint32_t atomic_update_32(void* address, std::uint32_t operand,
                                               std::uint32_t (*update)(std::uint32_t bits, std::uint32_t operand));

/// A template parameter that only these types have.
template <class T, class... Types> using OneOf = std::enable_if_t<(std::is_same_v<T, Types> || ...), int>;

template <class T> struct Identity {
  using type = T;
};
/// The type of a parameter that takes no part in the deduction.
template <class T> using NotDeduced = typename Identity<T>::type;

/// An operation on an integer, by its width and sign.
template <class T>
__attribute__((always_inline, nodebug)) inline T atomic_integer(AtomicOperation operation, T* address, T value) {
  if constexpr (sizeof(T) == 4 && std::is_signed_v<T>) {
    return atomic_i32(operation, address, value);
  } else if constexpr (sizeof(T) == 4) {
    return atomic_u32(operation, address, value);
  } else if constexpr (std::is_signed_v<T>) {
    return atomic_i64(operation, address, value);
  } else {
    return atomic_u64(operation, address, value);
  }
}

}  // namespace warpbook::emulator

// ---- CUDA's names. A template's second argument takes no part in the deduction: it converts, as it does in CUDA. The
// scopes of a block and of the system are the same here.

template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicAdd(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::add, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicAdd_block(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::add, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicAdd_system(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::add, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned> = 0>
__attribute__((always_inline, nodebug)) inline T atomicSub(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::add, address,
                                            static_cast<T>(0U - static_cast<unsigned>(value)));
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned> = 0>
__attribute__((always_inline, nodebug)) inline T atomicSub_block(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::add, address,
                                            static_cast<T>(0U - static_cast<unsigned>(value)));
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned> = 0>
__attribute__((always_inline, nodebug)) inline T atomicSub_system(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::add, address,
                                            static_cast<T>(0U - static_cast<unsigned>(value)));
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, long long, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicMin(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::minimum, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, long long, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicMin_block(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::minimum, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, long long, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicMin_system(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::minimum, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, long long, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicMax(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::maximum, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, long long, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicMax_block(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::maximum, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, long long, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicMax_system(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::maximum, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicAnd(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_and, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicAnd_block(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_and, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicAnd_system(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_and, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicOr(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_or, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicOr_block(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_or, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicOr_system(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_or, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicXor(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_xor, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicXor_block(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_xor, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicXor_system(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::bit_xor, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicExch(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::exchange, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicExch_block(T* address, warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::exchange, address, value);
}
template <class T, warpbook::emulator::OneOf<T, int, unsigned, unsigned long long> = 0>
__attribute__((always_inline, nodebug)) inline T atomicExch_system(T* address,
                                                                   warpbook::emulator::NotDeduced<T> value) {
  return warpbook::emulator::atomic_integer(warpbook::emulator::AtomicOperation::exchange, address, value);
}
__attribute__((always_inline, nodebug)) inline float atomicAdd(float* address, float value) {
  return warpbook::emulator::atomic_add_float(address, value);
}
__attribute__((always_inline, nodebug)) inline double atomicAdd(double* address, double value) {
  return warpbook::emulator::atomic_add_double(address, value);
}
__attribute__((always_inline, nodebug)) inline float2 atomicAdd(float2* address, float2 value) {
  return warpbook::emulator::atomic_add_float2(address, value);
}
__attribute__((always_inline, nodebug)) inline float4 atomicAdd(float4* address, float4 value) {
  return warpbook::emulator::atomic_add_float4(address, value);
}
__attribute__((always_inline, nodebug)) inline float atomicExch(float* address, float value) {
  return __builtin_bit_cast(float, warpbook::emulator::atomic_u32(warpbook::emulator::AtomicOperation::exchange,
                                                                  address, __builtin_bit_cast(std::uint32_t, value)));
}
__attribute__((always_inline, nodebug)) inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return warpbook::emulator::atomic_increment(address, limit);
}
__attribute__((always_inline, nodebug)) inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return warpbook::emulator::atomic_decrement(address, limit);
}
__attribute__((always_inline, nodebug)) inline int atomicCAS(int* address, int compare, int value) {
  return static_cast<int>(warpbook::emulator::atomic_cas_32(address, static_cast<std::uint32_t>(compare),
                                                            static_cast<std::uint32_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned atomicCAS(unsigned* address, unsigned compare, unsigned value) {
  return static_cast<unsigned>(warpbook::emulator::atomic_cas_32(address, static_cast<std::uint32_t>(compare),
                                                                 static_cast<std::uint32_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned long long
atomicCAS(unsigned long long* address, unsigned long long compare, unsigned long long value) {
  return static_cast<unsigned long long>(warpbook::emulator::atomic_cas_64(address, static_cast<std::uint64_t>(compare),
                                                                           static_cast<std::uint64_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned short atomicCAS(unsigned short* address, unsigned short compare,
                                                                        unsigned short value) {
  return static_cast<unsigned short>(warpbook::emulator::atomic_cas_16(address, static_cast<std::uint16_t>(compare),
                                                                       static_cast<std::uint16_t>(value)));
}
__attribute__((always_inline, nodebug)) inline float atomicAdd_block(float* address, float value) {
  return warpbook::emulator::atomic_add_float(address, value);
}
__attribute__((always_inline, nodebug)) inline double atomicAdd_block(double* address, double value) {
  return warpbook::emulator::atomic_add_double(address, value);
}
__attribute__((always_inline, nodebug)) inline float2 atomicAdd_block(float2* address, float2 value) {
  return warpbook::emulator::atomic_add_float2(address, value);
}
__attribute__((always_inline, nodebug)) inline float4 atomicAdd_block(float4* address, float4 value) {
  return warpbook::emulator::atomic_add_float4(address, value);
}
__attribute__((always_inline, nodebug)) inline float atomicExch_block(float* address, float value) {
  return __builtin_bit_cast(float, warpbook::emulator::atomic_u32(warpbook::emulator::AtomicOperation::exchange,
                                                                  address, __builtin_bit_cast(std::uint32_t, value)));
}
__attribute__((always_inline, nodebug)) inline unsigned atomicInc_block(unsigned* address, unsigned limit) {
  return warpbook::emulator::atomic_increment(address, limit);
}
__attribute__((always_inline, nodebug)) inline unsigned atomicDec_block(unsigned* address, unsigned limit) {
  return warpbook::emulator::atomic_decrement(address, limit);
}
__attribute__((always_inline, nodebug)) inline int atomicCAS_block(int* address, int compare, int value) {
  return static_cast<int>(warpbook::emulator::atomic_cas_32(address, static_cast<std::uint32_t>(compare),
                                                            static_cast<std::uint32_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned atomicCAS_block(unsigned* address, unsigned compare,
                                                                        unsigned value) {
  return static_cast<unsigned>(warpbook::emulator::atomic_cas_32(address, static_cast<std::uint32_t>(compare),
                                                                 static_cast<std::uint32_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned long long
atomicCAS_block(unsigned long long* address, unsigned long long compare, unsigned long long value) {
  return static_cast<unsigned long long>(warpbook::emulator::atomic_cas_64(address, static_cast<std::uint64_t>(compare),
                                                                           static_cast<std::uint64_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned short
atomicCAS_block(unsigned short* address, unsigned short compare, unsigned short value) {
  return static_cast<unsigned short>(warpbook::emulator::atomic_cas_16(address, static_cast<std::uint16_t>(compare),
                                                                       static_cast<std::uint16_t>(value)));
}
__attribute__((always_inline, nodebug)) inline float atomicAdd_system(float* address, float value) {
  return warpbook::emulator::atomic_add_float(address, value);
}
__attribute__((always_inline, nodebug)) inline double atomicAdd_system(double* address, double value) {
  return warpbook::emulator::atomic_add_double(address, value);
}
__attribute__((always_inline, nodebug)) inline float2 atomicAdd_system(float2* address, float2 value) {
  return warpbook::emulator::atomic_add_float2(address, value);
}
__attribute__((always_inline, nodebug)) inline float4 atomicAdd_system(float4* address, float4 value) {
  return warpbook::emulator::atomic_add_float4(address, value);
}
__attribute__((always_inline, nodebug)) inline float atomicExch_system(float* address, float value) {
  return __builtin_bit_cast(float, warpbook::emulator::atomic_u32(warpbook::emulator::AtomicOperation::exchange,
                                                                  address, __builtin_bit_cast(std::uint32_t, value)));
}
__attribute__((always_inline, nodebug)) inline unsigned atomicInc_system(unsigned* address, unsigned limit) {
  return warpbook::emulator::atomic_increment(address, limit);
}
__attribute__((always_inline, nodebug)) inline unsigned atomicDec_system(unsigned* address, unsigned limit) {
  return warpbook::emulator::atomic_decrement(address, limit);
}
__attribute__((always_inline, nodebug)) inline int atomicCAS_system(int* address, int compare, int value) {
  return static_cast<int>(warpbook::emulator::atomic_cas_32(address, static_cast<std::uint32_t>(compare),
                                                            static_cast<std::uint32_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned atomicCAS_system(unsigned* address, unsigned compare,
                                                                         unsigned value) {
  return static_cast<unsigned>(warpbook::emulator::atomic_cas_32(address, static_cast<std::uint32_t>(compare),
                                                                 static_cast<std::uint32_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned long long
atomicCAS_system(unsigned long long* address, unsigned long long compare, unsigned long long value) {
  return static_cast<unsigned long long>(warpbook::emulator::atomic_cas_64(address, static_cast<std::uint64_t>(compare),
                                                                           static_cast<std::uint64_t>(value)));
}
__attribute__((always_inline, nodebug)) inline unsigned short
atomicCAS_system(unsigned short* address, unsigned short compare, unsigned short value) {
  return static_cast<unsigned short>(warpbook::emulator::atomic_cas_16(address, static_cast<std::uint16_t>(compare),
                                                                       static_cast<std::uint16_t>(value)));
}
