/// \file
/// Chapter 5 as data: its ladder, asides, library kernels and cases.

#include "chapters/chapter5_index_add/asides/count_rule.cuh"
#include "chapters/chapter5_index_add/asides/multiply_subtract.cuh"
#include "chapters/chapter5_index_add/index_add.cuh"
#include "chapters/chapter5_index_add/index_add_case.hpp"
#include "chapters/chapter5_index_add/v1_naive.cuh"
#include "chapters/chapter5_index_add/v7a_fast_atomics.cuh"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter5 {

std::size_t step_workspace_bytes(const IndexAddProblem& problem) {
  return std::max({private_rows::workspace_bytes(problem), kept_tiles::workspace_bytes(problem),
                   sorted_segments::workspace_bytes(problem)});
}

cudaError_t call_index_add(void* workspace, std::size_t& workspace_bytes, const IndexAddProblem& problem, float* dst,
                           const std::int64_t* index, const float* src, unsigned long long* outside,
                           cudaStream_t stream) {
  return index_add(workspace, workspace_bytes, problem, dst, index, src, outside, stream);
}

namespace {

using Run = cudaError_t (*)(const IndexAddProblem&, const IndexAddArrays&, cudaStream_t);
using Refuse = const char* (*)(const IndexAddProblem&);

/// Runs a step on a case's arrays. Scratch memory holds the number of indices outside, then the workspace.
auto adds(Run run) {
  return [=](const IndexAddCase& c, const Arrays& arrays, cudaStream_t stream) {
    IndexAddArrays a;
    a.index = arrays.inputs[0];
    a.src = arrays.inputs[1];
    a.dst = arrays.output;
    a.outside = static_cast<unsigned long long*>(arrays.scratch);
    a.workspace = static_cast<std::byte*>(arrays.scratch) + kOutsideBytes;
    a.workspace_bytes = static_cast<std::size_t>(c.scratch_bytes() - kOutsideBytes);
    if (c.outside() > 0) {
      const cudaError_t error = cudaMemsetAsync(a.outside, 0, sizeof(*a.outside), stream);
      if (error != cudaSuccess) return error;
    }
    return run(c.problem(), a, stream);
  };
}

/// Whether a step sums a problem in float at least, where entries meet.
using SumsInFloat = bool (*)(const IndexAddProblem&);
constexpr SumsInFloat kInResultType = [](const IndexAddProblem&) { return false; };
constexpr SumsInFloat kInFloat = [](const IndexAddProblem&) { return true; };

/// Refuses what `refuse` does, and cases that need wide sums where the step's are narrow.
auto refusing(Refuse refuse, SumsInFloat sums_in_float = kInResultType) {
  return [=](const IndexAddCase& c) -> std::string {
    if (const char* reason = refuse(c.problem())) return reason;
    if (!c.needs_wide_sums() || sums_in_float(c.problem())) return {};
    return "one row gets " + std::to_string(c.most_terms()) +
           " values, and this step sums them in the narrow type: no error bound would mean anything";
  };
}

std::vector<Step> ladder() {
  using C = IndexAddCase;
  return {
      make_step<C>({.version = "v1",
                    .name = "naive",
                    .base = "",
                    .idea = "One thread per element of src: its coordinates by division, its row by the index.",
                    .counters = {"divisions-64"}},
                   adds(v1::run), refusing(refuse_other_types)),
      make_step<C>({.version = "v2",
                    .name = "small_index",
                    .base = "v1",
                    .idea = "A loop over the entries, all threads over the row.",
                    .counters = {"requests", "divisions-64"},
                    .prepares = "v4: one of its two kernels"},
                   adds(v2::run), refusing(v2::refuse)),
      make_step<C>({.version = "v3",
                    .name = "large_index",
                    .base = "v2",
                    .idea = "All threads over all of src, in memory's order.",
                    .counters = {"requests", "divisions-64"},
                    .prepares = "v4: the other kernel"},
                   adds(v3::run), refusing(refuse_other_types)),
      make_step<C>({.version = "v4",
                    .name = "dispatch_on_rows",
                    .base = "v3",
                    .idea = "v2 where one row fills the device, v3 everywhere else.",
                    .counters = {"requests", "divisions-64"}},
                   adds(v4::run), refusing(refuse_other_types)),
      make_step<C>({.version = "v5",
                    .name = "collapsed_dims",
                    .base = "v4",
                    .idea = "As few dimensions as memory has, their number known to the compiler, in 32 bits.",
                    .counters = {"divisions-64", "divisions-32"}},
                   adds(v5::run), refusing(v5::refuse)),
      make_step<C>({.version = "v6",
                    .name = "fast_division",
                    .base = "v5",
                    .idea = "Divisors known before the launch become multiplications.",
                    .counters = {"divisions-32", "instructions"}},
                   adds(v6::run), refusing(v5::refuse)),
      make_step<C>({.version = "v7a",
                    .name = "fast_atomics",
                    .base = "v6",
                    .idea = "A half is added as a pair whose other half adds nothing.",
                    .counters = {"reductions", "atomics"}},
                   adds(v7a::run), refusing(v5::refuse)),
      make_step<C>({.version = "v7b",
                    .name = "vector_atomics",
                    .base = "v7a",
                    .idea = "16 bytes per load and per reduction.",
                    .counters = {"requests", "reductions"}},
                   adds(v7b::run), refusing(v7b::refuse)),
      make_step<C>({.version = "v8a",
                    .name = "one_owner",
                    .base = "v7b",
                    .idea = "Few entries: the first of each row adds up for all, in registers.",
                    .counters = {"requests", "reductions"}},
                   adds(v8a::run), refusing(v8a::refuse, kInFloat)),
      make_step<C>({.version = "v8b",
                    .name = "sorted_tiles",
                    .base = "v7b",
                    .idea = "A block sorts its entries by row, and adds up in registers what meets.",
                    .counters = {"reductions", "instructions"}},
                   adds(v8b::run), refusing(v8b::refuse)),
      make_step<C>({.version = "v9",
                    .name = "dispatch",
                    .base = "",
                    .idea = "The right kernel for the problem: what index_add.cuh gives away.",
                    .counters = {"requests", "reductions"}},
                   adds(v9::run), refusing(kTakesAll, v9::sums_in_float)),
  };
}

std::vector<Step> asides() {
  using C = IndexAddCase;
  using enum StepKind;
  return {
      make_step<C>({.version = "count_rule",
                    .name = "count_rule",
                    .base = "v4",
                    .idea = "PyTorch's dispatch: 16 entries or fewer to v2, whatever the rows.",
                    .counters = {"requests"},
                    .kind = aside},
                   adds(count_rule::run), refusing(refuse_other_types)),
      make_step<C>({.version = "multiply_subtract",
                    .name = "multiply_subtract",
                    .base = "v5",
                    .idea = "The remainder from the quotient.",
                    .counters = {"instructions"},
                    .kind = aside},
                   adds(multiply_subtract::run), refusing(v5::refuse)),
  };
}

std::vector<Step> library() {
  using C = IndexAddCase;
  return {
      make_step<C>({.version = "row_owner",
                    .name = "row_owner",
                    .base = "",
                    .idea = "v8a with blocks for each row, where rows are fewer than entries.",
                    .kind = StepKind::library},
                   adds(row_owner::run), refusing(row_owner::refuse, kInFloat)),
      make_step<C>({.version = "private_rows",
                    .name = "private_rows",
                    .base = "",
                    .idea = "Few rows: a copy of all for each group of threads, in shared memory.",
                    .kind = StepKind::library},
                   adds(private_rows::run), refusing(private_rows::refuse, kInFloat)),
      make_step<C>({.version = "kept_tiles",
                    .name = "kept_tiles",
                    .base = "",
                    .idea = "v8b with float sums of all rows, rounded once.",
                    .kind = StepKind::library},
                   adds(kept_tiles::run), refusing(kept_tiles::refuse, kInFloat)),
      make_step<C>({.version = "sorted_segments",
                    .name = "sorted_segments",
                    .base = "",
                    .idea = "Sort the index once, add each row's entries without an atomic.",
                    .kind = StepKind::library},
                   adds(sorted_segments::run), refusing(sorted_segments::refuse, kInFloat)),
      make_step<C>({.version = "short_rows",
                    .name = "short_rows",
                    .base = "",
                    .idea = "v7b without a division, for rows of one element and for few bytes.",
                    .kind = StepKind::library},
                   adds(short_rows::run), refusing(short_rows::refuse)),
  };
}

std::vector<CaseSpec> cases() {
  return {
      {"shape=5,3 dim=0 count=3 dtype=float"},
      // Smaller sisters of the headline cases, for the emulator, and of what follows.
      {"shape=32,512,640 dim=0 count=15 dtype=float"},
      {"shape=32,512,640 dim=0 count=15 dtype=half"},
      {"shape=1024,64 dim=0 count=131072 dtype=float"},
      {"shape=1048576 dim=0 count=15 dtype=float"},
      {"shape=32,128,128 dim=0 count=15 dtype=float"},
      {"shape=32,128,128 dim=0 count=15 dtype=half"},
      {"shape=16,64 dim=0 count=16384 dtype=float"},
      {"shape=1024,64 dim=0 count=16384 dtype=float"},
      {"shape=1024,64 dim=0 count=16384 dtype=half"},
      {"shape=16384,64 dim=0 count=16384 dtype=float"},
      {"shape=4096,128 dim=0 count=4096 dtype=half draw=zipf"},
      // The article's five.
      {"shape=33554432 dim=0 count=15 dtype=float"},
      {"shape=32768,1024 dim=0 count=15 dtype=float"},
      {"shape=32,1024,1024 dim=0 count=15 dtype=float", kHeadline, "shape=32,512,640 dim=0 count=15 dtype=float"},
      {"shape=32,1024,1024 dim=0 count=15 dtype=half", kHeadline, "shape=32,512,640 dim=0 count=15 dtype=half"},
      {"shape=33554432 dim=0 count=1024 dtype=float"},
      {"shape=32768,1024 dim=0 count=1024 dtype=float"},
      {"shape=32768,1024 dim=0 count=1024 dtype=half"},
      // The cut between v2 and v3: rows of 4096 elements.
      {"shape=1024,4096 dim=0 count=1 dtype=float"},
      {"shape=1024,4096 dim=0 count=4 dtype=float"},
      {"shape=1024,4096 dim=0 count=8 dtype=float"},
      {"shape=1024,4096 dim=0 count=16 dtype=float"},
      {"shape=1024,4096 dim=0 count=32 dtype=float"},
      {"shape=1024,4096 dim=0 count=64 dtype=float"},
      {"shape=1024,4096 dim=0 count=256 dtype=float"},
      {"shape=64,262144 dim=0 count=4 dtype=float"},
      {"shape=64,262144 dim=0 count=16 dtype=float"},
      {"shape=64,262144 dim=0 count=64 dtype=float"},
      // Contention: 1 Mi entries of 64 into R rows.
      {"shape=1,64 dim=0 count=1048576 dtype=float"},
      {"shape=16,64 dim=0 count=1048576 dtype=float"},
      {"shape=1024,64 dim=0 count=1048576 dtype=float", kHeadline, "shape=1024,64 dim=0 count=131072 dtype=float"},
      {"shape=16384,64 dim=0 count=1048576 dtype=float"},
      {"shape=1048576,64 dim=0 count=1048576 dtype=float"},
      {"shape=1,64 dim=0 count=1048576 dtype=half"},
      {"shape=16,64 dim=0 count=1048576 dtype=half"},
      {"shape=1024,64 dim=0 count=1048576 dtype=half"},
      {"shape=16384,64 dim=0 count=1048576 dtype=half"},
      {"shape=1048576,64 dim=0 count=1048576 dtype=half"},
      {"shape=1048576,64 dim=0 count=1048576 dtype=float index=int32"},
      {"shape=1024,64 dim=0 count=1048576 dtype=bfloat16"},
      {"shape=1024,64 dim=0 count=262144 dtype=double"},
      {"shape=1024,64 dim=0 count=1048576 dtype=int32"},
      // The gradient of an embedding: words by Zipf's law.
      {"shape=32768,1024 dim=0 count=16384 dtype=float draw=zipf"},
      {"shape=32768,1024 dim=0 count=16384 dtype=half draw=zipf"},
      {"shape=262144,512 dim=0 count=32768 dtype=float draw=zipf"},
      {"shape=262144,512 dim=0 count=32768 dtype=half draw=zipf"},
      {"shape=32768,1024 dim=0 count=16384 dtype=bfloat16 draw=zipf"},
      // Rank 1 to 5, every place of dim.
      {"shape=1048576 dim=0 count=4194304 dtype=float"},
      {"shape=4096,4096 dim=1 count=4096 dtype=float"},
      {"shape=64,1024,256 dim=1 count=1024 dtype=float"},
      {"shape=64,1024,256 dim=1 count=1024 dtype=half"},
      {"shape=16,32,64,128 dim=2 count=256 dtype=float"},
      {"shape=16,32,64,128 dim=3 count=512 dtype=half"},
      {"shape=8,12,20,24,36 dim=3 count=100 dtype=float"},
      {"shape=8,12,20,24,36 dim=3 count=100 dtype=half"},  // Runs of 72 bytes.
      {"shape=8,12,20,24,36 dim=1 count=64 dtype=half"},
      // Strided.
      {"shape=1024,4096 dim=0 count=1024 dtype=float dst=reversed src=reversed"},
      {"shape=1024,2048 dim=0 count=1024 dtype=float dst=gaps src=gaps"},
  };
}

}  // namespace

/// The step whose kernel v9 takes for a problem; empty where there is nothing to add.
std::string chosen_step(const IndexAddProblem& problem) {
  constexpr const char* kSteps[] = {
      "v7b", "v8a", "v8b", "row_owner", "private_rows", "kept_tiles", "sorted_segments", "short_rows"};
  return problem.empty() ? "" : kSteps[static_cast<std::size_t>(v9::choose(problem))];
}

/// The cases that v9's rules name as evidence, rule by rule, and which rule decides a problem; for the tests.
std::vector<std::string> rules_evidence() {
  std::vector<std::string> evidence;
  for (const v9::Rule& rule : v9::kRules) evidence.emplace_back(rule.evidence);
  return evidence;
}
std::size_t deciding_rule(const IndexAddProblem& problem) {
  return static_cast<std::size_t>(
      std::ranges::find_if(v9::kRules, [&](const v9::Rule& r) { return r.holds(problem); }) - std::begin(v9::kRules));
}

/// Chapter 5.
Chapter chapter() {
  Chapter chapter;
  chapter.number = 5;
  chapter.name = "index_add";
  chapter.title = "index_add: rows added where an index says, from one row to a million";
  for (const auto& steps : {ladder(), asides(), library()}) {
    chapter.steps.insert(chapter.steps.end(), steps.begin(), steps.end());
  }
  chapter.cases = cases();
  chapter.case_help = index_add_case_help();
  chapter.make_case = [](const Parameters& parameters) { return std::make_unique<IndexAddCase>(parameters); };
  return chapter;
}

}  // namespace warpbook::chapter5
