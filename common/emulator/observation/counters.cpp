#include "common/emulator/observation/counters.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace warpbook::emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kSectorShift = 5;
constexpr unsigned kSectorBytes = 32;
constexpr unsigned kLineShift = 7;
constexpr unsigned kBanks = 32;
constexpr std::size_t kMostWords = 64;  // of a bank in a request: two of each lane, if it is not aligned

struct Metric {
  std::size_t counter;
  const char* name;
  const char* alias;
};

constexpr auto kLd = Operation::load;
constexpr auto kSt = Operation::store;
constexpr auto kRed = Operation::reduction;
constexpr auto kAtom = Operation::atomic;

// Names beginning with "warpbook__" are our own: the profiler has no such metric.
constexpr std::array kMetrics = {
    Metric{index(Counter::global_requests, kLd), "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
           "smsp__inst_executed_op_global_ld.sum"},
    Metric{index(Counter::global_requests, kSt), "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
           "smsp__inst_executed_op_global_st.sum"},
    Metric{index(Counter::global_requests, kRed), "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", nullptr},
    Metric{index(Counter::global_requests, kAtom), "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", nullptr},
    Metric{index(Counter::global_sectors, kLd), "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", nullptr},
    Metric{index(Counter::global_sectors, kSt), "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", nullptr},
    Metric{index(Counter::global_sectors, kRed), "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", nullptr},
    Metric{index(Counter::global_sectors, kAtom), "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", nullptr},
    Metric{index(Counter::shared_requests, kLd), "smsp__inst_executed_op_shared_ld.sum", nullptr},
    Metric{index(Counter::shared_requests, kSt), "smsp__inst_executed_op_shared_st.sum", nullptr},
    Metric{index(Counter::shared_wavefronts, kLd), "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", nullptr},
    Metric{index(Counter::shared_wavefronts, kSt), "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", nullptr},
    Metric{index(Counter::shared_wavefronts, kAtom), "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", nullptr},
    Metric{index(Counter::shared_conflicts, kLd), "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", nullptr},
    Metric{index(Counter::shared_conflicts, kSt), "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", nullptr},
    Metric{index(Counter::shared_conflicts, kAtom), "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
           nullptr},
    Metric{index(Counter::l2_sectors, kLd), "lts__t_sectors_srcunit_tex_op_read.sum", nullptr},
    Metric{index(Counter::l2_sectors, kSt), "lts__t_sectors_srcunit_tex_op_write.sum", nullptr},
    Metric{index(Counter::l2_sectors, kRed), "lts__t_sectors_srcunit_tex_op_red.sum", nullptr},
    Metric{index(Counter::l2_sectors, kAtom), "lts__t_sectors_srcunit_tex_op_atom.sum", nullptr},
    Metric{index(Counter::l2_all_sectors, kLd), "lts__t_sectors_op_read.sum", nullptr},
    Metric{index(Counter::l2_all_sectors, kSt), "lts__t_sectors_op_write.sum", nullptr},
    Metric{index(Counter::l2_all_sectors, kRed), "lts__t_sectors_op_red.sum", nullptr},
    Metric{index(Counter::l2_all_sectors, kAtom), "lts__t_sectors_op_atom.sum", nullptr},
    Metric{index(Counter::dram_read_bytes), "dram__bytes_read.sum", nullptr},
    Metric{index(Counter::dram_write_bytes), "dram__bytes_write.sum", nullptr},
    Metric{index(Counter::atomic_collisions), "warpbook__atomic_collisions.sum", nullptr},
    Metric{index(Counter::divisions_32), "warpbook__integer_divisions_32bit.sum", nullptr},
    Metric{index(Counter::divisions_64), "warpbook__integer_divisions_64bit.sum", nullptr},
    Metric{index(Counter::divisions_64_wide), "warpbook__integer_divisions_64bit_wide.sum", nullptr},
    Metric{index(Counter::global_rounds), "warpbook__global_round_trips.sum", nullptr},
    Metric{index(Counter::instructions), "warpbook__thread_instructions_estimate.sum", nullptr},
};

/// True for the request that a full warp makes on consecutive elements.
bool is_contiguous(const Request& request, unsigned bytes) {
  if (request.mask != 0xffffffffU) return false;
  const std::uint64_t first = request.address[0];
  std::uint64_t difference = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    difference |= request.address[lane] - first - std::uint64_t{lane} * bytes;
  return difference == 0;
}

void add_bytes(LineSectors& line, std::uint64_t sector, unsigned bytes) {
  std::uint8_t& sum = line.bytes[sector & 3U];
  sum = static_cast<std::uint8_t>(std::min(kSectorBytes, sum + bytes));
}

/// Returns the sector's line.
LineSectors* add_sector(LineList& list, std::uint64_t sector, unsigned bytes, std::uint64_t& lowest,
                        std::uint64_t& highest) {
  const std::uint64_t line = sector >> (kLineShift - kSectorShift);
  const std::uint32_t bit = 1U << (sector & 3U);
  const auto append = [&] {
    LineSectors& added = list.lines[list.count++];
    added = {line, bit, {}};
    add_bytes(added, sector, bytes);
    ++list.sectors;
    return &added;
  };
  if (list.count == 0) {
    lowest = highest = line;
    return append();
  }
  // Most requests run up or down: a line beyond both ends is new without a search.
  if (line > highest) {
    highest = line;
    return append();
  }
  if (line < lowest) {
    lowest = line;
    return append();
  }
  for (unsigned i = list.count; i-- > 0;) {
    if (list.lines[i].line != line) continue;
    list.sectors += (list.lines[i].sectors & bit) == 0 ? 1 : 0;
    list.lines[i].sectors |= bit;
    add_bytes(list.lines[i], sector, bytes);
    return &list.lines[i];
  }
  return append();
}

/// Adds the words that the lanes [first, last) touch to the banks; returns the passes of the busiest bank.
/// Without `merge`, lanes at one word do not share a pass.
unsigned phase_wavefronts(const Request& request, unsigned bytes, unsigned first, unsigned last, bool merge) {
  std::array<std::uint8_t, kBanks> depth{};
  std::array<std::array<std::uint64_t, kMostWords>, kBanks> words;  // no initial value: `depth` says what is set
  unsigned worst = 0;
  for (unsigned lane = first; lane < last; ++lane) {
    if ((request.mask >> lane & 1U) == 0) continue;
    const std::uint64_t begin = request.address[lane] >> 2;
    const std::uint64_t end = (request.address[lane] + bytes - 1) >> 2;
    for (std::uint64_t word = begin; word <= end; ++word) {
      const auto bank = static_cast<unsigned>(word % kBanks);
      auto& used = words[bank];
      const unsigned n = depth[bank];
      if (merge && std::find(used.begin(), used.begin() + n, word) != used.begin() + n) continue;
      used[n] = word;
      depth[bank] = static_cast<std::uint8_t>(n + 1);
      worst = std::max(worst, n + 1);
    }
  }
  return worst;
}

/// True where lanes 0 and 1, 2 and 3, ... have the same address, as far as both are active.
bool pairs_alike(const Request& request) {
  for (unsigned lane = 0; lane < kLanes; lane += 2)
    if ((request.mask >> lane & 3U) == 3U && request.address[lane] != request.address[lane + 1]) return false;
  return true;
}

SharedCost cost(const Request& request, unsigned bytes, bool merge) {
  const unsigned phases = bytes <= 4 ? 1 : bytes == 8 ? 2 : 4;
  if (merge && is_contiguous(request, bytes) && request.address[0] % bytes == 0) return {phases, phases};
  const unsigned lanes = kLanes / phases;
  SharedCost result{0, 0};
  for (unsigned phase = 0; phase < phases; ++phase) {
    const unsigned first = phase * lanes;
    // Two phases go as one where neighbours share their words, and no bank is asked for a second one.
    if (merge && phase % 2 == 0 && phases > 1 && pairs_alike(request) &&
        phase_wavefronts(request, bytes, first, first + 2 * lanes, true) <= 1) {
      const bool any = (request.mask >> first & ((std::uint64_t{1} << 2 * lanes) - 1)) != 0;
      result.wavefronts += any ? 1 : 0;
      result.fewest += any ? 1 : 0;
      ++phase;
      continue;
    }
    const unsigned passes = phase_wavefronts(request, bytes, first, first + lanes, merge);
    result.wavefronts += passes;
    result.fewest += passes != 0 ? 1 : 0;
  }
  return result;
}

/// True where each active lane's address lies beyond the ones before it.
bool is_rising(const Request& request) {
  std::uint64_t previous = 0;
  bool rising = true;
  for (std::uint32_t left = request.mask; left != 0; left &= left - 1) {
    const std::uint64_t address = request.address[std::countr_zero(left)];
    rising &= address > previous;
    previous = address;
  }
  return rising;
}

}  // namespace

const char* metric_name(std::size_t counter, std::size_t alias) {
  for (const Metric& metric : kMetrics)
    if (metric.counter == counter) return alias == 0 ? metric.name : alias == 1 ? metric.alias : nullptr;
  return nullptr;
}

namespace {

/// The lines of a request whose lanes each touch one sector of a line beyond the one before; false where they do not.
bool collect_separate(const Request& request, unsigned bytes, LineList& result) {
  if (request.mask != 0xffffffffU) return false;
  std::uint64_t previous = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t address = request.address[lane];
    const std::uint64_t line = address >> kLineShift;
    const auto sector = static_cast<unsigned>(address >> kSectorShift & 3U);
    if (line <= previous || (address & (kSectorBytes - 1U)) + bytes > kSectorBytes) return false;
    previous = line;
    LineSectors& to = result.lines[lane];
    to = {line, 1U << sector, {}};
    to.bytes[sector] = static_cast<std::uint8_t>(bytes);
  }
  result.count = result.sectors = kLanes;
  return true;
}

}  // namespace

void collect_lines(const Request& request, unsigned bytes, LineList& result) {
  if (collect_separate(request, bytes, result)) return;  // Leaves at the second lane, mostly.
  result.count = 0;
  result.sectors = 0;
  if (is_contiguous(request, bytes)) {
    const std::uint64_t begin = request.address[0] >> kSectorShift;
    const std::uint64_t end = (request.address[0] + std::uint64_t{kLanes} * bytes - 1) >> kSectorShift;
    for (std::uint64_t sector = begin; sector <= end;) {
      const std::uint64_t line_end = std::min(end + 1, (sector | 3U) + 1);
      const auto count = static_cast<unsigned>(line_end - sector);
      LineSectors& line = result.lines[result.count++];
      line = {sector >> 2, ((1U << count) - 1U) << (sector & 3U), {}};
      for (; sector < line_end; ++sector) {
        const std::uint64_t from = std::max(request.address[0], sector << kSectorShift);
        const std::uint64_t to =
            std::min(request.address[0] + std::uint64_t{kLanes} * bytes, (sector + 1) << kSectorShift);
        line.bytes[sector & 3U] = static_cast<std::uint8_t>(to - from);
      }
      result.sectors += count;
      sector = line_end;
    }
    return;
  }
  std::uint64_t lowest = 0;
  std::uint64_t highest = 0;
  std::uint64_t previous = ~std::uint64_t{0};
  std::uint64_t previous_sector = ~std::uint64_t{0};
  LineSectors* line = nullptr;  // of that
  unsigned more = 0;            // bytes of that sector, which neighbours mostly share
  const auto add_more = [&] {
    if (more != 0) add_bytes(*line, previous_sector, std::exchange(more, 0));
  };
  for (std::uint32_t left = request.mask; left != 0; left &= left - 1) {
    const std::uint64_t address = request.address[std::countr_zero(left)];
    if (address == previous) continue;
    previous = address;
    const std::uint64_t sector = address >> kSectorShift;
    const std::uint64_t last = (address + bytes - 1) >> kSectorShift;
    if (sector == previous_sector && last == sector) {
      more += bytes;
      continue;
    }
    add_more();
    const unsigned beyond = last == sector ? 0 : static_cast<unsigned>((address + bytes) & (kSectorBytes - 1U));
    line = add_sector(result, sector, bytes - beyond, lowest, highest);
    if (last != sector) line = add_sector(result, last, beyond, lowest, highest);
    previous_sector = last;
  }
  add_more();
}

SharedCost shared_cost(const Request& request, unsigned bytes) { return cost(request, bytes, true); }

SharedCost shared_atomic_cost(const Request& request, unsigned bytes, bool increment) {
  return cost(request, bytes, increment);
}

AtomicCost atomic_cost(const Request& request, unsigned bytes) {
  const auto active = static_cast<unsigned>(std::popcount(request.mask));
  // Distinct addresses, each with the lanes that meet there.
  std::array<std::uint64_t, kLanes> addresses;
  std::array<unsigned, kLanes> lanes;
  unsigned distinct = 0;
  const bool rising = is_rising(request);
  for (std::uint32_t left = request.mask; left != 0; left &= left - 1) {
    const std::uint64_t address = request.address[std::countr_zero(left)];
    unsigned place = rising ? distinct : 0;
    while (place < distinct && addresses[place] != address) ++place;
    if (place == distinct) {
      addresses[distinct] = address;
      lanes[distinct++] = 0;
    }
    ++lanes[place];
  }
  // In each sector, the most lanes at one address.
  constexpr std::size_t kMost = std::size_t{2} * kLanes;  // an access that is not aligned touches two
  std::array<std::uint64_t, kMost> sectors;
  std::array<unsigned, kMost> turns;
  std::array<std::uint64_t, kMost> only;  // the address of each sector that has but one
  unsigned used = 0;
  for (unsigned i = 0; i < distinct; ++i) {
    const std::uint64_t last = (addresses[i] + bytes - 1) >> kSectorShift;
    for (std::uint64_t sector = addresses[i] >> kSectorShift; sector <= last; ++sector) {
      unsigned place = used;  // It is mostly the one before.
      while (place > 0 && sectors[place - 1] != sector) --place;
      if (place == 0) {
        sectors[used] = sector;
        only[used] = addresses[i];
        turns[used++] = lanes[i];
      } else {
        only[place - 1] = 0;
        turns[place - 1] = std::max(turns[place - 1], lanes[i]);
      }
    }
  }
  AtomicCost result;  // its arrays stay as they are beyond `lines`
  result.sectors = 0;
  result.collisions = active - distinct;
  result.lines = 0;
  for (unsigned i = 0; i < used; ++i) {
    result.sectors += turns[i];
    const std::uint64_t line = sectors[i] >> (kLineShift - kSectorShift);
    unsigned place = result.lines;  // It is mostly the one before.
    while (place > 0 && result.line[place - 1] != line) --place;
    if (place == 0) {
      result.line[result.lines] = line;
      result.address[result.lines] = only[i];
      result.touched[result.lines] = 1;
      result.most[result.lines++] = turns[i];
    } else {
      if (result.address[place - 1] != only[i]) result.address[place - 1] = 0;
      ++result.touched[place - 1];
      result.most[place - 1] = std::max(result.most[place - 1], turns[i]);
    }
  }
  return result;
}

std::uint32_t losers_of_round(const Request& request) {
  std::uint32_t losers = 0;
  for (std::uint32_t left = request.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (std::uint32_t before = request.mask & ((1U << lane) - 1U); before != 0; before &= before - 1) {
      if (request.address[std::countr_zero(before)] >> 2 != request.address[lane] >> 2) continue;
      losers |= 1U << lane;
      break;
    }
  }
  return losers;
}

}  // namespace warpbook::emulator
