// Every step of chapter 1 against the reference, through the harness's own verification; and the take-away functions'
// judgement of their arguments, with types and functions that the chapter itself does not use.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "chapters/chapter1_elementwise/elementwise.cuh"
#include "chapters/chapter1_elementwise/elementwise_case.hpp"
#include "common/harness/device.hpp"
#include "common/harness/make_step.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/dice.hpp"
#include "tests/chapters/step_verifier.hpp"

namespace warpbook::chapter1 {

Chapter chapter();  // chapter.cu

namespace {

// ------------------------------------------------------------------------------------------------------- the cases

const std::vector<std::string> kTypes = {"float", "half", "bfloat16", "mixed"};
const std::vector<std::string> kOperations = {"mul", "scale", "fma"};

std::string case_text(std::int64_t count, const std::string& operation, const std::string& dtype,
                      const std::string& offset) {
  return "n=" + std::to_string(count) + " op=" + operation + " dtype=" + dtype + " offset=" + offset;
}

bool exists(const std::string& operation, const std::string& dtype) { return operation != "fma" || dtype != "mixed"; }

int arrays_of(const std::string& operation) { return operation == "scale" ? 2 : operation == "mul" ? 3 : 4; }

/// Lengths around packs, tiles and blocks, aligned and with arrays that begin anywhere.
std::vector<std::string> awkward_cases() {
  std::vector<std::string> cases;
  for (const std::string& dtype : kTypes) {
    for (const std::int64_t count :
         {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 127, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 16411}) {
      cases.push_back(case_text(count, "mul", dtype, "0"));
    }
    for (const std::int64_t count : {1, 5, 13, 30, 31, 32, 33, 2049}) {
      for (const std::string& operation : kOperations) {
        if (!exists(operation, dtype)) continue;
        cases.push_back(case_text(count, operation, dtype, "1"));
        cases.push_back(
            case_text(count, operation, dtype,
                      operation == "scale" ? "0,3" : "0,1,2" + std::string(operation == "fma" ? ",7" : "")));
      }
    }
  }
  // Enough elements for v6 to move packs, aligned and shifted.
  for (const std::string& dtype : kTypes) {
    for (const std::string& operation : kOperations) {
      if (!exists(operation, dtype)) continue;
      cases.push_back(case_text(262'157, operation, dtype, "0"));
      cases.push_back(case_text(262'144, operation, dtype,
                                operation == "scale" ? "0,3" : "1,0,2" + std::string(operation == "fma" ? ",7" : "")));
    }
  }
  // Each displacement of each array of halves against the others.
  for (int z = 0; z < 8; ++z) {
    for (int x = 0; x < 8; ++x) {
      cases.push_back(case_text(
          517, "mul", "half", std::to_string(z) + "," + std::to_string(x) + "," + std::to_string((3 * z + 5 * x) % 8)));
    }
  }
  return cases;
}

std::string random_case(Dice& dice) {
  const std::string operation = dice.pick(kOperations);
  std::string dtype = dice.pick(kTypes);
  if (!exists(operation, dtype)) dtype = "half";
  std::string offset = "0";
  if (dice.one_in(2)) {
    offset = std::to_string(dice.uniform(0, 17));
    const int arrays = dice.one_in(4) ? 1 : arrays_of(operation);
    for (int k = 1; k < arrays; ++k) offset += "," + std::to_string(dice.uniform(0, 17));
  }
  return case_text(dice.log_uniform(1, 20'000), operation, dtype, offset);
}

/// z = f(x...) as v6 computes it for many elements, for arrays of any size.
template <class Factory, class Z, class... X>
cudaError_t run_by_packs(const Factory& factory, Z* z, std::int64_t count, cudaStream_t stream, const X*... x) {
  const auto cut = v6::cut_arrays(count, z, x...);
  const v6::Kernel kernel = cut.shifted() ? v6::Kernel::shifted_packs : v6::Kernel::packs;
  return v6::run_kernel(kernel, cut, factory, z, count, stream, x...);
}

Step packs_step() {
  StepInfo info{.version = "v6, by packs", .name = "", .base = "", .idea = ""};
  const auto run = [](const ElementwiseCase& c, const Arrays& arrays, cudaStream_t stream) {
    const auto multiply = [&]<class T>(T) {
      return c.count() == 0 ? cudaSuccess
                            : run_by_packs(detail::Always<Multiply>{}, static_cast<T*>(arrays.output), c.count(),
                                           stream, static_cast<const T*>(arrays.inputs[0]),
                                           static_cast<const T*>(arrays.inputs[1]));
    };
    return c.output_type() == Type::half ? multiply(__half{}) : multiply(float{});
  };
  const auto refuse = [](const ElementwiseCase& c) {
    const bool taken = c.operation() == Operation::multiply && !c.mixed() && c.output_type() != Type::bfloat16;
    return taken ? nullptr : "multiplies floats and halves only";
  };
  return make_step<ElementwiseCase>(info, run, refuse);
}

/// The rule that decides on a case's arrays, by where the harness puts them.
const v6::Rule& rule_for(const Case& c) {
  const auto place = [](const BufferLayout& b) {
    return Placement{static_cast<std::uintptr_t>(256 + b.offset_bytes), b.element_bytes};
  };
  const Placement inputs[] = {place(c.inputs()[0]), place(c.inputs()[1])};
  const int width = 16 / c.output().element_bytes;
  return v6::choose(v6::extent(c.output().elements, cut(c.output().elements, width, place(c.output()), inputs)));
}

constexpr int kRandomCases = 300;

// ------------------------------------------------------------------------------------ functions of other people's

struct Plus {
  template <class T> __device__ T operator()(T x, T y) const { return static_cast<T>(x + y); }
};

struct Widen {
  __device__ double operator()(std::int8_t x) const { return x; }
};

/// Of inputs of three widths.
struct Pick {
  __device__ std::int64_t operator()(std::uint8_t x, std::uint16_t y, std::int64_t w) const { return x + 1000 * y + w; }
};

/// A function with state on the device.
struct AddTo {
  const int* where = nullptr;
  struct Function {
    int term = 0;
    __device__ int operator()(int x) const { return x + term; }
  };
  __device__ Function operator()() const { return {*where}; }
};

/// Runs a function as the take-away does, and again by packs, however few elements there are. Leaves the second result,
/// for the caller to judge; an error where the first was another.
template <class F, class Z, class... X> cudaError_t run_both(const F& f, Z* z, std::int64_t count, const X*... x) {
  std::vector<Z> first(static_cast<std::size_t>(count));
  std::vector<Z> second(first.size());
  const std::size_t bytes = first.size() * sizeof(Z);
  check(elementwise(f, z, x..., count, nullptr), "elementwise");
  check(cudaMemcpy(first.data(), z, bytes, cudaMemcpyDeviceToHost), "copying");
  check(cudaMemset(z, 0x5a, bytes), "clearing");
  check(run_by_packs(detail::Always<F>{f}, z, count, nullptr, x...), "elementwise, by packs");
  check(cudaMemcpy(second.data(), z, bytes, cudaMemcpyDeviceToHost), "copying");
  return first == second ? cudaSuccess : cudaErrorUnknown;
}

/// An array on the device that begins `offset` elements behind its allocation and ends where that ends.
template <class T> class Array {
public:
  Array(std::int64_t count, std::int64_t offset)
      : values_(static_cast<std::size_t>(count)), buffer_(static_cast<std::size_t>(count + offset) * sizeof(T)),
        offset_(offset) {
    for (std::int64_t i = 0; i < count; ++i) values_[static_cast<std::size_t>(i)] = static_cast<T>(i * 37 % 101);
    check(cudaMemcpy(data(), values_.data(), values_.size() * sizeof(T), cudaMemcpyHostToDevice), "copying");
  }

  T* data() const { return reinterpret_cast<T*>(buffer_.data()) + offset_; }
  /// What was put there.
  T operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  /// What is there now.
  std::vector<T> now() const {
    std::vector<T> result(values_.size());
    check(cudaMemcpy(result.data(), data(), result.size() * sizeof(T), cudaMemcpyDeviceToHost), "copying");
    return result;
  }

private:
  std::vector<T> values_;
  DeviceBuffer buffer_;
  std::int64_t offset_;
};

}  // namespace

// ------------------------------------------------------------------------------------------------------- the tests

TEST_CASE("chapter 1: every step agrees with the reference") {
  const std::uint64_t seed = test_seed();
  std::cout << "WARPBOOK_TEST_SEED=" << seed << std::endl;
  Dice dice(seed);
  std::vector<std::string> cases = fuzzing() ? std::vector<std::string>{} : awkward_cases();
  for (int i = 0; i < random_case_count(kRandomCases); ++i) cases.push_back(random_case(dice));
  if (!fuzzing()) REQUIRE(cases.size() >= 500);

  std::vector<Step> steps = chapter().steps;
  steps.push_back(packs_step());
  StepVerifier verifier(chapter(), steps);
  for (const std::string& parameters : cases) verifier.verify(parameters, seed);
  std::cout << cases.size() << " cases" << std::endl;
  for (const auto& [version, tally] : verifier.tallies()) {
    std::cout << "  " << version << ": ran " << tally.ran << std::endl;
    INFO(version);
    CHECK(tally.ran >= (version == "v6" ? static_cast<int>(cases.size()) : least_runs(50, cases.size())));
  }
}

TEST_CASE("chapter 1: a step that walks takes more than one turn") {
  // More packs than 32 waves of blocks would be 17 million floats; the emulator's device has as many multiprocessors as
  // an H200. One such case, of the smallest elements.
  const Chapter chapter = chapter1::chapter();
  const std::unique_ptr<Case> problem = chapter.make_case(Parameters::parse("n=8700001 op=mul dtype=half"));
  for (const Step& step : chapter.steps) {
    if (step.version != "v2" && step.version != "one_wave") continue;
    const Verification found = verify_step(step, *problem, test_seed());
    INFO(found.reason);
    CHECK(found.status == Status::pass);
  }
}

TEST_CASE("chapter 1: each rule of v6 decides the recorded case that it names") {
  const Chapter chapter = chapter1::chapter();
  for (const v6::Rule& rule : v6::kRules) {
    INFO(rule.evidence);
    const bool recorded = std::any_of(chapter.cases.begin(), chapter.cases.end(),
                                      [&](const CaseSpec& spec) { return spec.parameters == rule.evidence; });
    CHECK(recorded);
    CHECK(&rule_for(*chapter.make_case(Parameters::parse(rule.evidence))) == &rule);
  }
}

TEST_CASE("elementwise takes any types") {
  // Singly, by packs, shifted.
  for (const std::int64_t count : {1, 64, 1000, 4099}) {
    for (std::int64_t offset = 0; offset < 17; offset += 3) {
      INFO("count " << count << " offset " << offset);
      const Array<std::int8_t> bytes(count, offset);
      const Array<double> doubles(count, offset % 3);
      REQUIRE(run_both(Widen{}, doubles.data(), count, bytes.data()) == cudaSuccess);
      const std::vector<double> widened = doubles.now();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) wrong += widened[static_cast<std::size_t>(i)] == bytes[i] ? 0 : 1;
      CHECK(wrong == 0);

      const Array<std::int8_t> other(count, (offset + 5) % 16);
      const Array<std::int8_t> sums(count, (offset * 7) % 16);
      REQUIRE(run_both(Plus{}, sums.data(), count, bytes.data(), other.data()) == cudaSuccess);
      const std::vector<std::int8_t> summed = sums.now();
      for (std::int64_t i = 0; i < count; ++i) {
        wrong += summed[static_cast<std::size_t>(i)] == static_cast<std::int8_t>(bytes[i] + other[i]) ? 0 : 1;
      }
      CHECK(wrong == 0);

      const Array<std::uint8_t> x(count, offset);
      const Array<std::uint16_t> y(count, offset % 5);
      const Array<std::int64_t> w(count, 1);
      const Array<std::int64_t> picks(count, offset % 2);
      REQUIRE(run_both(Pick{}, picks.data(), count, x.data(), y.data(), w.data()) == cudaSuccess);
      const std::vector<std::int64_t> picked = picks.now();
      for (std::int64_t i = 0; i < count; ++i) {
        wrong += picked[static_cast<std::size_t>(i)] == x[i] + 1000 * y[i] + w[i] ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("elementwise works in place, with another input shifted") {
  constexpr std::int64_t kCount = 3001;
  const Array<float> x(kCount, 1);
  const Array<float> y(kCount, 2);
  REQUIRE(run_by_packs(detail::Always<Plus>{}, x.data(), kCount, nullptr, x.data(), y.data()) == cudaSuccess);
  const std::vector<float> sums = x.now();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < kCount; ++i) wrong += sums[static_cast<std::size_t>(i)] == x[i] + y[i] ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("a factory reads its state on the device") {
  constexpr std::int64_t kCount = 1000;
  const Array<int> x(kCount, 0);
  const Array<int> z(kCount, 0);
  const Array<int> term(8, 0);
  REQUIRE(elementwise_with_factory(AddTo{term.data() + 7}, z.data(), x.data(), kCount, nullptr) == cudaSuccess);
  const std::vector<int> sums = z.now();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < kCount; ++i) wrong += sums[static_cast<std::size_t>(i)] == x[i] + term[7] ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("elementwise refuses what it cannot do") {
  const Array<float> x(100, 0);
  const Array<float> z(100, 0);
  float* const none = nullptr;
  auto* const askew = reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(x.data()) + 2);
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 4 + 1;
  const auto plus = [&](float* out, const float* a, const float* b, std::int64_t count) {
    return elementwise(Plus{}, out, a, b, count, nullptr);
  };
  CHECK(plus(z.data(), x.data(), x.data(), 100) == cudaSuccess);
  CHECK(plus(z.data(), x.data(), x.data(), -1) == cudaErrorInvalidValue);
  CHECK(plus(z.data(), x.data(), x.data(), kHuge) == cudaErrorInvalidValue);
  CHECK(plus(none, x.data(), x.data(), 100) == cudaErrorInvalidValue);
  CHECK(plus(z.data(), none, x.data(), 100) == cudaErrorInvalidValue);
  CHECK(plus(z.data(), x.data(), none, 100) == cudaErrorInvalidValue);
  CHECK(plus(askew, x.data(), x.data(), 10) == cudaErrorInvalidValue);
  CHECK(plus(z.data(), x.data(), askew, 10) == cudaErrorInvalidValue);
  CHECK(plus(none, none, none, 0) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

}  // namespace warpbook::chapter1
