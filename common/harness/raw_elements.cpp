#include "common/harness/raw_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/harness/chapter.hpp"

namespace warpbook {
namespace {

constexpr std::pair<const char*, int> kTypes[] = {{"int8", 1},  {"half", 2},      {"bfloat16", 2},
                                                  {"float", 4}, {"int32", 4},     {"double", 8},
                                                  {"int64", 8}, {"complex64", 8}, {"complex128", 16}};

constexpr std::int64_t kNowhere = -1;
constexpr std::int64_t kTwice = -2;
constexpr int kMostTried = 16;  // Of narrow elements most are there more than once.

/// Where `source` holds an element, if it does so once.
std::int64_t only_place(std::span<const std::byte> source, std::span<const std::byte> element) {
  std::int64_t found = kNowhere;
  for (std::size_t at = 0; at + element.size() <= source.size(); at += element.size()) {
    if (std::memcmp(source.data() + at, element.data(), element.size()) != 0) continue;
    if (found >= 0) return kTwice;
    found = static_cast<std::int64_t>(at / element.size());
  }
  return found;
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
  parallel_each(words, [&](std::int64_t i) {
    const std::uint64_t value = mix(seed ^ static_cast<std::uint64_t>(i));
    std::memcpy(bytes.data() + i * 8, &value, 8);
  });
  const std::uint64_t value = mix(seed ^ static_cast<std::uint64_t>(words));
  std::memcpy(bytes.data() + words * 8, &value, bytes.size() % 8);
}

std::string misplaced_element(std::span<const std::byte> source, std::span<const std::byte> expected,
                              std::span<const std::byte> actual, int element_bytes,
                              const std::function<std::string(std::int64_t)>& name) {
  const auto bytes = static_cast<std::size_t>(element_bytes);
  int tried = 0;
  for (std::size_t at = 0; at < expected.size() && tried < kMostTried; at += bytes) {
    const auto wanted = expected.subspan(at, bytes);
    const auto came = actual.subspan(at, bytes);
    if (std::equal(wanted.begin(), wanted.end(), came.begin())) continue;
    if (std::equal(wanted.begin(), wanted.end(), came.begin(), [](std::byte w, std::byte c) { return w == ~c; })) {
      continue;  // Not written: it holds the complement still.
    }
    const std::int64_t from = only_place(source, came);
    const std::int64_t belongs = only_place(source, wanted);
    ++tried;
    if (from == kTwice || belongs == kTwice) continue;
    if (from == kNowhere || belongs == kNowhere) return {};
    return fmt::format("input element {} came where {} belongs", name(from), name(belongs));
  }
  return {};
}

std::int64_t load_integer(const std::byte* p, int bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, p, static_cast<std::size_t>(bytes));  // Little-endian: the lowest come first.
  const int unused = 64 - 8 * bytes;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

void store_integer(std::byte* p, int bytes, std::int64_t value) {
  std::memcpy(p, &value, static_cast<std::size_t>(bytes));
}

}  // namespace warpbook
