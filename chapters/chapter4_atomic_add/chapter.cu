/// \file
/// Chapter 4 as data: its steps and its cases.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "chapters/chapter4_atomic_add/sums_case.hpp"
#include "chapters/chapter4_atomic_add/v1_atomic.cuh"
#include "chapters/chapter4_atomic_add/v2_float_sums.cuh"
#include "chapters/chapter4_atomic_add/v3_half2.cuh"
#include "chapters/chapter4_atomic_add/v4_fast_atomic.cuh"
#include "chapters/chapter4_atomic_add/v5_warp_sums.cuh"
#include "chapters/chapter4_atomic_add/v6a_private_bins.cuh"
#include "chapters/chapter4_atomic_add/v6b_spread_bins.cuh"
#include "chapters/chapter4_atomic_add/v7_vector_atomics.cuh"
#include "chapters/chapter4_atomic_add/v8a_binned.cuh"
#include "chapters/chapter4_atomic_add/v8b_passes.cuh"
#include "chapters/chapter4_atomic_add/v9_dispatch.cuh"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter4 {
namespace {

using RunScatter = cudaError_t (*)(const ScatterProblem&, const ScatterArrays&, cudaStream_t);
using RunInner = cudaError_t (*)(const InnerProblem&, const InnerArrays&, cudaStream_t);

/// Runs a step on a case's problem. `scatter` or `inner` may be nullptr, where the step refuses such cases.
auto sums(RunScatter scatter, RunInner inner) {
  return [=](const SumsCase& c, const Arrays& arrays, cudaStream_t stream) {
    if (c.is_inner()) {
      return inner(c.inner(), {arrays.output, arrays.inputs[0], arrays.inputs[1], arrays.scratch}, stream);
    }
    return scatter(c.scatter(), {arrays.output, arrays.inputs[0], arrays.inputs[1], arrays.scratch}, stream);
  };
}

/// Sums in float that are rounded once are exact in every case of this chapter that a step can be verified by.
const char* refuse_wide_sums(const SumsCase& c) {
  return c.exact_in(kFloatBits) ? nullptr : "sums in float round here: beyond 2^24 units a float has no room for 1";
}

const char* only_narrow(const SumsCase& c) {
  // A loop of compare and swap for each value, behind thousands of others: 160 ms for 1 Mi halves into 256 places.
  if (c.type() != ElementType::float32 && !c.is_inner() && c.scatter().count / 4096 >= c.scatter().places) {
    return "more than 4095 halves a place: the loops would take seconds";
  }
  return c.refuse_narrow_sums();
}

const char* only_two_bytes(const SumsCase& c) {
  if (c.type() == ElementType::float32) return "its sums are floats as they are: the same as v1";
  return refuse_wide_sums(c);
}

const char* only_packed(const SumsCase& c) {
  if (!c.is_inner()) return "a value's neighbour goes elsewhere: there is nothing to pack";
  if (const char* reason = v3::refuse_inner(c.inner(), c.address(), c.address())) return reason;
  return c.refuse_narrow_sums();
}

const char* only_fast(const SumsCase& c) {
  if (const char* reason = v4::refuse(c.type())) return reason;
  return c.refuse_narrow_sums();
}

/// Scatters round once a warp or block; the inner products of v5 and v6a add up in float.
const char* narrow_scatter(const SumsCase& c) { return c.is_inner() ? refuse_wide_sums(c) : c.refuse_narrow_sums(); }

const char* only_bins(const SumsCase& c) {
  if (!c.is_inner()) {
    if (const char* reason = v6a::refuse_scatter(c.scatter())) return reason;
  }
  return narrow_scatter(c);
}

const char* only_spread_bins(const SumsCase& c) {
  if (c.is_inner()) return "a block has one sum as it is";
  if (const char* reason = v6b::refuse_scatter(c.scatter())) return reason;
  return c.refuse_narrow_sums();
}

const char* only_vectors(const SumsCase& c) {
  if (c.is_inner()) return "there is one sum: no vector";
  if (const char* reason = v7::refuse_scatter(c.scatter())) return reason;
  return refuse_wide_sums(c);
}

const char* only_binned(const SumsCase& c) {
  if (c.is_inner()) return "there is one place: nothing to bin";
  if (const char* reason = v8a::refuse_scatter(c.scatter())) return reason;
  return refuse_wide_sums(c);
}

const char* only_passes(const SumsCase& c) {
  return c.is_inner() ? "there is one place: nothing to divide" : c.refuse_narrow_sums();
}

const char* dispatched(const SumsCase& c) {
  if (!c.is_inner() && v9::choose(c.scatter()) != v9::Way::bins) return c.refuse_narrow_sums();
  return refuse_wide_sums(c);
}

std::vector<Step> steps() {
  return {
      make_step<SumsCase>(
          {"v1", "atomic", "", "One atomicAdd of the element's own type for every value.", {"reductions", "atomics"}},
          sums(v1::run_scatter, v1::run_inner), only_narrow),
      make_step<SumsCase>({"v2",
                           "float_sums",
                           "v1",
                           "Add up in float, in scratch memory, and convert once.",
                           {"reductions", "atomics"}},
                          sums(v2::run_scatter, v2::run_inner), only_two_bytes),
      make_step<SumsCase>({"v3", "half2", "v1", "Pack values by hand: two halves an atomic operation.", {"atomics"}},
                          sums(nullptr, v3::run_inner), only_packed),
      make_step<SumsCase>({"v4",
                           "fast_atomic",
                           "v1",
                           "A half goes as a pair whose other half adds -0.0: no loop, any alignment.",
                           {"reductions", "atomics"}},
                          sums(v4::run_scatter, v4::run_inner), only_fast),
      make_step<SumsCase>({"v5",
                           "warp_sums",
                           "v1",
                           "Lanes that have one place add up first; one of them does the atomic.",
                           {"reductions"}},
                          sums(v5::run_scatter, v5::run_inner), narrow_scatter),
      make_step<SumsCase>({"v6a",
                           "private_bins",
                           "v1",
                           "A block adds up in shared memory, and does one atomic a place.",
                           {"reductions", "shared atomics"}},
                          sums(v6a::run_scatter, v6a::run_inner), only_bins),
      make_step<SumsCase>({"v6b",
                           "spread_bins",
                           "v6a",
                           "Several sums a place where there is room, or where many values meet.",
                           {"shared atomics"}},
                          sums(v6b::run_scatter, nullptr), only_spread_bins),
      make_step<SumsCase>(
          {"v7",
           "vector_atomics",
           "v2",
           "Blocks pass on float sums by atomics of 16 bytes; two of them share what one has no room for.",
           {"reductions"}},
          sums(v7::run_scatter, nullptr), only_vectors),
      make_step<SumsCase>(
          {"v8a", "binned", "v6a", "Sort by tile of destinations, then add in shared memory: no atomics on dst."},
          sums(v8a::run_scatter, nullptr), only_binned),
      make_step<SumsCase>(
          {"v8b", "passes", "v6b", "A part of dst at a time, that stays in the L2; hot places in shared memory."},
          sums(v8b::run_scatter, nullptr), only_passes),
      make_step<SumsCase>(
          {"v9", "dispatch", "", "The right kernels for the problem, one rounding: what atomic_add.cuh gives away."},
          sums(v9::run_scatter, v9::run_inner), dispatched),
  };
}

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> cases = {
      // 16 Mi values into few places, into many, and into as many as there are values.
      {"count=16777216 places=256 skew=uniform dtype=float index=int64", kHeadline,
       "count=131072 places=256 skew=uniform dtype=float index=int64"},
      {"count=16777216 places=65536 skew=uniform dtype=half index=int64", kHeadline,
       "count=131072 places=65536 skew=uniform dtype=half index=int64"},
      {"count=16777216 places=16777216 skew=uniform dtype=float index=int64", kHeadline,
       "count=131072 places=131072 skew=uniform dtype=float index=int64"},
      // Small ones of each kind: a half holds their sums, so that every step runs.
      {"problem=inner count=65536 dtype=half"},
      {"count=131072 places=1024 skew=uniform dtype=half index=int64"},
      {"count=131072 places=1024 skew=zipf dtype=float index=int64"},
      {"count=131072 places=256 skew=uniform dtype=float index=int64"},
      {"count=131072 places=65536 skew=uniform dtype=half index=int32"},
      {"count=131072 places=65536 skew=uniform dtype=half index=int64"},
      {"count=131072 places=65536 skew=uniform dtype=bfloat16 index=int64"},
      {"count=131072 places=131072 skew=uniform dtype=float index=int64"},
      {"count=100003 places=70001 skew=stray dtype=half index=int64 offset=1"},
      {"count=1048576 places=1 skew=uniform dtype=float index=int64"},
      {"count=1048576 places=256 skew=uniform dtype=half index=int64"},
      {"count=1048576 places=65536 skew=zipf dtype=float index=int64"},
      {"problem=inner count=1048576 dtype=half"},
      // 32 Mi products.
      {"problem=inner count=33554432 dtype=half"},
      {"problem=inner count=33554432 dtype=bfloat16"},
      {"problem=inner count=33554432 dtype=float"},
  };
  // 16 Mi values into n places. There is one way to go to one place, and the headline cases are there already.
  const auto there = [&cases](const std::string& parameters) {
    return std::any_of(cases.begin(), cases.end(), [&](const CaseSpec& c) { return c.parameters == parameters; });
  };
  for (const std::string dtype : {"float", "half", "bfloat16"}) {
    for (const std::string places : {"1", "256", "65536", "16777216"}) {
      for (const std::string skew : {"uniform", "zipf"}) {
        const std::string parameters =
            "count=16777216 places=" + places + " skew=" + skew + " dtype=" + dtype + " index=int64";
        if ((places == "1" && skew == "zipf") || there(parameters)) continue;
        cases.push_back({parameters});
      }
    }
  }
  for (const char* more :
       {"places=65536 skew=uniform dtype=float index=int32", "places=16777216 skew=uniform dtype=float index=int32",
        "places=65536 skew=uniform dtype=half index=int32", "places=65536 skew=head dtype=float index=int64",
        "places=65536 skew=sorted dtype=float index=int64", "places=65536 skew=same dtype=float index=int64",
        "places=1048576 skew=uniform dtype=float index=int64", "places=1048576 skew=zipf dtype=float index=int64",
        "places=1048576 skew=uniform dtype=half index=int64", "places=16777216 skew=sorted dtype=float index=int64",
        "places=16777216 skew=head dtype=half index=int64"}) {
    cases.push_back({std::string("count=16777216 ") + more});
  }
  return cases;
}

std::size_t most_scatter_scratch(const ScatterProblem& p) {
  return std::max({v2::scatter_scratch_bytes(p), v7::scatter_scratch_bytes(p), v8a::scatter_scratch_bytes(p)});
}

}  // namespace

/// Chapter 4.
Chapter chapter() {
  Chapter chapter;
  chapter.number = 4;
  chapter.name = "atomic_add";
  chapter.title = "Atomic add: sums into chosen places, from a loop that waits to the speed of reading";
  chapter.steps = steps();
  chapter.cases = cases();
  chapter.case_help = sums_case_help();
  chapter.make_case = [](const Parameters& parameters) {
    return std::make_unique<SumsCase>(parameters, SumsCase::Scratch{most_scatter_scratch, kInnerScratchBytes});
  };
  return chapter;
}

}  // namespace warpbook::chapter4
