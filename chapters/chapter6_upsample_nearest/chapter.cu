/// \file
/// Chapter 6 as data: its ladder, library kernels and cases.

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

/// Runs a step of two functions, each called as f(output, input, images, stream): `forward` with words (movement alone:
/// elements of one size are one kernel), `backward` with numbers.
template <class Forward, class Backward> auto ways(Forward forward, Backward backward) {
  return [=](const UpsampleCase& c, const Arrays& arrays, cudaStream_t stream) {
    if (c.output().elements == 0) return cudaSuccess;
    const auto words = [&]<class W>(W) {
      return forward(static_cast<W*>(arrays.output), static_cast<const W*>(arrays.inputs[0]), c.images(), stream);
    };
    const auto numbers = [&]<class T>(T) {
      return backward(static_cast<T*>(arrays.output), static_cast<const T*>(arrays.inputs[0]), c.images(), stream);
    };
    if (!c.backward()) return c.element_bytes() == 4 ? words(Word<4>{}) : words(Word<2>{});
    return with_type(c.type(), numbers);
  };
}

/// The take-away functions, which judge their arguments themselves.
cudaError_t run_header(const UpsampleCase& c, const Arrays& arrays, cudaStream_t stream) {
  const auto run = [&]<class T>(T) {
    auto* const out = static_cast<T*>(arrays.output);
    const auto* const in = static_cast<const T*>(arrays.inputs[0]);
    return c.backward() ? upsample_nearest_backward(out, in, c.problem(), stream)
                        : upsample_nearest(out, in, c.problem(), stream);
  };
  return with_type(c.type(), run);
}

// A step's functions: templates, so that no pointer will do.
#define FORWARD(step) [](auto... a) { return step::forward(a...); }
#define BACKWARD(step) [](auto... a) { return step::backward(a...); }

std::vector<Step> steps() {
  using C = StepsOf<UpsampleCase>;
  return {
      C::step("v1", "generic", "", "One thread per element, divisions, PyTorch's rules.", {"divisions-64", "requests"},
              ways(FORWARD(v1), BACKWARD(v1))),
      C::step("v2", "two_by_two", "v1", "One input makes a pair in each of two rows.", {"divisions-64", "requests"},
              ways(FORWARD(v2), BACKWARD(v2)), either_way<v2::refuse>),
      C::step("v3", "fast_division", "v2", "The last division becomes a multiplication and a shift.", {"divisions-64"},
              ways(FORWARD(v3), BACKWARD(v3)), either_way<v2::refuse>),
      C::step("v4", "wide", "v3", "16 bytes to each of two rows.", {"requests", "store requests"},
              ways(FORWARD(v4), BACKWARD(v4)), either_way<v2::refuse>),
      C::step("v5", "any_scale", "v1", "Wide stores and no division, whatever the scale.", {"divisions-64"},
              ways(FORWARD(v5), BACKWARD(v5)), either_way<v5::refuse>),
      C::step("v6", "known_window", "v5", "Loops of a known length become loads under way.", {"store requests"},
              ways(kOneWay, BACKWARD(v6)), backward_only<v6::refuse>),
      C::step("v7", "dispatch", "", "The right kernel for the problem: upsample_nearest.cuh.", {}, run_header),
      C::library("packs_in_flight", "Doubled images that are small or of narrow packs: several packs under way.",
                 ways(FORWARD(packs_in_flight), BACKWARD(packs_in_flight)), either_way<v2::refuse>),
      C::library("passing_gradient", "Doubled images backward, where the gradient fits the L2.",
                 ways(kOneWay, BACKWARD(passing_gradient)), backward_only<v4::refuse_narrow>),
      C::library("any_rows", "Rows that 16 bytes do not divide, as one array of words.",
                 ways(FORWARD(any_rows), kOneWay), forward_only<any_rows::refuse>),
      C::library("channels_last", "Packs of a pixel's channels, at any scale.",
                 ways(FORWARD(channels_last), BACKWARD(channels_last)), either_way<channels_last::refuse>),
  };
}

#undef FORWARD
#undef BACKWARD

std::vector<CaseSpec> cases() {
  return {
      {"shape=32,64,256,256 dtype=half dir=forward", kHeadline, "shape=4,32,80,80 dtype=half dir=forward"},
      {"shape=32,64,256,256 dtype=half dir=backward", kHeadline, "shape=4,32,80,80 dtype=half dir=backward"},
      {"shape=16,64,160,160 dtype=half scale=1.5 dir=backward", kHeadline,
       "shape=4,32,80,80 dtype=half scale=1.5 dir=backward"},
      {"shape=16,64,160,160 dtype=half scale=1.5 dir=forward"},
      {"shape=32,64,256,256 dtype=float dir={forward|backward}"},
      {"shape=4,32,80,80 dtype=half dir={forward|backward}"},
      {"shape=2,8,40,40 dtype={float|half} dir={forward|backward}"},
      {"shape=2,32,20,20 dtype=half layout=nhwc dir={forward|backward}"},
      {"shape=2,8,21,19 dtype=bfloat16 scale=1.5 dir={forward|backward}"},
      {"shape=2,3,17,31 dtype=half offset=1 dir={forward|backward}"},
      // The article's.
      {"shape=16,32,80,80 dtype={float|half|bfloat16} dir={forward|backward}"},
      // Channels last, odd widths, other scales, down.
      {"shape={16,32,80,80|32,64,256,256} dtype=half layout=nhwc dir={forward|backward}"},
      {"shape=32,64,256,256 dtype=float layout=nhwc dir={forward|backward}"},
      {"shape=32,64,{127,129|128,130} dtype=half dir={forward|backward}"},
      {"shape=16,64,128,128 dtype={float|half} scale=3 dir={forward|backward}"},
      {"shape=16,64,160,160 dtype=float scale=1.5 dir={forward|backward}"},
      {"shape=16,64,160,160 dtype=half scale=1.5 layout=nhwc dir={forward|backward}"},
      {"shape=16,64,256,256 dtype=half scale=0.5 dir={forward|backward}"},
      {"shape=16,64,100,100 dtype=half size=333,271 dir={forward|backward}"},
      // Very many small images; one channel in the layout of many.
      {"shape=4096,64,12,10 dtype=half scale=0.63 dir={forward|backward}"},
      {"shape=4096,1,71,31 dtype=half layout=nhwc dir={forward|backward}"},
  };
}

}  // namespace

/// Chapter 6.
Chapter chapter() {
  return {.number = 6,
          .name = "upsample_nearest",
          .title = "Upsample nearest: bigger images, forward and backward",
          .steps = steps(),
          .cases = expanded(cases()),
          .case_help = upsample_case_help(),
          .make_case = make_case<UpsampleCase>};
}

}  // namespace warpbook::chapter6
