/// \file
/// Cases for chapter 3's steps: awkward ones, and random ones of several kinds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "chapters/chapter3_permute/permute_case.hpp"
#include "common/harness/chapter.hpp"
#include "tests/chapters/dice.hpp"

namespace warpbook::chapter3 {

Chapter chapter();  // chapter.cu

inline constexpr std::int64_t kMostElements = 20'000;  // Of nearly all random cases.

inline std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

inline std::string case_text(const std::vector<std::int64_t>& shape, const std::vector<int>& permutation,
                             const std::string& dtype, std::int64_t offset) {
  return "shape=" + joined(shape) + " perm=" + joined({permutation.begin(), permutation.end()}) + " dtype=" + dtype +
         (offset == 0 ? "" : " offset=" + std::to_string(offset));
}

inline const std::vector<std::string> kTypes = {"int8", "half", "float", "double", "complex128"};
inline const std::vector<std::string> kAllTypes = {"int8",   "half",  "bfloat16",  "float",     "int32",
                                                   "double", "int64", "complex64", "complex128"};

inline int bytes_of(const std::string& dtype) {
  const auto problem = chapter().make_case(Parameters::parse("shape= perm= dtype=" + dtype));
  return static_cast<const PermuteCase&>(*problem).problem().element_bytes;
}

/// Shapes that are awkward for a reason, in every element size.
inline std::vector<std::string> awkward_cases() {
  struct Shape {
    std::vector<std::int64_t> shape;
    std::vector<int> permutation;
  };
  const std::vector<Shape> shapes = {
      // No elements, one element.
      {{}, {}},
      {{0}, {0}},
      {{7, 0, 3}, {2, 0, 1}},
      {{0, 5}, {1, 0}},
      {{1}, {0}},
      {{1, 1, 1, 1, 1, 1, 1, 1}, {7, 6, 5, 4, 3, 2, 1, 0}},
      // One row, one column, one row of tiles.
      {{1, 4099}, {1, 0}},
      {{4099, 1}, {1, 0}},
      {{3, 2, 1}, {2, 1, 0}},
      {{2, 4099}, {1, 0}},
      {{4099, 2}, {1, 0}},
      // Around the tiles' sides.
      {{31, 33}, {1, 0}},
      {{32, 32}, {1, 0}},
      {{3, 64, 64}, {0, 2, 1}},
      {{2, 65, 63}, {0, 2, 1}},
      {{127, 129}, {1, 0}},
      {{128, 128}, {1, 0}},
      {{16, 1040}, {1, 0}},
      {{257, 48}, {1, 0}},
      {{272, 48}, {1, 0}},
      {{2, 68, 132}, {0, 2, 1}},
      {{300, 68}, {1, 0}},
      // Primes.
      {{101, 103}, {1, 0}},
      {{17, 19, 23}, {2, 0, 1}},
      {{11, 13, 7, 17}, {3, 1, 0, 2}},
      // The last dimension stays: even, odd, of one element, of three, long.
      {{12, 10, 64}, {1, 0, 2}},
      {{12, 10, 63}, {1, 0, 2}},
      {{30, 20, 1}, {1, 0, 2}},
      {{30, 40, 3}, {1, 0, 2}},
      {{3, 2, 2049}, {1, 0, 2}},
      {{5, 4, 3, 32}, {2, 1, 0, 3}},
      // The identity, and what merges into it.
      {{19, 21, 23}, {0, 1, 2}},
      {{19, 1, 23}, {1, 0, 2}},
      {{16411}, {0}},
      // Images and attention's heads.
      {{2, 3, 31, 33}, {0, 2, 3, 1}},
      {{2, 31, 33, 3}, {0, 3, 1, 2}},
      {{2, 16, 12, 12}, {0, 2, 3, 1}},
      {{2, 17, 4, 64}, {0, 2, 1, 3}},
      // Rank 8 with small dimensions, and with dimensions of 1 in between.
      {{3, 3, 3, 3, 3, 3, 3, 3}, {7, 6, 5, 4, 3, 2, 1, 0}},
      {{2, 3, 2, 3, 2, 3, 2, 3}, {1, 3, 5, 7, 0, 2, 4, 6}},
      {{2, 3, 4, 5, 2, 3, 4, 5}, {7, 1, 5, 3, 0, 6, 2, 4}},
      {{1, 40, 1, 3, 1, 36, 1, 2}, {5, 0, 1, 7, 2, 4, 3, 6}},
      // Both fast dimensions long, others between them.
      {{24, 3, 2, 40}, {3, 1, 2, 0}},
      {{3, 37, 2, 41}, {3, 2, 0, 1}},
      {{48, 5, 64}, {2, 1, 0}},
      // Reversed, odd.
      {{7, 19, 5, 29}, {3, 2, 1, 0}},
      {{5, 3, 1201}, {2, 1, 0}},
      {{1201, 3, 5}, {2, 1, 0}},
  };
  std::vector<std::string> cases;
  for (const Shape& s : shapes) {
    for (const std::string& dtype : kTypes) cases.push_back(case_text(s.shape, s.permutation, dtype, 0));
  }
  // Misaligned views of matrices, rows and others, up to a whole 16 bytes.
  for (const std::string dtype : {"int8", "half", "float", "double"}) {
    for (std::int64_t offset = 1; offset * bytes_of(dtype) <= 16; ++offset) {
      if (dtype == "int8" && offset > 5 && offset < 15) continue;
      cases.push_back(case_text({2, 48, 64}, {0, 2, 1}, dtype, offset));
      cases.push_back(case_text({6, 5, 64}, {1, 0, 2}, dtype, offset));
      cases.push_back(case_text({4, 6, 8, 12}, {3, 1, 0, 2}, dtype, offset));
    }
  }
  return cases;
}

/// A random case. Each kind is made for other steps.
inline std::string random_case(Dice& dice, int kind) {
  std::string dtype = dice.pick(kAllTypes);
  std::int64_t offset = dice.one_in(3) ? dice.pick<std::int64_t>({1, 2, 3, 4, 8, 16, dice.uniform(1, 255)}) : 0;
  std::vector<std::int64_t> shape;
  std::vector<int> permutation;
  const std::int64_t budget = dice.log_uniform(64, kMostElements);
  const auto matrices = [&](std::int64_t rows, std::int64_t columns) {
    const std::int64_t batch = dice.uniform(1, std::clamp<std::int64_t>(kMostElements / (rows * columns), 1, 4));
    shape = batch > 1 ? std::vector{batch, rows, columns} : std::vector{rows, columns};
    permutation = batch > 1 ? std::vector{0, 2, 1} : std::vector{1, 0};
  };
  switch (kind) {
  case 0: {  // Anything.
    const int rank = static_cast<int>(dice.uniform(0, kMaxRank));
    shape = dice.shape(rank, 1, budget);
    permutation = dice.permutation(rank);
    break;
  }
  case 1: {  // Matrices with sides around those of tiles.
    const auto side = [&] {
      return dice.pick<std::int64_t>({1, 2, 3, 16, 32, 64, 96, 128}) + (dice.one_in(2) ? dice.uniform(-1, 1) : 0);
    };
    matrices(std::max<std::int64_t>(1, side()), std::max<std::int64_t>(1, side()));
    break;
  }
  case 2: {  // Matrices in whole words of 16 bytes, aligned.
    const std::int64_t words = 16 / bytes_of(dtype);
    const std::int64_t rows = words * dice.log_uniform(1, 192 / words);
    matrices(rows, words * dice.log_uniform(
                               1, std::max<std::int64_t>(1, std::min<std::int64_t>(budget / rows, 192) / words)));
    if (!dice.one_in(5)) offset = 0;
    break;
  }
  case 3: {  // Even matrices of halves.
    dtype = dice.pick<std::string>({"half", "bfloat16"});
    const std::int64_t rows = 2 * dice.log_uniform(1, 100);
    matrices(rows, 2 * dice.log_uniform(1, std::max<std::int64_t>(1, std::min<std::int64_t>(budget / rows, 200) / 2)));
    if (!dice.one_in(5)) offset &= ~std::int64_t{1};
    break;
  }
  case 4: {  // The last dimension stays.
    const int rank = static_cast<int>(dice.uniform(2, 6));
    const std::int64_t last = dice.log_uniform(1, 300);
    shape = dice.shape(rank - 1, 1, std::max<std::int64_t>(1, budget / last));
    permutation = dice.permutation(rank - 1);
    shape.push_back(last);
    permutation.push_back(rank - 1);
    break;
  }
  case 5: {  // Short fastest dimensions on both sides.
    const int rank = static_cast<int>(dice.uniform(2, 6));
    permutation = dice.permutation(rank);
    shape = dice.shape(rank, 1, std::max<std::int64_t>(1, budget / 16));
    shape.back() = dice.uniform(1, 8);
    if (dice.one_in(2)) shape[static_cast<std::size_t>(permutation.back())] = dice.uniform(1, 8);
    break;
  }
  case 6: {  // Primes.
    const std::vector<std::int64_t> primes = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 61, 67, 127, 131, 257};
    std::int64_t count = 1;
    while (shape.size() < 6) {
      const std::int64_t prime = dice.pick(primes);
      if (count * prime > budget) break;
      shape.push_back(prime);
      count *= prime;
    }
    permutation = dice.permutation(static_cast<int>(shape.size()));
    break;
  }
  case 7:  // Rank 8 of small dimensions.
    for (int d = 0; d < kMaxRank; ++d) shape.push_back(dice.uniform(1, 3));
    permutation = dice.permutation(kMaxRank);
    break;
  case 8: {  // Dimensions of 1 everywhere.
    const int rank = static_cast<int>(dice.uniform(3, kMaxRank));
    shape = dice.shape(rank, 1, budget);
    for (std::int64_t& size : shape) size = dice.one_in(2) ? 1 : size;
    permutation = dice.permutation(rank);
    break;
  }
  default: {  // Both fast dimensions long, in whole words of 16 bytes or not.
    const int rank = static_cast<int>(dice.uniform(3, 5));
    do permutation = dice.permutation(rank);
    while (permutation.back() == rank - 1);
    for (int d = 0; d < rank; ++d) shape.push_back(dice.uniform(1, rank == 3 ? 4 : 2));
    const std::int64_t multiple = dice.one_in(2) ? 16 : 1;
    shape.back() = multiple * dice.uniform((20 + multiple - 1) / multiple, 80 / multiple);
    shape[static_cast<std::size_t>(permutation.back())] =
        multiple * dice.uniform((20 + multiple - 1) / multiple, 80 / multiple);
    if (multiple == 16 && dice.one_in(2)) offset = 0;
    break;
  }
  }
  return case_text(shape, permutation, dtype, offset);
}

}  // namespace warpbook::chapter3
