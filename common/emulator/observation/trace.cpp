#include "common/emulator/observation/trace.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/base/tally.hpp"
#include "common/emulator/execution/symbols.hpp"
#include "common/emulator/observation/checks.hpp"
#include "common/emulator/observation/confinement.hpp"

namespace warpbook::emulator {
namespace {

// Of a long loop, the first accesses are kept in full; then one in 64, then one in 4096, so that memory stays bounded.
constexpr std::uint32_t kDense = 16384;
constexpr std::uint32_t kThin = 64;
constexpr std::uint32_t kNoPlace = ~0U;

/// Where the n-th access of a lane at a site is kept.
std::uint32_t place_of(std::uint32_t occurrence) {
  if (occurrence < kDense) return occurrence;
  if (occurrence < kDense * kThin) return occurrence % kThin == 0 ? kDense + occurrence / kThin : kNoPlace;
  if (occurrence % (kThin * kThin) != 0) return kNoPlace;
  return 2 * kDense + occurrence / (kThin * kThin);
}

/// Where the next one is kept of those from the n-th on.
std::uint32_t next_place(std::uint32_t occurrence) {
  if (occurrence < kDense) return occurrence;
  if (occurrence < kDense * kThin) return kDense + (occurrence + kThin - 1) / kThin;
  return 2 * kDense + (occurrence + kThin * kThin - 1) / (kThin * kThin);
}

/// How many accesses the one kept at this place stands for.
std::uint64_t weight_of(std::uint32_t place) { return place < kDense ? 1 : place < 2 * kDense ? kThin : kThin * kThin; }

constexpr std::uint8_t kMostEpochs = 255;

/// True where all lanes have the same address.
bool is_one_address(const Request& request) {
  const std::uint64_t first = request.address[std::countr_zero(request.mask)];
  for (std::uint32_t left = request.mask; left != 0; left &= left - 1)
    if (request.address[std::countr_zero(left)] != first) return false;
  return true;
}

/// What lies at an address, in 1, 2, 4, 8 or 16 bytes, in short.
std::uint32_t value_at(const std::byte* address, unsigned bytes) {
  const auto load = [&]<class T>(T value) {
    std::memcpy(&value, address, sizeof value);
    return value;
  };
  const auto mix = [](std::uint64_t value) {
    return static_cast<std::uint32_t>((value ^ value >> 29) * 0x9e3779b97f4a7c15 >> 32);
  };
  switch (bytes) {
  case 1:
    return load(std::uint8_t{});
  case 2:
    return load(std::uint16_t{});
  case 4:
    return load(std::uint32_t{});
  case 8:
    return mix(load(std::uint64_t{}));
  default: {
    const auto value = load(std::array<std::uint64_t, 2>{});
    return mix(value[0] * 3 ^ value[1]);
  }
  }
}

}  // namespace

Request* RequestPool::allocate(std::size_t count) {
  while (chunk_ < chunks_.size()) {
    if (chunks_[chunk_].size - used_ >= count) {
      Request* result = chunks_[chunk_].requests.get() + used_;
      used_ += count;
      return result;
    }
    ++chunk_;
    used_ = 0;
  }
  const std::size_t size = std::max(count, kChunk);
  chunks_.push_back({std::make_unique_for_overwrite<Request[]>(size), size});
  used_ = count;
  return chunks_.back().requests.get();
}

void RequestPool::reset() {
  chunk_ = 0;
  used_ = 0;
}

BlockWatch::BlockWatch() { lines_.count = 0; }

void BlockWatch::begin_launch(std::uint64_t launch, GlobalChecks* checks) {
  launch_ = launch;
  checks_ = checks;
  for (const unsigned place : used_sites_) sites_[place] = Site{};
  used_sites_.clear();
  kinds_.clear();
  reported_.clear();
  reported_global_.clear();
  unset_reads_.clear();
  last_unset_read_ = {};
  retried_.clear();
  static_shared_ = shared_range();
  for (WarpLog& warp : warps_) warp.logs.clear();
  counts.fill(0);
  tally.fill(0);
  approximate = false;
  atomic_lines.clear();
  traffic->clear();
  retries.begin();
  retry_sums = {};
  slowest = {};
}

void BlockWatch::begin_block(BlockContext& block, std::size_t l1_bytes, bool follow, bool race) {
  block_ = &block;
  store_.bytes = 0;
  range_stores_.clear();
  in_range_ = block_scope_ = false;  // The last block may have ended there.
  pending_race_.bytes = 0;
  alone_ = !race || (checks_->concurrent.empty() && checks_->child == 0);
  asked_.clear();
  ended_locals_.clear();
  if (racing_ != race) set_racing(race);
  if (logging_ != block.traced) set_logging(block.traced);
  following_ = follow;
  std::copy_n(__warpbook_tally, tally_begin_.size(), tally_begin_.begin());
  __warpbook_tally[kAtomicFlags] = 0;
  __warpbook_tally[kStage] = 0;
  retry_tally = {};
  if (!block.traced) return;
  forget_steps();
  unset_stores_.clear();
  held_.clear();
  interval_ = 0;
  block_rounds_ = {};
  block_work_ = {};
  work_before_.clear();
  std::copy_n(__warpbook_tally, tally_seen_.size(), tally_seen_.begin());
  counts[index(Counter::warps)] += (block.threads + kWarpSize - 1) / kWarpSize;
  l1_.begin(l1_bytes);
  const unsigned tail = block.threads % kWarpSize;
  for (unsigned warp = 0; warp * kWarpSize < block.threads; ++warp) {
    warps_[warp].ended = 0;
    warps_[warp].epoch = warps_[warp].ordered_from = 0;
    warps_[warp].epoch_known = true;
    warps_[warp].apart = false;
    warps_[warp].late = 0;
    warps_[warp].early.clear();
    warps_[warp].steps = 0;
    warps_[warp].rounds = {};
    warp_work_[warp] = {};
  }
  shadow_.begin_block(static_cast<std::size_t>(static_shared_.end - static_shared_.begin) +
                      block.launch->dynamic_shared_bytes);
  begin_cluster_block();
  if (tail != 0) warps_[block.threads / kWarpSize].ended = ~0U << tail;  // lanes that do not exist
}

void BlockWatch::end_block(BlockContext& block) {
  for (std::size_t i = 0; i < tally.size(); ++i) tally[i] += __warpbook_tally[i] - tally_begin_[i];
  retry_sums.merge(retry_tally);
  if (!block.traced) return;
  settle_store();
  settle_races(block);
  flush_all(block);
  end_interval(block);
  end_rounds(block);
  end_work(block);
  counts[index(Counter::global_rounds)] += block_rounds_.global;
  counts[index(Counter::l1_rounds)] += block_rounds_.l1;
  counts[index(Counter::shared_rounds)] += block_rounds_.shared;
  end_retries(block);
  counts[index(Counter::shared_retries)] += block_rounds_.retries;
  counts[index(Counter::shared_exchanges)] += block_rounds_.exchanges;
  counts[index(Counter::shared_exchange_queue)] += block_rounds_.exchange_queue;
  slowest.join(block_rounds_);
  for (std::size_t i = 0; i < kWorks; ++i) counts[index(Counter::block_work) + i] += block_work_[i];
}

static_assert(kTallies == kWorks);

/// What the running thread ran since it began to run.
inline WorkCounts BlockWatch::work_since() {
  WorkCounts work;
  for (std::size_t i = 0; i < kWorks; ++i) {
    work[i] = __warpbook_tally[i] - tally_seen_[i];
    tally_seen_[i] += work[i];
  }
  return work;
}

void BlockWatch::stop_thread(const BlockContext& block) {
  const WorkCounts more = work_since();
  if (work_before_.empty()) work_before_.resize(block.threads);
  for (std::size_t i = 0; i < kWorks; ++i) work_before_[block.thread][i] += more[i];
}

void BlockWatch::settle_stores(const BlockContext& block) {
  if (!block.traced) return;
  settle_store();
  settle_races(block);
}

void BlockWatch::count_work(const BlockContext& block) {
  WorkCounts work = work_since();
  if (!work_before_.empty()) [[unlikely]] {
    const WorkCounts before = std::exchange(work_before_[block.thread], {});
    for (std::size_t i = 0; i < kWorks; ++i) work[i] += before[i];
  }
  WorkCounts& most = warp_work_[block.thread / kWarpSize];
  for (std::size_t i = 0; i < kWorks; ++i) most[i] = std::max(most[i], work[i]);
}

void BlockWatch::end_thread(BlockContext& block) {
  if (!block.traced) return;
  count_work(block);
  settle_store();
  settle_races(block);
  const unsigned warp = block.thread / kWarpSize;
  warps_[warp].ended |= 1U << block.thread % kWarpSize;
  if (warps_[warp].ended == ~0U) flush(block, warp);
}

void BlockWatch::sync(BlockContext& block, SyncScope scope, unsigned warp, std::uint32_t mask) {
  if (!block.traced) return;
  settle_store();
  settle_races(block);
  if (scope == SyncScope::block) {
    ++interval_;
    ++counts[index(Counter::barriers)];
    flush_all(block);
    end_interval(block);
    end_rounds(block);
    end_work(block);
    for (unsigned i = 0; i * kWarpSize < block.threads; ++i) {
      warps_[i].epoch = warps_[i].ordered_from = 0;
      warps_[i].epoch_known = true;
      warps_[i].apart = false;
      warps_[i].late = 0;
      warps_[i].early.clear();
    }
    forget_steps();
    return;
  }
  WarpLog& met = warps_[warp];
  const bool together = (mask | met.ended) == ~0U;
  if ((met.late & mask) != 0) note_early(warp, mask);  // One of them knows more: they all may, now.
  if (together) flush(block, warp);
  if (met.apart || (!together && met.epoch_known)) {
    meet_apart(block, warp, mask, scope == SyncScope::warp);
    if (met.apart || !together) return;
  }
  met.epoch_known = together && met.epoch < kMostEpochs;
  if (met.epoch < kMostEpochs) ++met.epoch;
  if (scope == SyncScope::warp) met.ordered_from = met.epoch;
}

/// Lanes of the warp meet, or did before, while others of it are elsewhere.
void BlockWatch::meet_apart(const BlockContext& block, unsigned warp, std::uint32_t lanes, bool barrier) {
  WarpLog& met = warps_[warp];
  const bool together = (lanes | met.ended) == ~0U;
  if (!met.apart) {
    met.clocks.begin(met.epoch, met.ordered_from);
    met.checked.clear();
  }
  met.apart = true;
  const auto walks = [&](std::uint32_t log) { return kinds_[log].space == Space::shared && met.logs[log].walks != 0; };
  const bool known = together || std::none_of(met.touched.begin(), met.touched.end(), walks);
  if (known && !together) check_shared(block, warp, lanes);
  met.epoch_known = met.clocks.meet(lanes, barrier) && known;
  met.apart = met.epoch_known && !(together && barrier);
  if (!met.apart) met.epoch = met.clocks.latest();
}

void BlockWatch::range(const void* address, std::size_t bytes, Operation operation, const void* pc) {
  const auto* at = static_cast<const std::byte*>(address);
  const auto* end = at + bytes;
  settle_store();
  in_range_ = true;  // Nothing is stored before all of it is.
  // Each width is a site of its own, told apart by addresses inside of the call instruction.
  for (const auto* site = static_cast<const std::byte*>(pc); at < end;) {
    std::uint8_t width = 16;
    while (reinterpret_cast<std::uintptr_t>(at) % width != 0 || width > end - at) width /= 2;
    const int inside = std::countr_zero(width) * 2 + (operation == Operation::load ? 1 : 0);
    access(at, {width, 1, operation}, site - inside);
    at += width;
  }
  in_range_ = false;
}

/// Whether blocks are traced changes seldom: sites remember it, so that an access asks nobody else.
void BlockWatch::set_logging(bool on) {
  logging_ = on;
  for (const unsigned place : used_sites_) {
    Site& site = sites_[place];
    if (site.space < Space::local)
      site.extras = static_cast<std::uint8_t>(on ? site.extras | log_extras(site) : site.extras & ~(kLog | kStore));
  }
}

std::uint8_t BlockWatch::log_extras(const Site& site) {
  const bool stores = site.space == Space::shared && site.operation == Operation::store && !site.copied;
  return stores ? kLog | kStore : kLog;
}

/// The same of the search for races.
void BlockWatch::set_racing(bool on) {
  racing_ = on;
  for (const unsigned place : used_sites_) {
    Site& site = sites_[place];
    site.extras = static_cast<std::uint8_t>(site.extras & ~kRace);
    if (on) site.begin = ~std::uintptr_t{0};  // It is looked up anew.
  }
}

/// An access in a traced block, or one of which more is checked than its place.
void BlockWatch::follow_access(Site& site, std::uintptr_t address) {
  BlockContext& block = *block_;
  settle_store();
  if ((site.extras & kLog) != 0) {
    WarpLog& warp = warps_[block.thread / kWarpSize];
    const unsigned lane = block.thread % kWarpSize;
    SiteLog& entry = warp.logs[site.log];
    const std::uint32_t occurrence = entry.count[lane]++;
    if (occurrence >= entry.direct) [[unlikely]]
      return access_first(block, site, address, occurrence);
    Request& request = entry.requests[occurrence];
    request.address[lane] = address;
    request.mask |= 1U << lane;
    if ((site.extras & kStore) != 0) note_store(site, address, occurrence);
  }
  if ((site.extras & kChecks) != 0) [[unlikely]]
    check_global(block, site, address, false);
}

/// Any access, however rare what has to be done for it.
void BlockWatch::access_anew(BlockContext& block, const void* address, AccessShape shape, const void* pc) {
  Site* site = &sites_[hash(pc)];
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (site->pc != pc || at - site->begin > site->limit || (at & (shape.alignment - 1U)) != 0)
    site = look_up(block, site, address, shape, pc);
  // This function takes its caller's place: its frame begins where that of the kernel's function ends.
  if (site->space == Space::local) check_local(address, shape.bytes, shape.operation, pc, __builtin_frame_address(0));
  if (shape.is_volatile && block.traced) synchronise(block, shape.operation != Operation::load, false);
  settle_store();
  // What is volatile may be the flag itself.
  if (shape.is_volatile && block.traced) note_early(block.thread / kWarpSize, 1U << block.thread % kWarpSize);
  if (site->space < Space::local && block.traced) log(*site, at, block.thread);
  if ((site->extras & kChecks) != 0) check_global(block, *site, at, shape.is_volatile);
  // Loops wait by what is volatile.
  if (shape.is_volatile && shape.operation == Operation::load && site->space != Space::local)
    poll(address, shape.bytes, pc);
}

void BlockWatch::begin_local(const void* variable) {
  std::erase_if(ended_locals_, [&](const EndedLocal& local) { return local.begin == variable; });
}

void BlockWatch::end_local(const void* variable, std::size_t bytes, const void* pc) {
  begin_local(variable);
  ended_locals_.push_back({static_cast<const std::byte*>(variable), bytes, pc});
}

void BlockWatch::check_local(const void* address, std::size_t bytes, Operation operation, const void* pc,
                             const void* frame) {
  const auto* at = static_cast<const std::byte*>(address);
  if (at < frame && own_stack(frame).contains(at)) ended_local(*block_, bytes, operation, pc, nullptr);
  for (const EndedLocal& local : ended_locals_)
    if (at >= local.begin && at < local.begin + local.bytes) ended_local(*block_, bytes, operation, pc, local.pc);
}

/// An access that its warp's log has no place for yet.
void BlockWatch::access_first(BlockContext& block, Site& site, std::uintptr_t address, std::uint32_t occurrence) {
  log_new(warps_[block.thread / kWarpSize], site.log, address, block.thread % kWarpSize, occurrence);
  if ((site.extras & kStore) != 0) note_store(site, address, occurrence);
  if ((site.extras & kChecks) != 0) check_global(block, site, address, false);
}

void BlockWatch::log(const Site& site, std::uintptr_t address, unsigned thread) {
  WarpLog& warp = warps_[thread / kWarpSize];
  const unsigned lane = thread % kWarpSize;
  SiteLog& entry = warp.logs[site.log];
  const std::uint32_t occurrence = entry.count[lane]++;
  if (occurrence >= entry.direct) {
    log_new(warp, site.log, address, lane, occurrence);
  } else {
    Request& request = entry.requests[occurrence];
    request.address[lane] = address;
    request.mask |= 1U << lane;
  }
  if ((site.extras & kStore) != 0) note_store(site, address, occurrence);
}

void BlockWatch::note_store(const Site& site, std::uintptr_t address, std::uint32_t occurrence) {
  const std::uint32_t place = place_of(occurrence);
  if (place == kNoPlace) return;
  const unsigned thread = block_->thread;
  const auto* at = reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  if (in_range_) {
    range_stores_.push_back({at, site.bytes, thread, site.log, place});
    store_.bytes = kRange;
    return;
  }
  Request& request = warps_[thread / kWarpSize].logs[site.log].requests[place];
  store_ = {at, site.bytes, &request.value[thread % kWarpSize]};
}

/// The store before this was done.
inline void BlockWatch::settle_store() {
  if (store_.bytes == 0) return;
  if (store_.bytes == kRange) [[unlikely]]
    return settle_range();
  *store_.value = value_at(store_.address, store_.bytes);
  store_.bytes = 0;
}

void BlockWatch::settle_range() {
  if (in_range_) return;
  for (const RangeStore& store : range_stores_)
    warps_[store.thread / kWarpSize].logs[store.log].requests[store.place].value[store.thread % kWarpSize] =
        value_at(store.address, store.bytes);
  range_stores_.clear();
  store_.bytes = 0;
}

std::uint32_t BlockWatch::new_log(const BlockContext& block, const void* pc, Space space, AccessShape shape) {
  const Stage stage = Stage::of(__warpbook_tally[kStage]);
  kinds_.push_back(
      {pc, space, shape.operation, shape.bytes, shape.retries, shape.atomic, shape.copying, shape.copied, stage});
  if (kinds_.size() > warps_[0].logs.size())
    for (unsigned warp = 0; warp * kWarpSize < block.threads; ++warp) warps_[warp].logs.resize(kinds_.size() + 7);
  return static_cast<std::uint32_t>(kinds_.size());
}

namespace {

void check_alignment(const BlockContext& block, const Site& site, const void* address, AccessShape shape,
                     const void* pc) {
  if ((reinterpret_cast<std::uintptr_t>(address) & (shape.alignment - 1U)) == 0 ||
      !is_placed_by_program(site.space, address))
    return;
  bad_access(block, find_home(block, address, shape.bytes), address, shape.bytes, shape.operation, pc,
             BadAccess::misaligned);
}

}  // namespace

/// Races are looked for where the site is; or it is noted that they are not.
void BlockWatch::search_races(Site& site, const void* address) {
  const bool covered = checks_->races->covers(address);
  if (covered && (!checks_->race_all || RaceShadow::follows(site.limit))) {
    site.extras |= kRace;
    site.use = checks_->races->use(reinterpret_cast<const std::byte*>(site.begin));
  } else if (site.operation != Operation::load) {
    (covered ? checks_->missed_large : checks_->missed_elsewhere) = true;
  }
}

Site* BlockWatch::look_up(BlockContext& block, Site* site, const void* address, AccessShape shape, const void* pc) {
  const std::uint8_t bytes = shape.bytes;
  const Operation operation = shape.operation;
  for (unsigned probes = 0; site->pc != pc; ++probes) {
    if (site->pc == nullptr || probes == 8) {
      if (site->pc == nullptr) used_sites_.push_back(static_cast<unsigned>(site - sites_.data()));
      *site = Site{};
      site->pc = pc;
      break;
    }
    if (++site == sites_.data() + kSites) site = sites_.data();
  }
  site->bytes = bytes;
  site->operation = operation;
  site->block_scope = shape.block_scope;
  site->overwrites = (shape.atomic & kOverwrites) != 0;
  site->only_adds = (shape.atomic & kOnlyAdds) != 0;
  site->width = atomic_width(operation, bytes, shape.atomic);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (site->space == Space::local && own_stack(address).contains(address)) return site;
  if (at - site->begin > site->limit) {
    Home home = find_home(block, address, bytes);
    confine_access(home, address, bytes, operation);
    if (home.bad) bad_access(block, home, address, bytes, operation, pc, BadAccess::out_of_bounds);
    site->begin = reinterpret_cast<std::uintptr_t>(home.range.begin);
    site->limit = static_cast<std::uintptr_t>(home.range.end - home.range.begin) - bytes;
    site->space = home.space;
    site->extras = 0;
    site->use = nullptr;
    if (racing_ && home.space == Space::elsewhere) search_races(*site, address);
    // Each thread has a stack of its own, and each block of a cluster may end.
    if (home.space == Space::local || home.space == Space::cluster) site->begin = site->limit = 0;
    if (home.space >= Space::local) {
      check_alignment(block, *site, address, shape, pc);
      if (home.space == Space::cluster) check_cluster(block, address, shape, pc);
      return site;
    }
    site->copied = shape.copied;
    if (logging_) site->extras |= log_extras(*site);
    if (home.space == Space::global && checks_ != nullptr) {
      const bool init = checks_->init && home.kind == MemoryKind::device;
      if (init && (operation != Operation::load || !checks_->written->is_whole(home.range))) site->extras |= kInit;
      if (racing_) search_races(*site, address);
    }
    std::uint32_t& log = site->logs[home.space == Space::global ? 0 : 1];
    if (log == 0) log = new_log(block, pc, home.space, shape);
    site->log = log - 1;
  }
  check_alignment(block, *site, address, shape, pc);
  return site;
}

void BlockWatch::log_new(WarpLog& warp, std::uint32_t log, std::uintptr_t address, unsigned lane,
                         std::uint32_t occurrence) {
  const std::uint32_t place = place_of(occurrence);
  if (place == kNoPlace) return;
  SiteLog& entry = warp.logs[log];
  if (place >= entry.capacity) {
    const std::uint32_t capacity = std::max(place + 1, entry.capacity == 0 ? 1 : entry.capacity * 2);
    Request* requests = pool_.allocate(capacity);
    std::copy_n(entry.requests, entry.used, requests);
    entry.requests = requests;
    entry.capacity = capacity;
  }
  if (entry.used == 0 && entry.walks == 0) {
    if (warp.touched.empty()) ++pending_;
    warp.touched.push_back(log);
  }
  for (; entry.used <= place; ++entry.used) entry.requests[entry.used].mask = 0;
  entry.direct = std::min(entry.used, kDense);
  entry.requests[place].address[lane] = address;
  entry.requests[place].mask |= 1U << lane;
}

void BlockWatch::flush_all(const BlockContext& block) {
  for (unsigned warp = 0; warp * kWarpSize < block.threads; ++warp) flush(block, warp);
}

void BlockWatch::flush(const BlockContext& block, unsigned index_of_warp) {
  WarpLog& warp = warps_[index_of_warp];
  ++warp.steps;
  if (warp.touched.empty()) return;
  const bool followed = following_ && index_of_warp == 0;
  if (!walks_.empty()) settle_walks(warp, followed);
  if (followed) [[unlikely]]
    follow(warp);
  check_shared(block, index_of_warp, ~0U);
  writes_ = {};
  stages_.clear();
  for (const std::uint32_t log : warp.touched) {
    SiteLog& entry = warp.logs[log];
    const LogKind kind = kinds_[log];
    SiteRounds rounds = count_requests(entry, kind, warp);
    if (entry.used > kDense) approximate = true;
    const bool loop = kind.space == Space::global && kind.bytes == 2;  // of compare and swap: its rounds are counted
    if (kind.operation == Operation::load || (kind.operation == Operation::atomic && !loop)) {
      // All asynchronous copies are under way until somebody waits for them.
      if (kind.copying) rounds.all = rounds.beyond_l1 = std::min<std::uint64_t>(rounds.all, 1);
      // Waits for shared memory do not keep what is asked of global memory from being under way.
      const std::uint32_t number = kind.stage.number;
      StageRounds& stage =
          rounds_of(kind.space == Space::global ? number >> kGlobalWaitLog2 << kGlobalWaitLog2 : number);
      std::uint64_t& most = kind.space == Space::global ? stage.global : stage.shared;
      most = std::max(most, rounds.all);
      stage.beyond_l1 = std::max(stage.beyond_l1, rounds.beyond_l1);
    }
    entry = SiteLog{};
  }
  warp.touched.clear();
  warp.checked.clear();
  warp.early.clear();
  warp.loops.clear();
  for (const StageRounds& stage : stages_)
    warp.rounds.add({stage.beyond_l1, stage.global - stage.beyond_l1, stage.shared});
  if (--pending_ == 0) {
    pool_.reset();
    walks_.clear();
  }
}

void BlockWatch::begin_loop(std::uint32_t number) {
  if (!block_->traced) return;
  auto& loops = warps_[block_->thread / kWarpSize].loops;
  for (auto& [loop, begins] : loops) {
    if (loop != number) continue;
    ++begins;
    return;
  }
  loops.emplace_back(number, 1);
}

/// Turns of its loop in which a site's accesses are under way together, on average. Turns that are left over go by half
/// as many at a time, and so on down to four, and then one by one.
double BlockWatch::turns_together(const SiteLog& entry, const Stage& stage, const WarpLog& warp) {
  if (stage.loop == 0) return stage.together;
  double turns = entry.used;
  for (const auto& [loop, begins] : warp.loops) {
    if (loop != stage.loop) continue;
    std::uint64_t accesses = 0;
    for (const std::uint32_t count : entry.count) accesses += count;
    turns = static_cast<double>(accesses) / begins;
  }
  const auto whole = static_cast<std::uint32_t>(turns);
  std::uint32_t waits = whole / stage.together;
  std::uint32_t left = whole % stage.together;
  for (std::uint32_t fewer = stage.together / 2; fewer >= 4; fewer /= 2) {
    waits += left / fewer;
    left %= fewer;
  }
  return std::max(1.0, turns / std::max(1U, waits + left));
}

/// Counts what a warp asked for at a site since it was last in step. Turns of a loop that become one are under way
/// together, and one of them waits for all.
BlockWatch::SiteRounds BlockWatch::count_requests(const SiteLog& entry, const LogKind& kind, const WarpLog& warp) {
  SiteRounds rounds;
  const double together = turns_together(entry, kind.stage, warp);
  std::uint32_t group = ~0U;  // of turns, that was last counted
  bool waits = false;         // whether it goes beyond the L1
  for (std::uint32_t place = 0; place < entry.used; ++place) {
    const Request& request = entry.walks == 0 ? entry.requests[place] : walked_request(entry, place);
    if (request.mask == 0) continue;
    const std::uint64_t weight = weight_of(place);
    const auto turn = weight == 1 ? static_cast<std::uint32_t>(place / together) : place;
    const auto round = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(weight) / together));
    if (turn != group) {
      rounds.all += round;
      waits = false;
      group = turn;
    }
    time_ = warp.steps + (kind.stage.number >> kGlobalWaitLog2) + turn;
    if (kind.space != Space::global) {
      if (count_merged(entry, kind, place))
        place += kind.stage.merged - 1;
      else if (kind.stage.joined != 0)
        count_shared(request, kind, weight);
    } else if (count_global(request, kind, weight) && !waits) {
      rounds.beyond_l1 += round;
      waits = true;
    }
  }
  return rounds;
}

/// Counts loads of neighbouring words in turns of a loop as the one that they become; false where they are not such.
bool BlockWatch::count_merged(const SiteLog& entry, const LogKind& kind, std::uint32_t place) {
  const std::uint32_t turns = kind.stage.merged;
  if (turns == 1 || place % turns != 0 || place + turns > std::min(entry.used, kDense)) return false;
  const Request& first = entry.requests[place];
  for (std::uint32_t turn = 1; turn < turns; ++turn) {
    const Request& next = entry.requests[place + turn];
    if (next.mask != first.mask) return false;
    for (std::uint32_t left = first.mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (next.address[lane] != first.address[lane] + std::uint64_t{turn} * kind.bytes) return false;
    }
  }
  LogKind wide = kind;
  wide.bytes = static_cast<std::uint8_t>(kind.bytes * turns);
  count_shared(first, wide, 1);
  return true;
}

BlockWatch::StageRounds& BlockWatch::rounds_of(std::uint32_t stage) {
  for (std::size_t i = stages_.size(); i-- > 0;)  // It is mostly the last one.
    if (stages_[i].stage == stage) return stages_[i];
  return stages_.emplace_back(stage, 0, 0, 0);
}

/// Keeps the first request of each instruction that this warp had not come to before.
void BlockWatch::follow(const WarpLog& warp) {
  for (const std::uint32_t log : warp.touched) {
    const LogKind& kind = kinds_[log];
    const auto same = [&](const SeenRequest& s) { return s.pc == kind.pc && s.space == kind.space; };
    if (std::any_of(seen.begin(), seen.end(), same)) continue;
    const SiteLog& entry = warp.logs[log];
    for (std::uint32_t place = 0; place < entry.used; ++place) {
      const Request& request = entry.requests[place];
      if (request.mask == 0) continue;
      const std::uint64_t first = request.address[std::countr_zero(request.mask)];
      const void* const at = reinterpret_cast<const void*>(first);  // NOLINT(performance-no-int-to-ptr)
      const void* const array = find_home(*block_, at, kind.bytes).range.begin;
      seen.push_back({kind.pc, kind.space, kind.operation, kind.bytes, request, array});
      break;
    }
  }
}

/// Remembers the loads whose lane does something atomic to the same address then: a loop of compare and swap begins
/// with a guess, for which any value will do. Who only adds did not guess.
void BlockWatch::find_retries(const WarpLog& warp) {
  const auto is_shared = [&](std::uint32_t log, bool load) {
    const LogKind& kind = kinds_[log];
    return kind.space == Space::shared && kind.operation != Operation::store &&
           (kind.operation == Operation::load) == load;
  };
  const auto meet = [](const SiteLog& one, const SiteLog& other) {
    constexpr std::uint32_t kMost = 4;  // the first ones tell
    for (std::uint32_t i = 0; i < std::min(kMost, one.used); ++i)
      for (std::uint32_t j = 0; j < std::min(kMost, other.used); ++j)
        for (std::uint32_t both = one.requests[i].mask & other.requests[j].mask; both != 0; both &= both - 1)
          if (const int lane = std::countr_zero(both); one.requests[i].address[lane] == other.requests[j].address[lane])
            return true;
    return false;
  };
  for (auto atomic = warp.touched.begin(); atomic != warp.touched.end(); ++atomic)
    if (is_shared(*atomic, false) && (kinds_[*atomic].atomic & kOnlyAdds) == 0)
      for (auto load = warp.touched.begin(); load != atomic; ++load)
        if (is_shared(*load, true) && std::find(retried_.begin(), retried_.end(), *load) == retried_.end() &&
            meet(warp.logs[*load], warp.logs[*atomic]))
          retried_.push_back(*load);
}

/// From now on these lanes' accesses are late.
void BlockWatch::note_early(unsigned index_of_warp, std::uint32_t lanes) {
  WarpLog& warp = warps_[index_of_warp];
  lanes &= ~warp.late;
  if (lanes == 0) return;
  warp.late |= lanes;
  warp.early.resize(kinds_.size());
  for (const std::uint32_t log : warp.touched)
    for (std::uint32_t left = lanes; left != 0; left &= left - 1)
      warp.early[log][static_cast<unsigned>(std::countr_zero(left))] =
          warp.logs[log].count[static_cast<unsigned>(std::countr_zero(left))];
}

/// The lanes whose access at this place of the log came when the warp might have learned of what others published.
std::uint32_t BlockWatch::late_lanes(const WarpLog& warp, std::uint32_t log, std::uint32_t place) {
  if (log >= warp.early.size()) return warp.late;
  std::uint32_t late = 0;
  for (std::uint32_t left = warp.late; left != 0; left &= left - 1)
    if (place >= next_place(warp.early[log][static_cast<unsigned>(std::countr_zero(left))])) late |= left & ~(left - 1);
  return late;
}

/// Looks at what these lanes did that was not looked at before.
void BlockWatch::check_shared(const BlockContext& block, unsigned index_of_warp, std::uint32_t lanes) {
  WarpLog& warp = warps_[index_of_warp];
  if (warp.apart) warp.checked.resize(kinds_.size());
  find_retries(warp);
  std::array<std::size_t, kWarpSize> offsets{};
  for (const bool loads : {false, true}) {
    for (const std::uint32_t log : warp.touched) {
      const LogKind& kind = kinds_[log];
      if (kind.space != Space::shared || (kind.operation == Operation::load) != loads) continue;
      const SiteLog& entry = warp.logs[log];
      const auto first_of = [&](std::uint32_t some) {
        std::uint32_t first = entry.used;
        for (std::uint32_t left = some; left != 0; left &= left - 1)
          first = std::min(first, warp.checked[log][static_cast<unsigned>(std::countr_zero(left))]);
        return first;
      };
      for (std::uint32_t place = warp.apart ? first_of(lanes) : 0; place < entry.used; ++place) {
        const Request& request = entry.requests[place];
        std::uint32_t mask = request.mask & lanes;
        if (warp.apart) {
          for (std::uint32_t left = mask; left != 0; left &= left - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(left));
            if (place < warp.checked[log][lane]) mask &= ~(1U << lane);
          }
        }
        for (std::uint32_t left = mask; left != 0; left &= left - 1) {
          const int lane = std::countr_zero(left);
          // NOLINTNEXTLINE(performance-no-int-to-ptr)
          offsets[static_cast<unsigned>(lane)] =
              shared_offset(block, reinterpret_cast<const void*>(request.address[lane]));
        }
        const bool stores = kind.operation == Operation::store && !kind.copied;
        const auto race =
            shadow_.add({offsets.data(), mask, stores ? request.value : nullptr, kind.bytes, kind.operation,
                         (kind.atomic & kOverwrites) != 0, log, index_of_warp, warp.epoch, warp.ordered_from,
                         warp.epoch_known, warp.apart ? &warp.clocks : nullptr, late_lanes(warp, log, place), false,
                         atomic_width(kind.operation, kind.bytes, kind.atomic)});
        if (race) [[unlikely]]
          hold(*race, log);
        if (block.launch->cluster_blocks() > 1) [[unlikely]]
          meet_cluster(block, {offsets.data(), mask, kind.bytes, kind.operation, kind.pc, index_of_warp});
      }
      if (warp.apart)
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
          const auto lane = static_cast<unsigned>(std::countr_zero(left));
          warp.checked[log][lane] = next_place(entry.count[lane]);
        }
    }
    if (!loads && lanes == ~0U && !unset_stores_.empty()) forget_unset(block, index_of_warp);
  }
}

void BlockWatch::store_unset(const void* address, std::size_t bytes, const void* pc) {
  const Space space = find_home(*block_, address, bytes).space;
  if (space == Space::global) {
    use_unset(bytes, pc);
  } else if (space == Space::shared && block_->traced && bytes <= 16) {
    const auto* at = static_cast<const std::byte*>(address);
    unset_stores_.push_back(
        {at, static_cast<unsigned>(bytes), block_->thread, value_at(at, static_cast<unsigned>(bytes)), pc});
  }
}

/// What the warp's lanes stored is nothing, unless they stored something else there since.
void BlockWatch::forget_unset(const BlockContext& block, unsigned warp) {
  for (UnsetStore& store : unset_stores_) {
    if (store.told || store.thread / kWarpSize != warp) continue;
    store.told = true;
    if (value_at(store.address, store.bytes) == store.value)
      shadow_.forget(shared_offset(block, store.address), store.bytes);
  }
}

void BlockWatch::copy_goes_on(const BlockContext& block, unsigned thread, const void* shared, unsigned bytes,
                              const void* pc, bool begins) {
  if (const Home home = find_home(block, shared, bytes); home.bad || home.space != Space::shared) return;
  const auto same = [&](const LogKind& kind) { return kind.pc == pc && kind.space == Space::shared && kind.copied; };
  const auto known = std::find_if(kinds_.begin(), kinds_.end(), same);
  AccessShape shape{static_cast<std::uint8_t>(bytes), 1, Operation::store};
  shape.copied = true;
  const std::uint32_t log = known != kinds_.end() ? static_cast<std::uint32_t>(known - kinds_.begin())
                                                  : new_log(block, pc, Space::shared, shape) - 1;
  std::array<std::size_t, kWarpSize> offsets{};
  offsets[thread % kWarpSize] = shared_offset(block, shared);
  const unsigned warp = thread / kWarpSize;
  if (const auto race = shadow_.add({offsets.data(), 1U << thread % kWarpSize, nullptr, bytes, Operation::store, false,
                                     log, warp, warps_[warp].epoch, warps_[warp].ordered_from, warps_[warp].epoch_known,
                                     warps_[warp].apart ? &warps_[warp].clocks : nullptr, warps_[warp].late, begins}))
    hold(*race, log);
}

void BlockWatch::end_interval(const BlockContext& block) {
  for (const auto& [race, log] : held_) report(block, race, log);
  held_.clear();
  for (const UnwrittenRead& read : shadow_.barrier()) {
    if (!is_new(read.log, read.log, false)) continue;
    const LogKind& kind = kinds_[read.log];
    const std::byte* const address = shared_address(block, read.offset);
    const auto store = std::find_if(unset_stores_.begin(), unset_stores_.end(), [&](const UnsetStore& one) {
      return address >= one.address && address < one.address + one.bytes;
    });
    report_uninitialised(block, {kind.pc, read.thread, kind.operation}, kind.bytes, address,
                         store == unset_stores_.end() ? nullptr : store->pc);
  }
}

/// The block's warps have met.
void BlockWatch::end_rounds(const BlockContext& block) {
  Rounds most;
  for (unsigned warp = 0; warp * kWarpSize < block.threads; ++warp) most.join(std::exchange(warps_[warp].rounds, {}));
  block_rounds_.add(most);
}

/// The same.
void BlockWatch::end_work(const BlockContext& block) {
  WorkCounts most{};
  for (unsigned warp = 0; warp * kWarpSize < block.threads; ++warp) {
    const WorkCounts work = std::exchange(warp_work_[warp], {});
    for (std::size_t i = 0; i < kWorks; ++i) {
      counts[index(Counter::warp_work) + i] += work[i];
      most[i] = std::max(most[i], work[i]);
    }
  }
  for (std::size_t i = 0; i < kWorks; ++i) block_work_[i] += most[i];
}

bool BlockWatch::is_new(std::uint32_t log, std::uint32_t other_log, bool in_warp) {
  const std::tuple sites{log, other_log, in_warp};
  if (std::find(reported_.begin(), reported_.end(), sites) != reported_.end()) return false;
  reported_.push_back(sites);
  return true;
}

std::size_t BlockWatch::shared_offset(const BlockContext& block, const void* address) const {
  const auto static_bytes = static_cast<std::size_t>(static_shared_.end - static_shared_.begin);
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - static_shared_.begin);
  return offset < static_bytes
             ? offset
             : static_cast<std::size_t>(static_cast<const std::byte*>(address) - block.dynamic_shared) + static_bytes;
}

const std::byte* BlockWatch::shared_address(const BlockContext& block, std::size_t offset) const {
  const auto static_bytes = static_cast<std::size_t>(static_shared_.end - static_shared_.begin);
  return offset < static_bytes ? static_shared_.begin + offset : block.dynamic_shared + (offset - static_bytes);
}

/// What orders the two may be seen only later: the warps' accesses are looked at some at a time.
void BlockWatch::hold(const SharedRace& race, std::uint32_t log) {
  const auto is_same = [&](const auto& one) {
    return one.second == log && one.first.other_log == race.other_log &&
           one.first.thread / kWarpSize == race.thread / kWarpSize &&
           one.first.other_thread / kWarpSize == race.other_thread / kWarpSize;
  };
  constexpr std::size_t kMost = 256;
  if (held_.size() < kMost && std::none_of(held_.begin(), held_.end(), is_same)) held_.emplace_back(race, log);
}

/// True where one of the two may have learned of what the other one published before it came.
bool BlockWatch::is_ordered(const SharedRace& race) const {
  if (race.thread != race.other_thread)
    return (race.late && steps_.knows(race.thread, race.other_thread)) ||
           (race.other_late && steps_.knows(race.other_thread, race.thread));
  if (!race.late && !race.other_late) return false;
  // One of several readers, which is not known.
  const auto know = [&](unsigned warp) {
    return warp != race.thread / kWarpSize && (steps_.warps[warp].knows(steps_.warps[race.thread / kWarpSize]) ||
                                               steps_.warps[race.thread / kWarpSize].knows(steps_.warps[warp]));
  };
  for (unsigned warp = 0; warp < kMaxWarps; ++warp)
    if (know(warp)) return true;
  return false;
}

void BlockWatch::forget_steps() {
  if (std::exchange(fenced_, false)) steps_ = {};
}

void BlockWatch::report(const BlockContext& block, const SharedRace& race, std::uint32_t log) {
  const auto begins_retries = [&](std::uint32_t load, Operation operation, Operation other) {
    return operation == Operation::load && is_atomic(other) &&
           std::find(retried_.begin(), retried_.end(), load) != retried_.end();
  };
  if (begins_retries(log, kinds_[log].operation, race.other_operation) ||
      begins_retries(race.other_log, race.other_operation, kinds_[log].operation))
    return;
  if (fenced_ && is_ordered(race)) return;
  if (!is_new(log, race.other_log, race.thread / kWarpSize == race.other_thread / kWarpSize)) return;
  report_race(block,
              {kinds_[race.other_log].pc, race.other_thread, race.other_operation, kinds_[race.other_log].copied},
              {kinds_[log].pc, race.thread, kinds_[log].operation, kinds_[log].copied},
              shared_address(block, race.offset), race.exchanged);
}

/// Counts a request; true where it goes beyond the L1.
bool BlockWatch::count_global(const Request& request, const LogKind& kind, std::uint64_t weight) {
  switch (kind.operation) {
  case Operation::load:
  case Operation::store:
    return count_access(request, kind.bytes, kind.operation, weight);
  case Operation::reduction:
  case Operation::atomic:
    if (kind.bytes == 2) {
      count_compare_and_swap(request, weight);
      break;
    }
    if ((kind.atomic & kLoop) != 0) retries.add(request, weight);
    if ((kind.atomic & kOneAddress) != 0 && is_one_address(request)) {
      Request leader = request;
      leader.mask &= ~(leader.mask - 1);
      count_atomic(leader, kind.bytes, kind.operation, weight, kind.retries);
    } else {
      count_atomic(request, kind.bytes, kind.operation, weight, kind.retries);
    }
  }
  return true;
}

bool BlockWatch::count_access(const Request& request, unsigned bytes, Operation operation, std::uint64_t weight) {
  collect_lines(request, bytes, lines_);
  counts[index(Counter::global_requests, operation)] += weight;
  counts[index(Counter::global_sectors, operation)] += lines_.sectors * weight;
  counts[index(Counter::global_lines, operation)] += lines_.count * weight;
  return send_lines(operation, weight);
}

/// What goes on to the L2: loads that the block's part of the L1 does not hold, stores that do not meet an earlier one
/// of their sector on the way, all atomics. True where a load has to wait for more than the L1.
bool BlockWatch::send_lines(Operation operation, std::uint64_t weight) {
  // Addresses from the arena's begin: where it lies differs from run to run.
  const std::uint64_t base = reinterpret_cast<std::uintptr_t>(arena_begin) / 128;
  bool beyond = false;
  for (unsigned i = 0; i < lines_.count; ++i) {
    LineSectors line = lines_.lines[i];
    line.line -= base;
    if (operation == Operation::load) {
      const auto found = l1_.load(line.line, line.sectors, time_);
      beyond |= !found.arrived;
      line.sectors = found.missing;
      if (line.sectors == 0) continue;
    } else if (operation == Operation::store) {
      line.sectors = writes_.missing(line.line, line.sectors);
      if (line.sectors == 0) continue;
    }
    traffic->add(LineAccess::make(line, operation, weight));
  }
  return beyond;
}

void BlockWatch::count_atomic(const Request& request, unsigned bytes, Operation operation, std::uint64_t weight,
                              bool of_floats) {
  const AtomicCost cost = atomic_cost(request, bytes);
  collect_lines(request, bytes, lines_);
  counts[index(Counter::global_requests, operation)] += weight;
  counts[index(Counter::global_sectors, operation)] += cost.sectors * weight;
  counts[index(Counter::global_lines, operation)] += lines_.count * weight;
  counts[index(Counter::atomic_operations)] += static_cast<std::uint64_t>(std::popcount(request.mask)) * weight;
  counts[index(Counter::atomic_collisions)] += cost.collisions * weight;
  counts[index(Counter::l2_sectors, operation)] += cost.sectors * weight;
  send_lines(operation, weight);
  // What comes to one line is done one after another.
  const std::uint64_t base = reinterpret_cast<std::uintptr_t>(arena_begin) / 128;
  const DeviceTable& device = device_table();
  const double turn = of_floats ? device.atomic_float_seconds : device.atomic_integer_seconds;
  const auto by = static_cast<double>(weight);
  for (unsigned i = 0; i < cost.lines; ++i)
    atomic_lines.add(cost.line[i] - base, cost.address[i], cost.most[i] * turn * by,
                     std::max(device.atomic_request_seconds, cost.touched[i] * device.atomic_sector_seconds) * by);
}

/// Atomics on 2 bytes have no instruction: a loop reads the word that holds them, and replaces it if nobody else did.
/// Of the lanes at one word, one gets through in each round.
void BlockWatch::count_compare_and_swap(const Request& request, std::uint64_t weight) {
  Request words = request;
  for (std::uint64_t& address : words.address) address &= ~std::uint64_t{3};
  retries.add(request, weight);
  count_access(words, 4, Operation::load, weight);
  while (words.mask != 0) {
    counts[index(Counter::retry_rounds)] += weight;
    count_atomic(words, 4, Operation::atomic, weight);
    words.mask = losers_of_round(words);
  }
}

void BlockWatch::count_shared(const Request& request, const LogKind& kind, std::uint64_t weight) {
  const bool updates = is_atomic(kind.operation);
  // What asynchronous copies write is counted with no metric's stores, but the pipe is as busy: a place that shared
  // memory has no other use for.
  const Operation operation = updates ? Operation::atomic : kind.copied ? Operation::reduction : kind.operation;
  const unsigned bytes = kind.bytes * std::max(1U, kind.stage.joined);
  const bool increment = (kind.atomic & (kIncrement | kOneAddress)) != 0;
  const SharedCost cost = updates ? shared_atomic_cost(request, bytes, increment) : shared_cost(request, bytes);
  counts[index(Counter::shared_requests, operation)] += weight;
  counts[index(Counter::shared_wavefronts, operation)] += cost.wavefronts * weight;
  counts[index(Counter::shared_conflicts, operation)] += (cost.wavefronts - cost.fewest) * weight;
  const bool exchanges = (kind.atomic & kLoop) != 0;
  if (!kind.retries && !exchanges) return;
  if (exchanges) {
    exchange_requests_ += weight;
    exchange_wavefronts_ += cost.wavefronts * weight;
  }
  constexpr std::size_t kPlaces = 65536;  // more than an SM has words
  std::vector<std::uint32_t>& places = exchanges ? shared_exchanges_ : shared_retries_;
  places.resize(kPlaces);
  for (std::uint32_t left = request.mask; left != 0; left &= left - 1)
    places[request.address[std::countr_zero(left)] / 4 % kPlaces] += static_cast<std::uint32_t>(weight);
}

/// Sets how many of the block's loops of compare and swap are at the shared address that has the most of them.
void BlockWatch::end_retries(const BlockContext& block) {
  const auto most = [](std::vector<std::uint32_t>& places) -> std::uint64_t {
    if (places.empty()) return 0;
    const std::uint32_t result = *std::max_element(places.begin(), places.end());
    places.clear();
    return result;
  };
  block_rounds_.retries = most(shared_retries_);
  block_rounds_.exchanges = most(shared_exchanges_);
  // A thread's own exchanges, one after another, make each other fail here, too.
  if (retry_tally.exchanges > 0)
    block_rounds_.exchanges -= block_rounds_.exchanges * retry_tally.failed / retry_tally.exchanges;
  if (exchange_requests_ == 0) return;
  // Before one of them succeeds, each warp has tried again whatever it has under way.
  const auto loops = static_cast<std::uint64_t>(std::count_if(kinds_.begin(), kinds_.end(), [](const LogKind& kind) {
    return kind.space == Space::shared && (kind.atomic & kLoop) != 0;
  }));
  const std::uint64_t warps = (block.threads + kWarpSize - 1) / kWarpSize;
  block_rounds_.exchange_queue = block_rounds_.exchanges * loops * warps * exchange_wavefronts_ / exchange_requests_;
  exchange_requests_ = exchange_wavefronts_ = 0;
}

}  // namespace warpbook::emulator
