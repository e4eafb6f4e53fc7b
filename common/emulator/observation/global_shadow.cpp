#include "common/emulator/observation/global_shadow.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/execution/symbols.hpp"

namespace warpbook::emulator {
namespace {

constexpr unsigned kWord = 4;

/// Addresses for `bytes` bytes, all zero, whose memory comes with use; nullptr where there are none.
std::byte* reserve(std::size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* range = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  // Cells outgrow what they tell of eightfold. Where pages are larger than 4 KiB, huge ones are far larger than 2 MiB.
  if (sysconf(_SC_PAGESIZE) <= 4096) static_cast<void>(madvise(range, bytes, MADV_HUGEPAGE));
  return static_cast<std::byte*>(range);
}

std::size_t arena_bytes() { return static_cast<std::size_t>(arena_end - arena_begin); }

}  // namespace

// ---- What was written

WrittenShadow::WrittenShadow() {
  find_allocation(nullptr);  // makes the arena
  base_ = reinterpret_cast<std::uint8_t*>(reserve(arena_bytes()));
}

std::uint8_t* WrittenShadow::at(const void* address) const {
  return base_ + (static_cast<const std::byte*>(address) - arena_begin);
}

void WrittenShadow::write(const void* address, std::size_t bytes, Writer by) {
  std::memset(at(address), static_cast<int>(by), bytes);
  if (by == Writer::nobody) lose(address);
}

void WrittenShadow::copy(const void* to, const void* from, std::size_t bytes) {
  std::memmove(at(to), at(from), bytes);
  lose(to);
}

/// What lies there may not be written any more.
void WrittenShadow::lose(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto* const from = static_cast<const std::byte*>(address);
  auto after = whole_.upper_bound(from);
  if (after == whole_.begin()) return;
  auto& [begin, bytes] = *--after;
  bytes = std::min(bytes, static_cast<std::size_t>(from - begin));
}

bool WrittenShadow::is_whole(const AddressRange& allocation) {
  const auto size = static_cast<std::size_t>(allocation.end - allocation.begin);
  const std::lock_guard lock(mutex_);
  std::size_t& bytes = whole_[allocation.begin];
  const std::uint8_t* const written = at(allocation.begin);
  const void* const gap = std::memchr(written + bytes, static_cast<int>(Writer::nobody), size - bytes);
  bytes = gap == nullptr ? size : static_cast<std::size_t>(static_cast<const std::uint8_t*>(gap) - written);
  return bytes == size;
}

void WrittenShadow::forget(const void* address, std::size_t bytes) {
  lose(address);
  constexpr std::size_t kPage = 4096;  // allocations begin at pages, and no other one lies in their last
  madvise(at(address), (bytes + kPage - 1) / kPage * kPage, MADV_DONTNEED);
}

bool WrittenShadow::is_written(const void* address, unsigned bytes) const {
  const std::uint8_t* written = at(address);
  for (unsigned i = 0; i < bytes; ++i)
    if (written[i] != 0) return true;
  return false;
}

void WrittenShadow::find_gaps(const void* address, std::size_t bytes, std::size_t least, Gaps& gaps) const {
  const std::uint8_t* const begin = at(address);
  const std::uint8_t* const end = begin + bytes;
  const auto is_written = [](std::uint8_t by) { return by != static_cast<std::uint8_t>(Writer::nobody); };
  for (const std::uint8_t* place = begin; place != end;) {
    const void* const gap = std::memchr(place, static_cast<int>(Writer::nobody), static_cast<std::size_t>(end - place));
    if (gap == nullptr) return;
    const auto* const first = static_cast<const std::uint8_t*>(gap);
    place = std::find_if(first, end, is_written);
    const auto run = static_cast<std::size_t>(place - first);
    if (run < least) continue;
    if (gaps.bytes == 0) gaps.first = static_cast<const std::byte*>(address) + (first - begin);
    gaps.bytes += run;
  }
}

std::vector<Writer> WrittenShadow::writers(const void* address, std::size_t bytes) const {
  std::vector<Writer> result(bytes);
  std::memcpy(result.data(), at(address), bytes);
  return result;
}

// ---- Who wrote it, and who read it

void RaceShadow::begin_launch(std::uint64_t launch, unsigned threads, const BlockSample& sample) {
  sample_ = sample;
  const std::size_t bytes = arena_bytes() / kWord * sizeof(Cell);
  if (!reserved_) {
    reserved_ = true;
    base_ = reserve(bytes);
    variables_ = variables_range();
    variables_.begin -= reinterpret_cast<std::uintptr_t>(variables_.begin) % kWord;
    variable_cells_ = base_ == nullptr ? nullptr : reserve(bytes_of_variables());
  }
  launch_id_ = launch;
  launch_ = static_cast<std::uint16_t>(launch);
  if (launch_ == 0 && base_ != nullptr) {  // before a number comes again
    madvise(base_, bytes, MADV_DONTNEED);
    if (variable_cells_ != nullptr) madvise(variable_cells_, bytes_of_variables(), MADV_DONTNEED);
  }
  forget_put_off();
  threads_ = threads;
  blocks_.assign(sample.size(), Block{});
}

/// Held where blocks are not in order.
std::unique_lock<std::mutex> RaceShadow::lock() {
  return sample_.complete() ? std::unique_lock<std::mutex>{} : std::unique_lock{mutex_};
}

RaceShadow::Cell* RaceShadow::cell(std::uintptr_t address) const {
  const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(arena_begin);
  if (offset < arena_bytes()) [[likely]]
    return reinterpret_cast<Cell*>(base_ + offset / kWord * sizeof(Cell));
  const std::size_t word = (address - reinterpret_cast<std::uintptr_t>(variables_.begin)) / kWord;
  return reinterpret_cast<Cell*>(variable_cells_ + word * sizeof(Cell));
}

std::size_t RaceShadow::bytes_of_variables() const {
  return (static_cast<std::size_t>(variables_.end - variables_.begin) / kWord + 1) * sizeof(Cell);
}

bool RaceShadow::ordered(const GlobalActor& actor, std::uint32_t other, std::uint16_t interval, std::uint8_t epoch,
                         bool wrote) const {
  if (other == actor.thread) return true;
  const std::uint32_t other_block = other / threads_;
  if (other_block != actor.block) {
    const Block& from = block(other_block);
    return block(actor.block).steps.knows(from.steps) && static_cast<std::int16_t>(from.published - interval) >= 0;
  }
  if (interval != actor.interval) return true;
  if (actor.steps != nullptr && actor.steps->knows(actor.thread % threads_, other % threads_)) return true;
  const bool same_warp = other % threads_ / 32 == actor.thread % threads_ / 32;
  if (!same_warp || !actor.epoch_known) return same_warp;
  if (actor.clocks != nullptr)
    return actor.clocks->is_behind(actor.thread % threads_ % 32, other % threads_ % 32, epoch, wrote);
  return wrote ? epoch < actor.ordered_from : epoch != actor.epoch;
}

std::optional<GlobalRace> RaceShadow::race_with_reader(const Cell& cell, const GlobalActor& actor, unsigned mask,
                                                       bool beyond) const {
  for (unsigned i = 0; i < cell.readers.size(); ++i) {
    const Reader& reader = cell.readers[i];
    if (reader.thread == 0 || (cell.read_masks >> 4 * i & mask) == 0) continue;
    if (beyond && (reader.thread - 1) / threads_ == actor.block) continue;
    if (ordered(actor, reader.thread - 1, reader.interval, cell.read_epoch[i], false)) continue;
    GlobalRace race;
    race.other_thread = reader.thread - 1;
    race.other_site = reader.site;
    race.other_operation = Operation::load;
    return race;
  }
  return std::nullopt;
}

void RaceShadow::read(Cell& cell, const GlobalActor& actor, unsigned mask, std::uint16_t site, bool strong) const {
  // In the place of a reader that comes before this one in every order; else of the second.
  unsigned place = 1;
  for (unsigned i = 0; i < cell.readers.size(); ++i) {
    const Reader& reader = cell.readers[i];
    const bool same_block = reader.thread != 0 && (reader.thread - 1) / threads_ == actor.block;
    if (reader.thread == 0 || reader.thread - 1 == actor.thread || (same_block && reader.interval != actor.interval)) {
      place = i;
      break;
    }
  }
  const bool again = cell.readers[place].thread == actor.thread + 1;
  const unsigned shift = 4 * place;
  cell.read_masks = static_cast<std::uint8_t>((cell.read_masks & (again ? 0xffU : ~(0xfU << shift))) | mask << shift);
  cell.readers[place] = {actor.thread + 1, actor.interval, site};
  cell.read_epoch[place] = actor.epoch;
  if (!strong) cell.flags &= static_cast<std::uint8_t>(~kStrongReaders);
}

/// Takes note of a load of some bytes of a word.
void RaceShadow::load_word(Cell& cell, const GlobalActor& actor, unsigned mask, std::uint16_t site, bool strong) const {
  if ((cell.masks >> 4 & mask) == 0) cell.flags |= kStrongReaders;
  cell.masks |= static_cast<std::uint8_t>(mask << 4);
  read(cell, actor, mask, site, strong);
}

void RaceShadow::find_retries(const Cell& cell, const GlobalActor& actor, unsigned mask) {
  for (unsigned i = 0; i < cell.readers.size(); ++i)
    if (cell.readers[i].thread == actor.thread + 1 && (cell.read_masks >> 4 * i & mask) != 0)
      retried_[cell.readers[i].site] = true;
}

std::optional<GlobalRace> RaceShadow::add(const GlobalActor& actor, std::uintptr_t address, unsigned bytes,
                                          Operation operation, bool strong, std::uint16_t site, Pending& pending) {
  if (base_ == nullptr) return std::nullopt;
  const auto guard = lock();
  const auto is_being_stored = [&](std::uint32_t writer) {
    return operation == Operation::store && (writer - 1) / threads_ != actor.block &&
           block((writer - 1) / threads_).storing == writer;
  };
  if (guard) block(actor.block).storing = operation == Operation::store ? actor.thread + 1 : 0;
  std::optional<GlobalRace> found;
  bool only_writers = true;
  for (std::uintptr_t word = address / kWord * kWord; word < address + bytes; word += kWord) {
    Cell& state = *cell(word);
    if (state.launch != launch_) {
      state = {};
      state.launch = launch_;
    }
    const std::uintptr_t begin = std::max(address, word) - word;
    const std::uintptr_t end = std::min(address + bytes, word + kWord) - word;
    const unsigned mask = (1U << end) - (1U << begin);

    const bool both_update = actor.updates && (state.flags & kUpdateWriter) != 0;
    const bool both_strong = strong && (state.flags & kStrongWriter) != 0 && !both_update;
    const bool too_narrow = both_strong && (actor.block_scope || (state.flags & kBlockWriter) != 0) &&
                            (state.writer - 1) / threads_ != actor.block;
    const bool apart = too_narrow || are_apart(actor.width, static_cast<AtomicWidth>(state.flags >> kWriterWidth));
    if (state.writer != 0 && (state.masks & mask) != 0 && (!both_strong || apart) && !found &&
        !ordered(actor, state.writer - 1, state.write_interval, state.write_epoch, true) &&
        !is_being_stored(state.writer)) {
      found.emplace();
      found->other_thread = state.writer - 1;
      found->other_site = state.write_site;
      found->other_operation =
          (state.flags & kStrongWriter) != 0 && !both_update ? Operation::atomic : Operation::store;
      found->block_scope = too_narrow;
      found->exchanged = state.write_interval == actor.interval &&
                         ordered(actor, state.writer - 1, state.write_interval, state.write_epoch, false);
      found->address = reinterpret_cast<const void*>(word + begin);  // NOLINT(performance-no-int-to-ptr)
    }
    if (operation == Operation::load) {
      load_word(state, actor, mask, site, strong);
      only_writers = false;
      continue;
    }
    if (operation != Operation::store && !actor.only_adds) find_retries(state, actor, mask);
    const bool both_agree = strong && (state.flags & kStrongReaders) != 0;
    if (!found && (state.masks >> 4 & mask) != 0 && (!both_agree || actor.block_scope)) {
      found = race_with_reader(state, actor, mask, both_agree);
      if (found) {
        found->block_scope = both_agree;
        found->address = reinterpret_cast<const void*>(word + begin);  // NOLINT(performance-no-int-to-ptr)
        only_writers = false;
      }
    }
    const bool joins = state.writer == actor.thread + 1 && state.write_interval == actor.interval;
    state.masks = static_cast<std::uint8_t>((state.masks & (joins ? 0xff : 0xf0)) | mask);
    state.writer = actor.thread + 1;
    state.write_interval = actor.interval;
    state.write_site = site;
    state.write_epoch = actor.epoch;
    state.flags = static_cast<std::uint8_t>(
        (state.flags & kStrongReaders) | (strong ? kStrongWriter : 0) | (actor.updates ? kUpdateWriter : 0) |
        (actor.block_scope ? kBlockWriter : 0) | static_cast<unsigned>(actor.width) << kWriterWidth);
  }
  if (!found) return std::nullopt;
  if (const std::uint32_t other_block = found->other_thread / threads_; other_block != actor.block && !actor.updates)
    found->handover = block(actor.block).steps.missing(block(other_block).steps);
  found->thread = actor.thread;
  found->site = site;
  found->operation = operation;
  if (!only_writers || found->other_operation != Operation::store || operation != Operation::store || bytes > 16)
    return found;
  pending.race = *found;
  pending.bytes = bytes;
  pending.race.address = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
  std::memcpy(pending.before.data(), pending.race.address, bytes);
  return std::nullopt;
}

// ---- Loads that are put off

LaunchUse* RaceShadow::use(const std::byte* allocation) {
  if (!sample_.complete()) return nullptr;
  const std::lock_guard lock(put_off_mutex_);
  return &uses_[allocation];
}

/// A launch begins. Of those that the host has waited for nobody asks any more.
void RaceShadow::forget_put_off() {
  std::set<std::uint64_t> asked;
  visit_async([&](const AsyncWork& work) {
    asked.insert(work.launch);
    return false;
  });
  const std::lock_guard lock(put_off_mutex_);
  uses_.clear();
  std::erase_if(put_off_, [&](const PutOffLaunch& launch) { return launch_ == 0 || !asked.contains(launch.launch); });
  put_off_before_ = !put_off_.empty();
}

bool RaceShadow::put_off(const GlobalActor& actor, std::span<const WalkedLoad> loads, std::uint32_t turns) {
  if (actor.clocks != nullptr) return false;
  for (const WalkedLoad& load : loads)
    if (load.use == nullptr || load.use->written || load.use->mixed) return false;
  {
    const std::lock_guard lock(put_off_mutex_);
    if (put_off_.empty() || put_off_.back().launch != launch_id_) put_off_.push_back({launch_id_, threads_, {}});
    PutOffLaunch& launch = put_off_.back();
    for (const WalkedLoad& load : loads) load.use->put_off.store(true, std::memory_order_relaxed);
    if (join(launch, actor, loads, turns)) return true;
    launch.last = launch.loads.size();
    auto left = static_cast<std::uint16_t>(loads.size());
    for (const WalkedLoad& load : loads)
      launch.loads.push_back({load.walk, 0, actor.thread, 1, turns, left--, actor.interval, load.site, actor.epoch,
                              actor.ordered_from, load.bytes});
    constexpr std::size_t kMost = 1 << 20;
    if (launch.loads.size() < kMost) return true;
  }
  take_put_off();
  return true;
}

/// Makes one of this thread's loop and the last one, where that is the same of the threads before it.
bool RaceShadow::join(PutOffLaunch& launch, const GlobalActor& actor, std::span<const WalkedLoad> loads,
                      std::uint32_t turns) const {
  const std::span<PutOff> last = std::span(launch.loads).subspan(launch.last);
  if (last.size() != loads.size()) return false;
  const auto follows = [&](const PutOff& before, const WalkedLoad& load) {
    const auto apart = static_cast<std::int64_t>(load.walk.begin - before.walk.begin);
    return before.thread + before.threads == actor.thread && before.thread / threads_ == actor.block &&
           before.turns == turns && before.interval == actor.interval && before.epoch == actor.epoch &&
           before.ordered_from == actor.ordered_from && before.site == load.site && before.bytes == load.bytes &&
           before.walk.step == load.walk.step && (before.threads == 1 || apart == before.apart * before.threads);
  };
  if (!std::equal(last.begin(), last.end(), loads.begin(), follows)) return false;
  for (std::size_t i = 0; i < last.size(); ++i) {
    if (last[i].threads++ == 1) last[i].apart = static_cast<std::int64_t>(loads[i].walk.begin - last[i].walk.begin);
  }
  return true;
}

/// Takes note of all of them.
void RaceShadow::take_put_off() {
  const std::lock_guard lock(put_off_mutex_);
  if (put_off_.empty()) return;
  const unsigned threads = threads_;
  for (const PutOffLaunch& launch : put_off_) {
    threads_ = launch.threads;
    take(launch);
  }
  threads_ = threads;
  put_off_.clear();
  put_off_before_ = false;
  for (auto& [allocation, use] : uses_) use.put_off.store(false, std::memory_order_relaxed);
}

void RaceShadow::take(const PutOffLaunch& launch) {
  const auto number = static_cast<std::uint16_t>(launch.launch);
  const auto is_later = [&](std::uint16_t other) {
    const auto behind = static_cast<std::uint16_t>(other - number);
    return behind != 0 && behind <= static_cast<std::uint16_t>(launch_ - number);
  };
  const auto take_one = [&](const PutOff& load, std::uint32_t thread, std::uint32_t turn) {
    const GlobalActor actor{.thread = load.thread + thread,
                            .block = load.thread / threads_,
                            .interval = load.interval,
                            .epoch = load.epoch,
                            .ordered_from = load.ordered_from};
    const auto address = load.walk.begin + static_cast<std::uintptr_t>(load.apart * thread + load.walk.step * turn);
    for (std::uintptr_t word = address / kWord * kWord; word < address + load.bytes; word += kWord) {
      Cell& state = *cell(word);
      if (is_later(state.launch)) continue;
      if (state.launch != number) {
        state = {};
        state.launch = number;
      }
      const std::uintptr_t begin = std::max(address, word) - word;
      const std::uintptr_t end = std::min(address + load.bytes, word + kWord) - word;
      load_word(state, actor, (1U << end) - (1U << begin), load.site, false);
    }
  };
  for (std::size_t i = 0; i < launch.loads.size(); i += launch.loads[i].loads) {
    const PutOff& first = launch.loads[i];
    for (std::uint32_t thread = 0; thread < first.threads; ++thread)
      for (std::uint32_t turn = 0; turn < first.turns; ++turn)
        for (std::size_t load = i; load < i + first.loads; ++load) take_one(launch.loads[load], thread, turn);
  }
}

std::optional<RaceShadow::Touched> RaceShadow::touched(std::uint64_t launch, const void* address, std::size_t bytes,
                                                       bool writes, const ChildKernel* child) {
  if (base_ == nullptr) return std::nullopt;
  if (put_off_before_) take_put_off();  // Each access asks, of launches before this one.
  const auto guard = lock();
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const auto counts = [&](std::uint32_t thread, std::uint16_t interval) {
    return child == nullptr || child->meets(thread, interval);
  };
  for (std::uintptr_t word = begin / kWord * kWord; word < begin + bytes; word += kWord) {
    const Cell& state = *cell(word);
    if (state.launch != static_cast<std::uint16_t>(launch)) continue;
    const std::uintptr_t first = std::max(begin, word) - word;
    const std::uintptr_t last = std::min(begin + bytes, word + kWord) - word;
    const unsigned mask = (1U << last) - (1U << first);
    const void* const at = reinterpret_cast<const void*>(word + first);  // NOLINT(performance-no-int-to-ptr)
    if (state.writer != 0 && (state.masks & mask) != 0 && counts(state.writer - 1, state.write_interval))
      return Touched{state.write_site, true, (state.flags & kStrongWriter) != 0, at};
    if (!writes) continue;
    for (std::size_t i = 0; i < state.readers.size(); ++i)
      if (state.readers[i].thread != 0 && (state.read_masks >> 4 * i & mask) != 0 &&
          counts(state.readers[i].thread - 1, state.readers[i].interval))
        return Touched{state.readers[i].site, false, (state.flags & kStrongReaders) != 0, at};
  }
  return std::nullopt;
}

void RaceShadow::synchronise(std::uint32_t number, std::uint16_t interval, bool writes) {
  const auto guard = lock();
  Block& by = block(number);
  by.steps.synchronise(writes);
  if (writes && by.steps.publishes()) by.published = interval;
}

void RaceShadow::fence(std::uint32_t number) {
  const auto guard = lock();
  if (!fenced_.contains(launch_id_)) fenced_.insert(launch_id_);
  block(number).steps.fence();
}

void GlobalChecks::begin_launch(std::size_t asked_for) {
  child = asked_for;
  if (child != 0) return;
  children.clear();
  late.clear();
}

bool GlobalChecks::is_new_meeting(unsigned other, const void* address) {
  const Allocation* allocation = find_allocation(address);  // null: a variable
  const std::uint64_t serial = allocation == nullptr ? 0 : allocation->serial;
  return told_streams.insert({std::min(stream, other), std::max(stream, other), serial}).second;
}

void RaceShadow::stored(std::uint32_t number) {
  if (const auto guard = lock()) block(number).storing = 0;
}

std::optional<GlobalRace> RaceShadow::settle(Pending& pending) {
  if (pending.bytes == 0) return std::nullopt;
  const bool changed = std::memcmp(pending.before.data(), pending.race.address, pending.bytes) != 0;
  pending.bytes = 0;
  if (!changed) return std::nullopt;
  return pending.race;
}

}  // namespace warpbook::emulator
