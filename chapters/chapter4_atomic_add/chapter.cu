/// \file
/// Chapter 4 as data: its ladder, library kernels and cases.

#include <memory>
#include <string>
#include <vector>

#include "chapters/chapter4_atomic_add/library/any_skew_bins.cuh"
#include "chapters/chapter4_atomic_add/library/passes.cuh"
#include "chapters/chapter4_atomic_add/sums_case.hpp"
#include "chapters/chapter4_atomic_add/v1_atomic.cuh"
#include "chapters/chapter4_atomic_add/v2_float_sums.cuh"
#include "chapters/chapter4_atomic_add/v3_half2.cuh"
#include "chapters/chapter4_atomic_add/v4_fast_atomic.cuh"
#include "chapters/chapter4_atomic_add/v5_warp_sums.cuh"
#include "chapters/chapter4_atomic_add/v6a_private_bins.cuh"
#include "chapters/chapter4_atomic_add/v6b_lane_sums.cuh"
#include "chapters/chapter4_atomic_add/v6c_loads_ahead.cuh"
#include "chapters/chapter4_atomic_add/v7_two_tiles.cuh"
#include "chapters/chapter4_atomic_add/v8_wide_loads.cuh"
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
    return "more than 4095 halves per place: the loops would take seconds";
  }
  return c.refuse_narrow_sums();
}

const char* only_two_bytes(const SumsCase& c) {
  if (c.type() == ElementType::float32) return "its sums are floats as they are: the same as v1";
  return refuse_wide_sums(c);
}

const char* only_packed(const SumsCase& c) {
  if (!c.is_inner()) return "a value's neighbour goes elsewhere: there is nothing to pack";
  if (const char* reason = v3::refuse_inner(c.inner())) return reason;
  return c.refuse_narrow_sums();
}

const char* only_fast(const SumsCase& c) {
  if (c.is_inner()) return "a single place has no neighbour to be paired with";
  if (const char* reason = v4::refuse(c.type())) return reason;
  return c.refuse_narrow_sums();
}

/// Takes scatters that a kernel does not refuse, and sums that a float holds; inner products where `inner` does.
template <const char* (*refuse)(const ScatterProblem&), bool inner = false> const char* only_bins(const SumsCase& c) {
  if (c.is_inner()) {
    if (!inner) return "a block has one sum as it is";
  } else if (const char* reason = refuse(c.scatter())) {
    return reason;
  }
  return refuse_wide_sums(c);
}

const char* only_scatter(const SumsCase& c) {
  return c.is_inner() ? "there is one place: nothing to divide" : c.refuse_narrow_sums();
}

const char* only_inner(const SumsCase& c) {
  return c.is_inner() ? refuse_wide_sums(c) : "values of a scatter are loaded with their indices";
}

const char* dispatched(const SumsCase& c) {
  if (!c.is_inner() && !v9::rounds_once(v9::choose(c.scatter()))) return c.refuse_narrow_sums();
  return refuse_wide_sums(c);
}

constexpr RunScatter kNoScatter = nullptr;
constexpr RunInner kNoInner = nullptr;

std::vector<Step> steps() {
  using C = StepsOf<SumsCase>;
  return {
      C::step("v1", "atomic", "", "One atomicAdd of the element's own type per value.", {"atomics", "reductions"},
              sums(v1::run_scatter, v1::run_inner), only_narrow),
      C::step("v2", "float_sums", "v1", "Add up in float, in scratch memory, and round once.",
              {"atomics", "reductions"}, sums(v2::run_scatter, v2::run_inner), only_two_bytes),
      C::step("v3", "half2", "v1", "Pack values by hand: two halves per atomic.", {"atomics", "reductions"},
              sums(kNoScatter, v3::run_inner), only_packed),
      C::step("v4", "fast_atomic", "v1", "A half goes as a pair whose other half adds -0.0: no loop, any alignment.",
              {"atomics", "reductions"}, sums(v4::run_scatter, kNoInner), only_fast),
      C::step("v5", "warp_sums", "v2", "Lanes that have one place add up first; one of them does the atomic.",
              {"reductions", "instructions"}, sums(v5::run_scatter, v5::run_inner), refuse_wide_sums),
      C::step("v6a", "private_bins", "v5", "A block adds up in shared memory, and does one atomic per place.",
              {"reductions", "shared atomics"}, sums(v6a::run_scatter, v6a::run_inner),
              only_bins<v6a::refuse_scatter, true>),
      C::step("v6b", "lane_sums", "v6a", "Several sums per place, so that lanes of a warp do not meet.",
              {"shared atomics", "reductions"}, sums(v6b::run_scatter, kNoInner), only_bins<v6b::refuse_scatter>),
      C::step("v6c", "loads_ahead", "v6b", "Four values per thread, loaded as pairs while the four before are added.",
              {"requests", "sectors/request"}, sums(v6c::run_scatter, kNoInner), only_bins<v6c::refuse_scatter>),
      C::step("v7", "two_tiles", "v6c", "Two blocks read the same values, and have a half of the places each.",
              {"reductions", "requests"}, sums(v7::run_scatter, kNoInner), only_bins<v7::refuse_scatter>),
      C::step("v8", "wide_loads", "v6a", "The inner product: 16 bytes per load, a sum per block, no atomics.",
              {"requests", "sectors/request"}, sums(kNoScatter, v8::run_inner), only_inner),
      C::step("v9", "dispatch", "", "The right kernel for the problem: what atomic_add.cuh gives away.", {},
              sums(v9::run_scatter, v9::run_inner), dispatched),
      C::library("any_skew_bins", "v7's tiles, with several sums for places that a sample finds hot.",
                 sums(any_skew_bins::run_scatter, kNoInner), only_bins<any_skew_bins::refuse_scatter>),
      C::library("passes", "Atomics on a part of dst at a time, that stays in the L2.",
                 sums(passes::run_scatter, kNoInner), only_scatter),
  };
}

std::vector<CaseSpec> cases() {
  return {
      // An inner product whose sum a half holds, many values for few places that some have most of, and for many.
      {"problem=inner count=65536 dtype=half", kHeadline},
      {"count=16777216 places=256 skew=zipf dtype=float index=int64", kHeadline,
       "count=2097152 places=256 skew=zipf dtype=float index=int64"},
      {"count=16777216 places=65536 skew=uniform dtype=half index=int64", kHeadline,
       "count=2097152 places=65536 skew=uniform dtype=half index=int64"},
      // Small ones of each kind: a half holds their sums.
      {"count=131072 places=1024 skew=uniform dtype=half index=int64"},
      {"count=131072 places=1024 skew=zipf dtype=float index=int64"},
      {"count=131072 places=65536 skew=uniform dtype=half index=int32"},
      {"count=131072 places=65536 skew=uniform dtype=bfloat16 index=int64"},
      {"count=131072 places=131072 skew=uniform dtype=float index=int64"},
      {"count=100003 places=70001 skew=stray dtype=half index=int64 offset=1"},
      {"count=1048576 places=1 skew=uniform dtype=float index=int64"},
      {"count=1048576 places=256 skew=uniform dtype=half index=int64"},
      {"count=1048576 places=65536 skew=zipf dtype=float index=int64"},
      {"problem=inner count=1048576 dtype=half"},
      {"problem=inner count=33554432 dtype={half|bfloat16|float}"},
      // 16 Mi values into n places. There is one way to go to one place, and the headline cases are there already.
      {"count=16777216 places={1|256} skew=uniform dtype=float index=int64"},
      {"count=16777216 places={65536|16777216} skew={uniform|zipf} dtype=float index=int64"},
      {"count=16777216 places=1 skew=uniform dtype=half index=int64"},
      {"count=16777216 places=256 skew={uniform|zipf} dtype=half index=int64"},
      {"count=16777216 places=65536 skew=zipf dtype=half index=int64"},
      {"count=16777216 places=16777216 skew={uniform|zipf} dtype=half index=int64"},
      {"count=16777216 places=1 skew=uniform dtype=bfloat16 index=int64"},
      {"count=16777216 places={256|65536|16777216} skew={uniform|zipf} dtype=bfloat16 index=int64"},
      {"count=16777216 places={65536|16777216} skew=uniform dtype=float index=int32"},
      {"count=16777216 places=65536 skew=uniform dtype=half index=int32"},
      {"count=16777216 places=65536 skew={head|sorted|same} dtype=float index=int64"},
      {"count=16777216 places=1048576 skew={uniform|zipf} dtype=float index=int64"},
      {"count=16777216 places=1048576 skew=uniform dtype=half index=int64"},
      {"count=16777216 places=16777216 skew=sorted dtype=float index=int64"},
      {"count=16777216 places=16777216 skew=head dtype=half index=int64"},
  };
}

}  // namespace

/// Chapter 4.
Chapter chapter() {
  return {.number = 4,
          .name = "atomic_add",
          .title = "Atomic add: sums into chosen places, from a loop that waits to the speed of reading",
          .steps = steps(),
          .cases = expanded(cases()),
          .case_help = sums_case_help(),
          .make_case = [](const Parameters& parameters) {
            return std::make_unique<SumsCase>(parameters, SumsCase::Scratch{float_sums_bytes, kInnerScratchBytes});
          }};
}

}  // namespace warpbook::chapter4
