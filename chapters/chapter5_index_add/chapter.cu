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

using Refuse = const char* (*)(const IndexAddProblem&);

/// Runs a step on a case's arrays. Scratch memory holds the number of indices outside, then the workspace.
template <class Run> auto adds(Run run) {
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

/// Runs a library kernel, which the dispatch knows.
auto adds(v9::Kernel kernel) {
  return adds([=](const auto&... arguments) { return v9::run_kernel(kernel, arguments...); });
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

std::vector<Step> steps() {
  using C = StepsOf<IndexAddCase>;
  return {
      C::step("v1", "naive", "", "One thread per element of src: its coordinates by division, its row by the index.",
              {"divisions-64"}, adds(v1::run), refusing(refuse_other_types)),
      C::preparing("v4: one of its two kernels", "v2", "small_index", "v1",
                   "A loop over the entries, all threads over the row.", {"requests", "divisions-64"}, adds(v2::run),
                   refusing(v2::refuse)),
      C::preparing("v4: the other kernel", "v3", "large_index", "v2", "All threads over all of src, in memory's order.",
                   {"requests", "divisions-64"}, adds(v3::run), refusing(refuse_other_types)),
      C::step("v4", "dispatch_on_rows", "v3", "v2 where one row fills the device, v3 everywhere else.",
              {"requests", "divisions-64"}, adds(v4::run), refusing(refuse_other_types)),
      C::step("v5", "collapsed_dims", "v4",
              "As few dimensions as memory has, their number known to the compiler, in 32 bits.",
              {"divisions-64", "divisions-32"}, adds(v5::run), refusing(v5::refuse)),
      C::step("v6", "fast_division", "v5", "Divisors known before the launch become multiplications.",
              {"divisions-32", "instructions"}, adds(v6::run), refusing(v5::refuse)),
      C::step("v7a", "fast_atomics", "v6", "A half is added as a pair whose other half adds nothing.",
              {"reductions", "atomics"}, adds(v7a::run), refusing(v5::refuse)),
      C::step("v7b", "vector_atomics", "v7a", "16 bytes per load and per reduction.", {"requests", "reductions"},
              adds(v7b::run), refusing(v7b::refuse)),
      C::step("v8a", "one_owner", "v7b", "Few entries: the first of each row adds up for all, in registers.",
              {"requests", "reductions"}, adds(v8a::run), refusing(v8a::refuse, kInFloat)),
      C::step("v8b", "sorted_tiles", "v7b", "A block sorts its entries by row, and adds up in registers what meets.",
              {"reductions", "instructions"}, adds(v8b::run), refusing(v8b::refuse)),
      C::step("v9", "dispatch", "", "The right kernel for the problem: what index_add.cuh gives away.",
              {"requests", "reductions"}, adds(v9::run), refusing(kTakesAll, v9::sums_in_float)),
      C::aside("count_rule", "v4", "PyTorch's dispatch: 16 entries or fewer to v2, whatever the rows.", {"requests"},
               adds(count_rule::run), refusing(refuse_other_types)),
      C::aside("multiply_subtract", "v5", "The remainder from the quotient.", {"instructions"},
               adds(multiply_subtract::run), refusing(v5::refuse)),
      C::library("row_owner", "v8a with blocks for each row, where rows are fewer than entries.",
                 adds(v9::Kernel::row_owner), refusing(row_owner::refuse, kInFloat)),
      C::library("private_lines", "The last dimension: a block keeps lines of dst in shared memory.",
                 adds(v9::Kernel::private_lines), refusing(private_lines::refuse, private_lines::sums_in_float)),
      C::library("spread_lines", "v7b for long lines: neighbouring blocks add to different ones.",
                 adds(v9::Kernel::spread_lines), refusing(spread_lines::refuse)),
      C::library("private_rows", "Few rows: a copy of all for each group of threads, in shared memory.",
                 adds(v9::Kernel::private_rows), refusing(private_rows::refuse, kInFloat)),
      C::library("kept_tiles", "v8b with float sums of all rows, rounded once.", adds(v9::Kernel::kept_tiles),
                 refusing(kept_tiles::refuse, kInFloat)),
      C::library("sorted_segments", "Sort the index once, add each row's entries without an atomic.",
                 adds(v9::Kernel::sorted_segments), refusing(sorted_segments::refuse, kInFloat)),
      C::library("short_rows", "v7b without a division, for rows of one element and for few bytes.",
                 adds(v9::Kernel::short_rows), refusing(short_rows::refuse)),
      C::library("merged_entries", "v7b with several entries per thread: neighbours that name one row are added first.",
                 adds(merged_entries::run), refusing(merged_entries::refuse)),
  };
}

std::vector<CaseSpec> cases() {
  return {
      {"shape=5,3 dim=0 count=3 dtype=float"},
      // Smaller sisters of the headline cases, for the emulator, and of what follows.
      {"shape=32,512,576 dim=0 count=15 dtype={float|half}"},
      {"shape=1024,64 dim=0 count=131072 dtype=float"},
      {"shape=1048576 dim=0 count=15 dtype=float"},
      {"shape=32,128,128 dim=0 count=15 dtype={float|half}"},
      {"shape=16,64 dim=0 count=16384 dtype=float"},
      {"shape=1024,64 dim=0 count=16384 dtype={float|half}"},
      {"shape=16384,64 dim=0 count=16384 dtype=float"},
      {"shape=4096,128 dim=0 count=4096 dtype=half draw=zipf"},
      // The article's five.
      {"shape={33554432|32768,1024} dim=0 count=15 dtype=float"},
      {"shape=32,1024,1024 dim=0 count=15 dtype=float", kHeadline, "shape=32,512,576 dim=0 count=15 dtype=float"},
      {"shape=32,1024,1024 dim=0 count=15 dtype=half", kHeadline, "shape=32,512,576 dim=0 count=15 dtype=half"},
      {"shape=33554432 dim=0 count=1024 dtype=float"},
      {"shape=32768,1024 dim=0 count=1024 dtype={float|half}"},
      // The cut between v2 and v3: rows of 4096 elements.
      {"shape=1024,4096 dim=0 count={1|4|8|16|32|64|256} dtype=float"},
      {"shape=64,262144 dim=0 count={4|16|64} dtype=float"},
      // Contention: 1 Mi entries of 64 into R rows.
      {"shape={1|16},64 dim=0 count=1048576 dtype=float"},
      {"shape=1024,64 dim=0 count=1048576 dtype=float", kHeadline, "shape=1024,64 dim=0 count=131072 dtype=float"},
      {"shape={16384|1048576},64 dim=0 count=1048576 dtype=float"},
      {"shape={1|16|1024|16384|1048576},64 dim=0 count=1048576 dtype=half"},
      {"shape=1048576,64 dim=0 count=1048576 dtype=float index=int32"},
      {"shape=1024,64 dim=0 count=1048576 dtype={bfloat16|int32}"},
      {"shape=1024,64 dim=0 count=262144 dtype=double"},
      {"shape=136,26 dim=0 count=39455 dtype=double draw=zipf"},
      {"shape=16,26 dim=0 count=40000 dtype=double"},
      {"shape=10000,256 dim=0 count=100000 dtype={double|int32} draw=zipf"},
      // Types without atomics, and few rows.
      {"shape=100,4096 dim=0 count=1024 dtype=int16"},
      {"shape=4096,1024 dim=0 count=256 dtype=int16"},
      {"shape=1024,64 dim=0 count=1048576 dtype=int8"},
      {"shape=64,64 dim=0 count=32768 dtype={float|half}"},
      // The gradient of an embedding: words by Zipf's law.
      {"shape=32768,1024 dim=0 count=16384 dtype={float|half|bfloat16} draw=zipf"},
      {"shape=262144,512 dim=0 count=32768 dtype={float|half} draw=zipf"},
      // Rank 1 to 5, every place of dim.
      {"shape=1048576 dim=0 count=4194304 dtype=float"},
      {"shape=4096,4096 dim=1 count=4096 dtype=float"},
      {"shape=64,1024,256 dim=1 count=1024 dtype={float|half}"},
      {"shape=16,32,64,128 dim=2 count=256 dtype=float"},
      {"shape=16,32,64,128 dim=3 count=512 dtype=half"},
      {"shape=64,50000 dim=1 count=200000 dtype={float|double}"},
      {"shape=64,50000 dim=1 count=200000 dtype={float|double} draw=zipf"},
      {"shape=8,12,20,24,36 dim=3 count=100 dtype={float|half}"},  // Runs of 144 and 72 bytes.
      {"shape=8,12,20,24,36 dim=1 count=64 dtype=half"},
      {"shape=1024,4096 dim=0 count=1024 dtype=float dst=reversed src=reversed"},
      {"shape=1024,2048 dim=0 count=1024 dtype=float dst=gaps src=gaps"},
  };
}

}  // namespace

/// The step whose kernel v9 takes for a problem; empty where there is nothing to add.
std::string chosen_step(const IndexAddProblem& problem) {
  constexpr const char* kSteps[] = {"v8a",          "v8b",        "row_owner",       "private_lines", "spread_lines",
                                    "private_rows", "kept_tiles", "sorted_segments", "short_rows",    "merged_entries"};
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

Chapter chapter() {
  return {.number = 5,
          .name = "index_add",
          .title = "index_add: rows added where an index says, from one row to a million",
          .steps = steps(),
          .cases = expanded(cases()),
          .case_help = index_add_case_help(),
          .make_case = make_case<IndexAddCase>};
}

}  // namespace warpbook::chapter5
