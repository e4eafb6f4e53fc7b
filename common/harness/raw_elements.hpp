/// \file
/// Elements of operations that only move data: their types are names for sizes, their contents random bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace warpbook {

/// Bytes of an element of the type that a case calls `dtype`. \throws BadInput for a name that is unknown.
int element_bytes_of(const std::string& dtype);

/// The names that `element_bytes_of` knows, for help and messages: "int8, half, ...".
std::string element_type_names();

/// Fills `bytes` with random bits: the same for the same seed, on any number of cores.
void fill_with_random_bits(std::uint64_t seed, std::span<std::byte> bytes);

}  // namespace warpbook
