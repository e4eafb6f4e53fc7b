/// \file
/// cuRAND's generators for the host, over what kernels draw by. A generator is many sequences of one seed, and its
/// numbers come from them in turn:
///
///     XORWOW           4096 sequences, one number from each
///     MRG32k3a         81920 sequences (4096 in the legacy order), one number from each
///     Philox4_32_10    65536 sequences, four numbers from each
///
/// Normal numbers are drawn in pairs, or four at a time. Found by comparing with cuRAND 10.4's generators for the host.
#include "common/emulator/include/curand.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <variant>
#include <vector>

#include "common/emulator/include/curand_kernel.h"
#include "common/emulator/include/warpbook_library.h"

namespace {

using warpbook::emulator::LibraryCall;
using warpbook::emulator::LibraryOperand;

/// The sequences of a seed, each where it stands; made when their turn comes first.
template <class State> class Sequences {
public:
  Sequences(unsigned long long seed, unsigned long long offset, std::size_t count)
      : seed_(seed), count_(count), turn_(offset / kAtATurn % count), taken_(offset % kAtATurn), offset_(offset) {}

  /// Calls `draw(state)` for the next sequences until there are n numbers. It returns an array of so many at a time.
  template <class T, class Draw> void fill(T* out, std::size_t n, Draw draw) {
    std::size_t done = 0;
    while (done < n) {
      for (const T value : draw(state())) {
        if (done < n) out[done++] = value;
      }
      turn_ = (turn_ + 1) % count_;
    }
  }
  /// The same for single numbers, of which several are taken at a turn; a turn may end in the next call.
  template <class T, class Draw> void fill_singly(T* out, std::size_t n, Draw draw) {
    for (std::size_t done = 0; done < n; ++done) {
      out[done] = draw(state());
      if (++taken_ == kAtATurn) {
        taken_ = 0;
        turn_ = (turn_ + 1) % count_;
      }
    }
  }

private:
  static constexpr std::size_t kAtATurn = std::is_same_v<State, curandStatePhilox4_32_10> ? 4 : 1;

  State* state() {
    while (states_.size() <= turn_) {
      State made;
      if (states_.empty()) {
        curand_init(seed_, 0, 0, &made);
      } else {
        made = unmoved_;
        next_sequence(&made);
      }
      unmoved_ = made;
      skipahead(drawn_before(states_.size()), &made);
      states_.push_back(made);
    }
    return &states_[turn_];
  }
  static void next_sequence(curandStateMRG32k3a* state) { skipahead_subsequence(1, state); }
  template <class Other> static void next_sequence(Other* state) { skipahead_sequence(1, state); }

  /// How many numbers of a sequence come before the generator's offset.
  unsigned long long drawn_before(std::size_t sequence) const {
    const unsigned long long round = count_ * kAtATurn;
    const unsigned long long in_round = offset_ % round;
    const unsigned long long begin = sequence * kAtATurn;
    return offset_ / round * kAtATurn +
           (in_round <= begin ? 0 : std::min<unsigned long long>(in_round - begin, kAtATurn));
  }

  unsigned long long seed_;
  std::size_t count_;
  std::size_t turn_;
  std::size_t taken_;
  unsigned long long offset_;
  State unmoved_{};
  std::vector<State> states_;
};

using AnySequences =
    std::variant<Sequences<curandStateXORWOW>, Sequences<curandStateMRG32k3a>, Sequences<curandStatePhilox4_32_10>>;

/// What a generator is made of; operations under way share it.
struct Settings {
  curandRngType_t type;
  bool on_host;
  cudaStream_t stream = nullptr;
  unsigned long long seed = 0;
  unsigned long long offset = 0;
  bool legacy = false;
  std::shared_ptr<AnySequences> sequences;

  void restart() {
    switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
      sequences = std::make_shared<AnySequences>(Sequences<curandStateXORWOW>(seed, offset, 4096));
      break;
    case CURAND_RNG_PSEUDO_MRG32K3A:
      sequences = std::make_shared<AnySequences>(Sequences<curandStateMRG32k3a>(seed, offset, legacy ? 4096 : 81'920));
      break;
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      sequences = std::make_shared<AnySequences>(Sequences<curandStatePhilox4_32_10>(seed, offset, 65'536));
      break;
    }
  }
};

// ---- What is drawn at a turn

struct Turn {
  template <class State> static std::array<double, 1> uniform_double(State* state) {
    return {curand_uniform_double(state)};
  }
  static std::array<double, 4> uniform_double(curandStatePhilox4_32_10* state) {
    const double2 first = curand_uniform2_double(state);
    const double2 second = curand_uniform2_double(state);
    return {first.x, first.y, second.x, second.y};
  }
  template <class State> static std::array<float, 2> normal(State* state) {
    const float2 pair = curand_normal2(state);
    return {pair.x, pair.y};
  }
  static std::array<float, 4> normal(curandStatePhilox4_32_10* state) {
    const float4 all = curand_normal4(state);
    return {all.x, all.y, all.z, all.w};
  }
  template <class State> static std::array<double, 2> normal_double(State* state) {
    const double2 pair = curand_normal2_double(state);
    return {pair.x, pair.y};
  }
  static std::array<double, 4> normal_double(curandStatePhilox4_32_10* state) {
    const double2 first = curand_normal2_double(state);
    const double2 second = curand_normal2_double(state);
    return {first.x, first.y, second.x, second.y};
  }
};

}  // namespace

struct curandGenerator_st : Settings {};

namespace {

/// Tells of the call that the status refuses; returns the status.
curandStatus_t refuse(const char* function, const void* pc, curandStatus_t status) {
  const bool no_generator = status == CURAND_STATUS_NOT_INITIALIZED;
  const bool type = status == CURAND_STATUS_TYPE_ERROR;
  const bool odd = status == CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  warpbook::emulator::library_refused(function, pc,
                                      no_generator ? "CURAND_STATUS_NOT_INITIALIZED"
                                      : type       ? "CURAND_STATUS_TYPE_ERROR"
                                      : odd        ? "CURAND_STATUS_LENGTH_NOT_MULTIPLE"
                                                   : "CURAND_STATUS_OUT_OF_RANGE",
                                      status,
                                      no_generator ? "the generator was not created"
                                      : type       ? "there is no such generator, or it is not emulated"
                                      : odd        ? "normal numbers come in pairs"
                                                   : "a parameter is out of its range");
  return status;
}

curandStatus_t create(const char* function, const void* pc, curandGenerator_t* generator, curandRngType_t type,
                      bool on_host) {
  if (generator == nullptr) return refuse(function, pc, CURAND_STATUS_NOT_INITIALIZED);
  auto made = std::make_unique<curandGenerator_st>();
  made->type = type;
  made->on_host = on_host;
  made->restart();
  if (made->sequences == nullptr) return refuse(function, pc, CURAND_STATUS_TYPE_ERROR);
  int count = 0;
  if (!on_host && cudaGetDeviceCount(&count) != cudaSuccess) return CURAND_STATUS_INITIALIZATION_FAILED;
  *generator = made.release();
  return CURAND_STATUS_SUCCESS;
}

/// Writes n numbers at the generator's place in its stream, or at once. `fill(sequences)` makes them.
template <class T, class Fill>
curandStatus_t generate(const char* function, const void* pc, curandGenerator_t generator, T* out, std::size_t n,
                        Fill fill) {
  if (generator == nullptr) return refuse(function, pc, CURAND_STATUS_NOT_INITIALIZED);
  const auto run = [sequences = generator->sequences, fill] { std::visit(fill, *sequences); };
  if (generator->on_host) {
    run();
    return CURAND_STATUS_SUCCESS;
  }
  LibraryCall call;
  call.function = function;
  call.pc = pc;
  call.stream = generator->stream;
  call.flops = 10.0 * static_cast<double>(n);
  call.element_bytes = sizeof(T);
  call.operands = [=] {
    return std::vector<LibraryOperand>{{"outputPtr", out, n * sizeof(T), 1, n * sizeof(T), true}};
  };
  call.run = run;
  return warpbook::emulator::run_library_call(std::move(call)) == cudaSuccess ? CURAND_STATUS_SUCCESS
                                                                              : CURAND_STATUS_LAUNCH_FAILURE;
}

/// Normal numbers, each of which becomes `make(number)`.
template <class T, class Make>
curandStatus_t generate_normal(const char* function, const void* pc, curandGenerator_t generator, T* out, std::size_t n,
                               T stddev, Make make) {
  if (n % 2 != 0) return refuse(function, pc, CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  if (stddev < 0) return refuse(function, pc, CURAND_STATUS_OUT_OF_RANGE);
  return generate(function, pc, generator, out, n, [=](auto& sequences) {
    sequences.fill(out, n, [&](auto* state) {
      if constexpr (sizeof(T) == sizeof(float)) {
        auto numbers = Turn::normal(state);
        for (T& each : numbers) each = make(each);
        return numbers;
      } else {
        auto numbers = Turn::normal_double(state);
        for (T& each : numbers) each = make(each);
        return numbers;
      }
    });
  });
}

/// Changes a setting and begins anew.
template <class Change>
curandStatus_t restart(const char* function, const void* pc, curandGenerator_t generator, Change change) {
  if (generator == nullptr) return refuse(function, pc, CURAND_STATUS_NOT_INITIALIZED);
  change();
  generator->restart();
  return CURAND_STATUS_SUCCESS;
}

}  // namespace

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return create(WARPBOOK_HERE, generator, type, false);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return create(WARPBOOK_HERE, generator, type, true);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (generator == nullptr) return refuse(WARPBOOK_HERE, CURAND_STATUS_NOT_INITIALIZED);
  const std::unique_ptr<curandGenerator_st> owned(generator);
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int* version) {
  if (version == nullptr) return refuse(WARPBOOK_HERE, CURAND_STATUS_OUT_OF_RANGE);
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (generator == nullptr) return refuse(WARPBOOK_HERE, CURAND_STATUS_NOT_INITIALIZED);
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  return restart(WARPBOOK_HERE, generator, [&] { generator->seed = seed; });
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  return restart(WARPBOOK_HERE, generator, [&] { generator->offset = offset; });
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  if (order != CURAND_ORDERING_PSEUDO_BEST && order != CURAND_ORDERING_PSEUDO_DEFAULT &&
      order != CURAND_ORDERING_PSEUDO_LEGACY) {
    return refuse(WARPBOOK_HERE, CURAND_STATUS_OUT_OF_RANGE);
  }
  return restart(WARPBOOK_HERE, generator, [&] { generator->legacy = order == CURAND_ORDERING_PSEUDO_LEGACY; });
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return generator == nullptr ? CURAND_STATUS_NOT_INITIALIZED : CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* out, std::size_t n) {
  return generate(WARPBOOK_HERE, generator, out, n,
                  [=](auto& sequences) { sequences.fill_singly(out, n, [](auto* state) { return curand(state); }); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, std::size_t n) {
  return generate(WARPBOOK_HERE, generator, out, n, [=](auto& sequences) {
    sequences.fill_singly(out, n, [](auto* state) { return curand_uniform(state); });
  });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, std::size_t n) {
  return generate(WARPBOOK_HERE, generator, out, n, [=](auto& sequences) {
    sequences.fill(out, n, [](auto* state) { return Turn::uniform_double(state); });
  });
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, std::size_t n, float mean, float stddev) {
  return generate_normal(WARPBOOK_HERE, generator, out, n, stddev, [=](float x) { return mean + stddev * x; });
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, std::size_t n, double mean,
                                          double stddev) {
  return generate_normal(WARPBOOK_HERE, generator, out, n, stddev, [=](double x) { return mean + stddev * x; });
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out, std::size_t n, float mean,
                                       float stddev) {
  return generate_normal(WARPBOOK_HERE, generator, out, n, stddev,
                         [=](float x) { return std::exp(mean + stddev * x); });
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* out, std::size_t n, double mean,
                                             double stddev) {
  return generate_normal(WARPBOOK_HERE, generator, out, n, stddev,
                         [=](double x) { return std::exp(mean + stddev * x); });
}
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int* out, std::size_t n, double mean) {
  if (!(mean > 0) || mean > 400'000) return refuse(WARPBOOK_HERE, CURAND_STATUS_OUT_OF_RANGE);
  return generate(WARPBOOK_HERE, generator, out, n, [=](auto& sequences) {
    sequences.fill_singly(out, n, [=](auto* state) { return curand_poisson(state, mean); });
  });
}
