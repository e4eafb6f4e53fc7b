/// \file
/// Long steps of cuRAND's generators: by powers of the matrix that one step is.
#include <array>
#include <cstddef>
#include <cstdint>

#include "common/emulator/include/curand_kernel.h"

namespace warpbook::emulator::random {
namespace {

// ---- XORWOW: 160 bits, of which each step makes a linear function

using Words = std::array<std::uint32_t, 5>;
/// What becomes of each bit alone.
using BitMatrix = std::array<Words, 160>;

Words transform(const BitMatrix& matrix, const Words& words) {
  Words result{};
  for (std::size_t bit = 0; bit < matrix.size(); ++bit) {
    if ((words[bit / 32] >> (bit % 32) & 1U) == 0) continue;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] ^= matrix[bit][i];
  }
  return result;
}

Words step(const Words& v) {
  const std::uint32_t t = v[0] ^ (v[0] >> 2);
  return {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
}

constexpr int kSequence = 67;  // 2^67 steps are a sequence

/// 2^i steps, for each i.
using Powers = std::array<BitMatrix, kSequence + 64>;

const Powers& xorwow_powers() {
  static const Powers& powers = *[] {
    auto* made = new Powers;
    for (std::size_t bit = 0; bit < 160; ++bit) {
      Words one{};
      one[bit / 32] = 1U << (bit % 32);
      (*made)[0][bit] = step(one);
    }
    for (std::size_t i = 1; i < made->size(); ++i) {
      for (std::size_t bit = 0; bit < 160; ++bit) (*made)[i][bit] = transform((*made)[i - 1], (*made)[i - 1][bit]);
    }
    return made;
  }();
  return powers;
}

// ---- MRG32k3a: three numbers twice, of which each step makes a linear function modulo a prime

using Matrix = std::array<std::array<std::uint64_t, 3>, 3>;

Matrix multiply(const Matrix& a, const Matrix& b, std::uint64_t modulus) {
  Matrix product{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) product[i][j] = (product[i][j] + a[i][k] * b[k][j]) % modulus;
    }
  }
  return product;
}

/// 2^i steps, for each i that a skip asks for.
using MatrixPowers = std::array<Matrix, 127 + 64>;

const MatrixPowers* mrg_powers(const Matrix& one, std::uint64_t modulus) {
  auto* made = new MatrixPowers;
  (*made)[0] = one;
  for (std::size_t i = 1; i < made->size(); ++i) (*made)[i] = multiply((*made)[i - 1], (*made)[i - 1], modulus);
  return made;
}

void move_on(unsigned (&numbers)[3], const MatrixPowers& powers, unsigned long long count, int shift,
             std::uint64_t modulus) {
  for (auto power = static_cast<std::size_t>(shift); count != 0; ++power, count >>= 1) {
    if ((count & 1) == 0) continue;
    std::uint64_t moved[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) moved[i] = (moved[i] + powers[power][i][j] * numbers[j]) % modulus;
    }
    for (std::size_t i = 0; i < 3; ++i) numbers[i] = static_cast<unsigned>(moved[i]);
  }
}

}  // namespace

void skip_xorwow(unsigned (&words)[5], unsigned long long count, bool sequences) {
  if (count == 0) return;
  const Powers& powers = xorwow_powers();
  Words moved{words[0], words[1], words[2], words[3], words[4]};
  for (std::size_t i = sequences ? kSequence : 0; count != 0; ++i, count >>= 1) {
    if ((count & 1) != 0) moved = transform(powers[i], moved);
  }
  for (std::size_t i = 0; i < moved.size(); ++i) words[i] = moved[i];
}

void skip_mrg(curandStateMRG32k3a& state, unsigned long long count, int shift) {
  if (count == 0) return;
  static const MatrixPowers& first =
      *mrg_powers({{{0, 1, 0}, {0, 0, 1}, {kModulus1 - 810728U, 1403580U, 0}}}, kModulus1);
  static const MatrixPowers& second =
      *mrg_powers({{{0, 1, 0}, {0, 0, 1}, {kModulus2 - 1370589U, 0, 527612U}}}, kModulus2);
  move_on(state.s1, first, count, shift, kModulus1);
  move_on(state.s2, second, count, shift, kModulus2);
}

}  // namespace warpbook::emulator::random
