/// \file
/// Chapter 1 as data: its ladder, asides and cases.

#include "chapters/chapter1_elementwise/asides/one_wave.cuh"
#include "chapters/chapter1_elementwise/asides/packed_math.cuh"
#include "chapters/chapter1_elementwise/asides/packs_in_flight.cuh"
#include "chapters/chapter1_elementwise/asides/streaming.cuh"
#include "chapters/chapter1_elementwise/elementwise.cuh"
#include "chapters/chapter1_elementwise/elementwise_case.hpp"
#include "chapters/chapter1_elementwise/v1_naive.cuh"
#include "chapters/chapter1_elementwise/v2_grid_stride.cuh"
#include "chapters/chapter1_elementwise/v3_packs.cuh"
#include "chapters/chapter1_elementwise/v4_in_order.cuh"
#include "chapters/chapter1_elementwise/v5_any_alignment.cuh"
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

/// The kernels of each step that multiplies, for every type. `packed_math` takes pairs; others are refused before.
constexpr auto kV1 = [](auto... arguments) { return v1::run(arguments...); };
constexpr auto kV2 = [](auto... arguments) { return v2::run(arguments...); };
constexpr auto kV3 = [](auto... arguments) { return v3::run(arguments...); };
constexpr auto kV4 = [](auto... arguments) { return v4::run(arguments...); };
constexpr auto kV5 = [](auto... arguments) { return v5::run(arguments...); };
constexpr auto kOneWave = [](auto... arguments) { return one_wave::run(arguments...); };
constexpr auto kPacksInFlight = [](auto... arguments) { return packs_in_flight::run(arguments...); };
constexpr auto kStreaming = [](auto... arguments) { return streaming::run(arguments...); };
constexpr auto kPackedMath = []<class T>(T* z, const T* x, const T* y, std::int64_t count, cudaStream_t stream) {
  if constexpr (sizeof(T) == 2) return packed_math::run(z, x, y, count, stream);
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

std::vector<Step> ladder() {
  using C = ElementwiseCase;
  return {
      make_step<C>({.version = "v1", .name = "naive", .base = "", .idea = "One thread per element.", .counters = {"requests", "sectors/request"}}, multiply(kV1), refuse_but_multiply),
      make_step<C>({.version = "v2", .name = "grid_stride", .base = "v1", .idea = "Fewer blocks, which go on by the grid's width.", .counters = {"requests", "instructions"}}, multiply(kV2), refuse_but_multiply),
      make_step<C>({.version = "v3", .name = "packs", .base = "v2", .idea = "16 bytes per access, and a scalar tail.", .counters = {"requests", "sectors", "instructions"}}, multiply(kV3), refuse_packs),
      make_step<C>({.version = "v4", .name = "in_order", .base = "v3", .idea = "One pack per thread and no loop: blocks run in order.", .counters = {"requests", "instructions"}, .prepares = "v5: a grid with a block for the edges"}, multiply(kV4), refuse_packs),
      make_step<C>({.version = "v5", .name = "any_alignment", .base = "v4", .idea = "Arrays that begin anywhere, by packs all the same.", .counters = {"requests", "sectors", "instructions"}}, multiply(kV5), refuse_but_multiply),
      make_step<C>({.version = "v6", .name = "dispatch", .base = "", .idea = "Any function and types: what elementwise.cuh gives away.", .counters = {"requests", "instructions"}}, run_template),
  };
}

std::vector<Step> asides() {
  using C = ElementwiseCase;
  using enum StepKind;
  return {
      make_step<C>({.version = "one_wave", .name = "one_wave", .base = "v3", .idea = "One wave of blocks, which stay until everything is done.", .counters = {"requests", "instructions"}, .kind = aside}, multiply(kOneWave), refuse_packs),
      make_step<C>({.version = "packed_math", .name = "packed_math", .base = "v4", .idea = "Two halves per instruction, as the compiler has it already.", .counters = {"instructions"}, .kind = aside}, multiply(kPackedMath), refuse_pairs),
      make_step<C>({.version = "packs_in_flight", .name = "packs_in_flight", .base = "v4", .idea = "Two packs under way per thread, where one is enough.", .counters = {"requests", "instructions"}, .kind = aside}, multiply(kPacksInFlight), refuse_packs),
      make_step<C>({.version = "streaming", .name = "streaming", .base = "v4", .idea = "Results that nobody reads soon leave the L2 first.", .counters = {"memory reads", "memory writes"}, .kind = aside}, multiply(kStreaming), refuse_packs),
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
      {"n=33554432 op=mul dtype=half offset=3,1,6", kHeadline, "n=1048576 op=mul dtype=half offset=3,1,6"},
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
  for (const auto& kernels : {ladder(), asides()}) {
    chapter.steps.insert(chapter.steps.end(), kernels.begin(), kernels.end());
  }
  chapter.cases = cases();
  chapter.case_help = elementwise_case_help();
  chapter.make_case = [](const Parameters& parameters) -> std::unique_ptr<Case> {
    return std::make_unique<ElementwiseCase>(parameters);
  };
  return chapter;
}

}  // namespace warpbook::chapter1
