/// \file
/// Loads and stores with a cache hint. The emulator treats them as plain ones.
#pragma once

#include <cstdint>
#include <type_traits>

#include "vector_types.h"
#include "warpbook_builtins.h"

namespace warpbook::emulator {

/// The types that CUDA has hinted loads and stores for. Half-precision headers add their own.
template <class T> inline constexpr bool kHinted = false;
template <> inline constexpr bool kHinted<char> = true;
template <> inline constexpr bool kHinted<signed char> = true;
template <> inline constexpr bool kHinted<unsigned char> = true;
template <> inline constexpr bool kHinted<short> = true;
template <> inline constexpr bool kHinted<unsigned short> = true;
template <> inline constexpr bool kHinted<int> = true;
template <> inline constexpr bool kHinted<unsigned int> = true;
template <> inline constexpr bool kHinted<long> = true;
template <> inline constexpr bool kHinted<unsigned long> = true;
template <> inline constexpr bool kHinted<long long> = true;
template <> inline constexpr bool kHinted<unsigned long long> = true;
template <> inline constexpr bool kHinted<float> = true;
template <> inline constexpr bool kHinted<double> = true;
template <> inline constexpr bool kHinted<char2> = true;
template <> inline constexpr bool kHinted<char4> = true;
template <> inline constexpr bool kHinted<uchar2> = true;
template <> inline constexpr bool kHinted<uchar4> = true;
template <> inline constexpr bool kHinted<short2> = true;
template <> inline constexpr bool kHinted<short4> = true;
template <> inline constexpr bool kHinted<ushort2> = true;
template <> inline constexpr bool kHinted<ushort4> = true;
template <> inline constexpr bool kHinted<int2> = true;
template <> inline constexpr bool kHinted<int4> = true;
template <> inline constexpr bool kHinted<uint2> = true;
template <> inline constexpr bool kHinted<uint4> = true;
template <> inline constexpr bool kHinted<longlong2> = true;
template <> inline constexpr bool kHinted<ulonglong2> = true;
template <> inline constexpr bool kHinted<float2> = true;
template <> inline constexpr bool kHinted<float4> = true;
template <> inline constexpr bool kHinted<double2> = true;

template <class T> using Hinted = std::enable_if_t<kHinted<T>, int>;

}  // namespace warpbook::emulator

/// The load to come does not see what its kernel writes.
extern "C" WARPBOOK_EXPORT void __warpbook_read_only(const void* address, std::uint64_t bytes);

template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION T __ldg(const T* address) {
  __warpbook_read_only(address, sizeof(T));
  return *address;
}
template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION T __ldca(const T* address) {
  return *address;
}
template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION T __ldcg(const T* address) {
  return *address;
}
template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION T __ldcs(const T* address) {
  return *address;
}
template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION T __ldlu(const T* address) {
  return *address;
}
/// Fetches again each time, as volatile does: loops wait for a flag so.
template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION T __ldcv(const T* address) {
  if constexpr (std::is_arithmetic_v<T>) return *static_cast<const volatile T*>(address);
  return *address;
}

template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION void __stwb(T* address, T value) {
  *address = value;
}
template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION void __stcg(T* address, T value) {
  *address = value;
}
template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION void __stcs(T* address, T value) {
  *address = value;
}
template <class T, warpbook::emulator::Hinted<T> = 0> WARPBOOK_DEVICE_FUNCTION void __stwt(T* address, T value) {
  *address = value;
}
