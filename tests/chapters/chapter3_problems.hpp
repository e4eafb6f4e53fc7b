/// \file
/// Permute problems for the tests of chapter 3.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "chapters/chapter3_permute/permute.hpp"
#include "tests/chapters/dice.hpp"

namespace warpbook::chapter3 {

/// A problem as text, for messages: "shape=2,3 perm=1,0 element_bytes=4".
inline std::string describe(const PermuteProblem& p) {
  std::string shape;
  std::string permutation;
  for (int d = 0; d < p.rank; ++d) {
    shape += (d == 0 ? "" : ",") + std::to_string(p.shape[d]);
    permutation += (d == 0 ? "" : ",") + std::to_string(p.permutation[d]);
  }
  return "shape=" + shape + " perm=" + permutation + " element_bytes=" + std::to_string(p.element_bytes);
}

/// A problem of the given input shape; its rank is the shape's.
inline PermuteProblem make_problem(const std::vector<std::int64_t>& shape, const std::vector<int>& permutation,
                                   int element_bytes) {
  PermuteProblem p;
  p.rank = static_cast<int>(shape.size());
  p.element_bytes = element_bytes;
  std::copy(shape.begin(), shape.end(), p.shape.begin());
  std::copy(permutation.begin(), permutation.end(), p.permutation.begin());
  return p;
}

}  // namespace warpbook::chapter3
