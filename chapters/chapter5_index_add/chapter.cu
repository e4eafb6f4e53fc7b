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

/// What a step sums in, where entries meet.
enum class SumsIn { result_type, float_at_least };

Step step(const char* version, const char* name, const char* idea, Run run, Refuse refuse = nullptr,
          SumsIn sums = SumsIn::result_type) {
  const auto as_index_add = [](const Case& c) -> const IndexAddCase& { return static_cast<const IndexAddCase&>(c); };
  Step step;
  step.version = version;
  step.name = name;
  step.idea = idea;
  step.refusal = [=](const Case& c) -> std::string {
    const IndexAddCase& problem = as_index_add(c);
    const char* reason = refuse == nullptr ? nullptr : refuse(problem.problem());
    if (reason != nullptr) return reason;
    if (sums == SumsIn::result_type && problem.needs_wide_sums()) {
      return "one row gets " + std::to_string(problem.most_terms()) +
             " values, and this step sums them in the narrow type: no error bound would mean anything";
    }
    return {};
  };
  step.run = [=](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    const IndexAddCase& problem = as_index_add(c);
    IndexAddArrays a;
    a.index = arrays.inputs[0];
    a.src = arrays.inputs[1];
    a.dst = arrays.output;
    a.outside = static_cast<unsigned long long*>(arrays.scratch);
    a.workspace = static_cast<std::byte*>(arrays.scratch) + kOutsideBytes;
    a.workspace_bytes = static_cast<std::size_t>(problem.scratch_bytes() - kOutsideBytes);
    if (problem.outside() > 0) {
      const cudaError_t error = cudaMemsetAsync(a.outside, 0, sizeof(*a.outside), stream);
      if (error != cudaSuccess) return error;
    }
    return run(problem.problem(), a, stream);
  };
  return step;
}

/// A step whose sums are in float for some problems only: there it takes what needs that.
Step step(const char* version, const char* name, const char* idea, Run run, Refuse refuse,
          bool (*sums_in_float)(const IndexAddProblem&)) {
  Step result = step(version, name, idea, run, refuse, SumsIn::float_at_least);
  const Step narrow = step(version, name, idea, run, refuse);
  result.refusal = [narrow, wide = result.refusal, sums_in_float](const Case& c) {
    return (sums_in_float(static_cast<const IndexAddCase&>(c).problem()) ? wide : narrow.refusal)(c);
  };
  return result;
}

std::vector<Step> steps() {
  using enum SumsIn;
  return {
      step("v1", "naive", "One thread an element of src: its coordinates by division, its row by the index.", v1::run,
           refuse_other_types),
      step("v2", "small_index", "A loop over the entries, all threads over the row.", v2::run, v2::refuse),
      step("v3", "large_index", "All threads over all of src, in memory's order.", v3::run, refuse_other_types),
      step("v4a", "dispatch_on_count", "16 entries or fewer to v2, more to v3, as PyTorch does.", v4a::run,
           refuse_other_types),
      step("v4b", "fitting_grid", "v2 only where a row fills the card; whole warps.", v4b::run, refuse_other_types),
      step("v5", "collapsed_dims", "As few dimensions as memory has, their number known to the compiler, in 32 bits.",
           v5::run, v5::refuse),
      step("v6a", "multiply_subtract", "The remainder from the quotient.", v6a::run, v5::refuse),
      step("v6b", "fast_division", "Divisors known on the host become multiplications.", v6b::run, v5::refuse),
      step("v7a", "fast_atomics", "A half is added as a pair whose other half adds nothing.", v7a::run, v5::refuse),
      step("v7b", "vector_atomics", "16 bytes a load and a reduction; the place in the row found once.", v7b::run,
           v7b::refuse),
      step("v8a", "private_rows", "Few rows: a copy of all for each group, in shared memory.", v8a::run, v8a::refuse,
           float_at_least),
      step("v8b", "one_owner", "Few entries: one owner of each row adds up for all, in registers.", v8b::run,
           v8b::refuse, float_at_least),
      step("v8c", "sorted_tiles", "A block sorts its entries by row, and adds up in registers what meets.", v8c::run,
           v8c::refuse, v8c::sums_in_float),
      step("v9", "sorted_segments", "Sort the index once, add each row's entries without an atomic.", v9::run,
           v9::refuse, float_at_least),
      step("v10", "dispatch", "The right kernel for the problem: what index_add.cuh gives away.", v10::run, nullptr,
           v10::sums_in_float),
  };
}

std::vector<CaseSpec> cases() {
  using enum Tier;
  return {
      {"shape=5,3 dim=0 count=3 dtype=float", quick},
      // Smaller sisters of what follows, for the emulator.
      {"shape=1048576 dim=0 count=15 dtype=float", quick},
      {"shape=32,128,128 dim=0 count=15 dtype=float", quick},
      {"shape=32,128,128 dim=0 count=15 dtype=half", quick},
      {"shape=16,64 dim=0 count=16384 dtype=float", quick},
      {"shape=1024,64 dim=0 count=16384 dtype=float", quick},
      {"shape=1024,64 dim=0 count=16384 dtype=half", quick},
      {"shape=16384,64 dim=0 count=16384 dtype=float", quick},
      {"shape=4096,128 dim=0 count=4096 dtype=half draw=zipf", quick},
      // The article's five.
      {"shape=33554432 dim=0 count=15 dtype=float", standard},
      {"shape=32768,1024 dim=0 count=15 dtype=float", standard},
      {"shape=32,1024,1024 dim=0 count=15 dtype=float", standard},
      {"shape=32,1024,1024 dim=0 count=15 dtype=half", standard},
      {"shape=33554432 dim=0 count=1024 dtype=float", standard},
      {"shape=32768,1024 dim=0 count=1024 dtype=float", standard},
      {"shape=32768,1024 dim=0 count=1024 dtype=half", full},
      // The cut between v2 and v3: rows of 4096 elements.
      {"shape=1024,4096 dim=0 count=1 dtype=float", full},
      {"shape=1024,4096 dim=0 count=4 dtype=float", full},
      {"shape=1024,4096 dim=0 count=8 dtype=float", full},
      {"shape=1024,4096 dim=0 count=16 dtype=float", full},
      {"shape=1024,4096 dim=0 count=32 dtype=float", full},
      {"shape=1024,4096 dim=0 count=64 dtype=float", full},
      {"shape=1024,4096 dim=0 count=256 dtype=float", full},
      {"shape=64,262144 dim=0 count=4 dtype=float", full},
      {"shape=64,262144 dim=0 count=16 dtype=float", full},
      {"shape=64,262144 dim=0 count=64 dtype=float", full},
      // Contention: 1 Mi entries of 64 into R rows.
      {"shape=1,64 dim=0 count=1048576 dtype=float", full},
      {"shape=16,64 dim=0 count=1048576 dtype=float", full},
      {"shape=1024,64 dim=0 count=1048576 dtype=float", standard},
      {"shape=16384,64 dim=0 count=1048576 dtype=float", full},
      {"shape=1048576,64 dim=0 count=1048576 dtype=float", standard},
      {"shape=1,64 dim=0 count=1048576 dtype=half", full},
      {"shape=16,64 dim=0 count=1048576 dtype=half", full},
      {"shape=1024,64 dim=0 count=1048576 dtype=half", standard},
      {"shape=16384,64 dim=0 count=1048576 dtype=half", full},
      {"shape=1048576,64 dim=0 count=1048576 dtype=half", standard},
      {"shape=1048576,64 dim=0 count=1048576 dtype=float index=int32", full},
      {"shape=1024,64 dim=0 count=1048576 dtype=bfloat16", full},
      {"shape=1024,64 dim=0 count=262144 dtype=double", full},
      {"shape=1024,64 dim=0 count=1048576 dtype=int32", full},
      // The gradient of an embedding: words by Zipf's law.
      {"shape=32768,1024 dim=0 count=16384 dtype=float draw=zipf", standard},
      {"shape=32768,1024 dim=0 count=16384 dtype=half draw=zipf", full},
      {"shape=262144,512 dim=0 count=32768 dtype=float draw=zipf", full},
      {"shape=262144,512 dim=0 count=32768 dtype=half draw=zipf", full},
      {"shape=32768,1024 dim=0 count=16384 dtype=bfloat16 draw=zipf", full},
      // Rank 1 to 5, every place of dim.
      {"shape=1048576 dim=0 count=4194304 dtype=float", full},
      {"shape=4096,4096 dim=1 count=4096 dtype=float", full},
      {"shape=64,1024,256 dim=1 count=1024 dtype=float", full},
      {"shape=64,1024,256 dim=1 count=1024 dtype=half", full},
      {"shape=16,32,64,128 dim=2 count=256 dtype=float", full},
      {"shape=16,32,64,128 dim=3 count=512 dtype=half", full},
      {"shape=8,12,20,24,36 dim=3 count=100 dtype=float", full},
      {"shape=8,12,20,24,36 dim=3 count=100 dtype=half", full},  // Runs of 72 bytes.
      {"shape=8,12,20,24,36 dim=1 count=64 dtype=half", full},
      // Strided.
      {"shape=1024,4096 dim=0 count=1024 dtype=float dst=reversed src=reversed", full},
      {"shape=1024,2048 dim=0 count=1024 dtype=float dst=gaps src=gaps", full},
  };
}

}  // namespace

/// v7b as it launches where words are many, for problems of any size.
std::vector<Step> steps_for_many_words() {
  const Run run = [](const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
    return v7b::run_with(p, a, stream, 0);
  };
  return {step("v7b, many words", "vector_atomics", "", run, v7b::refuse)};
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
