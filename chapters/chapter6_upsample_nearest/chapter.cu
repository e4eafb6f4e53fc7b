/// \file
/// Chapter 6 as data: its steps and its cases.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "chapters/chapter6_upsample_nearest/upsample_case.hpp"
#include "chapters/chapter6_upsample_nearest/upsample_nearest.cuh"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter6 {
namespace {

/// Where the arrays lie, as far as alignment goes.
template <class T> const T* address_of(const UpsampleCase& c) {
  return reinterpret_cast<const T*>(std::uintptr_t{256} + static_cast<std::uintptr_t>(c.output().offset_bytes));
}

const char* refuse_pairs(const UpsampleCase& c) {
  if (const char* reason = v2::refuse(make_images(c.problem()))) return reason;
  return c.output().offset_bytes % (2 * c.element_bytes()) == 0 ? nullptr : "the large array must be aligned to a pair";
}

const char* refuse_wide(const UpsampleCase& c) {
  const Images images = make_images(c.problem());
  if (const char* reason = v2::refuse(images)) return reason;
  const bool takes = c.type() == Type::float32
                         ? v4::takes_packs<v4::kWide<float>>(address_of<float>(c), address_of<float>(c), images)
                         : v4::takes_packs<v4::kWide<__half>>(address_of<__half>(c), address_of<__half>(c), images);
  return takes ? nullptr : v4::kUneven;
}

const char* refuse_wide_forward(const UpsampleCase& c) {
  return c.backward() ? "writes in the output's order, as v4 does backward" : refuse_wide(c);
}

const char* refuse_large_planes(const UpsampleCase& c) { return v6a::refuse(make_images(c.problem())); }

const char* refuse_unknown_windows(const UpsampleCase& c) {
  const Images images = make_images(c.problem());
  if (c.backward()) return v6b::refuse_backward(images);
  return c.type() == Type::float32 ? v6b::refuse_forward(address_of<float>(c), images)
                                   : v6b::refuse_forward(address_of<__half>(c), images);
}

const char* refuse_staged_rows(const UpsampleCase& c) {
  return c.backward() ? "forward only" : v6c::refuse(make_images(c.problem()), c.element_bytes());
}

// What a step is given: a function by `by_words` (movement alone: elements of one size are one kernel) or `by_numbers`
// (sums), each called as f(output, input, images, stream).

template <class T> auto* words(T* elements) { return reinterpret_cast<Word<sizeof(T)>*>(elements); }
template <class T> const auto* words(const T* elements) { return reinterpret_cast<const Word<sizeof(T)>*>(elements); }

template <class Function> auto by_words(Function f) {
  return [f](auto* out, const auto* in, const UpsampleNearest& problem, cudaStream_t stream) {
    return f(words(out), words(in), make_images(problem), stream);
  };
}

template <class Function> auto by_numbers(Function f) {
  return [f](auto* out, const auto* in, const UpsampleNearest& problem, cudaStream_t stream) {
    return f(out, in, make_images(problem), stream);
  };
}

constexpr auto kForwardOnly = [](const auto&...) { return cudaErrorNotSupported; };  // The case is refused before.

/// Runs a step on pointers of the case's type, in the case's direction.
template <class Forward, class Backward> auto both_ways(Forward forward, Backward backward) {
  return [=](const UpsampleCase& c, const Arrays& arrays, cudaStream_t stream) {
    if (c.output().elements == 0) return cudaSuccess;
    const auto run = [&]<class T>(T) {
      auto* const out = static_cast<T*>(arrays.output);
      const auto* const in = static_cast<const T*>(arrays.inputs[0]);
      return c.backward() ? backward(out, in, c.problem(), stream) : forward(out, in, c.problem(), stream);
    };
    switch (c.type()) {
    case Type::half:
      return run(__half{});
    case Type::bfloat16:
      return run(__nv_bfloat16{});
    default:
      return run(float{});
    }
  };
}

std::vector<Step> steps() {
  return {
      make_step<UpsampleCase>({"v1",
                               "generic",
                               "",
                               "One thread an element, divisions, PyTorch's rules.",
                               {"divisions-32", "divisions-64", "requests"}},
                              both_ways(by_words([](const auto&... a) { return v1::forward(a...); }),
                                        by_numbers([](const auto&... a) { return v1::backward(a...); }))),
      make_step<UpsampleCase>(
          {"v2", "two_by_two", "v1", "One input makes a pair in each of two rows.", {"requests", "divisions-32"}},
          both_ways(by_words([](const auto&... a) { return v2::forward(a...); }),
                    by_numbers([](const auto&... a) { return v2::backward(a...); })),
          refuse_pairs),
      make_step<UpsampleCase>({"v3",
                               "fast_division",
                               "v2",
                               "The last division becomes a multiplication.",
                               {"divisions-32", "instructions"}},
                              both_ways(by_words([](const auto&... a) { return v3::forward(a...); }),
                                        by_numbers([](const auto&... a) { return v3::backward(a...); })),
                              refuse_pairs),
      make_step<UpsampleCase>({"v4", "wide", "v3", "16 bytes to each of two rows.", {"requests", "store requests"}},
                              both_ways(by_words([](const auto&... a) { return v4::forward(a...); }),
                                        by_numbers([](const auto&... a) { return v4::backward(a...); })),
                              refuse_wide),
      make_step<UpsampleCase>(
          {"v5a", "packs_in_flight", "v4", "Four packs a thread in registers before the first is stored."},
          both_ways(by_words([](const auto&... a) { return v5a::forward(a...); }),
                    by_numbers([](const auto&... a) { return v5a::backward(a...); })),
          refuse_wide),
      make_step<UpsampleCase>({"v5b",
                               "output_order",
                               "v4",
                               "What is written is written from the first byte to the last.",
                               {"store requests", "sectors/store request"}},
                              both_ways(by_words([](const auto&... a) { return v5b::forward(a...); }), kForwardOnly),
                              refuse_wide_forward),
      make_step<UpsampleCase>(
          {"v5c", "asked_ahead", "v5b", "Few blocks at a time, because their input is in the L2 already."},
          both_ways(by_words([](const auto&... a) { return v5c::forward(a...); }), kForwardOnly), refuse_wide_forward),
      make_step<UpsampleCase>({"v6a",
                               "any_scale",
                               "v1",
                               "Wide stores for every scale, and for channels side by side.",
                               {"requests", "store requests"}},
                              both_ways(by_words([](const auto&... a) { return v6a::forward(a...); }),
                                        by_numbers([](const auto&... a) { return v6a::backward(a...); })),
                              refuse_large_planes),
      make_step<UpsampleCase>({"v6b", "known_window", "v6a", "Loops of a known length become loads under way."},
                              both_ways(by_words([](const auto&... a) { return v6b::forward(a...); }),
                                        by_numbers([](const auto&... a) { return v6b::backward(a...); })),
                              refuse_unknown_windows),
      make_step<UpsampleCase>({"v6c", "staged_rows", "v6a", "Wide stores for rows that packs do not divide."},
                              both_ways(by_words([](const auto&... a) { return v6c::forward(a...); }), kForwardOnly),
                              refuse_staged_rows),
      make_step<UpsampleCase>(
          {"v7", "dispatch", "", "The right kernel for the problem: what upsample_nearest.cuh gives away."},
          both_ways([](const auto&... a) { return upsample_nearest(a...); },
                    [](const auto&... a) { return upsample_nearest_backward(a...); })),
  };
}

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> cases = {
      {"shape=32,64,256,256 dtype=float dir=forward", kHeadline, "shape=4,32,80,80 dtype=float dir=forward"},
      {"shape=32,64,256,256 dtype=float dir=backward", kHeadline, "shape=4,32,80,80 dtype=float dir=backward"},
      {"shape=32,64,256,256 dtype=half dir=forward", kHeadline, "shape=4,32,80,80 dtype=half dir=forward"},
      {"shape=32,64,256,256 dtype=half dir=backward"},
  };
  const auto both = [&cases](const std::string& text) {
    cases.push_back({text + " dir=forward"});
    cases.push_back({text + " dir=backward"});
  };
  both("shape=4,32,80,80 dtype=float");
  both("shape=4,32,80,80 dtype=half");
  both("shape=2,8,40,40 dtype=float");
  both("shape=2,8,40,40 dtype=half");
  both("shape=2,32,20,20 dtype=half layout=nhwc");
  both("shape=2,8,21,19 dtype=bfloat16 scale=1.5");
  both("shape=2,3,17,31 dtype=half offset=1");
  // The article's.
  both("shape=16,32,80,80 dtype=float");
  both("shape=16,32,80,80 dtype=half");
  both("shape=16,32,80,80 dtype=bfloat16");
  // Channels last, odd widths, other scales, down.
  both("shape=16,32,80,80 dtype=half layout=nhwc");
  both("shape=32,64,256,256 dtype=half layout=nhwc");
  both("shape=32,64,256,256 dtype=float layout=nhwc");
  both("shape=32,64,127,129 dtype=half");
  both("shape=32,64,128,130 dtype=half");
  both("shape=16,64,128,128 dtype=float scale=3");
  both("shape=16,64,128,128 dtype=half scale=3");
  both("shape=16,64,160,160 dtype=float scale=1.5");
  both("shape=16,64,160,160 dtype=half scale=1.5");
  both("shape=16,64,160,160 dtype=half scale=1.5 layout=nhwc");
  both("shape=16,64,256,256 dtype=half scale=0.5");
  both("shape=16,64,100,100 dtype=half size=333,271");
  // Very many small images; one channel in the layout of many.
  both("shape=4096,64,12,10 dtype=half scale=0.63");
  both("shape=4096,1,71,31 dtype=half layout=nhwc");
  return cases;
}

}  // namespace

/// Chapter 6.
Chapter chapter() {
  Chapter chapter;
  chapter.number = 6;
  chapter.name = "upsample_nearest";
  chapter.title = "Upsample nearest: bigger images, forward and backward";
  chapter.steps = steps();
  chapter.cases = cases();
  chapter.case_help = upsample_case_help();
  chapter.make_case = [](const Parameters& parameters) -> std::unique_ptr<Case> {
    return std::make_unique<UpsampleCase>(parameters);
  };
  return chapter;
}

}  // namespace warpbook::chapter6
