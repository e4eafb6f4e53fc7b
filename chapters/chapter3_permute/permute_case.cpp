#include "chapters/chapter3_permute/permute_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/harness/format.hpp"
#include "common/harness/odometer.hpp"
#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter3 {

void permute_on_host(const PermuteProblem& p, const std::byte* src, std::byte* dst) {
  std::vector<std::int64_t> sizes;    // Of the output,
  std::vector<std::int64_t> strides;  // and how its neighbours lie in the input.
  for (int d = 0; d < p.rank; ++d) {
    sizes.push_back(p.dst_shape(d));
    strides.push_back(1);
    for (int e = p.permutation[d] + 1; e < p.rank; ++e) strides[d] *= p.shape[e];
  }
  const auto bytes = static_cast<std::size_t>(p.element_bytes);
  each_place(sizes, strides, 0, p.count(), [&](std::int64_t i, std::int64_t place) {
    std::memcpy(dst + i * p.element_bytes, src + place * p.element_bytes, bytes);
  });
}

PermuteCase::PermuteCase(const Parameters& parameters) {
  const std::vector<std::int64_t> shape = parameters.integers("shape");
  const std::vector<std::int64_t> permutation = parameters.integers("perm");
  dtype_ = parameters.word("dtype", "float");
  offset_ = parameters.offset();
  parameters.refuse_unknown();

  problem_.element_bytes = element_bytes_of(dtype_);
  if (shape.size() > kMaxRank) {
    throw BadInput(fmt::format("shape has {} dimensions; accepted are 0 to {}", shape.size(), kMaxRank));
  }
  problem_.rank = static_cast<int>(shape.size());
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2 / problem_.element_bytes;
  check_sizes(shape, shape, most, "2^62 bytes or more");
  std::copy(shape.begin(), shape.end(), problem_.shape.begin());
  std::vector<std::int64_t> identity(shape.size());
  std::iota(identity.begin(), identity.end(), 0);
  if (!std::is_permutation(permutation.begin(), permutation.end(), identity.begin(), identity.end())) {
    throw BadInput(fmt::format("perm={} is no permutation of the shape's {} dimensions, counted from 0",
                               fmt::join(permutation, ","), shape.size()));
  }
  std::copy(permutation.begin(), permutation.end(), problem_.permutation.begin());
  problem_.alignment = static_cast<int>(std::gcd(16, array("").offset_bytes));
}

std::string PermuteCase::title() const {
  std::vector<int> identity(static_cast<std::size_t>(problem_.rank));
  std::iota(identity.begin(), identity.end(), 0);
  return fmt::format("({})->({})  {}  {}{}", fmt::join(identity, ","), fmt::join(permutation(), ","),
                     problem_.rank == 0 ? "scalar" : fmt::format("{}", fmt::join(shape(), "x")), dtype_,
                     if_any("  offset ", offset_));
}

std::string PermuteCase::parameters() const {
  return fmt::format("shape={} perm={} dtype={}{}", fmt::join(shape(), ","), fmt::join(permutation(), ","), dtype_,
                     if_any(" offset=", offset_));
}

BufferLayout PermuteCase::array(const char* name) const {
  return {name, problem_.count(), problem_.element_bytes, offset_ * problem_.element_bytes};
}

void PermuteCase::fill(std::size_t /*array*/, std::uint64_t seed, std::span<std::byte> bytes) const {
  fill_with_random_bits(seed, bytes);
}

void PermuteCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  permute_on_host(problem_, inputs[0].data(), expected.data());
}

std::string PermuteCase::coordinate(std::int64_t element) const {
  std::vector<std::int64_t> sizes;
  for (int d = 0; d < problem_.rank; ++d) sizes.push_back(problem_.dst_shape(d));
  return coordinate_text(index_in(sizes, element));
}

std::string PermuteCase::likely_cause(std::span<const std::span<const std::byte>> inputs,
                                      std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  if (std::memcmp(inputs[0].data(), actual.data(), actual.size()) == 0) return "the output is the input, not permuted";
  // The inverse reads dst where it should write it: the commonest slip with permutations that are not their own.
  PermuteProblem inverse = problem_;
  for (int d = 0; d < problem_.rank; ++d) inverse.permutation[problem_.permutation[d]] = d;
  std::vector<std::byte> permuted(actual.size());
  permute_on_host(inverse, inputs[0].data(), permuted.data());
  if (std::memcmp(permuted.data(), actual.data(), actual.size()) == 0) {
    return "the output is permuted by the inverse permutation";
  }
  return misplaced_element(inputs[0], expected, actual, problem_.element_bytes,
                           [&](std::int64_t place) { return coordinate_text(index_in(shape(), place)); });
}

std::string permute_case_help() {
  return fmt::format(R"(shape=N,N,...  sizes of the input, 0 to {} of them (an empty list is one element)
perm=D,D,...   which input dimension stands at each position of the output, as in torch.permute
dtype=T        {} (default: float)
offset=N       both arrays begin N elements behind a 256-byte boundary (default: 0))",
                     kMaxRank, element_type_names());
}

}  // namespace warpbook::chapter3
