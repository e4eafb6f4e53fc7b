/// \file
/// Chapter 1 as data: its steps and its cases.

#include "chapters/chapter1_elementwise/elementwise.cuh"
#include "chapters/chapter1_elementwise/elementwise_case.hpp"
#include "chapters/chapter1_elementwise/v1_naive.cuh"
#include "chapters/chapter1_elementwise/v2_grid_stride.cuh"
#include "chapters/chapter1_elementwise/v3_packs.cuh"
#include "chapters/chapter1_elementwise/v4_packed_math.cuh"
#include "chapters/chapter1_elementwise/v5a_packs_in_flight.cuh"
#include "chapters/chapter1_elementwise/v5b_one_tile.cuh"
#include "chapters/chapter1_elementwise/v5c_streaming.cuh"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter1 {
namespace {

/// Calls `f` with a value of the C++ type that a Type stands for.
template <class F> cudaError_t with_type(Type type, F&& f) {
  switch (type) {
  case Type::half:
    return f(__half{});
  case Type::bfloat16:
    return f(__nv_bfloat16{});
  default:
    return f(float{});
  }
}

const char* refuse_but_multiply(const ElementwiseCase& c) {
  return c.operation() == Operation::multiply && !c.mixed() ? nullptr : "multiplies arrays of one type only";
}

const char* refuse_packs(const ElementwiseCase& c) {
  if (const char* reason = refuse_but_multiply(c)) return reason;
  return c.aligned() ? nullptr : v3::kMisaligned;
}

const char* refuse_pairs(const ElementwiseCase& c) {
  if (const char* reason = refuse_packs(c)) return reason;
  return c.output_type() == Type::float32 ? "pairs are of half or bfloat16" : nullptr;
}

/// Runs a step that multiplies: `run(z, x, y, count, stream)` takes pointers of the case's type.
template <class Run> auto multiply(Run run) {
  return [run](const ElementwiseCase& c, const Arrays& arrays, cudaStream_t stream) {
    return with_type(c.output_type(), [&]<class T>(T) {
      return run(static_cast<T*>(arrays.output), static_cast<const T*>(arrays.inputs[0]),
                 static_cast<const T*>(arrays.inputs[1]), c.count(), stream);
    });
  };
}

/// v4 takes pairs; other types are refused before.
constexpr auto kPackedMath = []<class T>(T* z, const T* x, const T* y, std::int64_t n, cudaStream_t s) {
  if constexpr (sizeof(T) == 2) return v4::run(z, x, y, n, s);
  return cudaErrorNotSupported;
};

/// The take-away functions, each operation with its functor.
cudaError_t run_template(const ElementwiseCase& c, const Arrays& arrays, cudaStream_t stream) {
  const std::int64_t count = c.count();
  if (c.mixed()) {
    auto* const z = static_cast<float*>(arrays.output);
    const auto* const x = static_cast<const __half*>(arrays.inputs[0]);
    const auto* const y = static_cast<const float*>(arrays.inputs[1]);
    if (c.operation() == Operation::multiply) return elementwise(Multiply{}, z, x, y, count, stream);
    return elementwise_with_factory(ScaleFrom<float>{y}, z, x, count, stream);
  }
  return with_type(c.output_type(), [&]<class T>(T) {
    auto* const z = static_cast<T*>(arrays.output);
    const auto* const x = static_cast<const T*>(arrays.inputs[0]);
    switch (c.operation()) {
    case Operation::multiply:
      return elementwise(Multiply{}, z, x, static_cast<const T*>(arrays.inputs[1]), count, stream);
    case Operation::scale:
      return elementwise_with_factory(ScaleFrom<T>{static_cast<const float*>(arrays.inputs[1])}, z, x, count, stream);
    default:
      return elementwise(MultiplyAdd{}, z, x, static_cast<const T*>(arrays.inputs[1]),
                         static_cast<const T*>(arrays.inputs[2]), count, stream);
    }
  });
}

std::vector<Step> steps() {
  return {
      make_step<ElementwiseCase>({"v1", "naive", "", "One thread an element.", {"requests", "instructions"}},
                                 multiply([](auto... a) { return v1::run(a...); }), refuse_but_multiply),
      make_step<ElementwiseCase>({"v2",
                                  "grid_stride",
                                  "v1",
                                  "Blocks for some waves; each thread goes on by the grid's width.",
                                  {"instructions"}},
                                 multiply([](auto... a) { return v2::run(a...); }), refuse_but_multiply),
      make_step<ElementwiseCase>({"v3", "packs", "v2", "16 bytes an access, and a scalar tail.", {"requests"}},
                                 multiply([](auto... a) { return v3::run(a...); }), refuse_packs),
      make_step<ElementwiseCase>({"v4", "packed_math", "v3", "Two halves an instruction.", {"instructions"}},
                                 multiply(kPackedMath), refuse_pairs),
      make_step<ElementwiseCase>(
          {"v5a", "packs_in_flight", "v3", "A thread starts the loads of several packs before it waits."},
          multiply([](auto... a) { return v5a::run(a...); }), refuse_packs),
      make_step<ElementwiseCase>(
          {"v5b", "one_tile", "v5a", "A block for each tile: the hardware hands them out in order.", {"instructions"}},
          multiply([](auto... a) { return v5b::run(a...); }), refuse_packs),
      make_step<ElementwiseCase>({"v5c",
                                  "streaming",
                                  "v5b",
                                  "Results that nobody reads soon leave the L2 first.",
                                  {"memory reads", "memory writes"}},
                                 multiply([](auto... a) { return v5c::run(a...); }), refuse_packs),
      make_step<ElementwiseCase>(
          {"v6", "template", "", "Any function, types and alignment: what elementwise.cuh gives away."}, run_template),
  };
}

std::vector<CaseSpec> cases() {
  return {
      {"n=65536 op=mul dtype=float"},
      {"n=65536 op=mul dtype=half"},
      {"n=65536 op=mul dtype=bfloat16"},
      {"n=65536 op=mul dtype=mixed"},
      {"n=65536 op=scale dtype=half"},
      {"n=65536 op=fma dtype=float"},
      {"n=65537 op=mul dtype=float offset=1"},
      {"n=65537 op=mul dtype=half offset=0,1,3"},
      // The sizes, float and half.
      {"n=1024 op=mul dtype=float"},
      {"n=1024 op=mul dtype=half"},
      {"n=16384 op=mul dtype=float"},
      {"n=16384 op=mul dtype=half"},
      {"n=262144 op=mul dtype=float"},
      {"n=262144 op=mul dtype=half"},
      {"n=1048576 op=mul dtype=float"},
      {"n=1048576 op=mul dtype=half"},
      {"n=4194304 op=mul dtype=float"},
      {"n=4194304 op=mul dtype=half"},
      {"n=33554432 op=mul dtype=float", kHeadline, "n=1048576 op=mul dtype=float"},
      {"n=33554432 op=mul dtype=half", kHeadline, "n=1048576 op=mul dtype=half"},
      {"n=268435456 op=mul dtype=float"},
      {"n=268435456 op=mul dtype=half"},
      {"n=2147483659 op=mul dtype=half"},  // Above 2^31.
      // Every operation and type.
      {"n=33554432 op=mul dtype=bfloat16"},
      {"n=33554432 op=mul dtype=mixed"},
      {"n=33554432 op=scale dtype=float"},
      {"n=33554432 op=scale dtype=half"},
      {"n=33554432 op=scale dtype=bfloat16"},
      {"n=33554432 op=scale dtype=mixed"},
      {"n=33554432 op=fma dtype=float"},
      {"n=33554432 op=fma dtype=half"},
      {"n=33554432 op=fma dtype=bfloat16"},
      // Views: all arrays displaced by the same, by different numbers of elements; a prime length.
      {"n=33554432 op=mul dtype=float offset=1"},
      {"n=33554432 op=mul dtype=float offset=0,1,2"},
      {"n=33554432 op=mul dtype=half offset=1"},
      {"n=33554432 op=mul dtype=half offset=0,1,0"},
      {"n=33554432 op=mul dtype=half offset=3,1,6"},
      {"n=33554432 op=mul dtype=mixed offset=0,1,2"},
      {"n=33554393 op=mul dtype=float"},
      {"n=33554393 op=mul dtype=half offset=1,2,3"},
  };
}

}  // namespace

Chapter chapter() {
  Chapter chapter;
  chapter.number = 1;
  chapter.name = "elementwise";
  chapter.title = "Elementwise: a function of each element, at the speed of the memory";
  chapter.steps = steps();
  chapter.cases = cases();
  chapter.case_help = elementwise_case_help();
  chapter.make_case = [](const Parameters& parameters) -> std::unique_ptr<Case> {
    return std::make_unique<ElementwiseCase>(parameters);
  };
  return chapter;
}

}  // namespace warpbook::chapter1
