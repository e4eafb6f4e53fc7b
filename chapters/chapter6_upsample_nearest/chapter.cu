/// \file
/// Chapter 6 as data: its ladder, library kernels and cases.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "chapters/chapter6_upsample_nearest/upsample_case.hpp"
#include "chapters/chapter6_upsample_nearest/upsample_nearest.cuh"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter6 {
namespace {

constexpr auto kOneWay = [](const auto&...) { return cudaErrorNotSupported; };  // The case is refused before.

/// A kernel's refusal of images, asked of a case.
template <const char* (*refuse)(const Images&)> const char* either_way(const UpsampleCase& c) {
  return refuse(c.images());
}
template <const char* (*refuse)(const Images&)> const char* forward_only(const UpsampleCase& c) {
  return c.backward() ? "forward only" : refuse(c.images());
}
template <const char* (*refuse)(const Images&)> const char* backward_only(const UpsampleCase& c) {
  return c.backward() ? refuse(c.images()) : "backward only";
}

/// A step of two functions, each called as f(output, input, images, stream): `forward` with words (movement alone:
/// elements of one size are one kernel), `backward` with numbers.
template <class Forward, class Backward, class Refuse = decltype(kTakesAll)>
Step make(StepInfo info, Forward forward, Backward backward, Refuse refuse = kTakesAll) {
  const auto run = [=](const UpsampleCase& c, const Arrays& arrays, cudaStream_t stream) {
    if (c.output().elements == 0) return cudaSuccess;
    const auto words = [&]<class W>(W) {
      return forward(static_cast<W*>(arrays.output), static_cast<const W*>(arrays.inputs[0]), c.images(), stream);
    };
    const auto numbers = [&]<class T>(T) {
      return backward(static_cast<T*>(arrays.output), static_cast<const T*>(arrays.inputs[0]), c.images(), stream);
    };
    if (!c.backward()) return c.element_bytes() == 4 ? words(Word<4>{}) : words(Word<2>{});
    if (c.type() == Type::half) return numbers(__half{});
    return c.type() == Type::bfloat16 ? numbers(__nv_bfloat16{}) : numbers(float{});
  };
  return make_step<UpsampleCase>(std::move(info), run, refuse);
}

/// The take-away functions, which judge their arguments themselves.
cudaError_t run_header(const UpsampleCase& c, const Arrays& arrays, cudaStream_t stream) {
  const auto run = [&]<class T>(T) {
    auto* const out = static_cast<T*>(arrays.output);
    const auto* const in = static_cast<const T*>(arrays.inputs[0]);
    return c.backward() ? upsample_nearest_backward(out, in, c.problem(), stream)
                        : upsample_nearest(out, in, c.problem(), stream);
  };
  if (c.type() == Type::half) return run(__half{});
  return c.type() == Type::bfloat16 ? run(__nv_bfloat16{}) : run(float{});
}

// A step's functions: templates, so that no pointer will do.
#define FORWARD(step) [](auto... a) { return step::forward(a...); }
#define BACKWARD(step) [](auto... a) { return step::backward(a...); }

std::vector<Step> ladder() {
  return {
      make({"v1", "generic", "", "One thread per element, divisions, PyTorch's rules.", {"divisions-64", "requests"}},
           FORWARD(v1), BACKWARD(v1)),
      make({"v2", "two_by_two", "v1", "One input makes a pair in each of two rows.", {"divisions-64", "requests"}},
           FORWARD(v2), BACKWARD(v2), either_way<v2::refuse>),
      make({"v3", "fast_division", "v2", "The last division becomes a multiplication and a shift.", {"divisions-64"}},
           FORWARD(v3), BACKWARD(v3), either_way<v2::refuse>),
      make({"v4", "wide", "v3", "16 bytes to each of two rows.", {"requests", "store requests"}}, FORWARD(v4),
           BACKWARD(v4), either_way<v2::refuse>),
      make({"v5", "narrow_window", "v4", "Few blocks write at a time: their input is in the L2 already.", {"requests"}},
           FORWARD(v5), kOneWay, forward_only<v5::refuse>),
      make({"v6", "any_scale", "v1", "Wide stores and no division, whatever the scale.", {"divisions-64"}}, FORWARD(v6),
           BACKWARD(v6), either_way<v6::refuse>),
      make({"v7", "known_window", "v6", "Loops of a known length become loads under way.", {"store requests"}}, kOneWay,
           BACKWARD(v7), backward_only<v7::refuse>),
      make_step<UpsampleCase>({"v8", "dispatch", "", "The right kernel for the problem: upsample_nearest.cuh."},
                              run_header),
  };
}

std::vector<Step> library() {
  using enum StepKind;
  return {
      make({"packs_in_flight", "packs_in_flight", "", "Small doubled images: four packs under way.", {}, library},
           FORWARD(packs_in_flight), kOneWay, forward_only<v5::refuse>),
      make({"staged_rows", "staged_rows", "", "Rows that 16 bytes do not divide, through shared memory.", {}, library},
           FORWARD(staged_rows), kOneWay, forward_only<staged_rows::refuse>),
      make({"channels_last", "channels_last", "", "Packs of a pixel's channels, at any scale.", {}, library},
           FORWARD(channels_last), BACKWARD(channels_last), either_way<channels_last::refuse>),
  };
}

#undef FORWARD
#undef BACKWARD

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> cases = {
      {"shape=32,64,256,256 dtype=half dir=forward", kHeadline, "shape=4,32,80,80 dtype=half dir=forward"},
      {"shape=32,64,256,256 dtype=half dir=backward", kHeadline, "shape=4,32,80,80 dtype=half dir=backward"},
      {"shape=16,64,160,160 dtype=half scale=1.5 dir=backward", kHeadline,
       "shape=4,32,80,80 dtype=half scale=1.5 dir=backward"},
      {"shape=16,64,160,160 dtype=half scale=1.5 dir=forward"},
  };
  const auto both = [&cases](const std::string& text) {
    cases.push_back({text + " dir=forward"});
    cases.push_back({text + " dir=backward"});
  };
  both("shape=32,64,256,256 dtype=float");
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
  for (const auto& kernels : {ladder(), library()}) {
    chapter.steps.insert(chapter.steps.end(), kernels.begin(), kernels.end());
  }
  chapter.cases = cases();
  chapter.case_help = upsample_case_help();
  chapter.make_case = [](const Parameters& parameters) -> std::unique_ptr<Case> {
    return std::make_unique<UpsampleCase>(parameters);
  };
  return chapter;
}

}  // namespace warpbook::chapter6
