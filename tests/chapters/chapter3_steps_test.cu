// Every step of chapter 3 against the reference, through the harness's own verification; and the take-away function's
// judgement of its arguments.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "chapters/chapter3_permute/asides/wide_rows.cuh"
#include "chapters/chapter3_permute/permute.cuh"
#include "chapters/chapter3_permute/permute_case.hpp"
#include "chapters/chapter3_permute/v2a_index_type.cuh"
#include "common/cuda/tma.cuh"
#include "common/harness/device.hpp"
#include "common/harness/make_step.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/chapter3_cases.hpp"
#include "tests/chapters/chapter3_problems.hpp"
#include "tests/chapters/step_verifier.hpp"

namespace warpbook::chapter3 {

Chapter chapter();  // chapter.cu

// There, too: its kernels need not be compiled twice.
extern template std::span<const plan::Candidate> plan::candidates<PermuteProblem>(int element_bytes);

namespace {

// ------------------------------------------------------------------------------------------------------- the steps

using RunProblem = cudaError_t (*)(const PermuteProblem&, const void*, void*, cudaStream_t);

cudaError_t run_take_away(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return permute(dst, src, p.rank, p.shape.data(), p.permutation.data(), p.element_bytes, stream);
}

// The kernels for more than 2^31 elements, on fewer.
cudaError_t run_v2a_in_64_bits(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return p.count() == 0 ? cudaSuccess : v2a::run_as<std::uint64_t>(p, src, dst, stream);
}

cudaError_t run_gather_in_64_bits(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return p.count() == 0 ? cudaSuccess : gather::run_as<std::uint64_t>(simplified(p), src, dst, stream);
}

cudaError_t run_wide_rows_in_64_bits(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return p.count() == 0 ? cudaSuccess : wide_rows::run_as<std::uint64_t>(simplified(p), src, dst, stream);
}

/// Runs the plan's candidates: on each case, of those that take it, the one whose kernel has run least, and of its
/// arrangements the one that has.
class CandidatesInTurn {
public:
  cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
    const PermuteProblem q = simplified(p);
    if (p.count() == 0 || q.rank <= 1) return v9::run(p, src, dst, stream);
    std::vector<const plan::Candidate*> order;
    for (const plan::Candidate& candidate : plan::candidates<PermuteProblem>(q.element_bytes))
      order.push_back(&candidate);
    std::ranges::sort(order, {}, [&](const plan::Candidate* candidate) {
      return std::tuple(runs(*candidate), runs_[candidate], candidate);
    });
    for (const plan::Candidate* candidate : order) {
      const cudaError_t error = candidate->run(q, src, dst, stream);
      if (error == cudaErrorInvalidValue) continue;
      ++runs_[candidate];
      ++runs(*candidate);
      return error;
    }
    return cudaErrorInvalidValue;
  }

  /// How often the candidate's kernel ran, in whatever arrangement.
  int& runs(const plan::Candidate& candidate) {
    return kernel_runs_[candidate.name.substr(0, candidate.name.find(','))];
  }

private:
  std::map<const plan::Candidate*, int> runs_;
  std::map<std::string, int> kernel_runs_;
};

Step candidates_step(const std::shared_ptr<CandidatesInTurn>& candidates) {
  return make_step<PermuteCase>({"candidates in turn", "", "", ""},
                                [=](const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
                                  return candidates->run(p, src, dst, stream);
                                });
}

#ifdef WARPBOOK_EMULATED
/// Prepares for one in eight cases only: a plan chooses nothing where times are modelled, and its memory, twice the L2,
/// takes longer than the case.
void prepare_seldom(Step& step) {
  step.prepare = [prepare = step.prepare, turn = 0](const Case& c, const Arrays& arrays, cudaStream_t stream) mutable {
    return turn++ % 8 == 0 ? prepare(c, arrays, stream) : cudaSuccess;
  };
}
#endif

/// The chapter's steps, the take-away function, and what only large tensors use.
std::vector<Step> all_steps() {
  using C = PermuteCase;
  std::vector<Step> steps = chapter().steps;
#ifdef WARPBOOK_EMULATED
  for (Step& step : steps)
    if (step.prepare) prepare_seldom(step);
#endif
  steps.push_back(make_step<C>({"permute.cuh", "", "", ""}, run_take_away));
  steps.push_back(make_step<C>({"v2a, 64 bits", "", "", ""}, run_v2a_in_64_bits));
  steps.push_back(make_step<C>({"gather, 64 bits", "", "", ""}, run_gather_in_64_bits));
  steps.push_back(make_step<C>({"wide_rows, 64 bits", "", "", ""}, run_wide_rows_in_64_bits, wide_rows::refuse));
  return steps;
}

constexpr int kKinds = 10;
constexpr int kRandomCases = 500;

}  // namespace

// ------------------------------------------------------------------------------------------------------- the tests

TEST_CASE("every step agrees with the reference") {
  const std::uint64_t seed = test_seed();
  std::cout << "WARPBOOK_TEST_SEED=" << seed << std::endl;
  Dice dice(seed);
  std::vector<std::string> cases = fuzzing() ? std::vector<std::string>{} : awkward_cases();
  for (int i = 0; i < random_case_count(kRandomCases); ++i) cases.push_back(random_case(dice, i % kKinds));
  if (!fuzzing()) REQUIRE(cases.size() >= 500);

  const auto candidates = std::make_shared<CandidatesInTurn>();
  std::vector<Step> steps = all_steps();
  steps.push_back(candidates_step(candidates));
  StepVerifier verifier(chapter(), steps);
  for (const std::string& parameters : cases) verifier.verify(parameters, seed);

  std::cout << cases.size() << " cases" << std::endl;
  for (const auto& [version, tally] : verifier.tallies()) {
    std::cout << "  " << version << ": ran " << tally.ran << ", refused " << tally.refused << std::endl;
    if (version == "tma" && tensor_copies_missing() != nullptr) {
      CHECK(tally.ran == 0);
    } else {
      INFO(version);
      CHECK(tally.ran >= least_runs(20, cases.size()));
    }
  }
  for (const int bytes : {1, 2, 4, 8, 16}) {
    for (const plan::Candidate& candidate : plan::candidates<PermuteProblem>(bytes)) {
      INFO(bytes << "-byte elements, " << candidate.name);
      CHECK(candidates->runs(candidate) >= least_runs(2, cases.size()));
    }
  }
}

TEST_CASE("a plan keeps the dispatch's choice unless another is faster by more than the noise") {
  const plan::Candidate candidates[] = {
      {"slow", nullptr}, {"fast", nullptr}, {"refuses", nullptr}, {"hopeless", nullptr}};
  std::map<std::string, float> times = {{"", 1.0F}, {"slow", 1.02F}, {"fast", 0.95F}, {"refuses", 0}, {"hopeless", 2}};
  std::map<std::string, int> samples;
  const auto time_of = [&](const plan::Candidate* candidate, float& milliseconds) {
    const std::string name = candidate == nullptr ? "" : candidate->name;
    if (name == "refuses") return cudaErrorInvalidValue;
    ++samples[name];
    // Noise, of which a median knows nothing; and the first launch, which loads the kernel.
    milliseconds = times[name] * (samples[name] == 1 ? 100.0F : samples[name] % 5 == 0 ? 1.5F : 1.0F);
    return cudaSuccess;
  };
  plan::Choice choice;
  REQUIRE(plan::choose_measured(candidates, time_of, choice) == cudaSuccess);
  REQUIRE(choice.candidate != nullptr);
  CHECK(choice.candidate->name == "fast");
  CHECK(choice.milliseconds == 0.95F);
  CHECK(choice.rule_milliseconds == 1.0F);
  CHECK(samples["hopeless"] == 3);
  CHECK(samples["slow"] == 12);  // Not after five samples, but after eleven.
  CHECK(samples["fast"] == 1 + plan::kSamples);

  times["fast"] = 0.985F;  // A little faster is faster, too,
  REQUIRE(plan::choose_measured(candidates, time_of, choice) == cudaSuccess);
  REQUIRE(choice.candidate != nullptr);
  CHECK(choice.candidate->name == "fast");

  times["fast"] = 0.995F;  // but not within the noise.
  samples.clear();
  REQUIRE(plan::choose_measured(candidates, time_of, choice) == cudaSuccess);
  CHECK(choice.candidate == nullptr);
  CHECK(choice.milliseconds == 1.0F);

  times["slow"] = 1.3F;  // Not after two samples, but after five.
  samples.clear();
  REQUIRE(plan::choose_measured(candidates, time_of, choice) == cudaSuccess);
  CHECK(samples["slow"] == 6);

  const auto fails = [&](const plan::Candidate* candidate, float& milliseconds) {
    const cudaError_t error = time_of(candidate, milliseconds);
    return candidate != nullptr && samples[candidate->name] == 4 ? cudaErrorLaunchFailure : error;
  };
  samples.clear();
  choice = {&candidates[0], 1, 2};
  CHECK(plan::choose_measured(candidates, fails, choice) == cudaErrorLaunchFailure);
  CHECK(choice.candidate == &candidates[0]);  // As it was.
}

TEST_CASE("a plan runs what was chosen, and the dispatch where that does not take the arrays") {
  static int calls = 0;
  static const plan::Candidate counted = {"counted",
                                          [](const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
                                            if (q.alignment < 16) return cudaErrorInvalidValue;
                                            ++calls;
                                            return v9::run(q, src, dst, stream);
                                          }};
  const DeviceBuffer from(4096);
  const DeviceBuffer to(4096);
  check(cudaMemset(from.data(), 1, from.bytes()), "filling the input");
  const PermuteProblem p = make_problem({8, 4, 16}, {2, 1, 0}, 4);
  PermuteProblem displaced = p;
  displaced.alignment = 4;
  CHECK(plan::run(p, {&counted, 1, 1}, from.data(), to.data(), nullptr) == cudaSuccess);
  CHECK(calls == 1);
  CHECK(plan::run(displaced, {&counted, 1, 1}, from.data() + 4, to.data(), nullptr) == cudaSuccess);
  CHECK(calls == 1);
  CHECK(plan::run(p, {}, from.data(), to.data(), nullptr) == cudaSuccess);
  CHECK(plan::run(make_problem({0, 4}, {1, 0}, 4), {&counted, 1, 1}, nullptr, nullptr, nullptr) == cudaSuccess);
  CHECK(plan::run(make_problem({4, 4}, {0, 1}, 4), {&counted, 1, 1}, from.data(), to.data(), nullptr) == cudaSuccess);
  CHECK(calls == 1);
  check(cudaDeviceSynchronize(), "waiting");
}

TEST_CASE("a grid goes along the input or along the output") {
  const PermuteProblem p = make_problem({5, 100, 3, 200}, {3, 0, 1, 2}, 2);
  const PermuteProblem m = merged(p);  // 1500 x 200, transposed.
  std::int64_t blocks = 0;
  const v8::TileGrid along_src = v8::make_grid(m, src_order(m), 64, 32, blocks);
  CHECK(blocks == 24 * 7);
  CHECK(along_src.dimension[0].src_stride == 1);
  CHECK(along_src.dimension[0].tiles.divisor == 7);
  CHECK(along_src.column_dimension == 0);
  CHECK(along_src.row_dimension == 1);
  const v8::TileGrid along_dst = v8::make_grid(m, dst_order(m), 64, 32, blocks);
  CHECK(blocks == 24 * 7);
  CHECK(along_dst.dimension[0].dst_stride == 1);
  CHECK(along_dst.dimension[0].tiles.divisor == 24);
  CHECK(along_dst.column_dimension == 1);
  CHECK(along_dst.row_dimension == 0);
}

TEST_CASE("each of v9's rules decides the case that it names, and the chapter records it") {
  for (const v9::Rule& rule : v9::kRules) {
    INFO(rule.evidence);
    const PermuteCase c(Parameters::parse(rule.evidence));
    CHECK(&v9::choose(simplified(c.problem())) == &rule);
    const std::vector<CaseSpec> cases = chapter().cases;
    CHECK(std::ranges::any_of(cases, [&](const CaseSpec& spec) { return spec.parameters == rule.evidence; }));
  }
}

TEST_CASE("what v9 chooses takes the problem, however large") {
  using enum v9::Kernel;
  const std::map<v9::Kernel, const char* (*)(const PermuteProblem&)> refuse = {
      {transpose, v6::refuse},
      {wide_tiles, v8::refuse},
      {fixed_tiles, fixed_tile::refuse},
      {gathered_words, gathered_words::refuse},
      {gather, [](const PermuteProblem&) -> const char* { return nullptr; }},
      {element_tiles, element_tiles::refuse},
      {composite_tiles, composite_tile::refuse},
      {input_runs, input_runs::refuse},
      {placed_words, placed_words::refuse},
  };
  const std::uint64_t seed = test_seed();
  INFO("WARPBOOK_TEST_SEED=" << seed);
  Dice dice(seed + 1);
  std::map<v9::Kernel, int> chosen;
  for (int i = 0; i < 20'000; ++i) {
    const int rank = static_cast<int>(dice.uniform(2, kMaxRank));
    const auto shape =
        dice.shape(rank, dice.pick<std::int64_t>({1, 2, 2, 3}), dice.log_uniform(1, std::int64_t{1} << 34));
    PermuteProblem p = make_problem(shape, dice.permutation(rank), 1 << dice.uniform(0, 4));
    p.alignment = std::max(p.element_bytes, 1 << dice.uniform(0, 4));
    const PermuteProblem q = simplified(p);
    if (q.rank < 2) continue;
    const v9::Kernel kernel = v9::choose(q).kernel;
    INFO(describe(p));
    REQUIRE(refuse.at(kernel)(q) == nullptr);
    ++chosen[kernel];
  }
  CHECK(chosen.size() >= refuse.size() - 1);  // Tiles in the input's order are rare.
}

TEST_CASE("v9 chooses by shape: problems that were timed") {
  using enum v9::Kernel;
  const auto chosen = [](const std::vector<std::int64_t>& shape, const std::vector<int>& permutation, int bytes) {
    const PermuteProblem p = make_problem(shape, permutation, bytes);
    INFO(describe(p));
    return v9::choose(simplified(p)).kernel;
  };
  // A word of a gather is longer than the two dimensions that it carries its index along; but rows have no runs.
  CHECK(chosen({5, 11, 43, 13, 41, 7, 2, 7}, {0, 2, 3, 4, 7, 1, 6, 5}, 1) == input_runs);
  CHECK(chosen({3, 48, 7, 19, 2, 92, 3, 3}, {3, 1, 5, 6, 4, 2, 0, 7}, 1) == gathered_words);
  CHECK(chosen({64, 512, 512, 3}, {0, 3, 1, 2}, 2) == gathered_words);
  // Each lane of a gather would read another line.
  CHECK(chosen({393, 41, 635, 6}, {0, 2, 3, 1}, 2) == element_tiles);
  CHECK(chosen({19, 2838, 19, 384}, {0, 1, 3, 2}, 2) == gathered_words);  // 19 lines for 32 lanes.
  CHECK(chosen({23, 2, 4889, 701}, {2, 1, 3, 0}, 1) == placed_words);     // 23.
  // A gather that needs every byte it fetches: very small matrices, and few columns of bytes.
  CHECK(chosen({1140151, 2, 2}, {0, 2, 1}, 2) == gathered_words);
  CHECK(chosen({12, 219379, 3, 3}, {1, 0, 3, 2}, 1) == gathered_words);
  CHECK(chosen({22, 2081408}, {1, 0}, 1) == gathered_words);
  CHECK(chosen({37, 472369}, {1, 0}, 1) == element_tiles);
  CHECK(chosen({7, 12304297, 2}, {2, 1, 0}, 1) == gathered_words);                             // Every second byte.
  CHECK(chosen({13, 36, 7, 2, 17, 6, 2, 30}, {5, 2, 1, 0, 4, 7, 6, 3}, 2) == gathered_words);  // In few lines.
  // Columns of few bytes, of more, and of megabytes.
  CHECK(chosen({2, 3, 53227839}, {2, 1, 0}, 1) == gathered_words);
  CHECK(chosen({11, 19, 12, 10658, 2}, {3, 0, 2, 4, 1}, 1) == placed_words);
  CHECK(chosen({2, 27, 118800, 2}, {2, 0, 3, 1}, 1) == gathered_words);
  // Short rows: several side by side, and one here, one there.
  CHECK(chosen({422186, 8, 3}, {1, 0, 2}, 2) == fixed_tiles);
  CHECK(chosen({8, 422186, 9}, {1, 0, 2}, 4) == gathered_words);  // 36 bytes.
  CHECK(chosen({584, 1351, 7}, {1, 0, 2}, 8) == fixed_tiles);
  CHECK(chosen({584, 1351, 9}, {1, 0, 2}, 8) == gather);
  CHECK(chosen({1576, 1240, 2}, {1, 0, 2}, 16) == fixed_tiles);
  CHECK(chosen({1576, 1240, 6}, {1, 0, 2}, 16) == gather);
  // Long runs of wide elements, which a gather takes, too.
  CHECK(chosen({4, 33, 37, 1080}, {1, 3, 2, 0}, 4) == fixed_tiles);
  CHECK(chosen({17, 31, 23207}, {0, 2, 1}, 4) == element_tiles);  // A batch of matrices: 124 bytes of columns, and half
                                                                  // of a tile is empty.
  // Sides of whole words: of whole tiles, too, and not.
  CHECK(chosen({512, 512, 128}, {2, 1, 0}, 4) == wide_tiles);
  CHECK(chosen({20, 5390, 96}, {2, 1, 0}, 4) == fixed_tiles);
  // Bytes: single ones, with few columns and with many; words of the input, and of the output: of 4 bytes and of 16.
  CHECK(chosen({123, 257489}, {1, 0}, 1) == element_tiles);
  CHECK(chosen({469, 1014, 95}, {2, 1, 0}, 1) == composite_tiles);
  CHECK(chosen({706621, 373}, {1, 0}, 1) == composite_tiles);
  CHECK(chosen({1855, 18, 588}, {2, 1, 0}, 1) == fixed_tiles);
  CHECK(chosen({327, 3928, 41}, {0, 2, 1}, 1) == placed_words);
  CHECK(chosen({124, 48, 25, 21, 5, 5}, {5, 3, 0, 4, 2, 1}, 1) == fixed_tiles);
  // Wider elements: tiles more than half empty; halves, turned and as matrices; doubles.
  CHECK(chosen({66, 70, 52, 13, 4}, {3, 4, 1, 2, 0}, 4) == fixed_tiles);
  CHECK(chosen({683, 256, 577}, {2, 1, 0}, 2) == fixed_tiles);
  CHECK(chosen({7, 1023, 2047}, {0, 2, 1}, 2) == element_tiles);
  CHECK(chosen({683, 256, 578}, {2, 1, 0}, 2) == fixed_tiles);
  CHECK(chosen({17, 7, 9, 3, 4, 30, 28}, {3, 6, 2, 4, 5, 1, 0}, 2) == fixed_tiles);
  CHECK(chosen({2, 29, 739, 379}, {1, 3, 2, 0}, 2) == placed_words);
  CHECK(chosen({185, 11366}, {1, 0}, 8) == element_tiles);
  CHECK(chosen({19, 3, 89, 11, 5, 59}, {1, 2, 5, 3, 4, 0}, 8) == fixed_tiles);
  // Pieces of whole words, at places that a gather would read line by line; and others, of bytes and of 16 bytes.
  CHECK(chosen({10, 44, 90, 27, 13, 4}, {2, 3, 4, 0, 5, 1}, 2) == placed_words);
  CHECK(chosen({1447, 89, 211, 3}, {2, 0, 3, 1}, 1) == placed_words);
  CHECK(chosen({888885, 9, 2}, {1, 0, 2}, 8) == fixed_tiles);
  // Runs of the input: of three floats, and of seven.
  CHECK(chosen({3, 15408077}, {1, 0}, 4) == gathered_words);
  CHECK(chosen({15408077, 3}, {1, 0}, 4) == input_runs);
  CHECK(chosen({812829, 7}, {1, 0}, 4) == fixed_tiles);
  CHECK(chosen({127, 13, 4, 7, 32, 75}, {0, 4, 3, 5, 2, 1}, 1) == placed_words);  // Of bytes, in many lines.
}

namespace {

/// The same problem in arrays that begin at multiples of 2 bytes only.
PermuteProblem displaced(PermuteProblem p) {
  p.alignment = 2;
  return p;
}

}  // namespace

TEST_CASE("a composite matrix's columns are the output's fastest dimensions, its rows all others") {
  using composite_matrix::find_columns;
  using composite_matrix::make_matrix;
  // 5 x 7 x 11 x 13 halves; the output is 11 x 13 x 5 x 7 and merges to 35 x 143, transposed.
  const PermuteProblem transposed = merged(make_problem({5, 7, 11, 13}, {2, 3, 0, 1}, 2));
  const composite_matrix::Matrix two = make_matrix(transposed, find_columns(transposed, 1024), 1);
  CHECK(two.columns == 35);
  CHECK(two.groups == 143);

  // Reversed: columns grow until they have 1024 bytes, here 5 x 7 x 40 = 1400 halves, and end before the fastest, 16.
  const PermuteProblem reversed = make_problem({5, 7, 40, 16}, {3, 2, 1, 0}, 2);
  const composite_matrix::Matrix matrix = make_matrix(reversed, find_columns(reversed, 1024), 1);
  CHECK(matrix.columns == 1400);
  CHECK(matrix.column_digits == 3);
  CHECK(matrix.digit[kMaxRank - 1].src_stride == 7 * 40 * 16);
  CHECK(matrix.digit[kMaxRank - 1].dst_stride == 1);
  CHECK(matrix.groups == 16);
  CHECK(matrix.group_digits == 1);
  CHECK(matrix.digit[0].src_stride == 1);
  CHECK(matrix.digit[0].dst_stride == 1400);
  // Rows by eights: 16 bytes of the input.
  const composite_matrix::Matrix eights = make_matrix(reversed, find_columns(reversed, 1024), 8);
  CHECK(eights.groups == 2);
  CHECK(eights.digit[0].src_stride == 8);
  CHECK(eights.digit[0].dst_stride == 8 * 1400);
  CHECK(eights.row_step == 1400);
  // 3 halves stay last: they and the 300 are the columns, the 8 the rows.
  const PermuteProblem short_rows = make_problem({300, 8, 3}, {1, 0, 2}, 2);
  const composite_matrix::Matrix kept = make_matrix(short_rows, find_columns(short_rows, 1024), 1);
  CHECK(kept.columns == 900);
  CHECK(kept.digit[kMaxRank - 1].src_stride == 1);
  CHECK(kept.digit[kMaxRank - 2].src_stride == 24);
  CHECK(kept.groups == 8);
  CHECK(kept.digit[0].src_stride == 3);
  CHECK(kept.digit[0].dst_stride == 900);
}

TEST_CASE("a composite matrix is loaded by words where the input's fastest dimension is made of them") {
  const auto elements = [](std::int64_t fastest, int bytes, int alignment) {
    PermuteProblem p = make_problem({5, 7, 40, fastest}, {3, 2, 1, 0}, bytes);
    p.alignment = alignment;
    return composite_matrix::elements_in_load(p);
  };
  CHECK(elements(16, 2, 4) == 2);
  CHECK(elements(16, 2, 2) == 1);
  CHECK(elements(15, 2, 4) == 1);
  CHECK(elements(16, 1, 4) == 4);
  CHECK(elements(16, 1, 2) == 2);
  CHECK(elements(18, 1, 4) == 2);
  CHECK(elements(16, 4, 4) == 1);
  CHECK(composite_tile::rows_in_group(make_problem({5, 7, 40, 16}, {3, 2, 1, 0}, 1)) == 4);
  CHECK(composite_tile::rows_in_group(make_problem({5, 7, 40, 18}, {3, 2, 1, 0}, 1)) == 1);
  CHECK(composite_tile::rows_in_group(make_problem({5, 7, 40, 16}, {3, 2, 1, 0}, 4)) == 1);

  CHECK(composite_matrix::loads_groups(make_problem({5, 16}, {1, 0}, 4), 4));
  CHECK_FALSE(composite_matrix::loads_groups(make_problem({5, 18}, {1, 0}, 4), 4));
  CHECK_FALSE(composite_matrix::loads_groups(displaced(make_problem({5, 16}, {1, 0}, 2)), 2));
  CHECK_FALSE(composite_matrix::loads_groups(make_problem({5, 6, 16}, {1, 0, 2}, 2), 2));
}

TEST_CASE("composite tiles are fitted to the matrix") {
  const auto tile_of = [](const PermuteProblem& p, int group, bool aligned) {
    const composite_tile::TileShape shape = composite_tile::tile_shape(p, group);
    composite_matrix::Matrix matrix =
        composite_matrix::make_matrix(p, composite_matrix::find_columns(p, shape.least_bytes), group);
    const composite_tile::Tile tile = composite_tile::make_tile(matrix, shape, p.element_bytes, group, aligned);
    return std::pair(matrix, tile);
  };
  // All of 13 rows, and as many columns of 1400 as make 256 x 32 elements: 630 at most, so three times 468. Every row
  // may begin a half early, and is padded to an odd number of quads.
  const auto [matrix, tile] = tile_of(make_problem({5, 7, 40, 13}, {3, 2, 1, 0}, 2), 1, false);
  CHECK(tile.groups.divisor == 13);
  CHECK(matrix.tile_groups == 13);
  CHECK(tile.columns == 468);
  CHECK(matrix.tiles.divisor == 3);
  CHECK(tile.quads == 118);
  CHECK(tile.pitch == 119 * 4);
  CHECK_FALSE(tile.whole_quads);

  // 16 rows by twos; the next row of a group is 5 x 7 x 40 halves further in the output. Rows of 1400 halves are whole
  // fours, and begin with one where the output does.
  const PermuteProblem halves = make_problem({5, 7, 40, 16}, {3, 2, 1, 0}, 2);
  const auto [twos, of_twos] = tile_of(halves, 2, true);
  CHECK(twos.groups == 8);
  CHECK(twos.digit[0].src_stride == 2);
  CHECK(twos.digit[0].dst_stride == 2 * 1400);
  CHECK(twos.row_step == 1400);
  CHECK(of_twos.groups.divisor == 8);
  CHECK(of_twos.threads_across == 32);
  CHECK(of_twos.whole_quads);
  CHECK_FALSE(tile_of(halves, 2, false).second.whole_quads);
  CHECK_FALSE(tile_of(make_problem({5, 7, 39, 16}, {3, 2, 1, 0}, 2), 2, true).second.whole_quads);

  CHECK_FALSE(composite_tile::pays(merged(make_problem({5, 7, 11, 13}, {2, 3, 0, 1}, 2))));  // 70 bytes of columns.
  CHECK_FALSE(composite_tile::pays(make_problem({5, 7, 40, 13}, {3, 2, 1, 0}, 2)));          // Runs of 26 bytes.
  CHECK(composite_tile::pays(make_problem({5, 7, 40, 16}, {3, 2, 1, 0}, 2)));
  CHECK(composite_tile::pays(make_problem({300, 40, 3}, {2, 1, 0}, 1)));  // 300 bytes of columns, runs of 120.
}

TEST_CASE("columns may go on behind the input's fastest dimension") {
  using composite_matrix::find_columns;
  // 72 bytes, and as many again at each of the 209.
  const PermuteProblem few = make_problem({209, 72, 6582}, {0, 2, 1}, 1);
  CHECK(find_columns(few, 64, true).count == 1);
  CHECK(find_columns(few, 256, false).count == 1);
  const composite_matrix::Columns columns = find_columns(few, 256, true);
  CHECK(columns.count == 2);
  CHECK(columns.dimension[0] == 1);
  CHECK(columns.dimension[1] == 0);
  CHECK(columns.piece == 72);
  CHECK(columns.size == 72 * 209);
  CHECK(columns.has(0));
  CHECK_FALSE(columns.has(2));
  const composite_matrix::Matrix matrix = composite_matrix::make_matrix(few, columns, 2);
  CHECK(matrix.columns == 72 * 209);
  CHECK(matrix.digit[kMaxRank - 1].dst_stride == 1);
  CHECK(matrix.digit[kMaxRank - 2].dst_stride == 72 * 6582);
  CHECK(matrix.groups == 6582 / 2);
  CHECK(matrix.row_step == 72);
  // Before it, they are one piece, as long as they are.
  CHECK(find_columns(make_problem({5, 7, 40, 16}, {3, 2, 1, 0}, 2), 100, true).piece == 5 * 7 * 40);
  // 3 halves stay last: they are the first of the columns.
  const composite_matrix::Columns kept = find_columns(make_problem({300, 8, 3}, {1, 0, 2}, 2), 1024, true);
  CHECK(kept.count == 2);
  CHECK(kept.dimension[0] == 2);
  CHECK(kept.piece == 900);
}

TEST_CASE("placed words are whole on both sides, or there are none") {
  const DeviceBuffer from(8192);
  const DeviceBuffer to(8192);
  using T = placed_words::Tile<2, 2, 4, 64, 128>;
  const auto takes = [&](const std::vector<std::int64_t>& shape, const std::vector<int>& permutation,
                         std::ptrdiff_t displaced_from, std::ptrdiff_t displaced_to) {
    PermuteProblem p = make_problem(shape, permutation, 2);
    p.alignment = alignment_of(from.data() + displaced_from, to.data() + displaced_to);
    const cudaError_t error = placed_words::run_arranged<T>(p, from.data() + displaced_from, to.data() + displaced_to,
                                                            nullptr, {.least_bytes = 64, .along_input = false});
    if (error != cudaErrorInvalidValue) check(error, "moving tiles");
    check(cudaDeviceSynchronize(), "waiting");
    return error == cudaSuccess;
  };
  CHECK(takes({12, 10}, {1, 0}, 0, 0));
  CHECK_FALSE(takes({12, 9}, {1, 0}, 0, 0));
  CHECK_FALSE(takes({10, 10}, {1, 0}, 0, 0));
  CHECK(takes({12, 10}, {1, 0}, 4, 8));
  CHECK_FALSE(takes({12, 10}, {1, 0}, 2, 0));
  CHECK_FALSE(takes({12, 10}, {1, 0}, 0, 4));
  CHECK_FALSE(takes({6, 6, 10}, {0, 2, 1}, 0, 0));    // 36 columns, but in pieces of 6.
  CHECK_FALSE(takes({10, 12, 10}, {1, 0, 2}, 0, 0));  // The last dimension stays last.
}

TEST_CASE("tiles of elements keep to the input's order where a row of tiles reads very many lines") {
  CHECK(element_tiles::prefers_input_order(make_problem({1 << 15, 64}, {1, 0}, 4)));
  CHECK_FALSE(element_tiles::prefers_input_order(make_problem({(1 << 15) - 1, 64}, {1, 0}, 4)));
  CHECK_FALSE(element_tiles::prefers_input_order(make_problem({64, 1 << 15}, {1, 0}, 4)));
  CHECK_FALSE(element_tiles::prefers_input_order(make_problem({1 << 15, 64}, {1, 0}, 8)));
}

TEST_CASE("tiles leave sides beyond 32 bits to a gather") {
  // Such a tensor takes 32 GiB, so the rules alone are asked.
  const std::int64_t long_side = std::int64_t{1} << 31;
  const std::int64_t tile_side = std::int64_t{1} << 30;
  CHECK(v6::refuse(make_problem({16, long_side / 2}, {1, 0}, 1)) == nullptr);
  CHECK(v6::refuse(make_problem({16, long_side}, {1, 0}, 1)) != nullptr);
  CHECK(v6::refuse(make_problem({long_side, 16}, {1, 0}, 1)) != nullptr);
  CHECK(v8::refuse_tiles(make_problem({20, tile_side - 1}, {1, 0}, 1)) == nullptr);
  CHECK(v8::refuse_tiles(make_problem({20, tile_side}, {1, 0}, 1)) != nullptr);
  CHECK(v8::refuse_tiles(make_problem({tile_side, 20}, {1, 0}, 1)) != nullptr);
  const auto chosen = [](const PermuteProblem& p) { return v9::choose(simplified(p)).kernel; };
  CHECK(chosen(make_problem({19, long_side}, {1, 0}, 1)) == v9::Kernel::gather);
  CHECK(chosen(make_problem({long_side, 20}, {1, 0}, 16)) == v9::Kernel::gather);
  // Many elements with sides that are not so long are tiled; with short ones, gathered.
  CHECK(chosen(make_problem({3, 100, 1 << 28}, {1, 2, 0}, 8)) == v9::Kernel::gather);
  CHECK(chosen(make_problem({1 << 20, 101, 101}, {0, 2, 1}, 1)) == v9::Kernel::element_tiles);
  CHECK(chosen(make_problem({1 << 24, 15, 15}, {0, 2, 1}, 1)) == v9::Kernel::gather);
}

namespace {

/// Two device arrays of 4096 bytes.
struct ArgumentTest {
  DeviceBuffer src_buffer{4096};
  DeviceBuffer dst_buffer{4096};

  ArgumentTest() { check(cudaMemset(src_buffer.data(), 1, src_buffer.bytes()), "filling the input"); }

  cudaError_t call(const std::vector<std::int64_t>& shape, const std::vector<int>& permutation, int element_bytes,
                   std::size_t src_offset = 0, std::size_t dst_offset = 0) const {
    return permute(dst_buffer.data() + dst_offset, src_buffer.data() + src_offset, static_cast<int>(shape.size()),
                   shape.data(), permutation.data(), element_bytes, nullptr);
  }
};

}  // namespace

TEST_CASE("the take-away function refuses what it cannot permute") {
  const ArgumentTest test;
  const std::int64_t shape[9] = {2, 2, 2, 2, 2, 2, 2, 2, 2};
  const int order[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  void* const dst = test.dst_buffer.data();
  const void* const src = test.src_buffer.data();
  const auto kInvalid = cudaErrorInvalidValue;

  SECTION("rank") {
    CHECK(permute(dst, src, -1, shape, order, 4, nullptr) == kInvalid);
    CHECK(permute(dst, src, 9, shape, order, 1, nullptr) == kInvalid);
    CHECK(permute(dst, src, 8, shape, order, 1, nullptr) == cudaSuccess);
    CHECK(permute(dst, src, 0, nullptr, nullptr, 4, nullptr) == cudaSuccess);
  }
  SECTION("null lists") {
    CHECK(permute(dst, src, 2, nullptr, order, 4, nullptr) == kInvalid);
    CHECK(permute(dst, src, 2, shape, nullptr, 4, nullptr) == kInvalid);
  }
  SECTION("permutation") {
    CHECK(test.call({2, 3}, {0, 0}, 4) == kInvalid);
    CHECK(test.call({2, 3}, {1, 2}, 4) == kInvalid);
    CHECK(test.call({2, 3}, {-1, 0}, 4) == kInvalid);
    CHECK(test.call({2, 3, 4}, {0, 2, 2}, 4) == kInvalid);
    CHECK(test.call({2, 3}, {1 << 30, 0}, 4) == kInvalid);
    CHECK(test.call({2, 3}, {1, 0}, 4) == cudaSuccess);
  }
  SECTION("shape") {
    CHECK(test.call({-1}, {0}, 4) == kInvalid);
    CHECK(test.call({2, -3}, {1, 0}, 4) == kInvalid);
    CHECK(test.call({0, -3}, {1, 0}, 4) == kInvalid);
  }
  SECTION("element size") {
    for (const int bytes : {-4, 0, 3, 5, 6, 12, 24, 32, 1 << 30}) CHECK(test.call({2, 3}, {1, 0}, bytes) == kInvalid);
    for (const int bytes : {1, 2, 4, 8, 16}) CHECK(test.call({2, 3}, {1, 0}, bytes) == cudaSuccess);
  }
  SECTION("null arrays") {
    CHECK(permute(nullptr, src, 2, shape, order, 4, nullptr) == kInvalid);
    CHECK(permute(dst, nullptr, 2, shape, order, 4, nullptr) == kInvalid);
    CHECK(permute(nullptr, nullptr, 0, nullptr, nullptr, 4, nullptr) == kInvalid);
  }
  SECTION("misaligned arrays") {
    for (const int bytes : {2, 4, 8, 16}) {
      const auto half = static_cast<std::size_t>(bytes / 2);
      CHECK(test.call({2, 3}, {1, 0}, bytes, half, 0) == kInvalid);
      CHECK(test.call({2, 3}, {1, 0}, bytes, 0, half) == kInvalid);
      CHECK(test.call({2, 3}, {1, 0}, bytes, 2 * half, 2 * half) == cudaSuccess);
    }
    CHECK(test.call({2, 3}, {1, 0}, 1, 1, 3) == cudaSuccess);
  }
  SECTION("2^63 bytes and more") {
    const std::int64_t most = std::int64_t{1} << 62;
    CHECK(test.call({most, 2}, {1, 0}, 1) == kInvalid);
    CHECK(test.call({most}, {0}, 2) == kInvalid);
    CHECK(test.call({std::int64_t{1} << 32, std::int64_t{1} << 32}, {1, 0}, 1) == kInvalid);
    CHECK(test.call({std::int64_t{1} << 59}, {0}, 16) == kInvalid);
    CHECK(test.call({INT64_MAX, INT64_MAX, INT64_MAX}, {2, 1, 0}, 16) == kInvalid);
  }
  // A refusal leaves no error behind, and CUDA goes on.
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a plan is made on the caller's arrays, and used on others") {
  const std::int64_t shape[] = {9, 33, 31};
  const int order[] = {2, 0, 1};
  constexpr std::size_t kElements = std::size_t{9} * 33 * 31;
  std::vector<std::uint16_t> values(kElements);
  for (std::size_t i = 0; i < kElements; ++i) values[i] = static_cast<std::uint16_t>(i * 40503U);
  std::vector<std::uint16_t> expected(kElements);
  for (std::size_t i = 0; i < kElements; ++i) expected[i % 31 * 9 * 33 + i / 31] = values[i];
  const DeviceBuffer src(kElements * 2 + 2);
  const DeviceBuffer dst(kElements * 2 + 2);
  const DeviceBuffer flush(1 << 20);
  const auto holds = [&](std::size_t offset) {
    std::vector<std::uint16_t> result(kElements);
    check(cudaMemcpy(result.data(), dst.data() + offset, kElements * 2, cudaMemcpyDeviceToHost), "copying the result");
    return result == expected;
  };
  check(cudaMemcpy(src.data(), values.data(), kElements * 2, cudaMemcpyHostToDevice), "copying the input");
  check(cudaMemset(dst.data(), 0xff, dst.bytes()), "poisoning the output");
  PermutePlan plan;
  const auto make = [&](int rank, void* flushed, std::size_t bytes) {
    return plan_permute(plan, dst.data(), src.data(), rank, shape, order, 2, flushed, bytes, nullptr);
  };
  CHECK(make(9, flush.data(), flush.bytes()) == cudaErrorInvalidValue);
  CHECK(make(3, nullptr, 16) == cudaErrorInvalidValue);
  CHECK(plan.problem.rank == 0);  // As it was.
  REQUIRE(make(3, flush.data(), flush.bytes()) == cudaSuccess);
  CHECK(plan.problem.rank == 3);
  CHECK(holds(0));

  check(cudaMemset(dst.data(), 0xff, dst.bytes()), "poisoning the output");
  CHECK(permute(plan, dst.data(), src.data(), nullptr) == cudaSuccess);
  CHECK(holds(0));
  // Of another alignment.
  check(cudaMemset(dst.data(), 0xff, dst.bytes()), "poisoning the output");
  check(cudaMemcpy(src.data() + 2, values.data(), kElements * 2, cudaMemcpyHostToDevice), "copying the input");
  CHECK(permute(plan, dst.data() + 2, src.data() + 2, nullptr) == cudaSuccess);
  CHECK(holds(2));
  CHECK(permute(plan, dst.data() + 1, src.data(), nullptr) == cudaErrorInvalidValue);
  CHECK(permute(plan, nullptr, src.data(), nullptr) == cudaErrorInvalidValue);

  // Without elements there is nothing to time.
  const std::int64_t empty[] = {9, 0, 31};
  CHECK(plan_permute(plan, nullptr, nullptr, 3, empty, order, 2, nullptr, 0, nullptr) == cudaSuccess);
  CHECK(permute(plan, nullptr, nullptr, nullptr) == cudaSuccess);
  CHECK(plan_permute(plan, nullptr, nullptr, 3, shape, order, 2, nullptr, 0, nullptr) == cudaErrorInvalidValue);
  CHECK(permute(plan, nullptr, nullptr, nullptr) == cudaSuccess);  // The empty one's still.
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("the take-away function takes tensors without elements") {
  const std::int64_t most = std::int64_t{1} << 62;
  const std::vector<std::vector<std::int64_t>> shapes = {{0, 3}, {3, 0}, {0, 0}, {most, 0}};
  const int order[2] = {1, 0};
  for (const auto& shape : shapes) {
    CHECK(permute(nullptr, nullptr, 2, shape.data(), order, 4, nullptr) == cudaSuccess);
  }
  const std::int64_t huge[3] = {most, most, 0};
  const int turn[3] = {2, 0, 1};
  CHECK(permute(nullptr, nullptr, 3, huge, turn, 16, nullptr) == cudaSuccess);
  const std::int64_t none = 0;
  const int only = 0;
  CHECK(permute(nullptr, nullptr, 1, &none, &only, 1, nullptr) == cudaSuccess);
  // Its other arguments are judged all the same.
  const int wrong[2] = {1, 1};
  CHECK(permute(nullptr, nullptr, 2, shapes[0].data(), wrong, 4, nullptr) == cudaErrorInvalidValue);
  CHECK(permute(nullptr, nullptr, 2, shapes[0].data(), order, 3, nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("the take-away function can be captured in a graph") {
  // It does nothing but launch: all of v9's branches, one after another.
  constexpr std::size_t kElements = 4096;
  std::vector<std::uint32_t> src(kElements);
  for (std::size_t i = 0; i < kElements; ++i) src[i] = static_cast<std::uint32_t>(i * 2654435761U);
  const DeviceBuffer from(kElements * 4);
  check(cudaMemcpy(from.data(), src.data(), kElements * 4, cudaMemcpyHostToDevice), "copying the input");
  const std::vector<PermuteProblem> problems = {
      make_problem({4096}, {0}, 4), make_problem({8, 8, 64}, {1, 0, 2}, 4), make_problem({64, 64}, {1, 0}, 4),
      make_problem({32, 4, 32}, {2, 1, 0}, 4), make_problem({8, 8, 8, 8}, {3, 1, 0, 2}, 4)};
  for (const PermuteProblem& p : problems) {
    INFO(describe(p));
    const DeviceBuffer to(kElements * 4);
    const Stream stream;
    check(cudaMemset(to.data(), 0xff, kElements * 4), "poisoning the output");
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "beginning a capture");
    CHECK(run_take_away(p, from.data(), to.data(), stream.get()) == cudaSuccess);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamEndCapture(stream.get(), &graph), "ending a capture");
    check(cudaGraphInstantiate(&executable, graph, 0), "instantiating a graph");
    std::vector<std::uint32_t> actual(kElements);
    check(cudaMemcpy(actual.data(), to.data(), kElements * 4, cudaMemcpyDeviceToHost), "copying the output");
    CHECK(std::count(actual.begin(), actual.end(), 0xffffffffU) == kElements);  // Captured, not run.
    check(cudaGraphLaunch(executable, stream.get()), "launching a graph");
    check(cudaStreamSynchronize(stream.get()), "running a graph");
    check(cudaMemcpy(actual.data(), to.data(), kElements * 4, cudaMemcpyDeviceToHost), "copying the output");
    std::vector<std::uint32_t> expected(kElements);
    permute_on_host(p, reinterpret_cast<const std::byte*>(src.data()), reinterpret_cast<std::byte*>(expected.data()));
    CHECK(actual == expected);
    check(cudaGraphExecDestroy(executable), "destroying a graph");
    check(cudaGraphDestroy(graph), "destroying a graph");
  }
}

}  // namespace warpbook::chapter3
