/// \file
/// Matrices that a warp holds together: `ldmatrix`, `stmatrix`, `mma.sync`.
///
/// Products are exact. Sums are taken in float, in the order of k, beginning with C, and each is rounded to nearest:
/// the order is ours, a GPU's is not documented. A result in half is rounded once more.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "common/emulator/execution/block_runner.hpp"
#include "common/emulator/include/cuda_bf16.h"
#include "common/emulator/include/cuda_fp16.h"
#include "common/emulator/include/warpbook_matrices.h"
#include "common/emulator/include/warpbook_ptx.h"

namespace warpbook::emulator {
namespace {

constexpr unsigned kMostRows = 32;
constexpr unsigned kMostDepth = 32;

/// What a lane brings, or gets.
using Registers = std::array<std::byte, 32>;

/// What the lanes of a warp bring to one operation, and what it makes of it.
struct Exchange {
  std::array<Registers, kWarpSize> a, b, c, d;
  bool done = false;
  unsigned taken = 0;  ///< lanes that have what they came for
};

/// A lane may begin the next operation while others have not taken the results of this one yet, but not the one after:
/// the next one waits for all.
struct WarpExchanges {
  std::array<Exchange, 2> exchanges;
  std::array<std::uint8_t, kWarpSize> next{};
};

/// Those of the block that this operating system thread runs.
struct Exchanges {
  std::uint64_t launch = 0;
  std::uint64_t block = 0;
  std::vector<WarpExchanges> warps;
};

/// The exchange that the running lane comes to.
Exchange& next_exchange() {
  thread_local Exchanges all;
  const BlockContext& block = *current_block;
  if (all.launch != block.launch->id || all.block != block.linear_block) {
    all.launch = block.launch->id;
    all.block = block.linear_block;
    all.warps.resize((block.threads + kWarpSize - 1) / kWarpSize);
    for (WarpExchanges& warp : all.warps) {
      warp.next.fill(0);
      for (Exchange& exchange : warp.exchanges) {
        exchange.done = false;
        exchange.taken = 0;
      }
    }
  }
  WarpExchanges& warp = all.warps[block.thread / kWarpSize];
  return warp.exchanges[warp.next[block.thread % kWarpSize]++ % 2];
}

/// Waits for all lanes of the warp.
void meet_all(const void* pc) {
  const std::uint64_t lanes = current_runner->meet(Meeting::ballot, ~0U, 1, 0, pc) >> 32;
  if (lanes == 0xffffffffU) return;
  {
    const BlockContext& block = *current_block;
    const Unwatched unwatched;
    observer().report("incomplete_warp", pc,
                      "========= A matrix operation of " + std::to_string(std::popcount(lanes)) +
                          " threads of a warp at " + observer().locate(pc) +
                          ": it wants all 32\n=========     in kernel " + block.launch->name + ", " +
                          describe_thread(block) + "\n");
  }
  abort_kernel(cudaErrorLaunchFailure);
}

}  // namespace

void check_matrix(const void* memory, std::size_t row_bytes, unsigned element_bytes) {
  // In shared memory a card's own places are not known: an array may begin at any 16 bytes here.
  const unsigned multiple = in_arena(memory) ? 32 : 16;
  constexpr unsigned kRows = 16;
  const auto beyond = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(memory) % multiple);
  const bool rows = row_bytes % kRows != 0 && (element_bytes == 2 || element_bytes == 4);
  if (beyond == 0 && !rows) return;
  const void* const pc = __builtin_return_address(0);
  const BlockContext& block = *current_block;
  const Unwatched unwatched;
  if (!is_first_at(pc)) return;
  const std::string what =
      beyond != 0
          ? "it begins " + std::to_string(beyond) + " bytes behind a multiple of " + std::to_string(multiple)
          : "its rows are " + std::to_string(row_bytes) + " bytes apart, no multiple of " + std::to_string(kRows);
  observer().report(
      "misaligned", pc,
      "========= Misaligned matrix at " + observer().locate(pc) + ": " + what + "\n=========     in kernel " +
          block.launch->name + ", " + describe_thread(block) +
          "\n=========     The matrix begins at a multiple of 32 bytes, and its rows at multiples of 16.\n");
}

void warp_barrier_of_all() {
  const void* const pc = __builtin_return_address(0);
  meet_all(pc);
  current_runner->meet(Meeting::sync, ~0U, 0, 0, pc);
}

namespace {

void leave(Exchange& exchange) {
  if (++exchange.taken < kWarpSize) return;
  exchange.taken = 0;
  exchange.done = false;
}

template <class T> T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The i-th element of a lane's registers.
template <class Sum> Sum element(Element type, const Registers& registers, unsigned i) {
  const std::byte* const all = registers.data();
  switch (type) {
  case Element::f16:
    return static_cast<Sum>(__half::from_bits(load_as<std::uint16_t>(all + std::size_t{2} * i)).wide());
  case Element::bf16:
    return static_cast<Sum>(__nv_bfloat16::from_bits(load_as<std::uint16_t>(all + std::size_t{2} * i)).wide());
  case Element::tf32:  // The bits that tf32 lacks are not looked at.
    return static_cast<Sum>(std::bit_cast<float>(load_as<std::uint32_t>(all + std::size_t{4} * i) & ~0x1fffU));
  case Element::f32:
    return static_cast<Sum>(load_as<float>(all + std::size_t{4} * i));
  case Element::f64:
    return static_cast<Sum>(load_as<double>(all + std::size_t{8} * i));
  case Element::s8:
    return static_cast<Sum>(load_as<std::int8_t>(all + i));
  case Element::u8:
    return static_cast<Sum>(load_as<std::uint8_t>(all + i));
  case Element::s32:
    return static_cast<Sum>(load_as<std::int32_t>(all + std::size_t{4} * i));
  }
  return Sum{};
}

template <class Sum> void set_element(const MatrixProduct& product, Registers& registers, unsigned i, Sum value) {
  const auto store = [&](auto one) { std::memcpy(registers.data() + sizeof one * i, &one, sizeof one); };
  switch (product.d) {
  case Element::f16:
    return store(__half::nearest(static_cast<float>(value)).bits());
  case Element::f64:
    return store(static_cast<double>(value));
  case Element::s32:
    if constexpr (std::is_same_v<Sum, std::int64_t>) {
      using Limits = std::numeric_limits<std::int32_t>;
      return store(static_cast<std::int32_t>(
          product.saturates ? std::clamp<std::int64_t>(value, Limits::min(), Limits::max()) : value));
    }
    return;
  default:
    return store(static_cast<float>(value));
  }
}

/// D of all lanes.
template <class Sum> void multiply(const MatrixProduct& product, Exchange& exchange) {
  const auto [m, n, k, a, b, c, d, saturates] = product;
  std::array<std::array<Sum, kMostDepth>, kMostRows> left;
  std::array<std::array<Sum, kMostRows>, kMostDepth> right;
  std::array<std::array<Sum, kMostRows>, kMostRows> sum;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    for (unsigned i = 0; i < m * k / kWarpSize; ++i) {
      const MatrixPlace at = place_in_a(lane, i, m, k, elements_per_register(a));
      left[at.row][at.column] = element<Sum>(a, exchange.a[lane], i);
    }
    for (unsigned i = 0; i < k * n / kWarpSize; ++i) {
      const MatrixPlace at = place_in_b(lane, i, k, elements_per_register(b));
      right[at.row][at.column] = element<Sum>(b, exchange.b[lane], i);
    }
    for (unsigned i = 0; i < m * n / kWarpSize; ++i) {
      const MatrixPlace at = place_in_c(lane, i, m, n);
      sum[at.row][at.column] = element<Sum>(c, exchange.c[lane], i);
    }
  }
  for (unsigned row = 0; row < m; ++row)
    for (unsigned depth = 0; depth < k; ++depth)
      for (unsigned column = 0; column < n; ++column) sum[row][column] += left[row][depth] * right[depth][column];
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned i = 0; i < m * n / kWarpSize; ++i) {
      const MatrixPlace at = place_in_c(lane, i, m, n);
      set_element<Sum>(product, exchange.d[lane], i, sum[at.row][at.column]);
    }
}

unsigned bytes_of(unsigned elements, Element type) {
  return type == Element::f64 ? elements * 8 / kWarpSize : elements * 4 / elements_per_register(type) / kWarpSize;
}

}  // namespace
}  // namespace warpbook::emulator

using warpbook::emulator::AccessKind;
using warpbook::emulator::Element;
using warpbook::emulator::Exchange;
using warpbook::emulator::kWarpSize;
using warpbook::emulator::MatrixProduct;

// NOLINTBEGIN(readability-identifier-naming): the compiler pass calls these names.
extern "C" {

void __warpbook_ptx_load_matrix(void* registers, const void* row, std::uint32_t count, bool transposed) {
  const void* const pc = __builtin_return_address(0);
  warpbook::emulator::BlockContext& block = *warpbook::emulator::current_block;
  const unsigned lane = block.thread % kWarpSize;
  Exchange& exchange = warpbook::emulator::next_exchange();
  if (lane <
      8 * count) {  // Each lane's row is read when that lane comes: nothing orders it behind other lanes' stores.
    warpbook::emulator::observer().access(block, AccessKind::read, row, 16, pc);
    std::memcpy(exchange.a[lane].data(), row, 16);
  }
  warpbook::emulator::meet_all(pc);
  const auto at = [&](unsigned matrix, unsigned r, unsigned column) {
    return warpbook::emulator::load_as<std::uint16_t>(exchange.a[8 * matrix + r].data() + std::size_t{2} * column);
  };
  const unsigned group = lane / 4;
  const unsigned pair = lane % 4 * 2;
  for (unsigned matrix = 0; matrix < count; ++matrix) {
    const std::uint32_t low = transposed ? at(matrix, pair, group) : at(matrix, group, pair);
    const std::uint32_t high = transposed ? at(matrix, pair + 1, group) : at(matrix, group, pair + 1);
    const std::uint32_t both = low | high << 16;
    std::memcpy(static_cast<std::byte*>(registers) + std::size_t{4} * matrix, &both, sizeof both);
  }
  warpbook::emulator::leave(exchange);
}

void __warpbook_ptx_store_matrix(void* row, const void* registers, std::uint32_t count, bool transposed) {
  const void* const pc = __builtin_return_address(0);
  warpbook::emulator::BlockContext& block = *warpbook::emulator::current_block;
  const unsigned lane = block.thread % kWarpSize;
  Exchange& exchange = warpbook::emulator::next_exchange();
  std::memcpy(exchange.a[lane].data(), registers, std::size_t{4} * count);
  warpbook::emulator::meet_all(pc);
  if (lane < 8 * count) {
    const unsigned matrix = lane / 8;
    const unsigned r = lane % 8;
    std::array<std::uint16_t, 8> elements;
    for (unsigned column = 0; column < 8; ++column) {
      const unsigned holder = transposed ? 4 * column + r / 2 : 4 * r + column / 2;
      const unsigned half = (transposed ? r : column) % 2;
      elements[column] = warpbook::emulator::load_as<std::uint16_t>(exchange.a[holder].data() +
                                                                    std::size_t{4} * matrix + std::size_t{2} * half);
    }
    warpbook::emulator::observer().access(block, AccessKind::write, row, 16, pc);
    std::memcpy(row, elements.data(), sizeof elements);
  }
  warpbook::emulator::leave(exchange);
}

void __warpbook_ptx_multiply_matrices(std::uint64_t what, void* d, const void* a, const void* b, const void* c) {
  const void* const pc = __builtin_return_address(0);
  const MatrixProduct product = MatrixProduct::of(what);
  const unsigned lane = warpbook::emulator::current_block->thread % kWarpSize;
  Exchange& exchange = warpbook::emulator::next_exchange();
  const auto bytes = [&](unsigned rows, unsigned columns, Element type) {
    return std::size_t{warpbook::emulator::bytes_of(rows * columns, type)};
  };
  std::memcpy(exchange.a[lane].data(), a, bytes(product.m, product.k, product.a));
  std::memcpy(exchange.b[lane].data(), b, bytes(product.k, product.n, product.b));
  std::memcpy(exchange.c[lane].data(), c, bytes(product.m, product.n, product.c));
  warpbook::emulator::meet_all(pc);
  if (!exchange.done) {  // The first lane that goes on computes for all.
    exchange.done = true;
    if (product.d == Element::s32)
      warpbook::emulator::multiply<std::int64_t>(product, exchange);
    else if (product.d == Element::f64)
      warpbook::emulator::multiply<double>(product, exchange);
    else
      warpbook::emulator::multiply<float>(product, exchange);
  }
  std::memcpy(d, exchange.d[lane].data(), bytes(product.m, product.n, product.d));
  warpbook::emulator::leave(exchange);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
