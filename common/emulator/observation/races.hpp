/// \file
/// Who wrote and who read each byte of a block's shared memory since its last barrier: finds races, and reads of what
/// nobody wrote. Two stores of one value are no race: it does not matter who comes last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/emulator/observation/counters.hpp"
#include "common/emulator/observation/lane_clocks.hpp"

namespace warpbook::emulator {

/// Two accesses that race.
struct SharedRace {
  std::size_t offset;         ///< of the byte
  unsigned thread;            ///< linear index, of the access that was looked at
  unsigned other_thread;      ///< the one that it races with
  std::uint32_t other_log;    ///< The entry of the log that the other access has.
  Operation other_operation;  ///< What the other access did.
  bool exchanged = false;     ///< The two are lanes of a warp that met between, but not at a barrier.
  bool late = false;          ///< The thread's warp may have learned before of what others published.
  bool other_late = false;    ///< The other one's may.
};

/// A read of what nobody had written.
struct UnwrittenRead {
  std::size_t offset;  ///< Into shared memory, of the first byte that nobody wrote.
  unsigned thread;     ///< Who read it.
  std::uint32_t log;   ///< The entry of the log that the read has.
  bool updates;        ///< an atomic: that it wrote since says nothing
};

/// The shared memory of one block at a time. Offsets are the caller's; each byte has one. The four bytes of a word
/// share what is known of them, until one of them is accessed without the others.
class SharedShadow {
public:
  /// Makes room; everything counts as unwritten.
  void begin_block(std::size_t bytes);

  /// All that came before is ordered before all that follows. Returns the reads of bytes that are still unwritten (what
  /// was written since is a race); valid until the next call.
  const std::vector<UnwrittenRead>& barrier();

  /// These bytes count as unwritten.
  void forget(std::size_t offset, unsigned bytes);

  /// Somebody outside of the block wrote these bytes.
  void write_from_beyond(std::size_t offset, std::size_t bytes);

  /// Whether nobody wrote any of these bytes.
  bool nobody_wrote(std::size_t offset, std::size_t bytes) const;

  /// What the lanes of one warp did together.
  struct Access {
    const std::size_t* offsets;   ///< by lane
    std::uint32_t mask;           ///< The lanes that take part.
    const std::uint32_t* values;  ///< of a store, by lane: what was written, in short; null: unknown
    unsigned bytes;               ///< A lane.
    Operation operation;          ///< What is done.
    bool overwrites;              ///< by an atomic that does not read
    std::uint32_t log;            ///< the caller's name for the instruction
    unsigned warp;                ///< The warp's number in its block.
    std::uint8_t epoch;           ///< counts the warp's own meetings since the block's barrier
    std::uint8_t ordered_from;    ///< the epoch that its last barrier began: what was written before is ordered
    bool epoch_known;             ///< false where nothing is said of races inside the warp
    const LaneClocks* clocks;     ///< where only some lanes met: instead of the epochs; else null
    std::uint32_t late = ~0U;     ///< lanes that may have learned before of what others published
    bool promised = false;        ///< a copy has begun: what it writes is not there yet
    AtomicWidth width = AtomicWidth::none;  ///< of what is atomic as a whole
  };

  /// Takes note of an access; returns the first race in it. Of a warp, give writes before reads.
  std::optional<SharedRace> add(const Access& access);

private:
  static constexpr std::uint8_t kAtomicWriter = 1;   // the writer was an atomic
  static constexpr std::uint8_t kReadersInWarp = 2;  // the reader's warp has another reader
  static constexpr std::uint8_t kReadersBeyond = 4;  // another warp has a reader
  static constexpr std::uint8_t kValue = 8;          // what the writer wrote is known
  static constexpr std::uint8_t kLateWriter = 16;    // see Access::late
  static constexpr std::uint8_t kLateReader = 32;    // the same of one of the readers
  static constexpr unsigned kWriterWidth = 6;        // the bits of the writer's AtomicWidth begin here

  static constexpr std::size_t kWord = 4;

  struct Cell {              // of a byte, or of a word
    std::uint32_t interval;  // in which the fields below are true
    std::uint32_t written;   // the block that wrote it last
    std::uint32_t value;     // what it wrote, in short
    std::uint16_t writer;    // thread + 1; 0: none
    std::uint16_t reader;
    std::uint16_t write_log;
    std::uint16_t read_log;
    std::uint8_t write_epoch;
    std::uint8_t read_epoch;
    std::uint8_t flags;
    bool split;  // of a word: its bytes have cells of their own
  };

  // A shuffle orders no memory. But what a lane had read before may be what the others wait for.
  static bool behind_write(const Cell& cell, unsigned me, const Access& access) {
    if ((cell.writer - 1U) / 32 != access.warp) return false;
    if (access.clocks != nullptr)
      return access.clocks->is_behind((me - 1) % 32, (cell.writer - 1U) % 32, cell.write_epoch, true);
    return !access.epoch_known || cell.write_epoch < access.ordered_from;
  }
  static bool met(const Cell& cell, unsigned me, const Access& access) {
    if ((cell.writer - 1U) / 32 != access.warp) return false;
    if (access.clocks != nullptr)
      return access.clocks->is_behind((me - 1) % 32, (cell.writer - 1U) % 32, cell.write_epoch, false);
    return cell.write_epoch != access.epoch;
  }
  static bool behind_read(const Cell& cell, unsigned me, const Access& access) {
    if ((cell.reader - 1U) / 32 != access.warp) return false;
    if (access.clocks != nullptr)
      return access.clocks->is_behind((me - 1) % 32, (cell.reader - 1U) % 32, cell.read_epoch, false);
    return !access.epoch_known || cell.read_epoch != access.epoch;
  }
  static bool is_late(unsigned me, const Access& access) { return (access.late >> (me - 1) % 32 & 1) != 0; }
  static std::uint8_t epoch_of(unsigned me, const Access& access) {
    return access.clocks != nullptr ? access.clocks->epoch((me - 1) % 32) : access.epoch;
  }
  bool write(Cell& cell, unsigned me, const Access& access, SharedRace& race) const;
  bool read(Cell& cell, unsigned me, const Access& access, SharedRace& race) const;
  bool is_whole(std::size_t word);
  Cell& byte_cell(std::size_t offset);
  bool is_written(std::size_t offset) const;
  void note_unwritten(const UnwrittenRead& read);

  std::vector<Cell> words_;
  std::vector<Cell> bytes_;
  std::vector<UnwrittenRead> unwritten_;  ///< since the barrier, one of each log
  std::vector<UnwrittenRead> still_unwritten_;
  std::uint32_t interval_ = 0;
  std::uint32_t block_ = 0;
};

}  // namespace warpbook::emulator
