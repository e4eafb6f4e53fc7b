#include "common/emulator/l2.hpp"

#include <algorithm>
#include <bit>

namespace warpbook::emulator {

void L1Cache::begin_block(std::size_t bytes) {
  if (sets_.empty()) sets_.resize(kLargest / kWays);
  const std::size_t lines = std::clamp<std::size_t>(bytes / 128, 64, kLargest);
  set_mask_ = std::bit_floor(lines / kWays) - 1;
  if ((++generation_ & 0xfffffU) == 0) {
    for (auto& set : sets_) set.fill(0);
    generation_ = 1;
  }
}

std::uint32_t L1Cache::load(LineSectors access) {
  const std::uint64_t key = access.line << 24 | (generation_ & 0xfffffU) << 4;
  auto& set = sets_[(access.line ^ access.line >> 9 ^ access.line >> 18) & set_mask_];
  for (unsigned way = 0; way < kWays; ++way) {
    if ((set[way] & ~std::uint64_t{15}) != key) continue;
    const auto present = static_cast<std::uint32_t>(set[way] & 15U);
    const std::uint64_t entry = set[way] | access.sectors;
    for (unsigned i = way; i > 0; --i) set[i] = set[i - 1];
    set[0] = entry;
    return access.sectors & ~present;
  }
  for (unsigned i = kWays - 1; i > 0; --i) set[i] = set[i - 1];
  set[0] = key | access.sectors;
  return access.sectors;
}

L2Cache::L2Cache(std::size_t bytes) : sets_(std::max<std::size_t>(1, bytes / 128 / kWays)) {}

void L2Cache::begin_launch() {
  dirty_ = 0;
  if ((++generation_ & 0xffffU) == 0) {
    for (Set& set : sets_) set.fill(0);
    generation_ = 1;
  }
}

L2Cache::Traffic L2Cache::access(LineAccess access) {
  constexpr std::uint64_t kLineMask = (std::uint64_t{1} << 40) - 1;
  const std::uint64_t key = (generation_ & 0xffffU) << 48 | (access.line & kLineMask) << 8;
  Set& set = sets_[set_of(access.line)];
  Traffic traffic{0, 0};

  unsigned way = 0;
  while (way < kWays && (set[way] & ~std::uint64_t{0xff}) != key) ++way;
  std::uint64_t entry = key;
  if (way < kWays) {
    entry = set[way];
  } else {
    way = kWays - 1;
    if (set[way] >> 48 == (generation_ & 0xffffU)) {  // the least recently used line of this launch leaves
      traffic.written_sectors = static_cast<std::uint32_t>(std::popcount(set[way] >> 4 & 15U));
      dirty_ -= traffic.written_sectors;
    }
  }

  const auto wanted = static_cast<std::uint64_t>(access.sectors);
  const std::uint64_t valid = entry & 15U;
  if (static_cast<Operation>(access.operation) == Operation::store) {
    dirty_ += static_cast<std::uint64_t>(std::popcount(wanted & ~(entry >> 4)));
    entry |= wanted | wanted << 4;
  } else {
    std::uint64_t missing = wanted & ~valid;
    missing |= (missing & 5U) << 1 | (missing & 10U) >> 1;  // both halves of a 64-byte block
    missing &= ~valid;
    traffic.read_sectors = static_cast<std::uint32_t>(std::popcount(missing));
    entry |= missing;
    if (static_cast<Operation>(access.operation) != Operation::load) {
      dirty_ += static_cast<std::uint64_t>(std::popcount(wanted & ~(entry >> 4)));
      entry |= wanted << 4;
    }
  }
  for (unsigned i = way; i > 0; --i) set[i] = set[i - 1];
  set[0] = entry;
  return traffic;
}

}  // namespace warpbook::emulator
