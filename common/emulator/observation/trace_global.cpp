// What is checked of global memory, access by access, where the program asked for it.

#include <algorithm>
#include <utility>

#include "common/emulator/observation/checks.hpp"
#include "common/emulator/observation/trace.hpp"

namespace warpbook::emulator {
namespace {

constexpr unsigned kOfKernels = 16;  // told apart from what else is found at two instructions

}  // namespace

void BlockWatch::check_global(const BlockContext& block, Site& site, std::uintptr_t address, bool is_volatile) {
  settle_race(block);
  const void* const at = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
  if ((site.extras & kInit) != 0) {
    if (site.operation != Operation::store && !site.overwrites && !checks_->written->is_written(at, site.bytes) &&
        is_new_global({site.pc, nullptr}))
      report_uninitialised_global(block, {site.pc, block.thread, site.operation}, site.bytes, at);
    if (site.operation != Operation::load) checks_->written->write(at, site.bytes, Writer::kernel);
  }
  if ((site.extras & kRace) == 0) return;
  const std::uint16_t number = race_site(site);
  if (number == 0) return;
  const bool strong = is_volatile || is_atomic(site.operation);
  if (!alone_) [[unlikely]]
    check_beside(block, site, at, strong);
  if (site.use != nullptr) checks_->races->touch(*site.use, site.operation);
  GlobalActor me = actor(block, site.block_scope);
  me.only_adds = site.only_adds;
  me.width = site.width;
  me.updates = is_volatile && site.operation == Operation::store && std::exchange(updates_, false);
  const auto race = checks_->races->add(me, address, site.bytes, site.operation, strong,
                                        static_cast<std::uint16_t>(number - 1), pending_race_);
  if (race) [[unlikely]]
    report(block, *race);
}

void BlockWatch::check_table(const BlockContext& block, const void* object, const void* pc) {
  if (checks_ != nullptr && checks_->init && checks_->written->writers(object, 1)[0] == Writer::runtime &&
      is_new_global({pc, nullptr}))
    report_hosts_table(block, object, pc);
}

/// The site's number in the race shadow, plus 1; 0 where there are too many.
std::uint16_t BlockWatch::race_site(Site& site) {
  if (site.number == 0) {
    const std::lock_guard lock(checks_->mutex);
    if (checks_->sites.size() == 0xffff) return 0;
    checks_->sites.push_back(site.pc);
    site.number = static_cast<std::uint16_t>(checks_->sites.size());
  }
  return site.number;
}

/// The running thread.
GlobalActor BlockWatch::actor(const BlockContext& block, bool block_scope) const {
  const WarpLog& warp = warps_[block.thread / kWarpSize];
  return {.thread = static_cast<std::uint32_t>(block.linear_block * block.threads + block.thread),
          .block = static_cast<std::uint32_t>(block.linear_block),
          .interval = interval_,
          .epoch = warp.apart ? warp.clocks.epoch(block.thread % kWarpSize) : warp.epoch,
          .ordered_from = warp.ordered_from,
          .epoch_known = warp.epoch_known,
          .block_scope = block_scope,
          .steps = fenced_ ? &steps_ : nullptr,
          .clocks = warp.apart ? &warp.clocks : nullptr};
}

std::size_t BlockWatch::ask_for_kernel(const BlockContext& block) {
  alone_ = false;
  const std::lock_guard lock(checks_->mutex);
  checks_->children.push_back({block.launch->id, block.launch->name, actor(block, false).thread, block.threads,
                               interval_, fenced_ || checks_->races->fenced(block.launch->id)});
  const auto known =
      std::find_if(asked_.begin(), asked_.end(), [&](const auto& asked) { return asked.first == block.thread; });
  if (known == asked_.end())
    asked_.emplace_back(block.thread, checks_->children.size());
  else
    known->second = checks_->children.size();
  return checks_->children.size();
}

/// Looks at what may run beside the launch, and keeps what those may meet that the launch asked for.
void BlockWatch::check_beside(const BlockContext& block, const Site& site, const void* address, bool strong) {
  if (!checks_->concurrent.empty()) check_streams(block, site, address, strong);
  if (checks_->child != 0) check_asking_kernel(block, site, address, strong);
  for (const auto& [thread, child] : asked_) {
    constexpr std::size_t kMost = 4096;
    if (thread != block.thread) continue;
    const std::lock_guard lock(checks_->mutex);
    if (checks_->late.size() < kMost)
      checks_->late.push_back({child, reinterpret_cast<std::uintptr_t>(address), site.bytes,
                               site.operation != Operation::load, strong, static_cast<std::uint16_t>(site.number - 1)});
  }
}

void BlockWatch::check_asking_kernel(const BlockContext& block, const Site& site, const void* address, bool strong) {
  const bool writes = site.operation != Operation::load;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(checks_->mutex);
  const ChildKernel& self = checks_->children[checks_->child - 1];
  auto other = checks_->races->touched(self.launch, address, site.bytes, writes, &self);
  for (const LateAccess& late : checks_->late) {
    const ChildKernel& last = checks_->children[late.child - 1];
    if (late.child >= checks_->child && last.launch == self.launch && last.thread == self.thread &&
        late.address < at + site.bytes && at < late.address + late.bytes && (writes || late.writes))
      other = {late.site, late.writes, late.strong, address};
  }
  if (!other || (strong && other->strong)) return;
  const void* const other_pc = checks_->sites[other->site];
  if (is_new_global({site.pc, other_pc}, kOfKernels))
    report_parent_race(block,
                       {address, {site.pc, block.thread, site.operation}, other_pc, other->writes, "", self.kernel});
}

void BlockWatch::check_streams(const BlockContext& block, const Site& site, const void* address, bool strong) {
  const bool writes = site.operation != Operation::load;
  const auto* const at = static_cast<const std::byte*>(address);
  const std::lock_guard lock(checks_->mutex);
  for (const AsyncWork& work : checks_->concurrent) {
    StreamRace race{address, {site.pc, block.thread, site.operation}, work.pc, work.writes, work.kind(), nullptr};
    if (work.launch == 0) {
      if (at >= work.range.end || at + site.bytes <= work.range.begin || (!writes && !work.writes)) continue;
    } else {
      const auto touched = checks_->races->touched(work.launch, address, site.bytes, writes);
      if (!touched || (strong && touched->strong)) continue;
      race.other_pc = checks_->sites[touched->site];
      race.other_writes = touched->writes;
      race.kernel = work.name;
    }
    if (checks_->is_new_meeting(work.stream, address)) report_stream_race(block, race);
  }
}

void BlockWatch::fence(const BlockContext& block, bool of_block) {
  fenced_ = hands_over_ = true;
  steps_.threads[block.thread].fence();
  steps_.warps[block.thread / kWarpSize].fence();
  if (racing_ && !of_block) checks_->races->fence(static_cast<std::uint32_t>(block.linear_block));
}

void BlockWatch::synchronise(const BlockContext& block, bool writes, bool block_scope) {
  if (fenced_) {
    steps_.threads[block.thread].synchronise(writes);
    steps_.warps[block.thread / kWarpSize].synchronise(writes);
  }
  if (racing_ && !block_scope)
    checks_->races->synchronise(static_cast<std::uint32_t>(block.linear_block), interval_, writes);
}

void BlockWatch::settle_race(const BlockContext& block) {
  if (const auto race = RaceShadow::settle(pending_race_)) [[unlikely]]
    report(block, *race);
}

/// The same where the block comes to a barrier or to an end.
void BlockWatch::settle_races(const BlockContext& block) {
  if (!racing_) return;
  settle_race(block);
  checks_->races->stored(static_cast<std::uint32_t>(block.linear_block));
}

void BlockWatch::report(const BlockContext& block, const GlobalRace& race) {
  const std::lock_guard lock(checks_->mutex);
  const void* const pc = checks_->sites[race.site];
  const void* const other_pc = checks_->sites[race.other_site];
  const bool in_block = race.thread / block.threads == race.other_thread / block.threads;
  const auto warp = [&](std::uint32_t thread) { return thread % block.threads / kWarpSize; };
  const bool in_warp = in_block && warp(race.thread) == warp(race.other_thread);
  if (!is_new_global({pc, other_pc}, 1 + in_block + in_warp)) return;
  Finding finding = global_race(block, race, pc, other_pc);
  if (race.operation == Operation::load && is_atomic(race.other_operation))
    checks_->doubtful.emplace_back(race.site, std::move(finding));
  else if (race.other_operation == Operation::load && is_atomic(race.operation))
    checks_->doubtful.emplace_back(race.other_site, std::move(finding));
  else
    hold_finding(std::move(finding));
}

void BlockWatch::stale_read(const void* address, unsigned bytes, const void* pc, bool copy) {
  if (!racing_) return;
  const auto written = checks_->races->touched(block_->launch->id, address, bytes, false);
  if (!written) return;
  const std::lock_guard lock(checks_->mutex);
  const void* const writer = checks_->sites[written->site];
  if (is_new_global({pc, writer}, 0)) report_stale_read(*block_, address, pc, writer, copy);
}

bool BlockWatch::is_new_global(const std::pair<const void*, const void*>& places, unsigned kind) {
  const std::tuple sites{places.first, places.second, kind};
  if (std::find(reported_global_.begin(), reported_global_.end(), sites) != reported_global_.end()) return false;
  reported_global_.push_back(sites);
  return true;
}

void BlockWatch::note_unset_read(const UnsetPlace& read) {
  if (unset_reads_.size() < block_->threads) unset_reads_.resize(block_->threads);
  unset_reads_[block_->thread] = last_unset_read_ = read;
}

void BlockWatch::use_unset(std::size_t bytes, const void* pc) {
  UnsetPlace read = block_->thread < unset_reads_.size() ? unset_reads_[block_->thread] : UnsetPlace{};
  if (read.pc == nullptr) read = last_unset_read_;  // It came from another lane.
  if (read.pc == nullptr) read = {pc, bytes};
  const UnsetRead seen{read.pc, pc};
  if (looks_for_unwritten() && is_new_global({seen.pc, nullptr})) report_uninitialised_local(*block_, read.bytes, seen);
}

}  // namespace warpbook::emulator
