#include "chapters/chapter3_permute/permute_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter3 {
namespace {

template <class T> void permute_elements(const PermuteProblem& p, const T* src, T* dst) {
  const int last = p.rank - 1;
  std::int64_t stride[kMaxRank];  // In the input, of the dimension at each position of the output.
  for (int d = 0; d < p.rank; ++d) {
    stride[d] = 1;
    for (int e = p.permutation[d] + 1; e < p.rank; ++e) stride[d] *= p.shape[e];
  }
  const std::int64_t row = p.dst_shape(last);
  if (row == 0) return;
  parallel_for(p.count() / row, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      std::int64_t rest = r;
      const T* from = src;
      for (int d = last - 1; d >= 0; --d) {
        from += rest % p.dst_shape(d) * stride[d];
        rest /= p.dst_shape(d);
      }
      for (std::int64_t i = 0; i < row; ++i) dst[r * row + i] = from[i * stride[last]];
    }
  });
}

struct Bytes16 {
  std::uint64_t half[2];
};

}  // namespace

void permute_on_host(const PermuteProblem& p, const std::byte* src, std::byte* dst) {
  if (p.rank == 0) {
    std::memcpy(dst, src, static_cast<std::size_t>(p.element_bytes));
    return;
  }
  const auto as = [&]<class T>(T) { permute_elements(p, reinterpret_cast<const T*>(src), reinterpret_cast<T*>(dst)); };
  switch (p.element_bytes) {
  case 1:
    return as(std::uint8_t{});
  case 2:
    return as(std::uint16_t{});
  case 4:
    return as(std::uint32_t{});
  case 8:
    return as(std::uint64_t{});
  default:
    return as(Bytes16{});
  }
}

PermuteCase::PermuteCase(const Parameters& parameters) {
  const std::vector<std::int64_t> shape = parameters.integers("shape");
  const std::vector<std::int64_t> permutation = parameters.integers("perm");
  dtype_ = parameters.has("dtype") ? parameters.word("dtype") : "float";
  offset_ = parameters.integer("offset", 0);
  parameters.refuse_unknown();

  problem_.element_bytes = element_bytes_of(dtype_);
  problem_.rank = static_cast<int>(std::min<std::size_t>(shape.size(), kMaxRank));
  if (shape.size() > kMaxRank) {
    throw BadInput(fmt::format("shape has {} dimensions; accepted are 0 to {}", shape.size(), kMaxRank));
  }
  std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2 / problem_.element_bytes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) throw BadInput(fmt::format("shape={} has a negative size", fmt::join(shape, ",")));
    if (shape[d] > most) throw BadInput(fmt::format("shape={} has 2^62 bytes or more", fmt::join(shape, ",")));
    most /= std::max<std::int64_t>(shape[d], 1);
    problem_.shape[d] = shape[d];
  }
  std::vector<std::int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = permutation.size() == shape.size();
  for (std::size_t d = 0; is_permutation && d < sorted.size(); ++d) {
    is_permutation = sorted[d] == static_cast<std::int64_t>(d);
    problem_.permutation[d] = static_cast<int>(permutation[d]);
  }
  if (!is_permutation) {
    throw BadInput(fmt::format("perm={} is no permutation of the shape's {} dimensions, counted from 0",
                               fmt::join(permutation, ","), shape.size()));
  }
  if (offset_ < 0 || offset_ > 255) throw BadInput(fmt::format("offset={} must be 0 to 255 elements", offset_));
  problem_.alignment = static_cast<int>(std::gcd(16, offset_bytes()));
}

std::string PermuteCase::title() const {
  std::vector<int> identity(static_cast<std::size_t>(problem_.rank));
  for (std::size_t d = 0; d < identity.size(); ++d) identity[d] = static_cast<int>(d);
  const auto* shape = problem_.shape.data();
  const auto* permutation = problem_.permutation.data();
  return fmt::format("({})->({})  {}  {}{}", fmt::join(identity, ","),
                     fmt::join(permutation, permutation + problem_.rank, ","),
                     problem_.rank == 0 ? "scalar" : fmt::format("{}", fmt::join(shape, shape + problem_.rank, "x")),
                     dtype_, offset_ == 0 ? "" : fmt::format("  offset {}", offset_));
}

std::string PermuteCase::parameters() const {
  const auto* shape = problem_.shape.data();
  const auto* permutation = problem_.permutation.data();
  return fmt::format("shape={} perm={} dtype={}{}", fmt::join(shape, shape + problem_.rank, ","),
                     fmt::join(permutation, permutation + problem_.rank, ","), dtype_,
                     offset_ == 0 ? "" : fmt::format(" offset={}", offset_));
}

std::vector<BufferLayout> PermuteCase::inputs() const {
  return {{"src", problem_.count(), problem_.element_bytes, offset_bytes()}};
}

BufferLayout PermuteCase::output() const { return {"dst", problem_.count(), problem_.element_bytes, offset_bytes()}; }

void PermuteCase::fill(std::size_t /*array*/, std::uint64_t seed, std::span<std::byte> bytes) const {
  fill_with_random_bits(seed, bytes);
}

void PermuteCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  permute_on_host(problem_, inputs[0].data(), expected.data());
}

std::string PermuteCase::coordinate(std::int64_t element) const {
  std::vector<std::int64_t> index(static_cast<std::size_t>(problem_.rank));
  for (int d = problem_.rank - 1; d >= 0; --d) {
    index[static_cast<std::size_t>(d)] = element % problem_.dst_shape(d);
    element /= problem_.dst_shape(d);
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string PermuteCase::likely_cause(std::span<const std::span<const std::byte>> inputs,
                                      std::span<const std::byte> /*expected*/,
                                      std::span<const std::byte> actual) const {
  if (std::memcmp(inputs[0].data(), actual.data(), actual.size()) == 0) return "the output is the input, not permuted";
  // The inverse reads dst where it should write it: the commonest slip with permutations that are not their own.
  PermuteProblem inverse = problem_;
  for (int d = 0; d < problem_.rank; ++d) inverse.permutation[problem_.permutation[d]] = d;
  std::vector<std::byte> permuted(actual.size());
  permute_on_host(inverse, inputs[0].data(), permuted.data());
  if (std::memcmp(permuted.data(), actual.data(), actual.size()) == 0) {
    return "the output is permuted by the inverse permutation";
  }
  return {};
}

std::string permute_case_help() {
  return fmt::format("shape=N,N,...  sizes of the input, 0 to {} of them (an empty list is one element)\n"
                     "perm=D,D,...   which input dimension stands at each position of the output, as in torch.permute\n"
                     "dtype=T        {} (default: float)\n"
                     "offset=N       both arrays begin N elements behind a 256-byte boundary (default: 0)",
                     kMaxRank, element_type_names());
}

}  // namespace warpbook::chapter3
