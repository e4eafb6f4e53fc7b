#include "common/harness/fenced_array.hpp"

#include <algorithm>
#include <vector>

namespace warpbook {
namespace {

constexpr std::size_t kBoundary = 256;

std::size_t bytes_before(const BufferLayout& layout, FenceWidth fence) {
  return (fence.before + kBoundary - 1) / kBoundary * kBoundary + static_cast<std::size_t>(layout.offset_bytes);
}

/// The fence's content: no constant, so that no kernel writes it by chance.
std::byte pattern(std::size_t index) {
  const std::uint32_t hash = (static_cast<std::uint32_t>(index) + 1U) * 2654435761U;
  return static_cast<std::byte>((hash >> 24U) | 0x80U);
}

}  // namespace

std::string FenceDamage::describe(const std::string& array) const {
  const auto side = [&](std::int64_t count, std::int64_t nearest, const char* where, const char* from) {
    return std::to_string(count) + (count == 1 ? " byte " : " bytes ") + where + " " + array +
           (count == 1 ? " was" : " were") + " overwritten, the nearest " + std::to_string(nearest) +
           (nearest == 1 ? " byte " : " bytes ") + from;
  };
  std::string text;
  if (before_bytes > 0) text = side(before_bytes, nearest_before, "in front of", "before its start");
  if (after_bytes > 0) {
    text += text.empty() ? "" : "; ";
    text += side(after_bytes, nearest_after, "behind", "past its end");
  }
  return text;
}

FencedArray::FencedArray(const BufferLayout& layout, FenceWidth fence)
    : before_(bytes_before(layout, fence)), bytes_(static_cast<std::size_t>(layout.bytes())), after_(fence.after),
      buffer_(footprint(layout, fence)) {}

std::size_t FencedArray::footprint(const BufferLayout& layout, FenceWidth fence) {
  // One byte at least, so that an empty array has an address.
  return std::max<std::size_t>(1, bytes_before(layout, fence) + static_cast<std::size_t>(layout.bytes()) + fence.after);
}

void FencedArray::fill_fences(Transfer& transfer) const {
  const auto fill = [](std::span<std::byte> chunk, std::size_t offset) {
    for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] = pattern(offset + i);
  };
  transfer.upload(buffer_.data(), before_, fill);
  transfer.upload(data() + bytes_, after_, fill);
}

FenceDamage FencedArray::inspect_fences(Transfer& transfer) const {
  FenceDamage damage;
  transfer.download(buffer_.data(), before_, [&](std::span<const std::byte> chunk, std::size_t offset) {
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      if (chunk[i] == pattern(offset + i)) continue;
      ++damage.before_bytes;
      damage.nearest_before = static_cast<std::int64_t>(before_ - (offset + i));
    }
    return true;
  });
  transfer.download(data() + bytes_, after_, [&](std::span<const std::byte> chunk, std::size_t offset) {
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      if (chunk[i] == pattern(offset + i)) continue;
      if (damage.after_bytes++ == 0) damage.nearest_after = static_cast<std::int64_t>(offset + i + 1);
    }
    return true;
  });
  return damage;
}

}  // namespace warpbook
