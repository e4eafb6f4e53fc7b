/// \file
/// Chapter 1 as data: its ladder, asides, library kernel and cases.

#include "chapters/chapter1_elementwise/asides/one_wave.cuh"
#include "chapters/chapter1_elementwise/asides/packed_math.cuh"
#include "chapters/chapter1_elementwise/asides/packs_in_flight.cuh"
#include "chapters/chapter1_elementwise/asides/streaming.cuh"
#include "chapters/chapter1_elementwise/elementwise.cuh"
#include "chapters/chapter1_elementwise/elementwise_case.hpp"
#include "chapters/chapter1_elementwise/library/single_packs.cuh"
#include "chapters/chapter1_elementwise/v1_naive.cuh"
#include "chapters/chapter1_elementwise/v2_grid_stride.cuh"
#include "chapters/chapter1_elementwise/v3_packs.cuh"
#include "chapters/chapter1_elementwise/v4_in_order.cuh"
#include "chapters/chapter1_elementwise/v5_any_alignment.cuh"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter1 {
namespace {

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

/// The kernels of each step that multiplies, for every type.
#define MULTIPLY(step) multiply([](auto... arguments) { return step::run(arguments...); })

constexpr auto kPackedMath = []<class T>(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if constexpr (sizeof(T) == 2) return packed_math::run(z, x, y, count, stream);
  return cudaErrorNotSupported;  // Refused before.
};

constexpr auto kSinglePacks = []<class T>(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  return count == 0 ? cudaSuccess : single_packs::run(detail::Always<Multiply>{}, z, count, stream, x, y);
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
  using C = StepsOf<ElementwiseCase>;
  return {
      C::step("v1", "naive", "", "One thread per element.", {"requests", "sectors/request"}, MULTIPLY(v1),
              refuse_but_multiply),
      C::step("v2", "grid_stride", "v1", "Fewer blocks, which go on by the grid's width.", {"requests", "instructions"},
              MULTIPLY(v2), refuse_but_multiply),
      C::step("v3", "packs", "v2", "16 bytes per access, and a scalar tail.", {"requests", "sectors", "instructions"},
              MULTIPLY(v3), refuse_packs),
      C::preparing("v5: a grid with a block for the edges", "v4", "in_order", "v3",
                   "One pack per thread and no loop: blocks run in order.", {"requests", "instructions"}, MULTIPLY(v4),
                   refuse_packs),
      C::step("v5", "any_alignment", "v4", "Arrays that begin anywhere, by packs all the same.",
              {"requests", "sectors", "instructions"}, MULTIPLY(v5), refuse_but_multiply),
      C::step("v6", "dispatch", "", "Any function and types: what elementwise.cuh gives away.",
              {"requests", "instructions"}, run_template),
      C::aside("one_wave", "v3", "One wave of blocks, which stay until everything is done.",
               {"requests", "instructions"}, MULTIPLY(one_wave), refuse_packs),
      C::aside("packed_math", "v4", "Two halves per instruction, as the compiler has it already.", {"instructions"},
               multiply(kPackedMath), refuse_pairs),
      C::aside("packs_in_flight", "v4", "Two packs under way per thread, where one is enough.",
               {"requests", "instructions"}, MULTIPLY(packs_in_flight), refuse_packs),
      C::aside("streaming", "v4", "Results that nobody reads soon leave the L2 first.",
               {"memory reads", "memory writes"}, MULTIPLY(streaming), refuse_packs),
      C::library("single_packs", "Small arrays: one pack per thread, and nothing else.", multiply(kSinglePacks),
                 refuse_but_multiply),
  };
}

#undef MULTIPLY

std::vector<CaseSpec> cases() {
  return {
      {"n=65536 op=mul dtype={float|half|bfloat16|mixed}"},
      {"n=65536 op=scale dtype=half"},
      {"n=65536 op=fma dtype=float"},
      {"n=65537 op=mul dtype=float offset=1"},
      {"n=65537 op=mul dtype=half offset=0,1,3"},
      // The sizes, float and half.
      {"n={1024|16384|262144|1048576|4194304} op=mul dtype={float|half}"},
      {"n=33554432 op=mul dtype=float", kHeadline, "n=1048576 op=mul dtype=float"},
      {"n=33554432 op=mul dtype=half", kHeadline, "n=1048576 op=mul dtype=half"},
      {"n=268435456 op=mul dtype={float|half}"},
      {"n=2147483659 op=mul dtype=half"},  // Above 2^31.
      // Every operation and type.
      {"n=33554432 op=mul dtype={bfloat16|mixed}"},
      {"n=33554432 op=scale dtype={float|half|bfloat16|mixed}"},
      {"n=33554432 op=fma dtype={float|half|bfloat16}"},
      // Views: all arrays displaced by the same, by different numbers of elements; a prime length.
      {"n=33554432 op=mul dtype=float offset={1|0,1,2}"},
      {"n=33554432 op=mul dtype=half offset={1|0,1,0}"},
      {"n=33554432 op=mul dtype=half offset=3,1,6", kHeadline, "n=1048576 op=mul dtype=half offset=3,1,6"},
      {"n=33554432 op=mul dtype=mixed offset=0,1,2"},
      {"n=33554393 op=mul dtype=float"},
      {"n=33554393 op=mul dtype=half offset=1,2,3"},
  };
}

}  // namespace

Chapter chapter() {
  return {.number = 1,
          .name = "elementwise",
          .title = "Elementwise: a function of each element, at the speed of the memory",
          .steps = steps(),
          .cases = expanded(cases()),
          .case_help = elementwise_case_help(),
          .make_case = make_case<ElementwiseCase>};
}

}  // namespace warpbook::chapter1
