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

// SplitMix64's finaliser: neighbouring numbers become unrelated ones. Source: S. Vigna, public domain.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

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
  parallel_for(words, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t value = mix(seed ^ static_cast<std::uint64_t>(i));
      std::memcpy(bytes.data() + i * 8, &value, 8);
    }
  });
  const std::uint64_t value = mix(seed ^ static_cast<std::uint64_t>(words));
  std::memcpy(bytes.data() + words * 8, &value, bytes.size() % 8);
}

}  // namespace warpbook
