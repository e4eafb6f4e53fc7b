/// \file
/// One worker's view of the block it runs: every access, checked; in traced blocks also grouped by warp and counted.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/emulator/base/counted_loads.hpp"
#include "common/emulator/base/stage.hpp"
#include "common/emulator/base/tally.hpp"
#include "common/emulator/execution/clusters.hpp"
#include "common/emulator/execution/engine.hpp"
#include "common/emulator/observation/counters.hpp"
#include "common/emulator/observation/global_shadow.hpp"
#include "common/emulator/observation/l2.hpp"
#include "common/emulator/observation/line_times.hpp"
#include "common/emulator/observation/races.hpp"
#include "common/emulator/observation/retry_loops.hpp"
#include "common/emulator/observation/traffic.hpp"

namespace warpbook::emulator {

/// The kind of memory an address belongs to: the card's, or the thread's own and the program's constants and variables,
/// whose traffic is not followed; nor is that to the shared memory of other blocks of a cluster.
enum class Space : std::uint8_t { global, shared, local, cluster, elsewhere };

/// Where a thread read a variable of its own that has no value, and how much of it.
struct UnsetPlace {
  const void* pc = nullptr;  ///< Where in the program.
  std::size_t bytes = 0;     ///< That it read.
};

/// One instruction of a kernel, and the memory that it touched last: as long as it stays there, its accesses need no
/// look-up. One line of the processor's cache.
struct alignas(64) Site {
  const void* pc = nullptr;                   ///< Where in the program.
  std::uintptr_t begin = ~std::uintptr_t{0};  ///< of the array, or of whatever holds it
  std::uintptr_t limit = 0;                   ///< highest offset of a first byte
  Space space = Space::elsewhere;             ///< Which memory it touched last.
  std::uint8_t bytes = 0;                     ///< A lane.
  Operation operation = Operation::load;      ///< What it does.
  std::uint8_t extras = 0;                    ///< what is done besides checking the place: kLog, kInit, kRace, kStore
  bool block_scope = false;                   ///< an atomic for the threads of its block alone
  bool copied = false;                        ///< written by an asynchronous copy
  bool overwrites = false;                    ///< an atomic that does not read
  bool only_adds = false;                     ///< an atomic that adds, for nobody to use the result
  AtomicWidth width = AtomicWidth::none;      ///< of what is atomic as a whole
  std::uint16_t number = 0;                   ///< in the race shadow, plus 1; 0 before it needs one
  std::uint32_t log = 0;                      ///< its log for this space
  std::array<std::uint32_t, 2> logs{};  ///< its logs for global and shared memory, plus 1; 0 before the first access
  LaunchUse* use = nullptr;             ///< of the allocation, where the race shadow may put off loads of it
};

/// What an instruction does to memory.
struct AccessShape {
  std::uint8_t bytes;        ///< A lane.
  std::uint8_t alignment;    ///< That the hardware asks for.
  Operation operation;       ///< What it does.
  bool is_volatile = false;  ///< As the source says: threads order their accesses by it.
  bool retries = false;      ///< an atomic that shared memory has no instruction for
  std::uint8_t atomic = 0;   ///< what the compiler knows of an atomic: see tally.hpp
  bool copying = false;      ///< the first half of an asynchronous copy, which nobody waits for
  bool copied = false;       ///< its second half
  bool block_scope = false;  ///< an atomic for the threads of its block alone
};

/// Where requests are put together until their warp is done: memory that is given out piece by piece, and taken back at
/// once.
class RequestPool {
public:
  /// `count` requests, not initialised; they live until `reset`.
  Request* allocate(std::size_t count);
  /// Takes back all that was allocated.
  void reset();

private:
  static constexpr std::size_t kChunk = 1024;  // requests

  struct Chunk {
    std::unique_ptr<Request[]> requests;
    std::size_t size;
  };
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
};

/// A request as it was.
struct SeenRequest {
  const void* pc;       ///< Where in the program.
  Space space;          ///< Which memory.
  Operation operation;  ///< What was done.
  std::uint8_t bytes;   ///< A lane.
  Request request;      ///< The lanes' addresses.
  const void* array;    ///< where the array begins that the first lane touches
};

/// Follows the blocks of one worker. Only the worker's own thread uses it while a kernel runs.
class alignas(128) BlockWatch {
public:
  BlockWatch();

  /// Forgets what it knew of memory: allocations may have come and gone since the last launch. `checks` outlives it.
  void begin_launch(std::uint64_t launch, GlobalChecks* checks);
  /// The launch's number.
  std::uint64_t launch() const { return launch_; }

  /// A new block; `l1_bytes` is its share of the L1. `follow`: keep what its first warp does, in `seen`.
  /// `race`: races in global memory are looked for, too; only of a block that is traced.
  void begin_block(BlockContext& block, std::size_t l1_bytes, bool follow, bool race);
  /// All threads of the block have ended.
  void end_block(BlockContext& block);
  /// Others may run before the running thread goes on.
  void stop_thread(const BlockContext& block);
  /// The running thread comes to a barrier of the block, or to its end: what it ran is known.
  void count_work(const BlockContext& block);
  /// The block waits for others: what it stored is there.
  void settle_stores(const BlockContext& block);
  /// The running thread passes a fence; `of_block`: one for its block alone.
  void fence(const BlockContext& block, bool of_block);
  /// The running thread asks for a kernel; returns its place in `GlobalChecks::children`, plus 1.
  std::size_t ask_for_kernel(const BlockContext& block);
  /// A kernel calls a virtual function of an object there.
  void check_table(const BlockContext& block, const void* object, const void* pc);
  /// It does something atomic or volatile. `block_scope`: for its block alone.
  void synchronise(const BlockContext& block, bool writes, bool block_scope);
  /// The running thread has ended.
  void end_thread(BlockContext& block);
  /// Threads have met: what they did before is ordered before what they do next.
  void sync(BlockContext& block, SyncScope scope, unsigned warp, std::uint32_t mask);

  /// Checks an access of the block and, where it is traced, logs it. The hot path: keep it plain. What not every access
  /// needs leaves by a tail call, so that nothing has to be saved for it.
  [[gnu::always_inline]] void access(const void* address, AccessShape shape, const void* pc) {
    Site* site = &sites_[hash(pc)];
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (site->pc != pc || at - site->begin > site->limit || (at & (shape.alignment - 1U)) != 0 || shape.is_volatile)
        [[unlikely]]
      return access_anew(*block_, address, shape, pc);
    if (site->extras != 0) follow_access(*site, at);
  }

  /// The running thread comes to a loop that does nothing but load. True where all its loads are as they should be:
  /// then they are taken note of, and none of them is told any more. Else nothing is done.
  bool counted_loads(std::span<const CountedLoad> loads, const LoadWalk* walks, std::uint64_t turns);

  /// The running thread comes to an inner loop.
  void begin_loop(std::uint32_t number);

  /// It has done so, and may know from now on what others published.
  void learn(const BlockContext& block) {
    if (fenced_) note_early(block.thread / kWarpSize, 1U << block.thread % kWarpSize);
  }

  /// Looks for what runs beside this kernel and conflicts with an access to global memory.
  void check_beside(const BlockContext& block, const Site& site, const void* address, bool strong);
  /// Among that, for work of other streams.
  void check_streams(const BlockContext& block, const Site& site, const void* address, bool strong);
  /// Among that, for the kernel that launched this one.
  void check_asking_kernel(const BlockContext& block, const Site& site, const void* address, bool strong);

  /// Whether reads of what nobody has written are looked for.
  bool looks_for_unwritten() const { return checks_->init; }
  /// The block came to the barrier of its cluster, or goes on from it.
  void cluster_barrier(const BlockContext& block, bool arrives);
  /// See Observer.
  void stale_read(const void* address, unsigned bytes, const void* pc, bool copy);
  /// What a copy that nobody has waited for writes may come at any time of the interval that begins; or of this one,
  /// where the copy does.
  void copy_goes_on(const BlockContext& block, unsigned thread, const void* shared, unsigned bytes, const void* pc,
                    bool begins);

  /// The running thread reads a variable of its own that has no value.
  void note_unset_read(const UnsetPlace& read);
  /// What came of it decides a branch or an address.
  void use_unset(std::size_t bytes, const void* pc);
  /// What came of it was stored here. Where that is shared memory, it is as if nothing was.
  void store_unset(const void* address, std::size_t bytes, const void* pc);

  /// A variable of the running thread's own begins, whose address may be kept.
  void begin_local(const void* variable);
  /// And ends.
  void end_local(const void* variable, std::size_t bytes, const void* pc);
  /// Checks that an access is to none that has ended. Below `frame` lies what functions had that have returned.
  void check_local(const void* address, std::size_t bytes, Operation operation, const void* pc, const void* frame);

  /// The next atomic is one for the threads of its block alone.
  void expect_block_scope() { block_scope_ = true; }
  /// The volatile store to come adds to what was read there.
  void expect_update() { updates_ = true; }
  /// Whether this one is.
  bool take_block_scope() { return std::exchange(block_scope_, false); }

  /// True the first time in this launch that something is found at these instructions.
  bool is_new_global(const std::pair<const void*, const void*>& sites, unsigned kind = 0);

  /// Checks and logs `bytes` bytes that one thread touches one after another.
  void range(const void* address, std::size_t bytes, Operation operation, const void* pc);

  // What the traced blocks of this launch added up to.
  Counts counts{};                              ///< Of the launch's blocks that this worker ran.
  std::array<std::uint64_t, kTallies> tally{};  ///< of all blocks, see tally.hpp
  bool approximate = false;                     ///< long loops were sampled
  std::unique_ptr<BlockTraffic> traffic = std::make_unique<BlockTraffic>();  ///< beyond its L1; others empty it
  std::vector<SeenRequest> seen;  ///< of the block whose first warp is followed, in order
  LineTimes atomic_lines;         ///< Of atomics on global memory, in this launch.
  RetryLoops retries;             ///< Atomics on 2 bytes of global memory.
  RetryTally retry_sums;          ///< Of all blocks.
  Rounds slowest;                 ///< The most that any block has.

private:
  static constexpr unsigned kSites = 4096;
  static constexpr unsigned kMaxWarps = 32;
  /// A store to shared memory that is about to be done.
  struct SharedStore {
    const std::byte* address = nullptr;
    unsigned bytes = 0;              ///< 0: there is none; kRange: those of `range_stores_`
    std::uint32_t* value = nullptr;  ///< where to write down what it stored
  };
  /// One of several that are about to be done: requests may move before.
  struct RangeStore {
    const std::byte* address;
    unsigned bytes;
    unsigned thread;
    std::uint32_t log;
    std::uint32_t place;  ///< of its request in the log
  };
  static constexpr unsigned kRange = 255;

  /// A store of what has no value to shared memory.
  struct UnsetStore {
    const std::byte* address;
    unsigned bytes;
    unsigned thread;
    std::uint32_t value;  ///< in short
    const void* pc;
    bool told = false;  ///< to the shadow
  };

  /// A variable of a thread's own that has ended.
  struct EndedLocal {
    const std::byte* begin;
    std::size_t bytes;
    const void* pc;  ///< Where it ended.
  };

  // Of a site whose memory is global or shared:
  static constexpr std::uint8_t kLog = 1;    ///< the block is traced
  static constexpr std::uint8_t kInit = 2;   ///< reads of what nobody has written are looked for
  static constexpr std::uint8_t kRace = 4;   ///< and races in global memory
  static constexpr std::uint8_t kStore = 8;  ///< the block is traced, and it is a store to shared memory
  static constexpr std::uint8_t kChecks = kInit | kRace;

  /// What a block of the cluster did to a word of its own or another one's shared memory.
  struct ClusterAccess {
    const void* pc = nullptr;
    Operation operation = Operation::load;
    unsigned thread = 0;
    std::uint64_t block = 0;
    std::uint32_t arrived = 0;  ///< barriers of the cluster that the block had come to
    std::uint32_t mask = 0;     ///< the bytes of the word
  };
  /// The last store, atomic and load.
  using ClusterWord = std::array<ClusterAccess, 3>;
  using ClusterWords = std::unordered_map<std::size_t, ClusterWord>;
  /// What the lanes of a warp did to their own block's.
  struct WarpAccess {
    const std::size_t* offsets;  ///< by lane
    std::uint32_t mask;
    unsigned bytes;
    Operation operation;
    const void* pc;
    unsigned warp;
  };

  /// A lane's loads of a counted loop at a site.
  struct LaneWalk {
    LoadWalk walk;
    std::uint32_t first;  ///< occurrence
    std::uint32_t turns;
    std::uint32_t lane;
    std::uint32_t next;  ///< the site's next one in `walks_`; of the last one nothing
  };
  /// What the lanes of one warp did at one site since the warp was last in step.
  struct SiteLog {
    Request* requests = nullptr;
    std::uint32_t direct = 0;  ///< requests whose place is their occurrence; those after them are a sample
    std::uint32_t used = 0;    ///< all requests
    std::uint32_t capacity = 0;
    std::uint32_t walks = 0;       ///< that are not among the requests
    std::uint32_t first_walk = 0;  ///< in `walks_`, where there are any
    std::uint32_t last_walk = 0;
    std::array<std::uint32_t, kWarpSize> count{};  ///< accesses of each lane
  };
  struct WarpLog {
    std::vector<SiteLog> logs;           ///< by Site::log; of a block's warps all have as many, and one for each site
    std::vector<std::uint32_t> touched;  ///< in the order of first access
    std::uint32_t ended = 0;             ///< lanes that left the kernel
    std::uint8_t epoch = 0;              ///< meetings of its lanes since the block's barrier
    std::uint8_t ordered_from = 0;       ///< the epoch that the last barrier of its lanes began
    bool epoch_known = true;             ///< false where meetings can no longer be told apart
    bool apart = false;                  ///< only some lanes met since all did last:
    LaneClocks clocks;                   ///< what orders them then, and
    std::vector<std::array<std::uint32_t, kWarpSize>> checked;  ///< of each log and lane, requests looked at for races
    std::uint32_t late = 0;  ///< lanes that may know what others published since the block's barrier, but for
    std::vector<std::array<std::uint32_t, kWarpSize>> early;     ///< so many accesses of each log and lane
    std::uint32_t steps = 0;                                     ///< how often it was in step in this block
    std::vector<std::pair<std::uint32_t, std::uint32_t>> loops;  ///< inner ones by number: how often lanes came to them
    Rounds rounds;                                               ///< since the block's barrier
  };
  struct LogKind {
    const void* pc;
    Space space;
    Operation operation;
    std::uint8_t bytes;
    bool retries;
    std::uint8_t atomic;
    bool copying;
    bool copied;
    Stage stage;  // of the kernel: what is of one stage is asked for together, and waited for together
  };
  /// Round trips of a warp in one stage of its kernel.
  struct StageRounds {
    std::uint32_t stage;
    std::uint64_t global;
    std::uint64_t beyond_l1;  // of these, those that the L1 does not answer
    std::uint64_t shared;
  };

  /// Instructions that lie within 4 KiB, as a kernel's mostly do, never meet.
  static std::size_t hash(const void* pc) { return reinterpret_cast<std::uintptr_t>(pc) % kSites; }

  void set_logging(bool on);
  void set_racing(bool on);
  static std::uint8_t log_extras(const Site& site);
  void search_races(Site& site, const void* address);
  void access_anew(BlockContext& block, const void* address, AccessShape shape, const void* pc);
  [[gnu::noinline]] void follow_access(Site& site, std::uintptr_t address);
  void access_first(BlockContext& block, Site& site, std::uintptr_t address, std::uint32_t occurrence);
  void log(const Site& site, std::uintptr_t address, unsigned thread);
  Site* look_up(BlockContext& block, Site* site, const void* address, AccessShape shape, const void* pc);
  Site* known_site(const CountedLoad& load, const LoadWalk& walk, std::uint64_t turns);
  void log_walk(WarpLog& warp, std::uint32_t log, const LoadWalk& walk, std::uint32_t turns, unsigned lane);
  void check_walks(const BlockContext& block, std::span<Site* const> sites, const LoadWalk* walks, std::uint32_t turns);
  void place_walks(SiteLog& entry);
  void settle_walks(WarpLog& warp, bool all);
  const Request& walked_request(const SiteLog& entry, std::uint32_t place);
  std::uint16_t race_site(Site& site);
  GlobalActor actor(const BlockContext& block, bool block_scope) const;
  void log_new(WarpLog& warp, std::uint32_t log, std::uintptr_t address, unsigned lane, std::uint32_t occurrence);
  void flush(const BlockContext& block, unsigned warp);
  StageRounds& rounds_of(std::uint32_t stage);
  void flush_all(const BlockContext& block);
  /// Waits of a warp for what it asked for at one site.
  struct SiteRounds {
    std::uint64_t all = 0;
    std::uint64_t beyond_l1 = 0;  ///< of these, those that the L1 does not answer
  };
  SiteRounds count_requests(const SiteLog& entry, const LogKind& kind, const WarpLog& warp);
  static double turns_together(const SiteLog& entry, const Stage& stage, const WarpLog& warp);
  bool count_global(const Request& request, const LogKind& kind, std::uint64_t weight);
  bool count_access(const Request& request, unsigned bytes, Operation operation, std::uint64_t weight);
  void count_atomic(const Request& request, unsigned bytes, Operation operation, std::uint64_t weight,
                    bool of_floats = false);
  void count_compare_and_swap(const Request& request, std::uint64_t weight);
  bool send_lines(Operation operation, std::uint64_t weight);
  void count_shared(const Request& request, const LogKind& kind, std::uint64_t weight);
  bool count_merged(const SiteLog& entry, const LogKind& kind, std::uint32_t place);
  void end_retries(const BlockContext& block);
  void follow(const WarpLog& warp);
  void note_store(const Site& site, std::uintptr_t address, std::uint32_t occurrence);
  void settle_store();
  [[gnu::noinline]] void settle_range();
  void find_retries(const WarpLog& warp);
  void check_shared(const BlockContext& block, unsigned warp, std::uint32_t lanes);
  void meet_apart(const BlockContext& block, unsigned warp, std::uint32_t lanes, bool barrier);
  void check_global(const BlockContext& block, Site& site, std::uintptr_t address, bool is_volatile);
  void settle_race(const BlockContext& block);
  void settle_races(const BlockContext& block);
  void report(const BlockContext& block, const GlobalRace& race);
  void end_interval(const BlockContext& block);
  void end_rounds(const BlockContext& block);
  void end_work(const BlockContext& block);
  WorkCounts work_since();
  void hold(const SharedRace& race, std::uint32_t log);
  void report(const BlockContext& block, const SharedRace& race, std::uint32_t log);
  bool is_new(std::uint32_t log, std::uint32_t other_log, bool in_warp);
  bool is_ordered(const SharedRace& race) const;
  void note_early(unsigned warp, std::uint32_t lanes);
  static std::uint32_t late_lanes(const WarpLog& warp, std::uint32_t log, std::uint32_t place);
  void forget_steps();
  void check_cluster(const BlockContext& block, const void* address, AccessShape shape, const void* pc);
  std::size_t offset_of(const ClusterPlace& place) const;
  bool is_unwritten(const ClusterPlace& place, std::size_t bytes) const;
  void begin_cluster_block();
  void meet_word(const ClusterWord& known, const void* address, const ClusterAccess& access);
  void meet_cluster(const BlockContext& block, const WarpAccess& access);
  std::size_t shared_offset(const BlockContext& block, const void* address) const;
  void forget_unset(const BlockContext& block, unsigned warp);
  const std::byte* shared_address(const BlockContext& block, std::size_t offset) const;
  std::uint32_t new_log(const BlockContext& block, const void* pc, Space space, AccessShape shape);

  std::array<Site, kSites> sites_{};
  BlockContext* block_ = nullptr;
  bool logging_ = false;                                 ///< sites have kLog: the block is traced, or the last one was
  bool racing_ = false;                                  ///< sites of global memory have kRace
  bool alone_ = true;                                    ///< nothing else may run beside the launch
  std::vector<std::pair<unsigned, std::size_t>> asked_;  ///< threads of the block, with the last kernel they asked for
  RaceShadow::Pending pending_race_;
  std::array<WarpLog, kMaxWarps> warps_{};
  std::vector<LogKind> kinds_;       ///< by Site::log
  std::vector<StageRounds> stages_;  ///< of the warp that is counted
  std::vector<unsigned> used_sites_;
  RequestPool pool_;
  std::vector<LaneWalk> walks_;
  static constexpr unsigned kWalkedAtATime = 32;
  std::array<Request, kWalkedAtATime> walked_;  ///< requests of the site that is counted, from `walked_begin_` on
  std::uint32_t walked_begin_ = ~0U;
  L1Cache<> l1_;
  WrittenLines writes_;  ///< that the warp's stores wrote last
  SharedShadow shadow_;
  AddressRange static_shared_;
  // In this launch: pairs of logs, within a warp or beyond; pairs of instructions, of global memory.
  std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>> reported_;
  std::vector<std::tuple<const void*, const void*, unsigned>> reported_global_;
  std::vector<std::uint32_t> retried_;  ///< logs of loads that begin a loop of compare and swap, in this launch
  SharedStore store_;
  std::vector<RangeStore> range_stores_;
  std::vector<UnsetPlace> unset_reads_;                     ///< by thread: the last one of the launch
  UnsetPlace last_unset_read_;                              ///< of all threads
  std::vector<UnsetStore> unset_stores_;                    ///< of the block
  std::vector<EndedLocal> ended_locals_;                    ///< of the block
  bool block_scope_ = false;                                ///< of the next atomic
  bool updates_ = false;                                    ///< of the next volatile store
  std::vector<std::pair<SharedRace, std::uint32_t>> held_;  ///< with its log: races since the block's barrier
  ClusterWords from_cluster_;          ///< what other blocks of the cluster did to words of this one
  ClusterWords in_cluster_;            ///< what this block did to them
  std::uint32_t cluster_arrived_ = 0;  ///< barriers of the cluster that the block came to
  std::uint32_t cluster_passed_ = 0;   ///< of these, those that it went on from
  bool hands_over_ = false;            ///< A thread of the block passed a fence, so it may order more.
  bool fenced_ = false;                ///< a thread passed a fence since the block's barrier
  BlockSteps steps_;                   ///< since then
  bool in_range_ = false;              ///< `range` tells of a store piece by piece
  LineList lines_;
  std::uint64_t time_ = 0;  ///< of the request that is counted: its warp's turns up to it
  std::uint64_t launch_ = 0;
  GlobalChecks* checks_ = nullptr;
  Rounds block_rounds_;         ///< of the block, up to its last barrier
  WorkCounts block_work_{};     ///< the same of its busiest warps' work
  std::uint16_t interval_ = 0;  ///< barriers of the block so far
  unsigned pending_ = 0;        ///< warps with something in their logs
  bool following_ = false;
  std::array<std::uint64_t, kTallies> tally_begin_{};
  WorkCounts tally_seen_{};                        ///< the tally, when the running thread began to run
  std::array<WorkCounts, kMaxWarps> warp_work_{};  ///< of the busiest lane, since the block's barrier
  std::vector<WorkCounts> work_before_;        ///< by thread, of those that had to stop elsewhere; empty where none had
  std::vector<std::uint32_t> shared_retries_;  ///< of the block, by hashed address; empty where it has none
  std::vector<std::uint32_t> shared_exchanges_;  ///< the same of loops of compare and swap that the kernel writes down
  std::uint64_t exchange_requests_ = 0;          ///< of these loops
  std::uint64_t exchange_wavefronts_ = 0;        ///< of these requests
};

}  // namespace warpbook::emulator
