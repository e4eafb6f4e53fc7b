#include "chapters/chapter7_torch_op/add2_case.hpp"

#include <fmt/format.h>

#include <cstring>

namespace warpbook::chapter7 {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 32;
constexpr std::int64_t kMostOffset = 64;

float load(const std::byte* at, bool half) {
  if (half) {
    __half value;
    std::memcpy(&value, at, sizeof(value));
    return __half2float(value);
  }
  float value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void store(std::byte* at, bool half, float value) {
  if (half) {
    const __half narrow = __float2half(value);
    std::memcpy(at, &narrow, sizeof(narrow));
  } else {
    std::memcpy(at, &value, sizeof(value));
  }
}

}  // namespace

Add2Case::Add2Case(const Parameters& parameters)
    : count_(parameters.integer("n", 1024)), offset_(parameters.integer("offset", 0)) {
  const std::string dtype = parameters.has("dtype") ? parameters.word("dtype") : "float";
  if (dtype != "float" && dtype != "half") throw BadInput("dtype=" + dtype + ": accepted are float, half");
  half_ = dtype == "half";
  if (count_ < 0 || count_ > kMostElements) {
    throw BadInput(fmt::format("n={}: accepted is 0 to {}", count_, kMostElements));
  }
  if (offset_ < 0 || offset_ > kMostOffset) {
    throw BadInput(fmt::format("offset={}: accepted is 0 to {}", offset_, kMostOffset));
  }
  parameters.refuse_unknown();
}

std::string Add2Case::title() const {
  return fmt::format("add2  n={}  {}{}", count_, half_ ? "half" : "float",
                     offset_ == 0 ? "" : fmt::format("  offset {}", offset_));
}

std::string Add2Case::parameters() const {
  return fmt::format("n={} dtype={}{}", count_, half_ ? "half" : "float",
                     offset_ == 0 ? "" : fmt::format(" offset={}", offset_));
}

BufferLayout Add2Case::layout_of(const char* name) const {
  return {name, count_, element_bytes(), offset_ * element_bytes()};
}

std::vector<BufferLayout> Add2Case::inputs() const { return {layout_of("a"), layout_of("b")}; }

BufferLayout Add2Case::output() const { return layout_of("c"); }

std::int64_t Add2Case::bytes_moved() const { return 3 * count_ * element_bytes(); }

void Add2Case::fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + array + 1;
  for (std::int64_t i = 0; i < count_; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto quarters = static_cast<int>((state >> 33U) % 513) - 256;
    store(bytes.data() + i * element_bytes(), half_, static_cast<float>(quarters) * 0.25F);
  }
}

void Add2Case::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  for (std::int64_t i = 0; i < count_; ++i) {
    const std::int64_t at = i * element_bytes();
    store(expected.data() + at, half_, load(inputs[0].data() + at, half_) + load(inputs[1].data() + at, half_));
  }
}

std::string Add2Case::coordinate(std::int64_t element) const { return fmt::format("[{}]", element); }

}  // namespace warpbook::chapter7
