// Every step of chapter 2 against the reference, through the harness's own verification; and the take-away functions'
// judgement of their arguments.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "chapters/chapter2_strided/strided_case.hpp"
#include "common/harness/device.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/chapter2_problems.hpp"
#include "tests/chapters/step_verifier.hpp"

namespace warpbook::chapter2 {

// chapter.cu
Chapter chapter();
cudaError_t copy_by_take_away(void* dst, const void* src, const TensorView& view, int element_bytes, bool into_view,
                              cudaStream_t stream);
std::vector<Step> steps_for_large_views();
std::vector<std::string> misjudged_evidence();

namespace {

constexpr int kRandomCases = 450;
constexpr std::int64_t kMostElements = 20'000;  // Of nearly all random cases.

// ------------------------------------------------------------------------------------------------------- the steps

using RunProblem = cudaError_t (*)(const StridedProblem&, const void*, void*, cudaStream_t);

Step make_step(const char* version, RunProblem run) {
  Step step;
  step.version = version;
  step.run = [=](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    return run(static_cast<const StridedCase&>(c).problem(), arrays.inputs[0], arrays.output, stream);
  };
  return step;
}

cudaError_t run_take_away(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return copy_by_take_away(dst, src, p.view, p.element_bytes, p.into_view, stream);
}

/// The chapter's steps, the take-away functions, and what only large views use.
std::vector<Step> all_steps() {
  std::vector<Step> steps = chapter().steps;
  steps.push_back(make_step("strided_copy.cuh", run_take_away));
  for (const Step& step : steps_for_large_views()) steps.push_back(step);
  return steps;
}

// ------------------------------------------------------------------------------------------------------- the cases

const std::vector<std::string> kTypes = {"int8", "half", "float", "double", "complex128"};

/// Views that are awkward for a reason, in every element size, read and, where that is possible, written.
std::vector<std::string> awkward_cases() {
  const std::vector<TensorView> views = {
      // No elements, one element.
      make_view({}, {}),
      make_view({}, {}, 3),
      make_view({0}, {1}),
      make_view({7, 0, 3}, {3, 3, 1}),
      make_view({1, 1, 1}, {5, 7, 9}, 2),
      // The example: x[:, :, 0:3:2] of shape (2, 4, 4). And what it becomes with one more element a row.
      make_view({2, 4, 2}, {16, 4, 2}),
      make_view({2, 4, 3}, {16, 4, 1}),
      // Contiguous, and contiguous from some element on: aligned to 16 bytes or not.
      make_view({4099}, {1}),
      make_view({4096}, {1}, 16),
      make_view({4097}, {1}, 3),
      // Rows: whole words, odd ones, short ones, one element.
      make_view({33, 64}, {96, 1}),
      make_view({33, 64}, {96, 1}, 5),
      make_view({33, 63}, {64, 1}, 1),
      make_view({7, 5, 31}, {400, 64, 1}),
      make_view({700, 3}, {4, 1}),
      make_view({700, 1}, {4, 1}),
      make_view({1000, 2}, {16, 1}, 14),
      make_view({3, 2100}, {2200, 1}, 7),
      // Steps.
      make_view({4099}, {2}),
      make_view({37, 53}, {200, 3}, 1),
      make_view({5, 7, 11}, {1000, 64, 5}),
      make_view({513}, {64}),
      // Transposes, of whole arrays and of slices; with a step; with short sides.
      make_view({64, 48}, {1, 64}),
      make_view({3, 65, 33}, {33 * 65, 1, 65}),
      make_view({2, 70, 64}, {80 * 72, 1, 80}, 81),
      make_view({2, 64, 64}, {128 * 80, 2, 160}),
      make_view({40, 3, 50}, {3, 1, 200}, 1),
      make_view({3, 800}, {1, 3}),
      make_view({800, 3}, {1, 800}),
      make_view({800, 3}, {1, 900}),
      make_view({9, 8, 7, 6}, {1, 10, 100, 1000}),
      make_view({6, 7, 8, 9}, {1000, 1, 100, 10}),
      // Broadcasts.
      make_view({60, 70}, {0, 1}),
      make_view({60, 70}, {1, 0}),
      make_view({6, 7, 80}, {80, 0, 1}),
      make_view({7, 8, 9}, {0, 1, 0}),
      make_view({5000}, {0}, 4),
      make_view({70, 40, 3}, {1, 70, 0}),
      // Windows that overlap.
      make_view({500, 8}, {1, 1}),
      make_view({8, 500}, {1, 1}, 3),
      make_view({100, 5, 8}, {8, 2, 1}),
      // Dimensions that merge and dimensions of one element in between.
      make_view({4, 1, 5, 6, 1}, {30, 3, 6, 1, 9}),
      make_view({4, 5, 1, 6}, {40, 8, 5, 1}),
      // Many dimensions, as many as there may be, and none that merge.
      make_view(Numbers(12, 2), {4096, 8192, 1024, 2048, 256, 512, 64, 128, 16, 32, 1, 4}),
      make_view(Numbers(25, 1), Numbers(25, 5)),
      make_view({2, 2, 2, 2, 2, 2, 2, 2, 2, 40}, {1024, 2048, 256, 512, 64, 128, 16, 32, 1, 0}),
      make_view({2, 2, 2, 2, 2, 2, 2, 2, 9, 8}, {1024, 2048, 256, 512, 64, 128, 16, 32, 1, 1}),
  };
  std::vector<std::string> cases;
  for (const TensorView& view : views) {
    for (const std::string& dtype : kTypes) {
      cases.push_back(case_text(view, dtype, false, 0));
      if (surely_distinct(view)) cases.push_back(case_text(view, dtype, true, 0));
    }
  }
  // Arrays that begin anywhere, up to a whole 16 bytes behind a boundary.
  for (std::int64_t shift = 1; shift <= 16; ++shift) {
    for (const std::string dtype : {"int8", "half", "float"}) {
      cases.push_back(case_text(make_view({5, 4, 64}, {600, 96, 1}), dtype, false, shift));
      cases.push_back(case_text(make_view({5, 4, 64}, {600, 96, 1}), dtype, true, shift));
      cases.push_back(case_text(make_view({15, 37}, {200, 3}), dtype, shift % 2 == 0, shift));
    }
  }
  // Narrow elements, enough for several of staged_steps' and narrow_tile's tiles, which are larger than the random
  // views.
  for (const std::string dtype : {"int8", "half"}) {
    cases.push_back(case_text(make_view({33'001}, {2}, 3), dtype, false, 1));
    cases.push_back(case_text(make_view({2, 17'000}, {40'000, 2}, 1), dtype, false, 0));
    cases.push_back(case_text(make_view({2, 4'200}, {70'000, 16}, 5), dtype, false, 3));
    cases.push_back(case_text(make_view({2, 70, 600}, {48'000, 1, 80}, 81), dtype, false, 1));
    cases.push_back(case_text(make_view({70, 600}, {1, 75}, 3), dtype, dtype == "half", 0));
    cases.push_back(case_text(make_view({50, 3, 2, 700}, {1, 50, 0, 151}, 1), dtype, false, 0));
    cases.push_back(case_text(make_view({140, 41, 16}, {1, 141, 5'900}, 3), dtype, false, 1));
  }
  // Fewer elements than stand before the first whole word.
  for (std::int64_t count = 1; count <= 9; ++count) {
    cases.push_back(case_text(make_view({count}, {2}), "int8", false, 3));
    cases.push_back(case_text(make_view({count}, {2}), "int8", true, 1));
  }
  return cases;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- the tests

TEST_CASE("every step of chapter 2 agrees with the reference") {
  const std::uint64_t seed = test_seed();
  std::cout << "WARPBOOK_TEST_SEED=" << seed << std::endl;
  Dice dice(seed);
  std::vector<std::string> cases = fuzzing() ? std::vector<std::string>{} : awkward_cases();
  int into_views = 0;
  for (int i = 0; i < random_case_count(kRandomCases); ++i) {
    const TensorView view = random_view(dice, kMostElements);
    REQUIRE(refuse_view(view, 16) == nullptr);
    const bool into = surely_distinct(view) && dice.one_in(2);
    into_views += into ? 1 : 0;
    const std::int64_t shift = dice.one_in(3) ? dice.pick<std::int64_t>({1, 2, 3, 4, 8, dice.uniform(1, 255)}) : 0;
    cases.push_back(case_text(view, dice.pick(kTypes), into, shift));
  }
  if (!fuzzing()) CHECK(into_views >= 100);
  for (int i = 0; i < 100; ++i) {  // Slices of transposed matrices: either side may have gaps, and begin anywhere.
    const std::int64_t rows = dice.uniform(2, 200);
    const std::int64_t columns = dice.uniform(2, 200);
    const std::int64_t pitch = columns + dice.pick<std::int64_t>({0, 1, 8, dice.uniform(0, 64)});
    const std::int64_t batch = pitch * rows + dice.pick<std::int64_t>({0, 1, 32});
    const TensorView view = make_view({dice.uniform(1, 3), columns, rows}, {batch, 1, pitch}, dice.uniform(0, 40));
    const std::string dtype = dice.pick<std::string>({"int8", "int8", "half", "half", "float", "double"});
    cases.push_back(case_text(view, dtype, dice.one_in(2), dice.one_in(2) ? 0 : dice.uniform(1, 31)));
  }
  for (int i = 0; i < 200; ++i) {  // Short rows, as short_rows takes them: interleaved, or written so.
    const std::int64_t rows = dice.uniform(2, 24);
    const std::int64_t columns = dice.uniform(2, 300);
    const bool into = dice.one_in(4);
    const std::int64_t pitch = into ? rows : columns + dice.pick<std::int64_t>({0, 1, 4, dice.uniform(0, 64)});
    const std::int64_t batch = rows * columns + (pitch - columns) * rows * (into ? 0 : 1) + dice.uniform(0, 9);
    const Numbers sizes = into ? Numbers{2, rows, columns} : Numbers{2, columns, rows};
    cases.push_back(case_text(make_view(sizes, {batch, 1, pitch}, dice.uniform(0, 40)),
                              dice.one_in(2) ? "int8" : "half", into, dice.one_in(2) ? 0 : dice.uniform(1, 31)));
  }
  for (int i = 0; i < 230; ++i) {  // Rows of whole pieces of 8 bytes, as row_pieces takes them,
    const std::string dtype = dice.one_in(2) ? "int8" : "half";
    const std::int64_t row = dice.uniform(1, 16) * (dtype == "half" ? 4 : 8);
    const TensorView rows = make_view({dice.uniform(1, 5), dice.uniform(1, 60), row},
                                      {6'500, row + dice.uniform(0, 9), 1}, dice.uniform(0, 9));
    cases.push_back(case_text(rows, dtype, false, dice.one_in(2) ? 0 : 16));
    // elements alone in their sectors, as lone_elements does,
    const TensorView lone =
        make_view({dice.uniform(1, 30), dice.uniform(1, 70)}, {dice.uniform(32, 5'000), dice.uniform(32, 70)});
    cases.push_back(case_text(lone, dice.pick(kTypes), false, dice.uniform(0, 3)));
    // and long rows with a step, as staged_steps does.
    const bool two = dice.one_in(8);
    const TensorView steps = make_view({dice.uniform(1, 2), two ? 33'000 : dice.uniform(4'100, 5'000)},
                                       {130'000, two ? 2 : dice.uniform(12, 23)}, dice.uniform(0, 20));
    cases.push_back(case_text(steps, dtype, false, dice.uniform(0, 20)));
  }
  // Of two dimensions, and in several tiles.
  cases.push_back(case_text(make_view({700, 3, 5}, {1, 701, 2'200}, 1), "int8", false, 1));
  cases.push_back(case_text(make_view({2, 900, 7}, {7'000, 1, 991}, 5), "half", false, 0));
  cases.push_back(case_text(make_view({300, 128}, {1, 301}, 0), "int8", false, 3));

  StepVerifier verifier(chapter(), all_steps());
  for (const std::string& parameters : cases) verifier.verify(parameters, seed);

  std::cout << cases.size() << " cases, " << into_views << " random ones into a view" << std::endl;
  for (const auto& [version, tally] : verifier.tallies()) {
    std::cout << "  " << version << ": ran " << tally.ran << ", refused " << tally.refused << std::endl;
    INFO(version);
    CHECK(tally.ran >= least_runs(200, cases.size()));
  }
}

TEST_CASE("each rule of chapter 2 decides the case that it names") {
  for (const std::string& evidence : misjudged_evidence()) FAIL_CHECK(evidence);
}

TEST_CASE("element [1][3][1] of the example is element 30 of the array") {
  std::vector<float> array(32);
  for (std::size_t i = 0; i < array.size(); ++i) array[i] = static_cast<float>(i);
  const DeviceBuffer src(array.size() * sizeof(float));
  const DeviceBuffer dst(16 * sizeof(float));
  check(cudaMemcpy(src.data(), array.data(), src.bytes(), cudaMemcpyHostToDevice), "copying the input");
  check(copy_by_take_away(dst.data(), src.data(), make_view({2, 4, 2}, {16, 4, 2}), 4, false, nullptr), "the copy");
  std::vector<float> result(16);
  check(cudaMemcpy(result.data(), dst.data(), dst.bytes(), cudaMemcpyDeviceToHost), "copying the output");
  CHECK(result[1 * 4 * 2 + 3 * 2 + 1] == 30);
  CHECK(result == std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
}

namespace {

/// Two device arrays of 4096 bytes.
struct ArgumentTest {
  DeviceBuffer src_buffer{4096};
  DeviceBuffer dst_buffer{4096};

  ArgumentTest() {
    check(cudaMemset(src_buffer.data(), 1, src_buffer.bytes()), "filling the input");
    check(cudaMemset(dst_buffer.data(), 2, dst_buffer.bytes()), "filling the output");
  }

  cudaError_t from(const TensorView& view, int element_bytes, std::size_t src_offset = 0,
                   std::size_t dst_offset = 0) const {
    return copy_by_take_away(dst_buffer.data() + dst_offset, src_buffer.data() + src_offset, view, element_bytes, false,
                             nullptr);
  }
  cudaError_t into(const TensorView& view, int element_bytes, std::size_t src_offset = 0,
                   std::size_t dst_offset = 0) const {
    return copy_by_take_away(dst_buffer.data() + dst_offset, src_buffer.data() + src_offset, view, element_bytes, true,
                             nullptr);
  }
  /// What both say of it.
  void refused(const TensorView& view, int element_bytes) const {
    CHECK(from(view, element_bytes) == cudaErrorInvalidValue);
    CHECK(into(view, element_bytes) == cudaErrorInvalidValue);
  }
};

}  // namespace

TEST_CASE("the take-away functions refuse what is no view") {
  const ArgumentTest test;
  const std::int64_t most = INT64_MAX;
  const TensorView good = make_view({4, 5}, {10, 2}, 1);

  SECTION("sizes, strides and offsets") {
    test.refused(make_view({-1}, {1}), 4);
    test.refused(make_view({0, -1}, {1, 1}), 4);
    test.refused(make_view({4}, {-1}), 4);
    test.refused(make_view({4}, {1}, -1), 4);
  }
  SECTION("dimensions") {
    TensorView view = make_view(Numbers(25, 1), Numbers(25, 1));
    CHECK(test.from(view, 4) == cudaSuccess);
    CHECK(test.into(view, 4) == cudaSuccess);
    view.dims = 26;
    test.refused(view, 4);
    view.dims = -1;
    test.refused(view, 4);
  }
  SECTION("2^63 bytes and more") {
    test.refused(make_view({most}, {0}), 2);
    test.refused(make_view({most, 2}, {0, 0}), 1);
    test.refused(make_view({2}, {most}), 1);
    test.refused(make_view({2}, {most / 8}), 8);
    test.refused(make_view({3, 3}, {most / 3, most / 3}), 1);
    test.refused(make_view({2}, {1}, most), 1);
    test.refused(make_view({std::int64_t{1} << 32, std::int64_t{1} << 32}, {0, 0}), 1);
  }
  SECTION("element size") {
    for (const int bytes : {-4, 0, 3, 5, 6, 12, 24, 32, 1 << 30}) test.refused(good, bytes);
    for (const int bytes : {1, 2, 4, 8, 16}) {
      CHECK(test.from(good, bytes) == cudaSuccess);
      CHECK(test.into(good, bytes) == cudaSuccess);
    }
  }
  SECTION("null arrays") {
    void* const array = test.dst_buffer.data();
    CHECK(copy_by_take_away(nullptr, array, good, 4, false, nullptr) == cudaErrorInvalidValue);
    CHECK(copy_by_take_away(array, nullptr, good, 4, false, nullptr) == cudaErrorInvalidValue);
    CHECK(copy_by_take_away(nullptr, array, good, 4, true, nullptr) == cudaErrorInvalidValue);
    CHECK(copy_by_take_away(array, nullptr, good, 4, true, nullptr) == cudaErrorInvalidValue);
    const TensorView empty = make_view({4, 0}, {1, 1});
    CHECK(copy_by_take_away(nullptr, nullptr, empty, 4, false, nullptr) == cudaSuccess);
    CHECK(copy_by_take_away(nullptr, nullptr, empty, 4, true, nullptr) == cudaSuccess);
    CHECK(copy_by_take_away(nullptr, nullptr, make_view({most, most, 0}, {most, 1, 1}), 16, false, nullptr) ==
          cudaSuccess);
  }
  SECTION("misaligned arrays") {
    for (const int bytes : {2, 4, 8, 16}) {
      const auto half = static_cast<std::size_t>(bytes / 2);
      CHECK(test.from(good, bytes, half, 0) == cudaErrorInvalidValue);
      CHECK(test.into(good, bytes, half, 0) == cudaErrorInvalidValue);
      CHECK(test.from(good, bytes, 0, half) == cudaErrorInvalidValue);
      CHECK(test.into(good, bytes, 0, half) == cudaErrorInvalidValue);
      CHECK(test.from(good, bytes, 2 * half, 2 * half) == cudaSuccess);
      CHECK(test.into(good, bytes, 2 * half, 2 * half) == cudaSuccess);
    }
  }
  SECTION("views that show an element twice are read, and not written") {
    for (const TensorView& view : {make_view({3, 4}, {0, 1}), make_view({3, 4}, {2, 1}), make_view({2, 3}, {3, 2})}) {
      CHECK(test.from(view, 4) == cudaSuccess);
      CHECK(test.into(view, 4) == cudaErrorInvalidValue);
    }
  }
  // A refusal leaves no error behind, and CUDA goes on.
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("the take-away functions can be captured in a graph") {
  // They do nothing but launch: all of v9's branches, one after another.
  constexpr std::size_t kBytes = 256 * 1024;
  const DeviceBuffer src(kBytes);
  const DeviceBuffer dst(kBytes);
  check(cudaMemset(src.data(), 1, kBytes), "filling the input");
  const std::vector<TensorView> views = {make_view({4096}, {1}, 3), make_view({64, 64}, {1, 64}),
                                         make_view({64, 64}, {1, 128}), make_view({64, 48}, {128, 2}),
                                         make_view({64, 64}, {128, 1})};
  for (const TensorView& view : views) {
    for (const bool into : {false, true}) {
      const Stream stream;
      check(cudaMemset(dst.data(), 0, kBytes), "clearing the output");
      const Graph graph = Graph::capture(
          stream, [&](cudaStream_t s) { return run_take_away({view, 4, into}, src.data(), dst.data(), s); });
      std::vector<std::uint32_t> actual(kBytes / 4);
      check(cudaMemcpy(actual.data(), dst.data(), kBytes, cudaMemcpyDeviceToHost), "copying the output");
      CHECK(std::count(actual.begin(), actual.end(), 0U) == static_cast<std::ptrdiff_t>(actual.size()));  // Not run.
      graph.launch(stream);
      stream.synchronize();
      check(cudaMemcpy(actual.data(), dst.data(), kBytes, cudaMemcpyDeviceToHost), "copying the output");
      CHECK(std::count(actual.begin(), actual.end(), 0x01010101U) == view.count());
    }
  }
}

}  // namespace warpbook::chapter2
