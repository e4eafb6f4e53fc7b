/// \file
/// Chapter 5 as data: its steps and its cases.

#include "chapters/chapter5_index_add/index_add.cuh"
#include "chapters/chapter5_index_add/index_add_case.hpp"
#include "chapters/chapter5_index_add/v1_naive.cuh"
#include "chapters/chapter5_index_add/v2_small_index.cuh"
#include "chapters/chapter5_index_add/v3_large_index.cuh"
#include "chapters/chapter5_index_add/v4a_dispatch_on_count.cuh"
#include "chapters/chapter5_index_add/v4b_fitting_grid.cuh"
#include "chapters/chapter5_index_add/v5_collapsed_dims.cuh"
#include "chapters/chapter5_index_add/v6a_multiply_subtract.cuh"
#include "chapters/chapter5_index_add/v6b_fast_division.cuh"
#include "chapters/chapter5_index_add/v7a_fast_atomics.cuh"
#include "chapters/chapter5_index_add/v8c_sorted_tiles.cuh"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter5 {

std::size_t step_workspace_bytes(const IndexAddProblem& problem) {
  return std::max({v8a::workspace_bytes(problem), v8c::workspace_bytes(problem), v9::workspace_bytes(problem),
                   v10::workspace_bytes(problem)});
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

std::vector<Step> steps() {
  return {
      make_step<IndexAddCase>({"v1",
                               "naive",
                               "",
                               "One thread an element of src: its coordinates by division, its row by the index.",
                               {"divisions-64", "reductions"}},
                              adds(v1::run), refusing(refuse_other_types)),
      make_step<IndexAddCase>(
          {"v2", "small_index", "v1", "A loop over the entries, all threads over the row.", {"divisions-64"}},
          adds(v2::run), refusing(v2::refuse)),
      make_step<IndexAddCase>(
          {"v3", "large_index", "v1", "All threads over all of src, in memory's order.", {"divisions-64"}},
          adds(v3::run), refusing(refuse_other_types)),
      make_step<IndexAddCase>(
          {"v4a", "dispatch_on_count", "v3", "16 entries or fewer to v2, more to v3, as PyTorch does."}, adds(v4a::run),
          refusing(refuse_other_types)),
      make_step<IndexAddCase>({"v4b", "fitting_grid", "v4a", "v2 only where a row fills the card; whole warps."},
                              adds(v4b::run), refusing(refuse_other_types)),
      make_step<IndexAddCase>({"v5",
                               "collapsed_dims",
                               "v4b",
                               "As few dimensions as memory has, their number known to the compiler, in 32 bits.",
                               {"divisions-64", "divisions-32"}},
                              adds(v5::run), refusing(v5::refuse)),
      make_step<IndexAddCase>(
          {"v6a", "multiply_subtract", "v5", "The remainder from the quotient.", {"divisions-32", "instructions"}},
          adds(v6a::run), refusing(v5::refuse)),
      make_step<IndexAddCase>({"v6b",
                               "fast_division",
                               "v6a",
                               "Divisors known on the host become multiplications.",
                               {"divisions-32", "instructions"}},
                              adds(v6b::run), refusing(v5::refuse)),
      make_step<IndexAddCase>({"v7a",
                               "fast_atomics",
                               "v6b",
                               "A half is added as a pair whose other half adds nothing.",
                               {"atomics", "reductions"}},
                              adds(v7a::run), refusing(v5::refuse)),
      make_step<IndexAddCase>({"v7b",
                               "vector_atomics",
                               "v7a",
                               "16 bytes a load and a reduction; the place in the row found once.",
                               {"requests", "reductions"}},
                              adds(v7b::run), refusing(v7b::refuse)),
      make_step<IndexAddCase>({"v8a",
                               "private_rows",
                               "v7b",
                               "Few rows: a copy of all for each group, in shared memory.",
                               {"reductions", "shared atomics"}},
                              adds(v8a::run), refusing(v8a::refuse, kInFloat)),
      make_step<IndexAddCase>({"v8b",
                               "one_owner",
                               "v7b",
                               "Few entries: one owner of each row adds up for all, in registers.",
                               {"reductions"}},
                              adds(v8b::run), refusing(v8b::refuse, kInFloat)),
      make_step<IndexAddCase>({"v8c",
                               "sorted_tiles",
                               "v7b",
                               "A block sorts its entries by row, and adds up in registers what meets.",
                               {"reductions"}},
                              adds(v8c::run), refusing(v8c::refuse, v8c::sums_in_float)),
      make_step<IndexAddCase>({"v9",
                               "sorted_segments",
                               "v8c",
                               "Sort the index once, add each row's entries without an atomic.",
                               {"reductions"}},
                              adds(v9::run), refusing(v9::refuse, kInFloat)),
      make_step<IndexAddCase>(
          {"v10", "dispatch", "", "The right kernel for the problem: what index_add.cuh gives away."}, adds(v10::run),
          refusing(kTakesAll, v10::sums_in_float)),
  };
}

std::vector<CaseSpec> cases() {
  return {
      {"shape=5,3 dim=0 count=3 dtype=float"},
      // Smaller sisters of what follows, for the emulator.
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
      {"shape=32,1024,1024 dim=0 count=15 dtype=float", kHeadline, "shape=32,128,128 dim=0 count=15 dtype=float"},
      {"shape=32,1024,1024 dim=0 count=15 dtype=half"},
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
      {"shape=1024,64 dim=0 count=1048576 dtype=float", kHeadline, "shape=1024,64 dim=0 count=16384 dtype=float"},
      {"shape=16384,64 dim=0 count=1048576 dtype=float"},
      {"shape=1048576,64 dim=0 count=1048576 dtype=float", kHeadline, "shape=16384,64 dim=0 count=16384 dtype=float"},
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

/// v7b as it launches where words are many, for problems of any size.
std::vector<Step> steps_for_many_words() {
  const Run run = [](const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
    return v7b::run_with(p, a, stream, 0);
  };
  return {make_step<IndexAddCase>({"v7b, many words", "vector_atomics", "", ""}, adds(run), refusing(v7b::refuse))};
}

/// The step whose kernel v10 takes for a problem; empty where there is nothing to add.
std::string chosen_step(const IndexAddProblem& problem) {
  using enum v10::Kernel;
  switch (v10::choose(problem)) {
  case atomics:
    return "v7b";
  case private_rows:
    return "v8a";
  case one_owner:
    return "v8b";
  case sorted_tiles:
    return "v8c";
  case sorted_segments:
    return "v9";
  case none:
  case unsupported:
    break;
  }
  return {};
}

/// Chapter 5.
Chapter chapter() {
  Chapter chapter;
  chapter.number = 5;
  chapter.name = "index_add";
  chapter.title = "index_add: rows added where an index says, from one row to a million";
  chapter.steps = steps();
  chapter.cases = cases();
  chapter.case_help = index_add_case_help();
  chapter.make_case = [](const Parameters& parameters) { return std::make_unique<IndexAddCase>(parameters); };
  return chapter;
}

}  // namespace warpbook::chapter5
