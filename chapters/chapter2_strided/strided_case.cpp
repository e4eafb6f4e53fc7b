#include "chapters/chapter2_strided/strided_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "common/harness/format.hpp"
#include "common/harness/odometer.hpp"
#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter2 {
namespace {

constexpr std::int64_t kBlockBytes = 64;  // The H200's memory is read in blocks of so many.

}  // namespace

void move_on_host(const StridedProblem& p, const std::byte* src, std::byte* dst) {
  const std::vector<std::int64_t> sizes(p.view.sizes.begin(), p.view.sizes.begin() + p.view.dims);
  const std::vector<std::int64_t> strides(p.view.strides.begin(), p.view.strides.begin() + p.view.dims);
  each_place(sizes, strides, p.view.offset, p.count(), [&](std::int64_t i, std::int64_t place) {
    const std::int64_t from = p.into_view ? i : place;
    const std::int64_t to = p.into_view ? place : i;
    std::memcpy(dst + to * p.element_bytes, src + from * p.element_bytes, static_cast<std::size_t>(p.element_bytes));
  });
}

std::int64_t touched_blocks(const StridedProblem& p, std::int64_t first_byte, std::int64_t block_bytes) {
  if (p.count() == 0) return 0;
  std::vector<ByteDim> dims;
  for (int d = 0; d < p.view.dims; ++d) {
    if (p.view.sizes[d] > 1 && p.view.strides[d] > 0) {
      dims.push_back({p.view.strides[d] * p.element_bytes, p.view.sizes[d]});
    }
  }
  return blocks_of_view(dims, p.element_bytes, first_byte + p.view.offset * p.element_bytes, block_bytes);
}

StridedCase::StridedCase(const Parameters& parameters) {
  const std::vector<std::int64_t> shape = parameters.integers("shape");
  const std::vector<std::int64_t> strides = parameters.integers("strides");
  problem_.view.offset = parameters.integer("offset", 0);
  dtype_ = parameters.word("dtype", "float");
  name_ = parameters.word("name", "");
  shift_ = parameters.offset("shift");
  problem_.into_view = parameters.integer("into", 0, 0, 1, "0 (read the view) or 1 (write it)") == 1;
  parameters.refuse_unknown();

  problem_.element_bytes = element_bytes_of(dtype_);
  if (strides.size() != shape.size()) {
    throw BadInput(fmt::format("shape has {} sizes and strides has {}; accepted are as many of both", shape.size(),
                               strides.size()));
  }
  if (shape.size() > kMaxViewDims) {
    throw BadInput(fmt::format("shape has {} dimensions; accepted are 0 to {}", shape.size(), kMaxViewDims));
  }
  problem_.view.dims = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), problem_.view.sizes.begin());
  std::copy(strides.begin(), strides.end(), problem_.view.strides.begin());
  if (const char* reason = refuse_view(problem_.view, 2 * problem_.element_bytes)) {  // Their sum must fit, too.
    throw BadInput(fmt::format("shape={} strides={} offset={}: {}", fmt::join(shape, ","), fmt::join(strides, ","),
                               problem_.view.offset, reason));
  }
  const auto alignment = [&](std::int64_t element) {
    return alignment_of(static_cast<std::uintptr_t>(element * problem_.element_bytes));
  };
  problem_.alignment = alignment(shift_);
  problem_.view_alignment = alignment(shift_ + problem_.view.offset);
  if (problem_.into_view && !surely_distinct(problem_.view)) {
    throw BadInput(fmt::format("shape={} strides={} into=1: the view may show an element twice, and is only read",
                               fmt::join(shape, ","), fmt::join(strides, ",")));
  }
}

std::int64_t StridedCase::storage_elements() const {
  return problem_.count() == 0 ? 0 : problem_.view.offset + problem_.view.reach() + 1;
}

std::string StridedCase::title() const {
  const std::string view =
      problem_.view.dims == 0 ? "scalar" : fmt::format("{} by {}", fmt::join(sizes(), "x"), fmt::join(strides(), ","));
  return fmt::format("{}{}{}{}  {}{}{}", name_, name_.empty() ? "" : "  ", view,
                     if_any("  from ", problem_.view.offset), dtype_, problem_.into_view ? "  into the view" : "",
                     if_any("  shift ", shift_));
}

std::string StridedCase::parameters() const {
  return fmt::format("shape={} strides={}{} dtype={}{}{}{}", fmt::join(sizes(), ","), fmt::join(strides(), ","),
                     if_any(" offset=", problem_.view.offset), dtype_, problem_.into_view ? " into=1" : "",
                     if_any(" shift=", shift_), if_any(" name=", name_));
}

BufferLayout StridedCase::array(const char* name, bool is_view) const {
  return {name, is_view ? storage_elements() : problem_.count(), problem_.element_bytes,
          shift_ * problem_.element_bytes};
}

std::int64_t StridedCase::bytes_moved() const {
  if (!bytes_moved_) {
    bytes_moved_ = problem_.count() * problem_.element_bytes +
                   kBlockBytes * touched_blocks(problem_, shift_ * problem_.element_bytes, kBlockBytes);
  }
  return *bytes_moved_;
}

void StridedCase::fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const {
  fill_with_random_bits(seed ^ (array << 60U), bytes);
}

void StridedCase::reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const {
  move_on_host(problem_, inputs[0].data(), expected.data());
}

std::string StridedCase::coordinate(std::int64_t element) const {
  if (problem_.into_view) return fmt::format("element {} of the array", element);
  return coordinate_text(index_in(sizes(), element));
}

std::string StridedCase::likely_cause(std::span<const std::span<const std::byte>> inputs,
                                      std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  if (problem_.into_view) return {};
  const auto at = static_cast<std::size_t>(problem_.view.offset * problem_.element_bytes);
  const std::size_t bytes = std::min(actual.size(), inputs[0].size() - at);
  if (bytes == actual.size() && std::memcmp(inputs[0].data() + at, actual.data(), bytes) == 0) {
    return "the output is the array as it lies in memory: strides were not used";
  }
  return misplaced_element(inputs[0], expected, actual, problem_.element_bytes,
                           [](std::int64_t place) { return fmt::format("{}", place); });
}

std::string strided_case_help() {
  return fmt::format(R"(shape=N,N,...    sizes of the view, 0 to {} of them (an empty list is one element)
strides=N,N,...  elements between neighbours along each dimension, 0 or more, as torch.as_strided
offset=N         elements of the array before the view's first (default: 0)
dtype=T          {} (default: float)
into=0|1         0: the view is made contiguous; 1: contiguous data are written into it (default: 0)
shift=N          both arrays begin N elements behind a 256-byte boundary (default: 0)
name=WORD        what the tables call it (default: nothing))",
                     kMaxViewDims, element_type_names());
}

}  // namespace warpbook::chapter2
