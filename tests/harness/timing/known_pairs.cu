/// \file
/// Can the harness tell times apart that differ, and does it leave those alone that do not? A chapter like any other,
/// of a copy (v1), the very same kernel again (v2: to be called noise), and copies that move 5% and 10% more than they
/// say (v3, v4: to be called slower). scripts/compare_runs.py judges what it writes: `known_pairs --json F`.

#include <cstring>

#include "common/cuda/launch.cuh"
#include "common/harness/chapter.hpp"

namespace warpbook {
namespace {

/// y = x, and a little of x once more.
class CopyCase : public Case {
public:
  explicit CopyCase(std::int64_t n) : n(n) {}
  std::string title() const override { return "copy of " + std::to_string(n); }
  std::string parameters() const override { return "n=" + std::to_string(n); }
  std::vector<BufferLayout> inputs() const override { return {{"x", n, 4, 0}}; }
  BufferLayout output() const override { return {"y", n, 4, 0}; }
  std::int64_t scratch_bytes() const override { return n; }
  std::int64_t bytes_moved() const override { return 8 * n; }
  void fill(std::size_t, std::uint64_t seed, std::span<std::byte> bytes) const override {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<std::uint32_t>(seed + static_cast<std::uint64_t>(i) * 2654435761U);
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
  }
  void reference(std::span<const std::span<const std::byte>> in, std::span<std::byte> out) const override {
    std::copy(in[0].begin(), in[0].end(), out.begin());
  }
  std::string coordinate(std::int64_t e) const override { return "[" + std::to_string(e) + "]"; }

  std::int64_t n;
};

/// y = x, and the first `extra` elements once more.
__global__ void copy_and_more(std::uint32_t* y, std::uint32_t* more, const std::uint32_t* x, std::int64_t n,
                              std::int64_t extra) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i];
  } else if (i < n + extra) {
    more[i - n] = x[i - n];
  }
}

Step make_step(const char* version, const char* name, int percent) {
  Step step;
  step.version = version;
  step.name = name;
  step.idea = "A copy that moves " + std::to_string(percent) + "% more than it says.";
  step.run = [percent](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    const std::int64_t n = static_cast<const CopyCase&>(c).n;
    const std::int64_t extra = n / 100 * percent;
    return launch(copy_and_more, {.grid = ceil_div<std::int64_t>(n + extra, 256), .block = 256, .stream = stream},
                  static_cast<std::uint32_t*>(arrays.output), static_cast<std::uint32_t*>(arrays.scratch),
                  static_cast<const std::uint32_t*>(arrays.inputs[0]), n, extra);
  };
  return step;
}

Chapter make_chapter() {
  Chapter chapter;
  chapter.number = 0;
  chapter.name = "known_pairs";
  chapter.title = "Known pairs: can times be told apart?";
  chapter.cases = {{"n=33554432", kHeadline}, {"n=134217728", kHeadline}};
  chapter.case_help = "n=N  elements of 4 bytes";
  chapter.make_case = [](const Parameters& p) -> std::unique_ptr<Case> {
    const std::int64_t n = p.integer("n", 0);
    p.refuse_unknown();
    if (n < 0 || n > std::int64_t{1} << 40) throw BadInput("n: accepted is 0 to 2^40");
    return std::make_unique<CopyCase>(n);
  };
  chapter.steps = {make_step("v1", "copy", 0), make_step("v2", "again", 0), make_step("v3", "five_more", 5),
                   make_step("v4", "ten_more", 10)};
  return chapter;
}

}  // namespace
}  // namespace warpbook

int main(int argc, char** argv) { return warpbook::run_all(warpbook::make_chapter(), argc, argv); }
