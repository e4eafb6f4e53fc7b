#include "common/emulator/observation/l2.hpp"

#include <algorithm>
#include <bit>

namespace warpbook::emulator {

L2Cache::L2Cache(std::size_t bytes) : sets_(std::max<std::size_t>(1, bytes / 128 / kWays)), written_(sets_.size()) {}

void L2Cache::begin_launch() {
  dirty_ = 0;
  partial_ = 0;
  any_partial_ = false;
  if (++generation_ == kGenerations) {
    for (Set& set : sets_) set.fill(0);
    generation_ = 1;
  }
}

L2Cache::Traffic L2Cache::access(LineAccess access, Asker asker) {
  constexpr std::uint64_t kOfAsker = (std::uint64_t{1} << kAskerBits) - 1;
  constexpr std::uint64_t kBlock = kOfAsker << kAskerShift;
  constexpr std::uint64_t kWave = kBlock << kAskerBits;
  const std::uint64_t key = generation_ << kGenerationShift | static_cast<std::uint64_t>(access.line) << kLineShift;
  const std::uint64_t me =
      ((asker.wave & kOfAsker) << kAskerBits | (asker.block & kOfAsker)) << kAskerShift;
  const std::size_t place = set_of(access.line);
  Set& set = sets_[place];
  Written& written = written_[place];
  Traffic traffic{0, 0, 0, 0};

  unsigned way = 0;
  while (way < kWays && (set[way] & kKey) != key) ++way;
  std::uint64_t entry = key | me;
  std::array<std::uint8_t, 4> bytes{};
  if (way < kWays) {
    entry = set[way];
    if (any_partial_) bytes = written[way];
  } else {
    way = kWays - 1;
    if (set[way] >> kGenerationShift == generation_) {  // the least recently used line of this launch leaves
      const std::uint64_t dirty = set[way] >> 4 & 15U;
      traffic.written_sectors = static_cast<std::uint32_t>(std::popcount(dirty));
      traffic.filled_sectors = static_cast<std::uint32_t>(std::popcount(dirty & ~set[way]));
      dirty_ -= traffic.written_sectors;
      partial_ -= traffic.filled_sectors;
    }
  }

  if (static_cast<Operation>(access.operation) == Operation::store) {
    store(access, entry, bytes);
  } else {
    const auto wanted = static_cast<std::uint64_t>(access.sectors);
    const std::uint64_t valid = entry & 15U;
    std::uint64_t missing = wanted & ~valid;
    missing |= (missing & 5U) << 1 | (missing & 10U) >> 1;  // both halves of a 64-byte block
    missing &= ~valid;
    traffic.read_sectors = static_cast<std::uint32_t>(std::popcount(missing));
    if ((entry & kWave) == (me & kWave) && (entry & kBlock) != (me & kBlock))
      traffic.awaited_sectors = static_cast<std::uint32_t>(std::popcount(wanted & valid & ~(entry >> 4)));
    if (missing != 0) entry = (entry & ~(kWave | kBlock)) | me;
    partial_ -= static_cast<std::uint64_t>(std::popcount(missing & entry >> 4));
    entry |= missing;
    if (static_cast<Operation>(access.operation) != Operation::load) {
      dirty_ += static_cast<std::uint64_t>(std::popcount(wanted & ~(entry >> 4)));
      entry |= wanted << 4;
    }
  }
  for (unsigned i = way; i > 0; --i) set[i] = set[i - 1];
  set[0] = entry;
  if (any_partial_) {  // Before the first, nobody asks.
    for (unsigned i = way; i > 0; --i) written[i] = written[i - 1];
    written[0] = bytes;
  }
  return traffic;
}

void L2Cache::store(LineAccess access, std::uint64_t& entry, std::array<std::uint8_t, 4>& written) {
  constexpr unsigned kSectorBytes = 32;
  for (unsigned sector = 0; sector < 4; ++sector) {
    const std::uint64_t valid = std::uint64_t{1} << sector;
    const std::uint64_t dirty = valid << 4;
    if ((access.sectors >> sector & 1U) == 0) continue;
    const bool was_dirty = (entry & dirty) != 0;
    dirty_ += was_dirty ? 0 : 1;
    entry |= dirty;
    if ((entry & valid) != 0) continue;
    // Two parts are taken for different ones.
    const unsigned sum = (was_dirty ? written[sector] : 0U) + access.bytes_in(sector);
    partial_ -= was_dirty ? 1 : 0;
    if (sum >= kSectorBytes) {
      entry |= valid;
    } else {
      any_partial_ = true;
      written[sector] = static_cast<std::uint8_t>(sum);
      ++partial_;
    }
  }
}

}  // namespace warpbook::emulator
