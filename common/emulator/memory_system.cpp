#include "common/emulator/memory_system.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

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

void MemorySystem::begin_launch(std::size_t l1_bytes) {
  l2_.begin_launch();
  for (L1Cache& l1 : l1s_) l1.begin(l1_bytes);
  waiting_.clear();
  reads_.clear();
  next_ = 0;
  running_ = false;
  dirty_sectors_ = 0;
  written_sectors_ = 0;
  filled_sectors_ = 0;
  asked_sectors_[0] = asked_sectors_[1] = 0;
  read_packets_ = 0;
  written_lines_ = 0;
  partial_sectors_ = 0;
  last_reads_ = 0;
}

void MemorySystem::add_block(std::uint64_t ordinal, std::uint64_t number, bool counts,
                             std::vector<LineAccess>& traffic) {
  std::unique_lock lock(mutex_);
  waiting_.emplace(ordinal, Block{number, counts, std::move(traffic)});
  traffic = {};
  if (!spare_.empty()) {
    traffic = std::move(spare_.back());
    spare_.pop_back();
  }
  if (running_) return;  // another worker is at it and will come to this block
  running_ = true;
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    Block block = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    ++next_;
    lock.unlock();
    run(block);
    block.traffic.clear();
    lock.lock();
    spare_.push_back(std::move(block.traffic));
  }
  running_ = false;
}

void MemorySystem::run(const Block& block) {
  const std::vector<LineAccess>& traffic = block.traffic;
  const std::uint64_t dirty_before = l2_.dirty_sectors();
  const std::uint64_t partial_before = l2_.partial_sectors();
  // Which multiprocessor gets a block depends on which is done first: as good as chance.
  L1Cache& l1 = l1s_[(scattered(block.number) >> 32) * l1s_.size() >> 32];
  std::uint64_t written = 0;
  std::uint64_t filled = 0;
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    if (i + kPrefetch < traffic.size()) {
      l1.prefetch(traffic[i + kPrefetch].line);
      l2_.prefetch(traffic[i + kPrefetch]);
    }
    LineAccess access = traffic[i];
    const auto operation = static_cast<Operation>(access.operation);
    if (operation == Operation::load) {
      access.sectors = l1.load(access.line, static_cast<std::uint32_t>(access.sectors)) & 15U;
      if (access.sectors == 0) continue;
    }
    if (block.counts) count(access, operation);
    const L2Cache::Traffic dram = l2_.access(access);
    written += dram.written_sectors;
    filled += dram.filled_sectors;
    if (dram.read_sectors != 0 && block.counts) reads_of(access.line).sectors += dram.read_sectors;
  }
  if (!block.counts) return;
  written_sectors_ += written;
  dirty_sectors_ += l2_.dirty_sectors() + written - dirty_before;
  // What this block completed of others' sectors is taken from the sum: it may turn negative on the way.
  filled_sectors_ += l2_.partial_sectors() + filled - partial_before;
}

void MemorySystem::count(LineAccess access, Operation operation) {
  const auto sectors = static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(access.sectors)));
  const std::uint64_t weight = access.weight();
  if (operation == Operation::load) {
    asked_sectors_[0] += sectors * weight;
    read_packets_ += (sectors + 1) / 2 * weight;
  } else if (operation == Operation::store) {
    asked_sectors_[1] += sectors * weight;
    written_lines_ += weight;
    for (unsigned sector = 0; sector < 4; ++sector)
      if ((access.sectors >> sector & 1U) != 0 && access.bytes_in(sector) < kSectorBytes) partial_sectors_ += weight;
  }
}

MemorySystem::AllocationReads& MemorySystem::reads_of(std::uint64_t line) {
  const auto holds = [line](const AllocationReads& reads) { return line - reads.first_line < reads.lines; };
  if (last_reads_ < reads_.size() && holds(reads_[last_reads_])) return reads_[last_reads_];
  auto found = std::find_if(reads_.begin(), reads_.end(), holds);
  if (found == reads_.end()) {
    const Allocation* allocation = find_allocation(arena_begin + line * 128);
    const auto first = allocation == nullptr ? line : static_cast<std::uint64_t>(allocation->begin - arena_begin) / 128;
    const std::uint64_t lines = allocation == nullptr ? 1 : (allocation->bytes + 127) / 128;
    reads_.push_back({first, lines, 0});
    found = reads_.end() - 1;
  }
  last_reads_ = static_cast<std::size_t>(found - reads_.begin());
  return *found;
}

void MemorySystem::finish(double scale, Totals& totals) {
  for (const auto& [ordinal, block] : waiting_) run(block);  // behind a block that an error kept from running
  waiting_.clear();
  const auto l2_sectors = static_cast<double>(l2_bytes_) / kSectorBytes;
  double read = 0;
  for (const AllocationReads& reads : reads_) {
    const double sectors = static_cast<double>(reads.sectors) * scale;
    const double all = static_cast<double>(reads.lines) * 4;
    // What fits into the L2 is read once, however many blocks look at it; a sample of the blocks does not show that.
    read += scale > 1 && all <= l2_sectors ? std::min(sectors, all) : sectors;
  }
  const double dirty = static_cast<double>(dirty_sectors_) * scale;
  const double filled = std::max(0.0, static_cast<double>(static_cast<std::int64_t>(filled_sectors_)) * scale);
  // The L2 keeps a part of what was written, and writes the rest while the kernel runs.
  const double kept = std::min(dirty, static_cast<double>(dirty_bytes_) / kSectorBytes);
  const double now = dirty > 0 ? (dirty - kept) / dirty : 0;

  totals[index(Counter::l2_sectors, Operation::load)] = static_cast<double>(asked_sectors_[0]) * scale;
  totals[index(Counter::l2_sectors, Operation::store)] = static_cast<double>(asked_sectors_[1]) * scale;
  totals[index(Counter::l2_read_packets)] = static_cast<double>(read_packets_) * scale;
  totals[index(Counter::l2_written_lines)] = static_cast<double>(written_lines_) * scale;
  totals[index(Counter::l2_partial_sectors)] = static_cast<double>(partial_sectors_) * scale;
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
