#include "common/emulator/observation/memory_system.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace warpbook::emulator {
namespace {

constexpr std::size_t kPrefetch = 12;  // accesses ahead
constexpr unsigned kSectorBytes = 32;

/// Splitmix64's finaliser.
std::uint64_t scattered(std::uint64_t n) {
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ULL;
  n = (n ^ n >> 27) * 0x94d049bb133111ebULL;
  return n ^ n >> 31;
}

}  // namespace

void MemorySlice::begin_launch(std::uint64_t launch, std::size_t l1_bytes, std::uint64_t wave) {
  if (std::exchange(launch_, launch) == launch) return;
  wave_ = wave;
  l2_.begin_launch();
  for (L1& l1 : l1s_) l1.begin(l1_bytes);
  sums_ = {};
  last_reads_ = 0;
}

void MemorySlice::add(const BlockTraffic& piece) {
  const std::span<const LineAccess> accesses = piece.accesses(slice_);
  for (std::size_t i = 0; i < std::min(accesses.size(), kPrefetch); ++i) l2_.prefetch(accesses[i]);
  std::size_t begin = 0;
  for (std::size_t block = 0; block < piece.blocks(); ++block) {
    const std::size_t end = piece.end(slice_, block);
    run(piece.first().number + block, piece.first().counts, accesses.subspan(begin), end - begin);
    begin = end;
  }
}

/// Runs a block's accesses: the first `mine` of these; behind them are the next blocks'.
void MemorySlice::run(std::uint64_t number, bool counts, std::span<const LineAccess> accesses, std::size_t mine) {
  const std::uint64_t dirty_before = l2_.dirty_sectors();
  const std::uint64_t partial_before = l2_.partial_sectors();
  // Which multiprocessor gets a block depends on which is done first: as good as chance.
  const std::uint64_t chance = scattered(number);
  L1& l1 = l1s_[(chance >> 32) * l1s_.size() >> 32];
  const Asker me{chance, number / wave_};
  const bool later = me.wave != 0;
  std::uint64_t written = 0;
  std::uint64_t filled = 0;
  std::uint64_t dirty_of_others = 0;  // of accesses that those seen here stand for
  for (std::size_t i = 0; i < mine; ++i) {
    if (i + kPrefetch < accesses.size()) {
      l1.prefetch(accesses[i + kPrefetch].line);  // The next block has another one; but all of them are small.
      l2_.prefetch(accesses[i + kPrefetch]);
    }
    LineAccess access = accesses[i];
    const auto operation = static_cast<Operation>(access.operation);
    if (operation == Operation::load) {
      access.sectors = l1.load(access.line, static_cast<std::uint32_t>(access.sectors)).missing & 15U;
      if (access.sectors == 0) continue;
    }
    if (counts) count(access, operation);
    const std::uint64_t dirty = l2_.dirty_sectors();
    const L2Cache::Traffic dram = l2_.access(access, me);
    written += dram.written_sectors;
    filled += dram.filled_sectors;
    const std::uint64_t weight = access.weight();
    if (counts && operation == Operation::load) {
      sums_.loads[later] += static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(access.sectors))) * weight;
      sums_.awaited[later] += dram.awaited_sectors * weight;
    }
    if (weight > 1) dirty_of_others += (weight - 1) * (l2_.dirty_sectors() + dram.written_sectors - dirty);
    if (dram.read_sectors == 0 || !counts) continue;
    AllocationReads& reads = reads_of(access.line);
    reads.sectors += dram.read_sectors * weight;
    if (operation == Operation::reduction || operation == Operation::atomic)
      reads.by_atomics += dram.read_sectors * weight;
    reads.sampled |= weight > 1;
  }
  if (!counts) return;
  sums_.dirty_sectors += l2_.dirty_sectors() + written - dirty_before + dirty_of_others;
  // What this block completed of others' sectors is taken from the sum: it may turn negative on the way.
  sums_.filled_sectors += l2_.partial_sectors() + filled - partial_before;
}

void MemorySlice::count(LineAccess access, Operation operation) {
  const auto sectors = static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(access.sectors)));
  const std::uint64_t weight = access.weight();
  if (operation == Operation::load) {
    sums_.asked_sectors[0] += sectors * weight;
    sums_.read_packets += (sectors + 1) / 2 * weight;
  } else if (operation == Operation::store) {
    sums_.asked_sectors[1] += sectors * weight;
    sums_.written_lines += weight;
    for (unsigned sector = 0; sector < 4; ++sector)
      if ((access.sectors >> sector & 1U) != 0 && access.bytes_in(sector) < kSectorBytes)
        sums_.partial_sectors += weight;
  }
}

AllocationReads& MemorySlice::reads_of(std::uint64_t line) {
  const auto holds = [line](const AllocationReads& reads) { return line - reads.first_line < reads.lines; };
  if (last_reads_ < sums_.reads.size() && holds(sums_.reads[last_reads_])) return sums_.reads[last_reads_];
  auto found = std::find_if(sums_.reads.begin(), sums_.reads.end(), holds);
  if (found == sums_.reads.end()) {
    const Allocation* allocation = find_allocation(arena_begin + line * 128);
    const auto first = allocation == nullptr ? line : static_cast<std::uint64_t>(allocation->begin - arena_begin) / 128;
    const std::uint64_t lines = allocation == nullptr ? 1 : (allocation->bytes + 127) / 128;
    sums_.reads.push_back({first, lines, 0, 0, false});
    found = sums_.reads.end() - 1;
  }
  last_reads_ = static_cast<std::size_t>(found - sums_.reads.begin());
  return *found;
}

MemorySystem::MemorySystem(std::size_t l2_bytes, std::size_t dirty_bytes, unsigned partitions, unsigned multiprocessors)
    : l2_bytes_(l2_bytes), dirty_bytes_(dirty_bytes), partitions_(partitions) {
  for (unsigned i = 0; i < kSlices; ++i)
    slices_.push_back(std::make_unique<MemorySlice>(i, l2_bytes / kSlices, multiprocessors));
}

void MemorySystem::begin_launch(std::uint64_t launch, std::size_t l1_bytes, std::uint64_t wave, unsigned workers) {
  wave_ = wave;
  workers_ = workers;
  launch_ = launch;
  l1_bytes_ = l1_bytes;
  queue_.begin();
}

void MemorySystem::add(std::unique_ptr<BlockTraffic>& piece, unsigned worker) {
  if (piece->blocks() == 0) return;
  constexpr std::uint64_t kPiecesBehind = 8;  // of each worker
  const std::uint32_t behind = queue_.put(piece, kPiecesBehind * workers_ * BlockTraffic::kMostAccesses);
  for (unsigned slice = 0; slice < kSlices; ++slice)
    if (slice % workers_ == worker || (behind >> slice & 1U) != 0) run(slice);
}

void MemorySystem::help(unsigned worker) {
  // Each begins at its own slices.
  for (unsigned i = 0; i < kSlices; ++i) run((worker + i) % kSlices);
}

void MemorySystem::run(unsigned slice) {
  TrafficQueue::Pieces pieces;
  while (const std::size_t count = queue_.take(slice, pieces)) {
    slices_[slice]->begin_launch(launch_, l1_bytes_, wave_);
    // What other cores wrote comes all at once instead of piece by piece.
    for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(&pieces[i]->accesses(slice));
    for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(pieces[i]->accesses(slice).data());
    for (std::size_t i = 0; i < count; ++i) slices_[slice]->add(*pieces[i]);
    queue_.done(slice, count);
  }
}

void MemorySystem::finish(double scale, double blocks, Totals& totals) {
  queue_.close();  // behind a block that an error kept from running
  help(0);
  MemoryTraffic sums;
  for (const auto& slice : slices_) {
    slice->begin_launch(launch_, l1_bytes_, wave_);
    const MemoryTraffic& part = slice->sums();
    sums.dirty_sectors += part.dirty_sectors;
    sums.filled_sectors += part.filled_sectors;
    sums.asked_sectors[0] += part.asked_sectors[0];
    sums.asked_sectors[1] += part.asked_sectors[1];
    sums.read_packets += part.read_packets;
    for (unsigned later = 0; later < 2; ++later) {
      sums.loads[later] += part.loads[later];
      sums.awaited[later] += part.awaited[later];
    }
    sums.written_lines += part.written_lines;
    sums.partial_sectors += part.partial_sectors;
    for (const AllocationReads& reads : part.reads) {
      const auto same = [&](const AllocationReads& other) { return other.first_line == reads.first_line; };
      if (const auto found = std::find_if(sums.reads.begin(), sums.reads.end(), same); found != sums.reads.end())
        *found = {found->first_line, found->lines, found->sectors + reads.sectors, found->by_atomics + reads.by_atomics,
                  found->sampled || reads.sampled};
      else
        sums.reads.push_back(reads);
    }
  }
  const auto l2_sectors = static_cast<double>(l2_bytes_) / kSectorBytes;
  double read = 0;
  double by_atomics = 0;
  for (const AllocationReads& reads : sums.reads) {
    const double sectors = static_cast<double>(reads.sectors) * scale;
    const double all = static_cast<double>(reads.lines) * 4;
    // What fits into the L2 is read once, however many blocks look at it; a sample of them, or of a loop, does not show
    // that.
    const double once = (scale > 1 || reads.sampled) && all <= l2_sectors ? std::min(sectors, all) : sectors;
    read += once;
    if (reads.sectors != 0)
      by_atomics += once * static_cast<double>(reads.by_atomics) / static_cast<double>(reads.sectors);
  }
  const double dirty = static_cast<double>(sums.dirty_sectors) * scale;
  const double filled = std::max(0.0, static_cast<double>(static_cast<std::int64_t>(sums.filled_sectors)) * scale);
  // The L2 keeps a part of what was written, and writes the rest while the kernel runs.
  const double kept = std::min(dirty, static_cast<double>(dirty_bytes_) / kSectorBytes);
  const double now = dirty > 0 ? (dirty - kept) / dirty : 0;

  totals[index(Counter::l2_sectors, Operation::load)] = static_cast<double>(sums.asked_sectors[0]) * scale;
  totals[index(Counter::l2_sectors, Operation::store)] = static_cast<double>(sums.asked_sectors[1]) * scale;
  // A sample has more of the first wave than all blocks have.
  const auto awaited = [&sums](unsigned later) {
    return sums.loads[later] == 0
               ? 0
               : static_cast<double>(sums.awaited[later]) / static_cast<double>(sums.loads[later]);
  };
  const double first = std::min(1.0, static_cast<double>(wave_) / blocks);
  totals[index(Counter::l2_awaited_sectors)] = totals[index(Counter::l2_sectors, Operation::load)] *
                                               (first * awaited(0) + (1 - first) * awaited(1));
  totals[index(Counter::l2_read_packets)] = static_cast<double>(sums.read_packets) * scale;
  totals[index(Counter::l2_written_lines)] = static_cast<double>(sums.written_lines) * scale;
  totals[index(Counter::l2_partial_sectors)] = static_cast<double>(sums.partial_sectors) * scale;
  totals[index(Counter::dram_atomic_sectors)] = by_atomics;
  // A partition fetches what it lacks through the one that the address belongs to, and passes on what it gets for it.
  const double elsewhere = 1.0 - 1.0 / partitions_;
  for (const Operation operation : {Operation::load, Operation::store, Operation::reduction, Operation::atomic}) {
    const double asked = totals[index(Counter::l2_sectors, operation)];
    totals[index(Counter::l2_all_sectors, operation)] =
        asked + elsewhere * (operation == Operation::load ? read : asked);
  }
  totals[index(Counter::dram_read_bytes)] = (read + filled * now) * kSectorBytes;
  totals[index(Counter::dram_write_bytes)] = dirty * now * kSectorBytes;
  totals[index(Counter::dram_dirty_bytes)] = dirty * kSectorBytes;
  totals[index(Counter::dram_filled_bytes)] = filled * (1 - now) * kSectorBytes;
}

}  // namespace warpbook::emulator
