#include "common/emulator/observation/races.hpp"

#include <algorithm>
#include <bit>

namespace warpbook::emulator {

void SharedShadow::begin_block(std::size_t bytes) {
  constexpr std::uint32_t kMany = 1U << 31;
  const std::size_t words = (bytes + kWord - 1) / kWord;
  if (words_.size() < words) {
    words_.resize(words);
    bytes_.resize(words * kWord);
  }
  if (block_ > kMany || interval_ > kMany) {  // start over before a number comes again
    words_.assign(words_.size(), Cell{});
    bytes_.assign(bytes_.size(), Cell{});
    block_ = interval_ = 0;
  }
  ++block_;
  ++interval_;
  unwritten_.clear();
}

const std::vector<UnwrittenRead>& SharedShadow::barrier() {
  ++interval_;
  still_unwritten_.clear();
  for (const UnwrittenRead& read : unwritten_)
    if (read.updates || !is_written(read.offset)) still_unwritten_.push_back(read);
  unwritten_.clear();
  return still_unwritten_;
}

void SharedShadow::forget(std::size_t offset, unsigned bytes) {
  for (std::size_t at = offset; at < offset + bytes; ++at) byte_cell(at).written = 0;
}

void SharedShadow::write_from_beyond(std::size_t offset, std::size_t bytes) {
  for (std::size_t at = offset; at < offset + bytes;) {
    const bool word = at % kWord == 0 && offset + bytes - at >= kWord && is_whole(at / kWord);
    Cell& cell = word ? words_[at / kWord] : byte_cell(at);
    cell.written = block_;
    cell.flags = static_cast<std::uint8_t>(cell.flags & ~kValue);
    at += word ? kWord : 1;
  }
}

bool SharedShadow::is_written(std::size_t offset) const {
  const Cell& word = words_[offset / kWord];
  return (word.split ? bytes_[offset] : word).written == block_;
}

bool SharedShadow::nobody_wrote(std::size_t offset, std::size_t bytes) const {
  // All of them: a struct that is copied may have padding.
  for (std::size_t at = offset; at < offset + bytes;) {
    if (is_written(at)) return false;
    at = words_[at / kWord].split ? at + 1 : (at / kWord + 1) * kWord;
  }
  return true;
}

void SharedShadow::note_unwritten(const UnwrittenRead& unwritten) {
  for (const UnwrittenRead& read : unwritten_)
    if (read.log == unwritten.log && (read.updates || !is_written(read.offset))) return;
  unwritten_.push_back(unwritten);
}

/// True where one cell stands for the word: again, where its bytes were all left behind by the last barrier.
bool SharedShadow::is_whole(std::size_t word) {
  Cell& whole = words_[word];
  if (!whole.split) [[likely]]
    return true;
  const Cell* const bytes = &bytes_[word * kWord];
  for (std::size_t i = 0; i < kWord; ++i)
    if (bytes[i].interval == interval_ || (bytes[i].written == block_) != (bytes[0].written == block_)) return false;
  whole = bytes[0];
  whole.split = false;
  return true;
}

/// The byte's own cell, which it gets with this.
SharedShadow::Cell& SharedShadow::byte_cell(std::size_t offset) {
  Cell& whole = words_[offset / kWord];
  if (!whole.split) {
    std::fill_n(&bytes_[offset / kWord * kWord], kWord, whole);
    whole.split = true;
  }
  return bytes_[offset];
}

std::optional<SharedRace> SharedShadow::add(const Access& access) {
  std::optional<SharedRace> first;
  SharedRace race{};
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const unsigned me = access.warp * 32 + lane + 1;
    const std::size_t begin = access.offsets[lane];
    const std::size_t end = begin + access.bytes;
    if (access.operation != Operation::store && !access.overwrites && nobody_wrote(begin, access.bytes)) [[unlikely]]
      note_unwritten({begin, me - 1, access.log, access.operation != Operation::load});
    for (std::size_t offset = begin; offset < end;) {
      const std::size_t at = offset;
      const bool word = at % kWord == 0 && end - at >= kWord && is_whole(at / kWord);
      Cell& cell = word ? words_[at / kWord] : byte_cell(at);
      offset += word ? kWord : 1;
      const bool fine =
          access.operation == Operation::load ? read(cell, me, access, race) : write(cell, me, access, race);
      if (fine || first) continue;
      race.offset = at;
      race.thread = me - 1;
      first = race;
    }
  }
  return first;
}

bool SharedShadow::write(Cell& cell, unsigned me, const Access& access, SharedRace& race) const {
  const bool atomic = access.operation != Operation::store;
  const bool known = access.values != nullptr;
  const std::uint32_t value = known ? access.values[(me - 1) % 32] : 0;
  const bool same = known && (cell.flags & kValue) != 0 && cell.value == value;
  const auto take = [&] {
    if (!access.promised) cell.written = block_;
    cell.writer = static_cast<std::uint16_t>(me);
    cell.write_log = static_cast<std::uint16_t>(access.log);
    cell.write_epoch = epoch_of(me, access);
    cell.value = value;
    constexpr unsigned kOfReaders = kReadersInWarp | kReadersBeyond | kLateReader;
    cell.flags = static_cast<std::uint8_t>((cell.flags & kOfReaders) | (atomic ? kAtomicWriter : 0) |
                                           (known ? kValue : 0) | (is_late(me, access) ? kLateWriter : 0) |
                                           static_cast<unsigned>(access.width) << kWriterWidth);
  };
  const auto found = [&](unsigned other, std::uint32_t log, Operation operation) {
    race.other_thread = other - 1;
    race.other_log = log;
    race.other_operation = operation;
    race.late = is_late(me, access);
    race.other_late = (cell.flags & (operation == Operation::load ? kLateReader : kLateWriter)) != 0;
    race.exchanged = operation != Operation::load && met(cell, me, access);
    take();
    return false;
  };
  if (cell.interval != interval_) {
    cell.interval = interval_;
    cell.reader = 0;
    cell.flags = 0;
    take();
    return true;
  }
  // Its plain store before is what others may still meet: as that before barriers and counters are used.
  const bool stored = atomic && cell.writer == me && (cell.flags & kAtomicWriter) == 0;
  const bool both_atomic = atomic && (cell.flags & kAtomicWriter) != 0 &&
                           !are_apart(access.width, static_cast<AtomicWidth>(cell.flags >> kWriterWidth));
  if (cell.writer != 0 && cell.writer != me && !same && !both_atomic && !behind_write(cell, me, access))
    return found(cell.writer, cell.write_log, (cell.flags & kAtomicWriter) != 0 ? Operation::atomic : Operation::store);
  if (cell.reader != 0) {
    const bool others_in_warp = (cell.flags & kReadersInWarp) != 0;
    const bool others_beyond = (cell.flags & kReadersBeyond) != 0;
    const bool with_reader = cell.reader != me || others_in_warp;
    if (others_beyond || (with_reader && !behind_read(cell, me, access)))
      return found(cell.reader, cell.read_log, Operation::load);
  }
  if (!stored) take();
  return true;
}

bool SharedShadow::read(Cell& cell, unsigned me, const Access& access, SharedRace& race) const {
  const auto take = [&] {
    cell.reader = static_cast<std::uint16_t>(me);
    cell.read_log = static_cast<std::uint16_t>(access.log);
    cell.read_epoch = epoch_of(me, access);
  };
  if (cell.interval != interval_) {
    cell.interval = interval_;
    cell.writer = 0;
    cell.flags = is_late(me, access) ? kLateReader : 0;
    take();
    return true;
  }
  if (cell.writer != 0 && cell.writer != me && !behind_write(cell, me, access)) {
    race.other_thread = cell.writer - 1U;
    race.other_log = cell.write_log;
    race.other_operation = (cell.flags & kAtomicWriter) != 0 ? Operation::atomic : Operation::store;
    race.exchanged = met(cell, me, access);
    race.late = is_late(me, access);
    race.other_late = (cell.flags & kLateWriter) != 0;
    return false;
  }
  if (is_late(me, access)) cell.flags |= kLateReader;
  if (cell.reader == 0 || (cell.reader - 1U) / 32 != access.warp) {
    if (cell.reader != 0) cell.flags |= kReadersBeyond;
    take();
  } else if (access.clocks != nullptr ? behind_read(cell, me, access) : cell.read_epoch != access.epoch) {
    // The readers before are ordered before what the warp does next.
    cell.flags = static_cast<std::uint8_t>(cell.flags & ~kReadersInWarp);
    take();
  } else if (cell.reader != me) {
    cell.flags |= kReadersInWarp;
  }
  return true;
}

}  // namespace warpbook::emulator
