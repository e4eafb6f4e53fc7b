/// \file
/// How a warp's registers hold the matrices of a tensor core's product, as PTX has it (`mma.sync`): lane 4 * g + t
/// holds elements of row or column g, in words that t chooses. Larger matrices (<mma.h>) are tiles of 16 x k, k x 8 and
/// 16 x 8, one behind the other.
#pragma once

#include <cstdint>

namespace warpbook::emulator {

/// Types of elements.
enum class Element : std::uint8_t { f16, bf16, tf32, f32, f64, s8, u8, s32 };

/// A product of an m x k and a k x n matrix.
struct MatrixProduct {
  unsigned m, n, k;
  Element a, b, c, d;
  bool saturates;  ///< integers stop at their limits

  constexpr std::uint64_t packed() const {
    return m | std::uint64_t{n} << 8 | std::uint64_t{k} << 16 | static_cast<std::uint64_t>(a) << 32 |
           static_cast<std::uint64_t>(b) << 36 | static_cast<std::uint64_t>(c) << 40 |
           static_cast<std::uint64_t>(d) << 44 | std::uint64_t{saturates} << 48;
  }
  static constexpr MatrixProduct of(std::uint64_t packed) {
    const auto element = [=](unsigned bit) { return static_cast<Element>(packed >> bit & 0xf); };
    return {static_cast<unsigned>(packed & 0xff),
            static_cast<unsigned>(packed >> 8 & 0xff),
            static_cast<unsigned>(packed >> 16 & 0xff),
            element(32),
            element(36),
            element(40),
            element(44),
            (packed >> 48 & 1) != 0};
  }
};

struct MatrixPlace {
  unsigned row, column;
};

/// Elements of one register.
constexpr unsigned elements_per_register(Element type) {
  switch (type) {
  case Element::f16:
  case Element::bf16:
    return 2;
  case Element::s8:
  case Element::u8:
    return 4;
  default:
    return 1;
  }
}

/// Where the i-th element of a lane lies in A. `packed`: elements of one register.
constexpr MatrixPlace place_in_a(unsigned lane, unsigned i, unsigned m, unsigned k, unsigned packed) {
  const unsigned tile_rows = m < 16 ? m : 16;
  const unsigned tile = i / (tile_rows * k / 32);
  i %= tile_rows * k / 32;
  const unsigned halves = tile_rows / 8;
  return {tile * 16 + lane / 4 + 8 * (i / packed % halves),
          packed * (lane % 4) + i % packed + 4 * packed * (i / (packed * halves))};
}

/// Where the i-th element of a lane lies in B.
constexpr MatrixPlace place_in_b(unsigned lane, unsigned i, unsigned k, unsigned packed) {
  const unsigned tile = i / (k / 4);
  i %= k / 4;
  return {packed * (lane % 4) + i % packed + 4 * packed * (i / packed), tile * 8 + lane / 4};
}

/// Where the i-th element of a lane lies in C and D.
constexpr MatrixPlace place_in_c(unsigned lane, unsigned i, unsigned m, unsigned n) {
  const unsigned tile_rows = m < 16 ? m : 16;
  const unsigned per_tile = tile_rows * 8 / 32;
  const unsigned tile = i / per_tile;
  i %= per_tile;
  return {tile / (n / 8) * 16 + lane / 4 + 8 * (i / 2), tile % (n / 8) * 8 + 2 * (lane % 4) + i % 2};
}

}  // namespace warpbook::emulator
