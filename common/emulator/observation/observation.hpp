/// \file
/// Puts tracing, checks and counters together into the engine's observer, and shows what they found. How long things
/// take, whoever derives from it says.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/execution/engine.hpp"
#include "common/emulator/include/warpbook_emulator.h"
#include "common/emulator/observation/access_map.hpp"
#include "common/emulator/observation/check_options.hpp"
#include "common/emulator/observation/host_reports.hpp"
#include "common/emulator/observation/launch_shape.hpp"
#include "common/emulator/observation/memory_system.hpp"
#include "common/emulator/observation/sample.hpp"
#include "common/emulator/observation/source_location.hpp"
#include "common/emulator/observation/trace.hpp"

namespace warpbook::emulator {

/// The modelled time of a launch.
struct LaunchTime {
  double seconds = 0;           ///< launch overhead included
  const char* limited_by = "";  ///< the resource that takes the longest
};

/// What happens on the emulated card, watched. There is one; see model/observer.cpp.
class Observation : public Observer {
public:
  Observation();

  void launch_begin(const LaunchInfo& launch) override;
  bool in_order() override { return global_.race_all; }
  std::string faster_option() override;
  void memory_written(const void* address, std::size_t bytes) override;
  void host_reads(const CopiedRows& rows, const void* pc) override;
  void memory_copied(const void* to, const void* from, std::size_t bytes) override;
  void copy_begins(const AsyncWork& copy) override;
  void memory_freed(const Allocation& allocation) override;
  void fence(BlockContext& block, bool of_block) override;
  std::size_t asks_for_kernel(BlockContext& block) override;
  void grid_barrier(BlockContext& block, bool arrives) override;
  void cluster_barrier(BlockContext& block, bool arrives) override;
  void stale_read(BlockContext& block, const void* address, unsigned bytes, const void* pc, bool copy) override;
  void copy_goes_on(BlockContext& block, unsigned thread, const void* shared, unsigned bytes, const void* pc,
                    bool begins) override;
  void barriers_differ(BlockContext& block, const void* pc, const void* other_pc) override;
  void inactive_shuffle(BlockContext& block, const void* pc, unsigned lane, unsigned source) override;
  void crashing() override { conclude(true); }
  void api_failed(const ApiError& error) override;
  void error_stays(cudaError_t error) override { device_works_ = error == cudaSuccess; }
  void block_begin(BlockContext& block) override;
  void thread_end(BlockContext& block) override { watch(block).end_thread(block); }
  void thread_stops(BlockContext& block, bool at_barrier) override;
  void block_waits(BlockContext& block) override { watch(block).settle_stores(block); }
  void sync(BlockContext& block, SyncScope scope, unsigned warp, std::uint32_t mask) override;
  void access(BlockContext& block, AccessKind kind, const void* address, unsigned bytes, const void* pc) override;
  void block_end(BlockContext& block) override;
  void worker_end(const LaunchInfo& launch, unsigned worker) override;
  double launch_end(const LaunchInfo& launch) override;
  std::string locate(const void* pc) override { return source_location(pc); }
  std::string locate_caller(const void* pc) override { return calling_location(pc); }
  void report(const char* kind, const void* pc, const std::string& text) override;
  void host_touched(const void* address, std::size_t bytes, bool writes, const void* pc) override;
  void host_polled(const void* address, std::size_t bytes) override;
  void event_waited(const void* event, bool recorded, const void* pc) override;
  void event_gone(const void* event) override;
  void fill_cut(double value, unsigned bytes, const void* pc) override;

  /// The launch that ended last.
  LaunchReport last_launch();
  /// Those since the last call, together.
  LaunchReport take_launches();
  /// Follows the first warp of each kernel's first launch, from now on.
  void map_accesses();
  /// The drawing of what was seen since; ends it.
  std::string take_access_map(const std::string& title);
  /// Which blocks counters come from, in the launches to come.
  void set_trace(TraceMode mode);
  /// What is checked besides what always is.
  void set_checks(const CheckOptions& options);
  /// These bytes count as not written.
  void forget_writes(const void* address, std::size_t bytes);
  /// Who wrote them last; nobody where that is not watched.
  std::vector<Writer> writers(const void* address, std::size_t bytes);

  /// The program ends, by a signal or as it should: writes what it asked for, and says what was found.
  void conclude(bool crashed = false);

protected:
  /// The card that is emulated.
  const DeviceTable& device() const { return device_; }

private:
  /// How long the launch takes. Without counters, `totals` is all zeros.
  virtual LaunchTime time_launch(const LaunchShape& shape, const Totals& totals) = 0;

  /// Makes what the checks need, as soon as there is something to check.
  void begin_checks();

  /// True for the first launches of a kernel with this grid and this block.
  bool is_first(const LaunchInfo& launch);
  /// Takes note of how many blocks are looked through for races.
  void count_races(std::uint64_t blocks);
  /// Says what of that was left out.
  std::string unchecked_races() const;

  TracedBlock traced(std::uint64_t block) const;

  static BlockWatch& watch(const BlockContext& block) { return *static_cast<BlockWatch*>(block.observer_data); }

  TraceMode trace_mode();

  /// Called by the worker itself, for each block: takes no lock.
  BlockWatch& watch_of(unsigned worker);
  /// By worker, up to the last one that ran blocks; some are null.
  std::span<const std::unique_ptr<BlockWatch>> watches() const { return std::span(watches_).first(workers_); }

  void keep(const LaunchInfo& launch, const Totals& totals, const LaunchTime& time, bool extrapolated);

  /// Adds it to those that `take_launches` tells of.
  void add(const LaunchReport& launch);

  /// True for the first launch of a kernel, while maps are wanted.
  bool wants_map(const LaunchInfo& launch);

  void keep_map(const LaunchInfo& launch, const std::vector<SeenRequest>& seen);

  void write_access_map();

  void write_counters();

  const DeviceTable& device_;
  MemorySystem memory_;
  LineTimes atomic_lines_;  // of a launch that has ended, while it is judged

  CheckOptions options_ = check_options_from_environment();
  bool checks_begun_ = false;
  std::atomic<bool> device_works_{true};
  std::atomic<bool> launch_failed_{false};
  std::atomic<bool> launch_runs_{false};
  std::map<const void*, const void*> early_waits_;  // events that nobody waited for since they were recorded; where
  /// A load of the host that races with a kernel's atomic, unless an atomic of the host comes next there.
  struct HostGuess {
    HostRace race;
    std::uint64_t launch;
  };
  void settle_guess(const void* atomic);
  std::mutex guess_mutex_;  ///< of what follows
  std::optional<HostGuess> guess_;
  std::unique_ptr<WrittenShadow> written_;
  std::unique_ptr<RaceShadow> races_;
  GlobalChecks global_;
  std::map<std::pair<const void*, std::array<unsigned, 6>>, unsigned> seen_;  // launches, by kernel and shape

  // Of the running launch; set before its first block begins.
  TraceMode mode_ = TraceMode::sample;
  BlockSample sample_;
  unsigned threads_ = 0;
  std::size_t shared_bytes_ = 0;
  std::size_t l1_share_ = 0;
  bool follow_ = false;

  std::uint64_t race_blocks_ = 0;      // of the program: those that were looked through
  std::uint64_t all_race_blocks_ = 0;  // and all
  std::uint64_t shared_blocks_ = 0;    // the same of shared memory, in launches that have some
  std::uint64_t all_shared_blocks_ = 0;
  std::uint64_t race_launches_ = 0;  // launches of which some were not
  std::mutex mutex_;
  TraceMode trace_mode_;                              // guarded, as all below
  std::vector<std::unique_ptr<BlockWatch>> watches_;  // by worker; of those that there may be, few are
  std::atomic<unsigned> workers_{0};                  // that there were
  LaunchReport last_;
  LaunchReport together_;       // the launches since they were taken
  double longest_of_them_ = 0;  // seconds
  std::string counters_path_;
  std::string map_path_;
  bool map_accesses_ = false;
  std::vector<MappedKernel> mapped_;
  std::vector<LaunchReport> launches_;  // where they are to be written
};

}  // namespace warpbook::emulator
