#include "common/emulator/memory_system.hpp"

#include <algorithm>

namespace warpbook::emulator {
namespace {

constexpr std::size_t kPrefetch = 12;  // accesses ahead
constexpr double kSectorBytes = 32;

}  // namespace

void MemorySystem::begin_launch() {
  l2_.begin_launch();
  waiting_.clear();
  reads_.clear();
  next_ = 0;
  running_ = false;
  dirty_sectors_ = 0;
  written_sectors_ = 0;
  last_reads_ = 0;
}

void MemorySystem::add_block(std::uint64_t ordinal, bool counts, std::vector<LineAccess>& traffic) {
  std::unique_lock lock(mutex_);
  waiting_.emplace(ordinal, Block{counts, std::move(traffic)});
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
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    if (i + kPrefetch < traffic.size()) l2_.prefetch(traffic[i + kPrefetch]);
    const L2Cache::Traffic dram = l2_.access(traffic[i]);
    written += dram.written_sectors;
    if (dram.read_sectors != 0 && block.counts) reads_of(traffic[i].line).sectors += dram.read_sectors;
  }
  if (!block.counts) return;
  written_sectors_ += written;
  dirty_sectors_ += l2_.dirty_sectors() + written - dirty_before;
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
  // A sample is too small to push written lines out of the L2; the whole launch leaves no more there than fits.
  const double written = scale > 1 ? dirty - std::min(dirty, l2_sectors * dirty / std::max(1.0, dirty + read))
                                   : static_cast<double>(written_sectors_);
  totals[index(Counter::dram_read_bytes)] = read * kSectorBytes;
  totals[index(Counter::dram_write_bytes)] = written * kSectorBytes;
  totals[index(Counter::dram_dirty_bytes)] = dirty * kSectorBytes;
}

}  // namespace warpbook::emulator
