#include "common/harness/raw_elements.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "common/harness/chapter.hpp"

namespace warpbook {
namespace {

constexpr std::pair<const char*, int> kTypes[] = {{"int8", 1},  {"half", 2},      {"bfloat16", 2},
                                                  {"float", 4}, {"int32", 4},     {"double", 8},
                                                  {"int64", 8}, {"complex64", 8}, {"complex128", 16}};

}  // namespace

int element_bytes_of(const std::string& dtype) {
  for (const auto& [name, bytes] : kTypes) {
    if (dtype == name) return bytes;
  }
  throw BadInput(fmt::format("dtype={} is unknown; accepted are {}", dtype, element_type_names()));
}

std::string element_type_names() {
  std::string names;
  for (const auto& [name, bytes] : kTypes) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

void fill_with_random_bits(std::uint64_t seed, std::span<std::byte> bytes) {
  const auto words = static_cast<std::int64_t>(bytes.size() / 8);
  parallel_each(words, [&](std::int64_t i) {
    const std::uint64_t value = mix(seed ^ static_cast<std::uint64_t>(i));
    std::memcpy(bytes.data() + i * 8, &value, 8);
  });
  const std::uint64_t value = mix(seed ^ static_cast<std::uint64_t>(words));
  std::memcpy(bytes.data() + words * 8, &value, bytes.size() % 8);
}

std::int64_t load_integer(const std::byte* p, int bytes) {
  if (bytes == 4) {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, p, 4);
    return narrow;
  }
  std::int64_t wide = 0;
  std::memcpy(&wide, p, 8);
  return wide;
}

void store_integer(std::byte* p, int bytes, std::int64_t value) {
  std::memcpy(p, &value, static_cast<std::size_t>(bytes));  // Little-endian: the lowest come first.
}

}  // namespace warpbook
