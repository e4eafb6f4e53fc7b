// Loads that are looked at a loop at a time.

#include <algorithm>

#include "common/emulator/observation/checks.hpp"
#include "common/emulator/observation/trace.hpp"

namespace warpbook::emulator {
namespace {

/// Beyond so many of a site, each request is put together at once.
constexpr std::uint32_t kMostWalks = 4 * kWarpSize;

std::uintptr_t at_turn(const LoadWalk& walk, std::uint64_t turn) {
  return walk.begin + static_cast<std::uintptr_t>(walk.step) * turn;
}

}  // namespace

bool BlockWatch::counted_loads(std::span<const CountedLoad> loads, const LoadWalk* walks, std::uint64_t turns) {
  const BlockContext& block = *block_;
  constexpr std::uint64_t kMostTurns = 16384;  // kept in full; see trace.cpp
  if (turns > kMostTurns || (racing_ && !alone_)) return false;
  std::array<Site*, kMostCountedLoads> sites{};
  std::uint8_t extras = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    sites[i] = known_site(loads[i], walks[i], turns);
    if (sites[i] == nullptr) return false;
    extras |= sites[i]->extras;
  }
  if (extras == 0) return true;
  WarpLog& warp = warps_[block.thread / kWarpSize];
  const unsigned lane = block.thread % kWarpSize;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const Site& site = *sites[i];
    if ((site.extras & kLog) != 0 && warp.logs[site.log].count[lane] + turns > kMostTurns) return false;
    if ((site.extras & kRace) != 0 && race_site(*sites[i]) == 0) return false;
    if ((site.extras & kInit) == 0) continue;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
      const void* const at =
          reinterpret_cast<const void*>(at_turn(walks[i], turn));  // NOLINT(performance-no-int-to-ptr)
      if (!checks_->written->is_written(at, site.bytes)) return false;
    }
  }
  // Nothing is to be said of any of them.
  settle_stores(block);
  const auto count = static_cast<std::uint32_t>(turns);
  for (std::size_t i = 0; i < loads.size(); ++i)
    if ((sites[i]->extras & kLog) != 0) log_walk(warp, sites[i]->log, walks[i], count, lane);
  if ((extras & kRace) != 0) check_walks(block, std::span(sites).first(loads.size()), walks, count);
  return true;
}

/// The load's site, where it is known and all turns stay in the memory that it touched last, and are aligned.
Site* BlockWatch::known_site(const CountedLoad& load, const LoadWalk& walk, std::uint64_t turns) {
  const void* const pc = __atomic_load_n(&load.pc, __ATOMIC_RELAXED);
  if (pc == nullptr) return nullptr;
  Site* site = &sites_[hash(pc)];
  if (site->pc != pc) return nullptr;
  std::int64_t way = 0;
  if (__builtin_mul_overflow(walk.step, static_cast<std::int64_t>(turns - 1), &way)) return nullptr;
  const auto last = walk.begin + static_cast<std::uintptr_t>(way);
  const bool inside = walk.begin - site->begin <= site->limit && last - site->begin <= site->limit;
  const bool aligned = ((walk.begin | static_cast<std::uintptr_t>(walk.step)) & (load.alignment - 1U)) == 0;
  return inside && aligned ? site : nullptr;
}

/// Looks for races of a thread's loads, which are about to be done.
void BlockWatch::check_walks(const BlockContext& block, std::span<Site* const> sites, const LoadWalk* walks,
                             std::uint32_t turns) {
  std::array<WalkedLoad, kMostCountedLoads> loads;
  std::size_t count = 0;
  for (std::size_t i = 0; i < sites.size(); ++i)
    if ((sites[i]->extras & kRace) != 0)
      loads[count++] = {walks[i], static_cast<std::uint16_t>(sites[i]->number - 1), sites[i]->bytes, sites[i]->use};
  const std::span all = std::span(loads).first(count);
  const GlobalActor self = actor(block, false);
  if (checks_->races->put_off(self, all, turns)) return;
  for (const WalkedLoad& load : all)
    if (load.use != nullptr) checks_->races->touch(*load.use, Operation::load);
  for (std::uint32_t turn = 0; turn < turns; ++turn)
    for (const WalkedLoad& load : all)
      if (const auto race = checks_->races->add(self, at_turn(load.walk, turn), load.bytes, Operation::load, false,
                                                load.site, pending_race_)) [[unlikely]]
        report(block, *race);
}

// ---- Requests

/// Takes note of a lane's loads at a site.
void BlockWatch::log_walk(WarpLog& warp, std::uint32_t log, const LoadWalk& walk, std::uint32_t turns, unsigned lane) {
  SiteLog& entry = warp.logs[log];
  if (entry.used == 0 && entry.walks == 0) {
    if (warp.touched.empty()) ++pending_;
    warp.touched.push_back(log);
  }
  const auto place = static_cast<std::uint32_t>(walks_.size());
  walks_.push_back({walk, entry.count[lane], turns, lane, 0});
  if (entry.walks++ == 0)
    entry.first_walk = place;
  else
    walks_[entry.last_walk].next = place;
  entry.last_walk = place;
  entry.count[lane] += turns;
}

/// Makes requests of a site's walks.
void BlockWatch::place_walks(SiteLog& entry) {
  std::uint32_t end = entry.used;
  for (std::uint32_t i = 0, place = entry.first_walk; i < entry.walks; ++i, place = walks_[place].next)
    end = std::max(end, walks_[place].first + walks_[place].turns);
  if (end > entry.capacity) {
    Request* requests = pool_.allocate(end);
    std::copy_n(entry.requests, entry.used, requests);
    entry.requests = requests;
    entry.capacity = end;
  }
  for (; entry.used < end; ++entry.used) entry.requests[entry.used].mask = 0;
  for (std::uint32_t i = 0, place = entry.first_walk; i < entry.walks; ++i, place = walks_[place].next) {
    const LaneWalk& walk = walks_[place];
    for (std::uint32_t turn = 0; turn < walk.turns; ++turn) {
      Request& request = entry.requests[walk.first + turn];
      request.address[walk.lane] = at_turn(walk.walk, turn);
      request.mask |= 1U << walk.lane;
    }
  }
  entry.walks = 0;
}

/// The warp is about to be counted. Walks of global memory alone may stay what they are: `walked_request` makes
/// requests of them, a few at a time.
void BlockWatch::settle_walks(WarpLog& warp, bool all) {
  for (const std::uint32_t log : warp.touched) {
    SiteLog& entry = warp.logs[log];
    if (entry.walks == 0) continue;
    if (all || kinds_[log].space != Space::global || entry.used != 0 || entry.walks > kMostWalks) {
      place_walks(entry);
      continue;
    }
    for (std::uint32_t i = 0, place = entry.first_walk; i < entry.walks; ++i, place = walks_[place].next)
      entry.used = std::max(entry.used, walks_[place].first + walks_[place].turns);
  }
  walked_begin_ = ~0U;
}

const Request& BlockWatch::walked_request(const SiteLog& entry, std::uint32_t place) {
  if (place == 0 || place - walked_begin_ >= kWalkedAtATime) {
    walked_begin_ = place / kWalkedAtATime * kWalkedAtATime;
    for (Request& request : walked_) request.mask = 0;
    for (std::uint32_t i = 0, at = entry.first_walk; i < entry.walks; ++i, at = walks_[at].next) {
      const LaneWalk& walk = walks_[at];
      const std::uint32_t begin = std::max(walk.first, walked_begin_);
      const std::uint32_t end = std::min(walk.first + walk.turns, walked_begin_ + kWalkedAtATime);
      std::uintptr_t address = at_turn(walk.walk, begin - walk.first);
      for (std::uint32_t turn = begin; turn < end; ++turn) {
        Request& request = walked_[turn - walked_begin_];
        request.address[walk.lane] = address;
        request.mask |= 1U << walk.lane;
        address += static_cast<std::uintptr_t>(walk.walk.step);
      }
    }
  }
  return walked_[place - walked_begin_];
}

}  // namespace warpbook::emulator
