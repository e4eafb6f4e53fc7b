/// \file
/// Elements as they lie in arrays: types that are names for sizes, random bits, integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace warpbook {

/// Bytes of an element of the type that a case calls `dtype`. \throws BadInput for a name that is unknown.
int element_bytes_of(const std::string& dtype);

/// The names that `element_bytes_of` knows, for help and messages: "int8, half, ...".
std::string element_type_names();

/// SplitMix64's finaliser: neighbouring numbers become unrelated ones. Source: S. Vigna, public domain.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// Fills `bytes` with random bits: the same for the same seed, on any number of cores.
void fill_with_random_bits(std::uint64_t seed, std::span<std::byte> bytes);

/// Of data that were moved, an element that was written and is wrong: which element of `source` came, and which belongs
/// there. The first one that can be told: `source` holds both exactly once. `name` tells of a place in `source`. Empty
/// where what came is no element of `source`, or where none of the first few can be told.
std::string misplaced_element(std::span<const std::byte> source, std::span<const std::byte> expected,
                              std::span<const std::byte> actual, int element_bytes,
                              const std::function<std::string(std::int64_t)>& name);

/// The signed integer of 1 to 8 bytes at `p`.
std::int64_t load_integer(const std::byte* p, int bytes);
/// Writes the lowest 1 to 8 bytes of an integer.
void store_integer(std::byte* p, int bytes, std::int64_t value);

}  // namespace warpbook
