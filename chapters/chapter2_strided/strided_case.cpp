#include "chapters/chapter2_strided/strided_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "common/harness/raw_elements.hpp"

namespace warpbook::chapter2 {
namespace {

/// How the H200's memory is read: in blocks of so many bytes.
constexpr std::int64_t kBlockBytes = 64;

}  // namespace

void move_on_host(const StridedProblem& p, const std::byte* src, std::byte* dst) {
  const TensorView& view = p.view;
  const std::int64_t count = view.count();
  const auto bytes = static_cast<std::size_t>(p.element_bytes);
  // Parts begin at any element; from there the index counts like an odometer.
  parallel_for(count, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t index[kMaxViewDims] = {};
    std::int64_t rest = begin;
    std::int64_t place = view.offset;
    for (int d = view.dims - 1; d >= 0; --d) {
      index[d] = rest % view.sizes[d];
      rest /= view.sizes[d];
      place += index[d] * view.strides[d];
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t from = p.into_view ? i : place;
      const std::int64_t to = p.into_view ? place : i;
      std::memcpy(dst + to * p.element_bytes, src + from * p.element_bytes, bytes);
      for (int d = view.dims - 1; d >= 0; --d) {
        place += view.strides[d];
        if (++index[d] < view.sizes[d]) break;
        place -= view.sizes[d] * view.strides[d];
        index[d] = 0;
      }
    }
  });
}

std::int64_t touched_blocks(const StridedProblem& p, std::int64_t first_byte, std::int64_t block_bytes) {
  if (p.count() == 0) return 0;
  struct Step {
    std::int64_t size;
    std::int64_t bytes;
  };
  std::vector<Step> steps;
  for (int d = 0; d < p.view.dims; ++d) {
    if (p.view.sizes[d] > 1 && p.view.strides[d] > 0)
      steps.push_back({p.view.sizes[d], p.view.strides[d] * p.element_bytes});
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.bytes < b.bytes; });

  // A run without a gap of a whole block touches every block from its first byte to its last.
  std::int64_t run = p.element_bytes;
  std::size_t in_run = 0;
  while (in_run < steps.size() && steps[in_run].bytes < run + block_bytes) {
    run += (steps[in_run].size - 1) * steps[in_run].bytes;
    ++in_run;
  }
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(in_run));

  // The other dimensions repeat the run. Repetitions may share blocks, or interleave: mark each block.
  const std::int64_t begin = first_byte + p.view.offset * p.element_bytes;
  const std::int64_t first_block = begin / block_bytes;
  const std::int64_t blocks = (begin + p.view.reach() * p.element_bytes + p.element_bytes - 1) / block_bytes + 1;
  constexpr std::int64_t kMostMarked = std::int64_t{1} << 33;
  if (blocks - first_block > kMostMarked) return blocks - first_block;  // More than any device holds.
  if (steps.empty()) return blocks - first_block;
  std::vector<bool> touched(static_cast<std::size_t>(blocks - first_block), false);
  std::vector<std::int64_t> index(steps.size(), 0);
  std::int64_t place = begin;
  for (;;) {
    for (std::int64_t b = place / block_bytes; b <= (place + run - 1) / block_bytes; ++b) {
      touched[static_cast<std::size_t>(b - first_block)] = true;
    }
    std::size_t k = 0;
    for (; k < steps.size(); ++k) {
      place += steps[k].bytes;
      if (++index[k] < steps[k].size) break;
      place -= steps[k].size * steps[k].bytes;
      index[k] = 0;
    }
    if (k == steps.size()) break;
  }
  return std::count(touched.begin(), touched.end(), true);
}

StridedCase::StridedCase(const Parameters& parameters) {
  const std::vector<std::int64_t> shape = parameters.integers("shape");
  const std::vector<std::int64_t> strides = parameters.integers("strides");
  problem_.view.offset = parameters.integer("offset", 0);
  dtype_ = parameters.has("dtype") ? parameters.word("dtype") : "float";
  name_ = parameters.has("name") ? parameters.word("name") : "";
  shift_ = parameters.integer("shift", 0);
  const std::int64_t into = parameters.integer("into", 0);
  parameters.refuse_unknown();

  problem_.element_bytes = element_bytes_of(dtype_);
  problem_.into_view = into == 1;
  if (into != 0 && into != 1) throw BadInput(fmt::format("into={} must be 0 (read the view) or 1 (write it)", into));
  if (shift_ < 0 || shift_ > 255) throw BadInput(fmt::format("shift={} must be 0 to 255 elements", shift_));
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
  problem_.alignment = alignment_of(static_cast<std::uintptr_t>(shift_ * problem_.element_bytes));
  problem_.view_alignment =
      alignment_of(static_cast<std::uintptr_t>((shift_ + problem_.view.offset) * problem_.element_bytes));
  if (problem_.into_view && !surely_distinct(problem_.view)) {
    throw BadInput(fmt::format("shape={} strides={} into=1: the view may show an element twice, and is only read",
                               fmt::join(shape, ","), fmt::join(strides, ",")));
  }
}

std::int64_t StridedCase::storage_elements() const {
  return problem_.count() == 0 ? 0 : problem_.view.offset + problem_.view.reach() + 1;
}

std::string StridedCase::title() const {
  const auto* sizes = problem_.view.sizes.data();
  const auto* strides = problem_.view.strides.data();
  const int dims = problem_.view.dims;
  std::string text = name_.empty() ? "" : name_ + "  ";
  text += dims == 0
              ? "scalar"
              : fmt::format("{} by {}", fmt::join(sizes, sizes + dims, "x"), fmt::join(strides, strides + dims, ","));
  if (problem_.view.offset != 0) text += fmt::format("  from {}", problem_.view.offset);
  text += "  " + dtype_;
  if (problem_.into_view) text += "  into the view";
  if (shift_ != 0) text += fmt::format("  shift {}", shift_);
  return text;
}

std::string StridedCase::parameters() const {
  const auto* sizes = problem_.view.sizes.data();
  const auto* strides = problem_.view.strides.data();
  const int dims = problem_.view.dims;
  return fmt::format("shape={} strides={}{} dtype={}{}{}{}", fmt::join(sizes, sizes + dims, ","),
                     fmt::join(strides, strides + dims, ","),
                     problem_.view.offset == 0 ? "" : fmt::format(" offset={}", problem_.view.offset), dtype_,
                     problem_.into_view ? " into=1" : "", shift_ == 0 ? "" : fmt::format(" shift={}", shift_),
                     name_.empty() ? "" : " name=" + name_);
}

std::vector<BufferLayout> StridedCase::inputs() const {
  const int bytes = problem_.element_bytes;
  return {{"src", problem_.into_view ? problem_.count() : storage_elements(), bytes, shift_ * bytes}};
}

BufferLayout StridedCase::output() const {
  const int bytes = problem_.element_bytes;
  return {"dst", problem_.into_view ? storage_elements() : problem_.count(), bytes, shift_ * bytes};
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
  std::vector<std::int64_t> index(static_cast<std::size_t>(problem_.view.dims));
  for (int d = problem_.view.dims - 1; d >= 0; --d) {
    index[static_cast<std::size_t>(d)] = element % problem_.view.sizes[d];
    element /= problem_.view.sizes[d];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string StridedCase::likely_cause(std::span<const std::span<const std::byte>> inputs,
                                      std::span<const std::byte> /*expected*/,
                                      std::span<const std::byte> actual) const {
  if (problem_.into_view) return {};
  const auto at = static_cast<std::size_t>(problem_.view.offset * problem_.element_bytes);
  const std::size_t bytes = std::min(actual.size(), inputs[0].size() - at);
  if (bytes == actual.size() && std::memcmp(inputs[0].data() + at, actual.data(), bytes) == 0) {
    return "the output is the array as it lies in memory: strides were not used";
  }
  return {};
}

std::string strided_case_help() {
  return fmt::format(
      "shape=N,N,...    sizes of the view, 0 to {} of them (an empty list is one element)\n"
      "strides=N,N,...  elements between neighbours along each dimension, 0 or more, as torch.as_strided\n"
      "offset=N         elements of the array before the view's first (default: 0)\n"
      "dtype=T          {} (default: float)\n"
      "into=0|1         0: the view is made contiguous; 1: contiguous data are written into it "
      "(default: 0)\n"
      "shift=N          both arrays begin N elements behind a 256-byte boundary (default: 0)\n"
      "name=WORD        what the tables call it (default: nothing)",
      kMaxViewDims, element_type_names());
}

}  // namespace warpbook::chapter2
