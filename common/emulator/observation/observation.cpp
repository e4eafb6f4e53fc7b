#include "common/emulator/observation/observation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "common/emulator/base/tally.hpp"
#include "common/emulator/base/text.hpp"
#include "common/emulator/base/whole_file.hpp"
#include "common/emulator/execution/async_work.hpp"
#include "common/emulator/execution/worker_pool.hpp"
#include "common/emulator/observation/checks.hpp"
#include "common/emulator/observation/findings.hpp"
#include "common/emulator/observation/host_reports.hpp"
#include "common/emulator/observation/json_texts.hpp"

namespace warpbook::emulator {
namespace {

TraceMode trace_mode_from_environment() {
  const char* text = std::getenv("WARPBOOK_TRACE");
  if (text == nullptr || *text == '\0' || std::strcmp(text, "sample") == 0) return TraceMode::sample;
  if (std::strcmp(text, "all") == 0) return TraceMode::all;
  if (std::strcmp(text, "first") == 0) return TraceMode::first;
  if (std::strcmp(text, "off") == 0) return TraceMode::off;
  std::fprintf(stderr, "WARPBOOK_TRACE: \"%s\" is none of all, first, sample, off\n", text);
  std::exit(2);
}

std::uint64_t volume(const dim3& extent) { return std::uint64_t{extent.x} * extent.y * extent.z; }

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

}  // namespace

Observation::Observation()
    : device_(device_table()), memory_(device_.l2_bytes, device_.l2_dirty_bytes, device_.l2_partitions,
                                       static_cast<unsigned>(device_.multiprocessors)),
      trace_mode_(trace_mode_from_environment()) {
  if (const char* path = std::getenv("WARPBOOK_COUNTERS"); path != nullptr) counters_path_ = path;
  const char* map = std::getenv("WARPBOOK_ACCESS_MAP");
  if (map != nullptr && *map != '\0') {
    map_path_ = map;
    map_accesses_ = true;
  }
}

void Observation::launch_begin(const LaunchInfo& launch) {
  launch_runs_ = true;
  const std::uint64_t blocks = volume(launch.grid);
  threads_ = static_cast<unsigned>(volume(launch.block));
  watches_.resize(most_workers());
  begin_checks();
  mode_ = trace_mode();
  // In large launches, the search for races keeps to the sample, too.
  constexpr std::uint64_t kMostThreads = 1 << 20;
  bool races = options_.race && mode_ == TraceMode::all;
  if (mode_ == TraceMode::first) {
    const bool first = is_first(launch);
    races = options_.race && first;
    mode_ = first && blocks * threads_ <= kMostThreads ? TraceMode::all : TraceMode::sample;
  }
  sample_ = mode_ == TraceMode::all ? BlockSample::all(blocks) : BlockSample::of(blocks, threads_);
  shared_bytes_ = launch.static_shared_bytes + launch.dynamic_shared_bytes;
  const unsigned resident = resident_blocks(device_, threads_, shared_bytes_);
  const std::size_t shared = std::min(device_.l1_bytes, resident * (shared_bytes_ + device_.shared_bytes_reserved));
  l1_share_ = (device_.l1_bytes - shared) / resident;
  memory_.begin_launch(launch.id, device_.l1_bytes - shared,
                       static_cast<std::uint64_t>(device_.multiprocessors) * resident, worker_count());
  follow_ = mode_ != TraceMode::off && wants_map(launch);
  // A thread's number in the grid has 32 bits.
  global_.race = races && blocks * threads_ < (std::uint64_t{1} << 32) - 1;
  global_.race_all = global_.race && sample_.complete();
  if (options_.race) count_races(blocks);
  global_.concurrent.clear();
  global_.begin_launch(launch.child);
  if (!global_.race) return;
  races_->begin_launch(launch.id, threads_, sample_);
  global_.concurrent = concurrent_work();
  global_.stream = current_stream();
}

std::string Observation::faster_option() {
  if (mode_ != TraceMode::off && sample_.complete())
    return "WARPBOOK_TRACE=off, which counts nothing and looks for no races";
  return global_.init ? "WARPBOOK_CHECK=none, which looks for no races and no reads of what nobody wrote" : "";
}

void Observation::memory_written(const void* address, std::size_t bytes) {
  begin_checks();
  if (global_.init) global_.written->write(address, bytes);
}

/// Bytes that no kernel wrote: the grid was too small, or there was no launch. Many a right program copies more than it
/// looks at: it is a warning. Behind a launch that failed it would be no news.
void Observation::host_reads(const CopiedRows& rows, const void* pc) {
  begin_checks();
  const Allocation* allocation = find_allocation(rows.begin);
  if (!global_.init || launch_failed_ || allocation == nullptr || allocation->kind != MemoryKind::device) return;
  constexpr std::size_t kPadding = 16;  // bytes: less may be a struct's
  const std::size_t all = rows.width * rows.height;
  WrittenShadow::Gaps gaps;
  for (std::size_t row = 0; row < rows.height; ++row)
    global_.written->find_gaps(static_cast<const std::byte*>(rows.begin) + row * rows.pitch, rows.width,
                               std::min(kPadding, all), gaps);
  if (gaps.bytes != 0) report_unwritten_copy({pc, all, gaps.bytes, gaps.first});
}

void Observation::memory_copied(const void* to, const void* from, std::size_t bytes) {
  begin_checks();
  if (!global_.init) return;
  // What the host writes into its own memory, or into managed memory, nobody sees.
  const Allocation* source = find_allocation(from);
  if (source != nullptr && source->kind == MemoryKind::device)
    global_.written->copy(to, from, bytes);
  else
    global_.written->write(to, bytes);
}

void Observation::copy_begins(const AsyncWork& copy) {
  if (!options_.race) return;
  global_.stream = current_stream();
  const std::lock_guard lock(global_.mutex);
  for (const AsyncWork& other : concurrent_work()) {
    if (other.launch == 0) {
      const auto* const first = std::max(copy.range.begin, other.range.begin);
      if (first < std::min(copy.range.end, other.range.end) && (copy.writes || other.writes) &&
          global_.is_new_meeting(other.stream, first))
        report_copy_race({first, copy, other.pc, other.writes, other.kind(), nullptr});
      continue;
    }
    const auto bytes = static_cast<std::size_t>(copy.range.end - copy.range.begin);
    const auto touched =
        races_ == nullptr ? std::nullopt : races_->touched(other.launch, copy.range.begin, bytes, copy.writes);
    if (touched && global_.is_new_meeting(other.stream, copy.range.begin))
      report_copy_race(
          {touched->address, copy, global_.sites[touched->site], touched->writes, other.kind(), other.name});
  }
}

void Observation::memory_freed(const Allocation& allocation) {
  if (global_.init) global_.written->forget(allocation.begin, allocation.bytes);
}

void Observation::stale_read(BlockContext& block, const void* address, unsigned bytes, const void* pc, bool copy) {
  watch(block).stale_read(address, bytes, pc, copy);
}

void Observation::copy_goes_on(BlockContext& block, unsigned thread, const void* shared, unsigned bytes, const void* pc,
                               bool begins) {
  watch(block).copy_goes_on(block, thread, shared, bytes, pc, begins);
}

void Observation::fence(BlockContext& block, bool of_block) {
  if (block.traced) watch(block).fence(block, of_block);
}

std::size_t Observation::asks_for_kernel(BlockContext& block) {
  return block.traced && global_.race ? watch(block).ask_for_kernel(block) : 0;
}

void Observation::grid_barrier(BlockContext& block, bool arrives) {
  if (block.traced) watch(block).synchronise(block, arrives, false);
}

void Observation::cluster_barrier(BlockContext& block, bool arrives) {
  if (block.traced) watch(block).cluster_barrier(block, arrives);
}

void Observation::barriers_differ(BlockContext& block, const void* pc, const void* other_pc) {
  if (watch(block).is_new_global({pc, other_pc})) report_different_barriers(block, pc, other_pc);
}

void Observation::inactive_shuffle(BlockContext& block, const void* pc, unsigned lane, unsigned source) {
  if (watch(block).is_new_global({pc, this})) report_inactive_shuffle(block, pc, lane, source);
}

void Observation::api_failed(const ApiError& error) {
  if (std::string_view{error.function}.starts_with("cudaLaunch")) launch_failed_ = true;
  if (options_.api) report_api_error(error);
}

void Observation::host_touched(const void* address, std::size_t bytes, bool writes, const void* pc) {
  // Behind an error that stays, calls that would wait only return it: that the host did not wait is no mistake of its
  // own.
  if (!options_.race || !device_works_) return;
  settle_guess(nullptr);
  visit_async([&](const AsyncWork& work) {
    const auto* const at = static_cast<const std::byte*>(address);
    HostRace race{address, writes, pc, work.pc, work.writes, work.kind(), nullptr};
    if (work.launch == 0) {
      if (at >= work.range.end || at + bytes <= work.range.begin || (!writes && !work.writes)) return false;
    } else {
      const auto touched = races_ == nullptr ? std::nullopt : races_->touched(work.launch, address, bytes, writes);
      if (!touched) return false;
      race.kernel = work.name;
      race.device_pc = global_.sites[touched->site];
      race.device_writes = touched->writes;
      if (touched->strong && !writes) {  // It may be the guess that a loop of compare and swap begins with.
        const std::lock_guard lock(guess_mutex_);
        guess_ = {race, work.launch};
        return false;
      }
    }
    report_host_race(race);
    return true;
  });
}

/// The host's atomic, at this address, or other access comes behind a load that may have been a guess for it.
void Observation::settle_guess(const void* atomic) {
  std::optional<HostGuess> guess;
  {
    const std::lock_guard lock(guess_mutex_);
    guess = std::exchange(guess_, std::nullopt);
  }
  if (!guess || guess->race.address == atomic) return;
  report_host_race(guess->race);
  visit_async([&](const AsyncWork& work) { return work.launch == guess->launch; });
}

/// Behind a flag that a kernel set after a fence, the host may use what the kernel wrote before. Not while a kernel
/// runs, which touches what is known of memory.
void Observation::host_polled(const void* address, std::size_t bytes) {
  settle_guess(address);
  if (races_ == nullptr || launch_runs_) return;
  visit_async([&](const AsyncWork& work) {
    if (work.launch == 0 || !races_->fenced(work.launch)) return false;
    const auto touched = races_->touched(work.launch, address, bytes, false);
    return touched && touched->strong;
  });
}

/// A loop may wait for its last turn in the first one, too: only an event that is never waited for again is told.
void Observation::event_waited(const void* event, bool recorded, const void* pc) {
  if (recorded)
    early_waits_.erase(event);
  else
    early_waits_.try_emplace(event, pc);
}

void Observation::fill_cut(double value, unsigned bytes, const void* pc) {
  if (options_.api) report_cut_fill(value, bytes, pc);
}

void Observation::event_gone(const void* event) {
  const auto wait = early_waits_.find(event);
  if (wait == early_waits_.end()) return;
  if (options_.api) report_early_wait(wait->second);
  early_waits_.erase(wait);
}

void Observation::block_begin(BlockContext& block) {
  const std::uint64_t launch = block.launch->id;
  BlockWatch& watch = watch_of(block.worker);
  if (watch.launch() != launch) watch.begin_launch(launch, &global_);
  block.observer_data = &watch;
  const std::int64_t place = mode_ == TraceMode::off ? -1 : sample_.ordinal(block.linear_block);
  block.traced = place >= 0;
  if (!block.traced || !watch.traffic->is_followed_by(traced(block.linear_block)))
    memory_.add(watch.traffic, block.worker);
  watch.begin_block(block, l1_share_, follow_ && block.linear_block == 0, block.traced && global_.race);
}

void Observation::thread_stops(BlockContext& block, bool at_barrier) {
  at_barrier ? watch(block).count_work(block) : watch(block).stop_thread(block);
}

void Observation::sync(BlockContext& block, SyncScope scope, unsigned warp, std::uint32_t mask) {
  watch(block).sync(block, scope, warp, mask);
}

void Observation::access(BlockContext& block, AccessKind kind, const void* address, unsigned bytes, const void* pc) {
  const bool reads = kind == AccessKind::read || kind == AccessKind::copying;
  Operation operation = reads ? Operation::load : Operation::store;
  const bool retries = kind == AccessKind::float_atomic;
  std::uint64_t flags = 0;
  bool block_scope = false;
  if (kind == AccessKind::atomic || retries) {
    flags = std::exchange(__warpbook_tally[kAtomicFlags], 0);
    operation = (flags & kUnused) != 0 ? Operation::reduction : Operation::atomic;
    if (local_range().contains(address)) [[unlikely]]
      local_atomic(block, bytes, pc);
    block_scope = watch(block).take_block_scope();
    if (block.traced) watch(block).synchronise(block, true, block_scope);
  }
  if (bytes != 0 && bytes <= 16 && std::has_single_bit(bytes)) {
    const auto width = static_cast<std::uint8_t>(bytes);
    watch(block).access(address,
                        {.bytes = width,
                         .alignment = width,
                         .operation = operation,
                         .retries = retries,
                         .atomic = static_cast<std::uint8_t>(flags),
                         .copying = kind == AccessKind::copying,
                         .copied = kind == AccessKind::copied,
                         .block_scope = block_scope},
                        pc);
  } else {
    watch(block).range(address, bytes, operation, pc);
  }
  if (block.traced && (kind == AccessKind::atomic || retries)) watch(block).learn(block);
}

void Observation::block_end(BlockContext& block) {
  BlockWatch& seen = watch(block);
  seen.end_block(block);
  if (!block.traced) return;
  seen.traffic->end_block(traced(block.linear_block));
  if (seen.traffic->is_full()) memory_.add(seen.traffic, block.worker);
}

void Observation::worker_end(const LaunchInfo& launch, unsigned worker) {
  if (mode_ == TraceMode::off) return;
  BlockWatch& watch = watch_of(worker);
  if (watch.launch() == launch.id) memory_.add(watch.traffic, worker);
  memory_.help(worker);
}

double Observation::launch_end(const LaunchInfo& launch) {
  launch_runs_ = false;
  for (auto& [load, race] : std::exchange(global_.doubtful, {}))
    if (!races_->begins_retries(load)) hold_finding(std::move(race));
  publish_findings();
  const std::uint64_t blocks = volume(launch.grid);
  Totals totals{};
  bool approximate = false;
  RetryLoops retries;
  RetryTally sums;
  LaunchShape shape;
  for (const auto& watch : watches()) {
    if (watch == nullptr || watch->launch() != launch.id) continue;
    for (std::size_t i = 0; i < kCounters; ++i) totals[i] += static_cast<double>(watch->counts[i]);
    approximate |= watch->approximate;
    if (follow_ && !watch->seen.empty()) keep_map(launch, std::exchange(watch->seen, {}));
    atomic_lines_.merge(watch->atomic_lines);
    retries.merge(watch->retries);
    sums.merge(watch->retry_sums);
    shape.slowest.join(watch->slowest);
  }
  const double scale = static_cast<double>(blocks) / static_cast<double>(sample_.size());
  for (double& total : totals) total *= scale;
  memory_.finish(static_cast<double>(blocks) / static_cast<double>(sample_.settled()), static_cast<double>(blocks),
                 totals);
  for (const auto& watch : watches()) {  // these are of all blocks
    if (watch == nullptr || watch->launch() != launch.id) continue;
    totals[index(Counter::instructions)] += static_cast<double>(watch->tally[0]);
    totals[index(Counter::divisions_32)] += static_cast<double>(watch->tally[1]);
    totals[index(Counter::divisions_64)] += static_cast<double>(watch->tally[2]);
    totals[index(Counter::divisions_64_wide)] += static_cast<double>(watch->tally[3]);
  }

  shape.blocks = static_cast<double>(blocks);
  shape.threads = threads_;
  shape.shared_bytes = shared_bytes_;
  shape.from_graph = launch.from_graph;
  shape.hottest_line_seconds = scale * atomic_lines_.most();
  atomic_lines_.clear();
  shape.retries = retries.shape(scale);
  shape.retries.sums = sums;
  const LaunchTime time = time_launch(shape, mode_ == TraceMode::off ? Totals{} : totals);
  keep(launch, totals, time, approximate || !sample_.complete());
  return time.seconds;
}

void Observation::report(const char* kind, const void* pc, const std::string& text) {
  publish_finding({.kind = kind, .text = text, .place = pc == nullptr ? std::string{} : calling_location(pc)});
}

LaunchReport Observation::last_launch() {
  const std::lock_guard lock(mutex_);
  return last_;
}

LaunchReport Observation::take_launches() {
  const std::lock_guard lock(mutex_);
  longest_of_them_ = 0;
  return std::exchange(together_, {});
}

/// Counters have one order; a launch that is not traced has none.
void Observation::add(const LaunchReport& launch) {
  LaunchReport sum = launch.modelled_seconds > longest_of_them_ ? launch : together_;
  sum.counters = together_.counters.empty() ? launch.counters : together_.counters;
  for (std::size_t i = 0; !together_.counters.empty() && i < launch.counters.size(); ++i) {
    sum.counters[i].second += launch.counters[i].second;
  }
  sum.launches = together_.launches + 1;
  sum.modelled_seconds = together_.modelled_seconds + launch.modelled_seconds;
  sum.extrapolated = together_.extrapolated || launch.extrapolated;
  longest_of_them_ = std::max(longest_of_them_, launch.modelled_seconds);
  together_ = std::move(sum);
}

void Observation::map_accesses() {
  const std::lock_guard lock(mutex_);
  map_accesses_ = true;
  mapped_.clear();
}

std::string Observation::take_access_map(const std::string& title) {
  const std::lock_guard lock(mutex_);
  map_accesses_ = !map_path_.empty();
  return draw_access_map(title, std::exchange(mapped_, {}));
}

void Observation::set_trace(TraceMode mode) {
  const std::lock_guard lock(mutex_);
  trace_mode_ = mode;
}

void Observation::set_checks(const CheckOptions& options) {
  options_ = options;
  global_.init = false;
  checks_begun_ = false;
}

void Observation::forget_writes(const void* address, std::size_t bytes) {
  begin_checks();
  if (global_.init) global_.written->write(address, bytes, Writer::nobody);
}

std::vector<Writer> Observation::writers(const void* address, std::size_t bytes) {
  begin_checks();
  return global_.init ? global_.written->writers(address, bytes) : std::vector<Writer>(bytes);
}

void Observation::begin_checks() {
  if (std::exchange(checks_begun_, true)) return;
  if (options_.init && written_ == nullptr) written_ = std::make_unique<WrittenShadow>();
  if (options_.race && races_ == nullptr) races_ = std::make_unique<RaceShadow>();
  global_.written = written_.get();
  global_.races = races_.get();
  global_.init = options_.init && written_->is_there();
}

/// The first two launches of a shape, and more while they are small.
bool Observation::is_first(const LaunchInfo& launch) {
  constexpr unsigned kFirst = 2;
  constexpr std::uint64_t kSmall = 1 << 18;  // threads of all of them
  const dim3& g = launch.grid;
  const dim3& b = launch.block;
  const unsigned launches = ++seen_[{launch.kernel, {g.x, g.y, g.z, b.x, b.y, b.z}}];
  return launches <= kFirst || launches * volume(g) * volume(b) <= kSmall;
}

void Observation::count_races(std::uint64_t blocks) {
  const std::uint64_t checked = global_.race ? sample_.size() : 0;
  race_blocks_ += checked;
  all_race_blocks_ += blocks;
  if (checked != blocks) ++race_launches_;
  if (shared_bytes_ == 0) return;
  shared_blocks_ += mode_ == TraceMode::off ? 0 : sample_.size();
  all_shared_blocks_ += blocks;
}

std::string Observation::unchecked_races() const {
  std::string text;
  if (race_launches_ != 0)
    text = formatted("========= global races: checked in {} of {} blocks; WARPBOOK_TRACE=all checks all\n",
                     with_commas(race_blocks_), with_commas(all_race_blocks_));
  if (shared_blocks_ != all_shared_blocks_)
    text += formatted("========= shared memory: races, and reads of what nobody wrote, checked in {} of {} blocks; "
                      "WARPBOOK_TRACE=all checks "
                      "all\n",
                      with_commas(shared_blocks_), with_commas(all_shared_blocks_));
  if (global_.missed_large) text += "========= global races: not checked in allocations above 64 MiB\n";
  if (global_.missed_elsewhere)
    text += "========= global races: not checked in memory of the host and what kernels allocate\n";
  return text;
}

void Observation::conclude(bool crashed) {
  if (crashed) publish_findings();
  settle_guess(nullptr);
  while (!early_waits_.empty()) event_gone(early_waits_.begin()->first);
  if (!map_path_.empty()) write_access_map();
  if (!counters_path_.empty()) write_counters();
  // After an error that stays nothing can be freed.
  if (options_.leak && device_works_ && !crashed) report_leaks();
  if (options_.race) std::fputs(unchecked_races().c_str(), stderr);
  conclude_findings(options_.any());
}

TracedBlock Observation::traced(std::uint64_t block) const {
  const auto place = static_cast<std::uint64_t>(sample_.ordinal(block));
  return {place, block, sample_.is_settled(place)};
}

TraceMode Observation::trace_mode() {
  const std::lock_guard lock(mutex_);
  return trace_mode_;
}

BlockWatch& Observation::watch_of(unsigned worker) {
  if (watches_[worker] == nullptr) [[unlikely]] {
    watches_[worker] = std::make_unique<BlockWatch>();
    for (unsigned seen = workers_; seen <= worker && !workers_.compare_exchange_weak(seen, worker + 1);) {
    }
  }
  return *watches_[worker];
}

void Observation::keep(const LaunchInfo& launch, const Totals& totals, const LaunchTime& time, bool extrapolated) {
  LaunchReport report;
  report.launches = 1;
  report.kernel = launch.name;
  report.grid = launch.grid;
  report.block = launch.block;
  report.modelled_seconds = time.seconds;
  report.limited_by = time.limited_by;
  if (mode_ != TraceMode::off) {
    report.extrapolated = extrapolated;
    for (std::size_t i = 0; i < kCounters; ++i) {
      for (std::size_t alias = 0; alias < 2; ++alias)
        if (const char* name = metric_name(i, alias)) report.counters.emplace_back(name, totals[i]);
    }
  }
  const std::lock_guard lock(mutex_);
  add(report);
  last_ = std::move(report);
  if (!counters_path_.empty()) launches_.push_back(last_);
}

bool Observation::wants_map(const LaunchInfo& launch) {
  const std::lock_guard lock(mutex_);
  return map_accesses_ && std::none_of(mapped_.begin(), mapped_.end(),
                                       [&](const MappedKernel& kernel) { return kernel.name == launch.name; });
}

void Observation::keep_map(const LaunchInfo& launch, const std::vector<SeenRequest>& seen) {
  const auto text = [](const dim3& d) { return formatted("({},{},{})", d.x, d.y, d.z); };
  std::vector<MappedRequest> requests;
  for (const SeenRequest& one : seen) {
    const std::string where = source_location(one.pc);
    requests.push_back({where.substr(where.rfind('/') + 1), one.operation, one.space == Space::shared, one.bytes,
                        one.request, reinterpret_cast<std::uintptr_t>(one.array)});
  }
  const std::lock_guard lock(mutex_);
  mapped_.push_back(
      {launch.name, "grid " + text(launch.grid) + ", block " + text(launch.block), join_alike(std::move(requests))});
}

void Observation::write_access_map() {
  const std::lock_guard lock(mutex_);
  write_whole("WARPBOOK_ACCESS_MAP", map_path_, draw_access_map("What the first warp of each kernel touches", mapped_));
}

void Observation::write_counters() {
  const std::lock_guard lock(mutex_);
  write_whole("WARPBOOK_COUNTERS", counters_path_, launches_as_json(launches_));
}

}  // namespace warpbook::emulator
