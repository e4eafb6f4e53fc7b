#include "common/emulator/races.hpp"

#include <bit>

namespace warpbook::emulator {

void SharedShadow::begin_block(std::size_t bytes) {
  constexpr std::uint32_t kMany = 1U << 31;
  if (bytes_.size() < bytes) bytes_.resize(bytes);
  if (block_ > kMany || interval_ > kMany) {  // start over before a number comes again
    bytes_.assign(bytes_.size(), Byte{});
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
    if (read.updates || bytes_[read.offset].written != block_) still_unwritten_.push_back(read);
  unwritten_.clear();
  return still_unwritten_;
}

bool SharedShadow::nobody_wrote(std::size_t offset, unsigned bytes) const {
  // All of them: a struct that is copied may have padding.
  for (unsigned i = 0; i < bytes; ++i)
    if (bytes_[offset + i].written == block_) return false;
  return true;
}

void SharedShadow::note_unwritten(const UnwrittenRead& unwritten) {
  for (const UnwrittenRead& read : unwritten_)
    if (read.log == unwritten.log && (read.updates || bytes_[read.offset].written != block_)) return;
  unwritten_.push_back(unwritten);
}

std::optional<SharedRace> SharedShadow::add(const Access& access) {
  std::optional<SharedRace> first;
  SharedRace race{};
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const unsigned me = access.warp * 32 + lane + 1;
    const std::size_t begin = access.offsets[lane];
    if (access.operation != Operation::store && nobody_wrote(begin, access.bytes)) [[unlikely]]
      note_unwritten({begin, me - 1, access.log, access.operation != Operation::load});
    for (std::size_t offset = begin; offset < begin + access.bytes; ++offset) {
      Byte& byte = bytes_[offset];
      const bool fine =
          access.operation == Operation::load ? read(byte, me, access, race) : write(byte, me, access, race);
      if (fine || first) continue;
      race.offset = offset;
      race.thread = me - 1;
      first = race;
    }
  }
  return first;
}

bool SharedShadow::write(Byte& byte, unsigned me, const Access& access, SharedRace& race) const {
  const bool atomic = access.operation != Operation::store;
  const auto take = [&] {
    byte.written = block_;
    byte.writer = static_cast<std::uint16_t>(me);
    byte.write_log = static_cast<std::uint16_t>(access.log);
    byte.write_epoch = access.epoch;
    byte.flags = static_cast<std::uint8_t>((byte.flags & ~kAtomicWriter) | (atomic ? kAtomicWriter : 0));
  };
  const auto found = [&](unsigned other, std::uint32_t log, Operation operation) {
    race.other_thread = other - 1;
    race.other_log = log;
    race.other_operation = operation;
    take();
    return false;
  };
  if (byte.interval != interval_) {
    byte.interval = interval_;
    byte.reader = 0;
    byte.flags = 0;
    take();
    return true;
  }
  if (byte.writer != 0 && byte.writer != me && !(atomic && (byte.flags & kAtomicWriter) != 0) &&
      !ordered(byte.writer, byte.write_epoch, access))
    return found(byte.writer, byte.write_log, (byte.flags & kAtomicWriter) != 0 ? Operation::atomic : Operation::store);
  if (byte.reader != 0) {
    const bool others_in_warp = (byte.flags & kReadersInWarp) != 0;
    const bool others_beyond = (byte.flags & kReadersBeyond) != 0;
    const bool with_reader = byte.reader != me || others_in_warp;
    if (others_beyond || (with_reader && !ordered(byte.reader, byte.read_epoch, access)))
      return found(byte.reader, byte.read_log, Operation::load);
  }
  take();
  return true;
}

bool SharedShadow::read(Byte& byte, unsigned me, const Access& access, SharedRace& race) const {
  const auto take = [&] {
    byte.reader = static_cast<std::uint16_t>(me);
    byte.read_log = static_cast<std::uint16_t>(access.log);
    byte.read_epoch = access.epoch;
  };
  if (byte.interval != interval_) {
    byte.interval = interval_;
    byte.writer = 0;
    byte.flags = 0;
    take();
    return true;
  }
  if (byte.writer != 0 && byte.writer != me && !ordered(byte.writer, byte.write_epoch, access)) {
    race.other_thread = byte.writer - 1U;
    race.other_log = byte.write_log;
    race.other_operation = (byte.flags & kAtomicWriter) != 0 ? Operation::atomic : Operation::store;
    return false;
  }
  if (byte.reader == 0 || (byte.reader - 1U) / 32 != access.warp) {
    if (byte.reader != 0) byte.flags |= kReadersBeyond;
    take();
  } else if (byte.read_epoch != access.epoch) {  // the readers before are ordered before what the warp does next
    byte.flags = static_cast<std::uint8_t>(byte.flags & ~kReadersInWarp);
    take();
  } else if (byte.reader != me) {
    byte.flags |= kReadersInWarp;
  }
  return true;
}

}  // namespace warpbook::emulator
