// The GNU C library keeps the length of each piece before it, and pieces of the heap lie one behind the other, from its
// begin on. Nothing says of an address whether a piece begins there: so all of them are walked through.

#include "common/emulator/runtime/host_heap.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace warpbook::emulator {
namespace {

constexpr std::size_t kUnknown = ~std::size_t{0};
constexpr std::size_t kHeader = 16;  // bytes: before a piece is its predecessor's last word, and its own length
constexpr std::size_t kFlags = 7;    // of the length's bits
constexpr std::size_t kMapped = 2;   // one of them: a piece with pages of its own
constexpr std::size_t kLeastMapped = 1 << 16;  // bytes
constexpr std::size_t kPage = 4096;
constexpr unsigned kMostPieces = 1 << 17;

std::size_t word_at(std::uintptr_t address) {
  std::size_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);  // NOLINT(performance-no-int-to-ptr)
  return word;
}

std::uintptr_t begin_of_heap() {
  std::uintptr_t begin = 0;
  if (std::FILE* maps = std::fopen("/proc/self/maps", "r"); maps != nullptr) {
    char line[512];
    unsigned long first = 0;
    while (begin == 0 && std::fgets(line, sizeof line, maps) != nullptr)
      if (std::strstr(line, "[heap]") != nullptr && std::sscanf(line, "%lx-", &first) == 1) begin = first;
    std::fclose(maps);
  }
  return begin;
}

}  // namespace

std::size_t host_heap_rest(const void* address) {
  static const std::uintptr_t heap = begin_of_heap();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at % kPage == kHeader) {
    const std::size_t length = word_at(at - sizeof(std::size_t));
    if (word_at(at - kHeader) == 0 && (length & kFlags) == kMapped && (length - kMapped) % kPage == 0 &&
        length >= kLeastMapped)
      return length - kMapped - kHeader;
  }
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  if (heap == 0 || at < heap || at >= end) return kUnknown;
  std::uintptr_t piece = heap;
  for (unsigned i = 0; i < kMostPieces && piece + kHeader <= at; ++i) {
    const std::size_t length = word_at(piece + sizeof(std::size_t)) & ~kFlags;
    if (length < 2 * kHeader || length % kHeader != 0 || length > end - piece) return kUnknown;
    // The last word of a piece is its successor's first.
    if (at < piece + length + sizeof(std::size_t)) return piece + length + sizeof(std::size_t) - at;
    piece += length;
  }
  return kUnknown;
}

}  // namespace warpbook::emulator
