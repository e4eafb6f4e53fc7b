/// \file
/// What happened to each piece of global memory: whether anything was written there, and who wrote and read it last in
/// the running launch. Finds reads of what nobody wrote, and races.
///
/// Races are looked for in launches whose blocks run in order, one after the other, on one operating system thread; in
/// large launches in a sample of the blocks, which several threads run.
///
/// Two accesses by different threads, one of them a write, race unless something orders them: a barrier of their block,
/// a meeting of their warp, both being atomic (volatile counts as that, being what flags are made of); or, between
/// blocks, a fence after which the first block did something atomic, and something atomic that the second one did
/// since; between threads of one block, the same of these two or of their warps. What is atomic for a block alone is
/// not for two, and atomics of 4 bytes and of 8 are none for each other. Where two threads store the same value, it
/// does not matter who comes last: that is no race. Nor is a load beside others' atomics where it begins a loop of
/// compare and swap.
///
/// What it can miss: of more than two threads that read a word, races of the third and further ones with a later write
/// of one of the first two's warp; of bytes of one word with different writers, the earlier ones. In a sample, a store
/// that another block meets while it is being done: nobody can tell whether both store the same value.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "common/emulator/base/counted_loads.hpp"
#include "common/emulator/execution/async_work.hpp"
#include "common/emulator/include/warpbook_emulator.h"
#include "common/emulator/observation/counters.hpp"
#include "common/emulator/observation/findings.hpp"
#include "common/emulator/observation/lane_clocks.hpp"
#include "common/emulator/observation/sample.hpp"

namespace warpbook::emulator {

/// Which bytes of the arena were ever written.
class WrittenShadow {
public:
  /// Reserves addresses; memory comes with use.
  WrittenShadow();

  /// False where this machine does not give so many addresses.
  bool is_there() const { return base_ != nullptr; }

  /// These bytes have been written.
  void write(const void* address, std::size_t bytes, Writer by = Writer::runtime);
  /// These bytes are now as much written as those they were copied from.
  void copy(const void* to, const void* from, std::size_t bytes);
  /// These bytes count as not written.
  void forget(const void* address, std::size_t bytes);
  /// True when at least one of the bytes was written: a struct that is copied may have padding.
  bool is_written(const void* address, unsigned bytes) const;
  /// True where every byte of this allocation was written. No byte is looked at again once it was.
  bool is_whole(const AddressRange& allocation);
  /// Bytes that nobody wrote.
  struct Gaps {
    std::size_t bytes = 0;        ///< How many there are.
    const void* first = nullptr;  ///< The first of them.
  };
  /// Adds those of a piece of memory that make runs of `least` and more: a shorter one may be a struct's padding.
  void find_gaps(const void* address, std::size_t bytes, std::size_t least, Gaps& gaps) const;
  /// Who wrote them last.
  std::vector<Writer> writers(const void* address, std::size_t bytes) const;

private:
  std::uint8_t* at(const void* address) const;
  void lose(const void* address);
  std::uint8_t* base_ = nullptr;
  std::mutex mutex_;                               ///< of what follows
  std::map<const std::byte*, std::size_t> whole_;  ///< By allocation: so many of its first bytes were written.
};

/// How one side might have handed to the other what it wrote, but for one thing.
enum class Handover : std::uint8_t {
  none,      ///< It did not try to.
  unfenced,  ///< By an atomic or `volatile`, without a fence before.
  unmarked,  ///< By a fence, without an atomic or `volatile` behind it.
};

/// What a thread, a warp or a block did so far to publish what it wrote, and to learn what others published.
class SyncSteps {
public:
  /// It passed a fence.
  void fence() { bits_ |= kFenced; }
  /// It did something atomic, which publishes what a fence came behind.
  void synchronise(bool writes) {
    bits_ |= static_cast<std::uint8_t>(kLearned | (writes ? kMarked : 0) |
                                       (writes && (bits_ & kFenced) != 0 ? kPublished : 0));
  }
  /// What is missing for it to know what the other one wrote.
  Handover missing(SyncSteps other) const {
    if ((other.bits_ & kPublished) != 0) return Handover::none;
    if ((other.bits_ & kFenced) != 0) return Handover::unmarked;
    return (bits_ & kLearned) != 0 && (other.bits_ & kMarked) != 0 ? Handover::unfenced : Handover::none;
  }
  /// Whether others can know what it wrote.
  bool publishes() const { return (bits_ & kPublished) != 0; }
  /// Whether it knows what the other one wrote.
  bool knows(SyncSteps other) const { return (bits_ & kLearned) != 0 && (other.bits_ & kPublished) != 0; }

private:
  static constexpr std::uint8_t kFenced = 1;
  static constexpr std::uint8_t kPublished = 2;
  static constexpr std::uint8_t kLearned = 4;
  static constexpr std::uint8_t kMarked = 8;
  std::uint8_t bits_ = 0;
};

/// The same of the threads of a block, since its last barrier. What one lane publishes, its warp does, which may have
/// met before.
struct BlockSteps {
  std::array<SyncSteps, 1024> threads{};  ///< By linear index.
  std::array<SyncSteps, 32> warps{};      ///< Of all their lanes.

  /// Whether the thread knows what the other one wrote.
  bool knows(unsigned thread, unsigned other) const {
    if (thread / 32 == other / 32) return threads[thread].knows(threads[other]);
    return warps[thread / 32].knows(warps[other / 32]);
  }
};

/// The thread that accesses memory, and its place in the launch's order of events.
struct GlobalActor {
  std::uint32_t thread = 0;               ///< linear index in the grid
  std::uint32_t block = 0;                ///< of the grid
  std::uint16_t interval = 0;             ///< counts the barriers of its block
  std::uint8_t epoch = 0;                 ///< counts the meetings of its warp since then
  std::uint8_t ordered_from = 0;          ///< the epoch that its warp's last barrier began, which a shuffle is not
  bool epoch_known = true;                ///< false where nothing is said of races inside the warp
  bool block_scope = false;               ///< what is atomic is so for the block alone
  const BlockSteps* steps = nullptr;      ///< its block's; null where none of it passed a fence
  bool updates = false;                   ///< what is volatile adds to what was read there
  bool only_adds = false;                 ///< what is atomic adds, for nobody to use the result
  AtomicWidth width = AtomicWidth::none;  ///< of what is atomic as a whole
  const LaneClocks* clocks = nullptr;     ///< where only some lanes met: what orders them
};

/// Two accesses that race.
struct GlobalRace {
  const void* address = nullptr;                ///< The first byte that both touched.
  std::uint32_t thread = 0;                     ///< linear index in the grid
  std::uint32_t other_thread = 0;               ///< The thread that was there before.
  std::uint16_t site = 0;                       ///< Where the access is that was seen last.
  std::uint16_t other_site = 0;                 ///< Where the one before is.
  Operation operation = Operation::load;        ///< What was done last.
  Operation other_operation = Operation::load;  ///< What was done before.
  bool block_scope = false;                     ///< One is an atomic for its own block alone.
  bool exchanged = false;                       ///< Lanes of a warp that met between, but not at a barrier.
  Handover handover = Handover::none;           ///< What is missing, of two blocks.
};

/// What a launch does with an allocation.
struct LaunchUse {
  /// Loads of it are taken note of only when somebody asks. Without order: one thread runs all blocks.
  std::atomic<bool> put_off = false;
  bool written = false;  ///< It was written.
  bool mixed = false;    ///< loads that had been put off met others
};

/// A kernel that a thread asked for, and what it knew by then: what it and its block had done before.
struct ChildKernel {
  std::uint64_t launch = 0;    ///< The asking thread's.
  const char* kernel = "";     ///< What that runs.
  std::uint32_t thread = 0;    ///< linear index in its grid
  unsigned threads = 1;        ///< of a block there
  std::uint16_t interval = 0;  ///< counts the barriers of its block
  bool fenced = false;         ///< Somebody passed a fence, so that the thread may know of others.

  /// Whether another thread did something behind so many barriers that the asking one cannot know of.
  bool meets(std::uint32_t other, std::uint16_t barriers) const {
    if (fenced || other == thread) return false;
    if (other / threads != thread / threads) return true;
    const bool same_warp = other % threads / 32 == thread % threads / 32;
    return static_cast<std::int16_t>(barriers - interval) >= (same_warp ? 1 : 0);
  }
};

/// What a thread accessed when it had asked for kernels.
struct LateAccess {
  std::size_t child;       ///< the last of these kernels
  std::uintptr_t address;  ///< Where.
  std::uint8_t bytes;      ///< How many.
  bool writes;             ///< or reads
  bool strong;             ///< atomic or volatile
  std::uint16_t site;      ///< Where in the program.
};

/// A load of a loop, turn after turn.
struct WalkedLoad {
  LoadWalk walk;       ///< Where it goes.
  std::uint16_t site;  ///< Where in the program.
  std::uint8_t bytes;  ///< Its width.
  LaunchUse* use;      ///< Of its allocation; null where its loads cannot be put off.
};

/// Who touched each word of global memory last, in one launch at a time.
///
/// Loads of a loop from what nobody has written in the launch race with nothing so far. They are put off: kept as the
/// loop that they are, and taken note of in the order in which they were, once somebody writes to such an allocation,
/// or asks. Mostly nobody does.
class RaceShadow {
public:
  /// Two stores that race if the later one changes what the earlier one wrote.
  struct Pending {
    GlobalRace race;                      ///< What is reported if they race.
    std::array<std::uint8_t, 16> before;  ///< What the earlier store left there.
    unsigned bytes = 0;                   ///< 0: there are none
  };

  /// A launch with so many threads a block begins. A complete sample: one operating system thread runs all blocks.
  void begin_launch(std::uint64_t launch, unsigned threads, const BlockSample& sample);

  /// True for global memory of which it takes note: allocations, and variables of the program.
  bool covers(const void* address) const {
    return in_arena(address) || (variable_cells_ != nullptr && variables_.contains(address));
  }
  /// True where an allocation is small enough to be followed.
  static bool follows(std::size_t bytes) { return bytes <= std::size_t{64} << 20; }

  /// Takes note of an access, before it is done; `strong` for atomics and volatile. Returns a race that is certain
  /// already.
  std::optional<GlobalRace> add(const GlobalActor& actor, std::uintptr_t address, unsigned bytes, Operation operation,
                                bool strong, std::uint16_t site, Pending& pending);

  /// What the running launch does with the allocation that begins there; null where loads are never put off.
  LaunchUse* use(const std::byte* allocation);
  /// An access to that allocation comes, by itself.
  void touch(LaunchUse& use, Operation operation) {
    if (use.put_off.load(std::memory_order_relaxed)) [[unlikely]] {
      take_put_off();
      use.mixed = true;
    }
    if (operation != Operation::load) use.written = true;
  }
  /// Puts off the loads of a loop, turn after turn; false where they have to be added one by one.
  bool put_off(const GlobalActor& actor, std::span<const WalkedLoad> loads, std::uint32_t turns);

  /// What a launch did with memory that somebody else touches now.
  struct Touched {
    std::uint16_t site;   ///< Where in the program.
    bool writes;          ///< or reads
    bool strong;          ///< atomic or volatile
    const void* address;  ///< The first byte, or the word that it is in.
  };
  /// An access of an earlier launch, the last of its kind, that conflicts with one of the host or of another stream.
  /// With `child`, one of a thread that the kernel's own did not know of when it asked for that.
  std::optional<Touched> touched(std::uint64_t launch, const void* address, std::size_t bytes, bool writes,
                                 const ChildKernel* child = nullptr);
  /// The store that `add` left as pending was done; returns the race that it turned out to be.
  static std::optional<GlobalRace> settle(Pending& pending);

  /// What the block stored so far was done.
  void stored(std::uint32_t number);

  /// True where threads that loaded at this site did something atomic to the same word then: a loop of compare and swap
  /// begins with a guess, for which any value will do. Who only adds did not guess.
  bool begins_retries(std::uint16_t site) const { return retried_[site]; }

  /// A thread of the block did something atomic, wherever: it may learn so of what others published, and may publish
  /// what they fenced off.
  void synchronise(std::uint32_t number, std::uint16_t interval, bool writes);

  /// True where threads of the launch passed a fence.
  bool fenced(std::uint64_t launch) const { return fenced_.contains(launch); }

  /// A thread of the block passed a fence; what is atomic and comes after it publishes what came before.
  void fence(std::uint32_t number);

private:
  struct Reader {
    std::uint32_t thread;  // + 1; 0: none
    std::uint16_t interval;
    std::uint16_t site;
  };
  struct Cell {
    std::uint16_t launch;
    std::uint16_t write_interval;
    std::uint32_t writer;  // thread + 1; 0: none
    std::uint16_t write_site;
    std::uint8_t write_epoch;
    std::uint8_t flags;
    std::uint8_t masks;       // bytes of the word: low half those written, high half those read
    std::uint8_t read_masks;  // bytes that each reader below read: low half the first's
    std::array<std::uint8_t, 2> read_epoch;
    std::array<Reader, 2> readers;
  };
  static_assert(sizeof(Cell) == 32);
  struct Block {
    std::uint32_t storing = 0;    // thread + 1 of a store that may not be done yet; not where blocks are in order
    SyncSteps steps;              // of all its threads
    std::uint16_t published = 0;  // the interval in which it did so last
  };

  static constexpr std::uint8_t kStrongWriter = 1;
  static constexpr std::uint8_t kStrongReaders = 2;
  static constexpr std::uint8_t kBlockWriter = 4;   // strong for the writer's block alone
  static constexpr std::uint8_t kUpdateWriter = 8;  // volatile, and added to what was read there
  static constexpr unsigned kWriterWidth = 4;       // the bits of its AtomicWidth begin here

  /// A load of a loop by threads that follow each other in a block, and each do the same there after the other.
  struct PutOff {
    LoadWalk walk;         // of the first thread
    std::int64_t apart;    // from one thread to the next, in bytes
    std::uint32_t thread;  // the first one
    std::uint32_t threads;
    std::uint32_t turns;
    std::uint16_t loads;  // of its loop from this one on, which follow each other
    std::uint16_t interval;
    std::uint16_t site;
    std::uint8_t epoch;
    std::uint8_t ordered_from;
    std::uint8_t bytes;
  };
  /// Those of a launch.
  struct PutOffLaunch {
    std::uint64_t launch;
    unsigned threads;  // of a block
    std::vector<PutOff> loads;
    std::size_t last = 0;  // where the last loop begins
  };

  std::unique_lock<std::mutex> lock();
  void forget_put_off();
  void take_put_off();
  void take(const PutOffLaunch& launch);
  bool join(PutOffLaunch& launch, const GlobalActor& actor, std::span<const WalkedLoad> loads,
            std::uint32_t turns) const;
  void load_word(Cell& cell, const GlobalActor& actor, unsigned mask, std::uint16_t site, bool strong) const;
  Cell* cell(std::uintptr_t address) const;
  std::size_t bytes_of_variables() const;
  Block& block(std::uint32_t number) { return blocks_[static_cast<std::size_t>(sample_.ordinal(number))]; }
  const Block& block(std::uint32_t number) const { return blocks_[static_cast<std::size_t>(sample_.ordinal(number))]; }
  /// Whether what `other` did in these is ordered before what the actor does.
  bool ordered(const GlobalActor& actor, std::uint32_t other, std::uint16_t interval, std::uint8_t epoch,
               bool wrote) const;
  void find_retries(const Cell& cell, const GlobalActor& actor, unsigned mask);
  void read(Cell& cell, const GlobalActor& actor, unsigned mask, std::uint16_t site, bool strong) const;
  /// `beyond`: of other blocks alone.
  std::optional<GlobalRace> race_with_reader(const Cell& cell, const GlobalActor& actor, unsigned mask,
                                             bool beyond) const;

  std::byte* base_ = nullptr;
  AddressRange variables_{};             ///< from a word's begin on
  std::byte* variable_cells_ = nullptr;  ///< the same of them
  bool reserved_ = false;
  std::uint64_t launch_id_ = 0;
  std::uint16_t launch_ = 0;  ///< in short
  unsigned threads_ = 1;
  BlockSample sample_;
  std::mutex put_off_mutex_;                    ///< of what follows
  std::map<const std::byte*, LaunchUse> uses_;  ///< by allocation, in the running launch
  std::vector<PutOffLaunch> put_off_;           ///< the running launch's, and those that the host has not waited for
  std::atomic<bool> put_off_before_{false};     ///< one of them is of a launch before
  std::mutex mutex_;                            ///< where blocks are not in order: of all cells, and of what follows
  std::vector<Block> blocks_;                   ///< of the sample
  std::set<std::uint64_t> fenced_;              ///< launches that passed a fence
  std::vector<bool> retried_ = std::vector<bool>(0x10000);  ///< by site, of the whole program
};

/// What is checked of global memory; one for the whole program.
struct GlobalChecks {
  bool init = false;                  ///< reads of what nobody wrote
  bool race = false;                  ///< races, in the launch that runs
  bool race_all = false;              ///< in all of its blocks
  WrittenShadow* written = nullptr;   ///< Null: reads of memory that nobody wrote are not looked for.
  RaceShadow* races = nullptr;        ///< Null: races are not looked for.
  std::vector<const void*> sites;     ///< instructions, by the number that the race shadow knows them by
  std::vector<AsyncWork> concurrent;  ///< Work of other streams that nothing orders before the launch.
  unsigned stream = 0;                ///< The launch's own stream.
  std::size_t child = 0;              ///< The launch's place in `children`, plus 1; 0: no kernel asked for it.
  std::mutex mutex;                   ///< of what follows, and of the sites
  std::vector<ChildKernel> children;  ///< that kernels asked for since the host's last launch
  std::vector<LateAccess> late;       ///< of those that asked
  std::set<std::array<std::uint64_t, 3>> told_streams{};    ///< two streams that meet, and the allocation where they do
  std::vector<std::pair<std::uint16_t, Finding>> doubtful;  ///< races of the launch, unless this load begins retries
  /// A launch begins, which the host asked for, or a kernel.
  void begin_launch(std::size_t asked_for);
  /// True the first time that nothing orders this stream and the other one at an allocation: it is one mistake, however
  /// many accesses show it. The caller holds the lock.
  bool is_new_meeting(unsigned other, const void* address);
  // There was something to write that is not looked at:
  std::atomic<bool> missed_large = false;      ///< an allocation that is too large to be followed
  std::atomic<bool> missed_elsewhere = false;  ///< the host's memory, or what kernels allocate
};

}  // namespace warpbook::emulator
