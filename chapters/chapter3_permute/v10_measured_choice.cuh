/// \file
/// v10 measured choice: the kernel that was fastest here, on this device and this problem.
///
/// v9's rules look at a shape and nothing else, and for a third of random problems some kernel that they did not take
/// is more than 5% faster (README.md). No counter foretells which: what a tile's sides do to a problem depends on how
/// its dimensions fall on lines, on the multiprocessors and on the L2, all at once. So here nothing is foretold. The
/// kernels that take the problem, v9's choice first among them, are run on the caller's own arrays and timed; the
/// fastest is remembered as a plan, and later calls use it. FFTW's planner does so (M. Frigo, S. G. Johnson, "The
/// design and implementation of FFTW3", Proceedings of the IEEE 93, 2005), and so do torch.compile's max-autotune and
/// the users of cuBLASLt's heuristics.
///
/// To the kernels of v9 it adds tiles of v7l and v7j with other sides: they cost a rule too much to tell when.
///
/// Expect v9's time at worst, but for noise; and where v9's rules are wrong, up to half of it. A plan costs some tens
/// of milliseconds once: it pays for what is permuted a thousand times.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "chapters/chapter3_permute/v7m_direct_tile.cuh"
#include "chapters/chapter3_permute/v7n_output_runs.cuh"
#include "chapters/chapter3_permute/v9_dispatch.cuh"

namespace warpbook::chapter3::v10 {

/// A kernel with its tile.
struct Candidate {
  std::string name;
  cudaError_t (*launch)(const Candidate& own, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream);
  v7j::TileShape shape{};    ///< Of composite tiles; of fixed ones only `least_bytes` counts.
  bool along_input = false;  ///< Fixed tiles that follow each other do so along the input.
  int group = 1;             ///< Rows that a load takes at most.

  /// Moves a simplified problem of rank 2 or more with elements.
  /// \return cudaErrorInvalidValue, with nothing launched, where the candidate does not take it; else as `launch`.
  cudaError_t run(const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) const {
    return launch(*this, q, src, dst, stream);
  }
};

namespace detail {

/// Whether columns of `least` bytes are the same dimensions as those of `other`: then they make no other tiles.
inline bool same_columns(const PermuteProblem& q, int least, int other) {
  return v7l::find_columns(q, least).count == v7l::find_columns(q, other).count;
}

template <class T>
cudaError_t launch_fixed(const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                         cudaStream_t stream) {
  if (v7l::refuse(q) != nullptr) return cudaErrorInvalidValue;
  if constexpr (T::kGroup > 1) {
    constexpr auto kLoad = static_cast<std::uintptr_t>(T::kGroup * T::kBytes);
    const bool aligned = reinterpret_cast<std::uintptr_t>(src) % kLoad == 0;
    if (keeps_last_dimension(q) || q.shape[q.rank - 1] % T::kGroup != 0 || !aligned) return cudaErrorInvalidValue;
  }
  for (const int usual : {64, 256, 1024}) {  // The least of those that make the same columns stands for them.
    if (usual < own.shape.least_bytes && same_columns(q, usual, own.shape.least_bytes)) return cudaErrorInvalidValue;
  }
  return v7l::run_arranged<T>(q, src, dst, stream, own.shape.least_bytes, own.along_input);
}

/// Tiles of type T, by columns of few bytes and of many, and along both sides.
template <class T> void add_fixed(std::vector<Candidate>& list) {
  for (const int least : {64, 256, 1024}) {
    for (const bool along_input : {false, true}) {
      const std::string name = "v7l " + std::to_string(T::kRows) + "x" + std::to_string(T::kColumns) + " by " +
                               std::to_string(T::kGroup) + ", columns of " + std::to_string(least) + " bytes" +
                               (along_input ? ", along the input" : "");
      list.push_back({name, launch_fixed<T>, {.row_bytes = 0, .column_bytes = 0, .least_bytes = least}, along_input});
    }
  }
}

template <int bytes, int group, int vector, int turns>
cudaError_t launch_direct(const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                          cudaStream_t stream) {
  if (v7l::refuse(q) != nullptr) return cudaErrorInvalidValue;
  if constexpr (group > 1) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(src) % static_cast<std::uintptr_t>(group * bytes) == 0;
    if (keeps_last_dimension(q) || q.shape[q.rank - 1] % group != 0 || !aligned) return cudaErrorInvalidValue;
  }
  if (own.shape.least_bytes > 128 && same_columns(q, 128, own.shape.least_bytes)) return cudaErrorInvalidValue;
  const v7m::Shape shape{own.shape.row_bytes, own.shape.least_bytes, own.along_input};
  return v7m::run_as<bytes, group, vector, turns>(q, shape, src, dst, stream);
}

/// Direct tiles of several widths.
template <int bytes, int group, int vector, int turns> void add_direct(std::vector<Candidate>& list) {
  for (const int across : {32, 128, 256}) {
    for (const int least : {128, 1024}) {
      for (const bool along_input : {false, true}) {
        const std::string name = "v7m " + std::to_string(across) + " across, " + std::to_string(group) + " x " +
                                 std::to_string(vector) + " x " + std::to_string(turns) + ", columns of " +
                                 std::to_string(least) + " bytes" + (along_input ? ", along the input" : "");
        list.push_back({name,
                        launch_direct<bytes, group, vector, turns>,
                        {.row_bytes = across, .column_bytes = 0, .least_bytes = least},
                        along_input});
      }
    }
  }
}

inline cudaError_t launch_runs(const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                               cudaStream_t stream) {
  if (v7n::refuse(q) != nullptr) return cudaErrorInvalidValue;
  return v7n::run_runs(q, own.shape.row_bytes, src, dst, stream);
}

/// Runs of the output of several lengths.
inline void add_runs(std::vector<Candidate>& list) {
  for (const int bytes : {2048, 4096, 8192, 16384, 32768}) {
    list.push_back({"v7n runs of " + std::to_string(bytes) + " bytes",
                    launch_runs,
                    {.row_bytes = bytes, .column_bytes = 0, .least_bytes = 0}});
  }
}

inline cudaError_t launch_composite(const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                                    cudaStream_t stream) {
  if (v7j::refuse(q) != nullptr) return cudaErrorInvalidValue;
  const int group = v7j::rows_in_group(q, src);
  if (own.group > 1 && group == 1) return cudaErrorInvalidValue;
  return v7j::run_shaped(q, own.shape, own.group > 1 ? group : 1, src, dst, stream);
}

/// Composite tiles, loaded by words where they can be and by elements: of one shape more than v7j's own.
inline void add_composite(std::vector<Candidate>& list, int element_bytes) {
  for (const int group : {1, 4}) {
    if (element_bytes == 4 && group > 1) continue;
    for (const v7j::TileShape& shape : {v7j::tile_shape(element_bytes, group), v7j::TileShape{128, 128, 64},
                                        v7j::TileShape{256, 64, 64}, v7j::TileShape{1024, 16, 1024}}) {
      const std::string name = "v7j " + std::to_string(shape.row_bytes) + "x" + std::to_string(shape.column_bytes) +
                               " bytes" + (group > 1 ? " by words" : "") + ", columns of " +
                               std::to_string(shape.least_bytes) + " bytes";
      list.push_back({name, launch_composite, shape, false, group});
    }
  }
}

/// The other steps' kernels.
inline void add_others(std::vector<Candidate>& list, int element_bytes) {
  using P = PermuteProblem;
  list.push_back({"v6b", [](const Candidate&, const P& q, const void* src, void* dst, cudaStream_t stream) {
                    return v6b::run_with<FastDivisor, true>(q, src, dst, stream);
                  }});
  list.push_back({"v7c", [](const Candidate&, const P& q, const void* src, void* dst, cudaStream_t stream) {
                    if (v7c::refuse(q) != nullptr) return cudaErrorInvalidValue;
                    return v7c::run_tiles<true>(q, src, dst, stream);
                  }});
  list.push_back({"v7d", [](const Candidate&, const P& q, const void* src, void* dst, cudaStream_t stream) {
                    return v7d::run_boxes(q, dst_order(q), src, dst, stream);
                  }});
  list.push_back({"v7e", [](const Candidate&, const P& q, const void* src, void* dst, cudaStream_t stream) {
                    if (v7e::refuse(q) != nullptr) return cudaErrorInvalidValue;
                    return v7e::run_runs<true>(q, src, dst, stream);
                  }});
  list.push_back({"v7i", [](const Candidate&, const P& q, const void* src, void* dst, cudaStream_t stream) {
                    if (v7c::refuse(q) != nullptr) return cudaErrorInvalidValue;
                    return v7i::run_tiles<true>(q, src, dst, stream);
                  }});
  if (element_bytes > 4) return;
  list.push_back({"v7h", [](const Candidate&, const P& q, const void* src, void* dst, cudaStream_t stream) {
                    if (v7h::refuse(q) != nullptr) return cudaErrorInvalidValue;
                    return v7h::run_words<true>(q, src, dst, stream);
                  }});
}

}  // namespace detail

/// Those for elements of so many bytes. A template, so that who does not choose need not compile them: `P` is
/// PermuteProblem. The fixed tiles beside v7l's own were chosen by random problems (seeds 1 and 3 of tests/peers).
template <class P> std::span<const Candidate> candidates(int element_bytes) {
  const auto make = [](int bytes) {
    std::vector<Candidate> list;
    detail::add_others(list, bytes);
    if (bytes <= 8) detail::add_runs(list);
    if (bytes <= 4) detail::add_composite(list, bytes);
    const auto add = [&]<class... T>() { (detail::add_fixed<T>(list), ...); };
    using v7l::Tile;
    if (bytes == 1) {
      detail::add_direct<1, 1, 1, 16>(list);
      detail::add_direct<1, 1, 2, 8>(list);
      detail::add_direct<1, 2, 2, 8>(list);
      detail::add_direct<1, 2, 1, 8>(list);
      add.template operator()<Tile<1, 1, 16, 1024>, Tile<1, 1, 32, 256>, Tile<1, 1, 32, 512>, Tile<1, 1, 128, 128>,
                              Tile<1, 2, 64, 256>, Tile<1, 2, 128, 128>, Tile<1, 4, 64, 256>, Tile<1, 4, 32, 512>>();
    } else if (bytes == 2) {
      detail::add_direct<2, 1, 1, 8>(list);
      detail::add_direct<2, 1, 2, 8>(list);
      detail::add_direct<2, 2, 1, 8>(list);
      detail::add_direct<2, 2, 2, 4>(list);
      add.template operator()<Tile<2, 1, 8, 1024>, Tile<2, 1, 16, 512>, Tile<2, 1, 32, 256>, Tile<2, 1, 64, 128>,
                              Tile<2, 2, 64, 256>, Tile<2, 2, 64, 128>, Tile<2, 2, 32, 256>, Tile<2, 2, 16, 512>,
                              Tile<2, 2, 128, 64>>();
    } else if (bytes == 4) {
      detail::add_direct<4, 1, 1, 8>(list);
      detail::add_direct<4, 2, 1, 4>(list);
      detail::add_direct<4, 4, 1, 4>(list);
      add.template operator()<Tile<4, 1, 8, 512>, Tile<4, 1, 16, 256>, Tile<4, 1, 32, 128>, Tile<4, 1, 64, 64>,
                              Tile<4, 1, 64, 128>, Tile<4, 4, 64, 64>>();
    } else if (bytes == 8) {
      detail::add_direct<8, 1, 1, 4>(list);
      detail::add_direct<8, 1, 1, 8>(list);
      add.template operator()<Tile<8, 1, 8, 256>, Tile<8, 1, 16, 128>, Tile<8, 1, 32, 64>, Tile<8, 1, 64, 32>,
                              Tile<8, 2, 64, 64>, Tile<8, 2, 64, 32>>();
    }
    return list;
  };
  switch (element_bytes) {
  case 1: {
    static const std::vector<Candidate> list = make(1);
    return list;
  }
  case 2: {
    static const std::vector<Candidate> list = make(2);
    return list;
  }
  case 4: {
    static const std::vector<Candidate> list = make(4);
    return list;
  }
  case 8: {
    static const std::vector<Candidate> list = make(8);
    return list;
  }
  default: {
    static const std::vector<Candidate> list = make(16);
    return list;
  }
  }
}

/// What was chosen for a problem. `candidate` is nullptr for v9's choice.
struct Choice {
  const Candidate* candidate = nullptr;
  float rule_milliseconds = 0;  ///< Of v9's choice, and
  float milliseconds = 0;       ///< of what was chosen: medians. 0: nothing was measured.
};

/// Memory that nobody needs: written between samples, it pushes all else out of the L2.
struct Flush {
  void* data = nullptr;
  std::size_t bytes = 0;
};

namespace detail {

/// Two CUDA events.
class Interval {
public:
  Interval() {
    error_ = cudaEventCreate(&begin_);
    if (error_ == cudaSuccess) error_ = cudaEventCreate(&end_);
  }
  ~Interval() {
    if (begin_ != nullptr) static_cast<void>(cudaEventDestroy(begin_));
    if (end_ != nullptr) static_cast<void>(cudaEventDestroy(end_));
  }
  Interval(const Interval&) = delete;
  Interval& operator=(const Interval&) = delete;

  /// What `run(stream)` takes, with a cold L2. The device writes `flush` until the host has queued everything.
  template <class Run>
  cudaError_t sample(const Run& run, const Flush& flush, cudaStream_t stream, float& milliseconds) const {
    cudaError_t error = error_;
    const auto then = [&](auto&& call) {
      if (error == cudaSuccess) error = call();
    };
    then([] {  // Lines that kernels asked the L2 to keep would stay through the flush.
      const cudaError_t freed = cudaCtxResetPersistingL2Cache();
      if (freed != cudaErrorNotSupported) return freed;
      static_cast<void>(cudaGetLastError());
      return cudaSuccess;
    });
    then([&] { return flush.bytes == 0 ? cudaSuccess : cudaMemsetAsync(flush.data, 0, flush.bytes, stream); });
    then([&] { return cudaEventRecord(begin_, stream); });
    then([&] { return run(stream); });
    then([&] { return cudaEventRecord(end_, stream); });
    then([&] { return cudaEventSynchronize(end_); });
    then([&] { return cudaEventElapsedTime(&milliseconds, begin_, end_); });
    return error;
  }

private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  cudaError_t error_ = cudaSuccess;
};

inline float median(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace detail

inline constexpr int kSamples = 11;     ///< Of whoever may win.
inline constexpr float kNoise = 0.97F;  ///< Of the rule's time: what is not faster than that is the rule's equal.

//! [kernel]
/// Times v9's choice and the candidates that take a problem, sample by sample in turn, so that whatever the device does
/// meanwhile it does to all. After 2 samples, what is a third slower than the best is dropped; after 5, a tenth.
///
/// \param time_of called with a candidate, or nullptr for v9's choice, and where its milliseconds go. It returns a
///        cudaError_t; cudaErrorInvalidValue where the candidate does not take the problem.
/// \return what else `time_of` returned, with `choice` as it was.
template <class TimeOf>
cudaError_t choose_measured(std::span<const Candidate> candidates, const TimeOf& time_of, Choice& choice) {
  struct Runner {
    const Candidate* candidate;
    std::vector<float> milliseconds;
    float median() const { return detail::median(milliseconds); }
  };
  float uncounted = 0;  // A kernel's first launch loads it.
  if (const cudaError_t error = time_of(nullptr, uncounted); error != cudaSuccess) return error;
  std::vector<Runner> runners{{nullptr, {}}};
  for (const Candidate& candidate : candidates) {
    const cudaError_t error = time_of(&candidate, uncounted);
    if (error == cudaErrorInvalidValue) continue;
    if (error != cudaSuccess) return error;
    runners.push_back({&candidate, {}});
  }
  struct Round {
    std::size_t samples;  // In all.
    float slowest;        // Over the best's median.
  };
  for (const Round round : {Round{2, 4.0F / 3}, Round{5, 1.1F}, Round{kSamples, 1}}) {
    while (runners.front().milliseconds.size() < round.samples) {
      for (Runner& runner : runners) {
        const cudaError_t error = time_of(runner.candidate, runner.milliseconds.emplace_back());
        if (error != cudaSuccess) return error;
      }
    }
    float best = runners.front().median();
    for (const Runner& runner : runners) best = std::min(best, runner.median());
    std::erase_if(runners, [&](const Runner& runner) {
      return runner.candidate != nullptr && runner.median() > best * round.slowest;
    });
  }
  const Runner& rule = runners.front();
  const Runner& fastest = runners.back();
  const bool other = fastest.median() < kNoise * rule.median();
  choice = {other ? fastest.candidate : nullptr, rule.median(), other ? fastest.median() : rule.median()};
  return cudaSuccess;
}
//! [kernel]

/// Chooses for a problem by running on its arrays; dst holds the result then. The stream must not be captured. Where
/// times are modelled, on the emulator, a choice by them would tell of the model: there it is v9's.
template <class P = PermuteProblem>
cudaError_t choose(const P& p, const void* src, void* dst, const Flush& flush, cudaStream_t stream, Choice& choice) {
  choice = {};
  const PermuteProblem q = simplified(p, src, dst);
#ifdef WARPBOOK_EMULATED
  constexpr bool kModelled = true;
#else
  constexpr bool kModelled = false;
#endif
  if (kModelled || p.count() == 0 || q.rank <= 1) return v9::run(p, src, dst, stream);
  const detail::Interval interval;
  const auto time_of = [&](const Candidate* candidate, float& milliseconds) {
    const auto run = [&](cudaStream_t on) {
      return candidate == nullptr ? v9::run(q, src, dst, on) : candidate->run(q, src, dst, on);
    };
    return interval.sample(run, flush, stream, milliseconds);
  };
  return choose_measured(candidates<P>(q.element_bytes), time_of, choice);
}

/// Permutes by what was chosen; by v9's rules where the arrays' alignment does not suit it.
inline cudaError_t run(const PermuteProblem& p, const Choice& choice, const void* src, void* dst, cudaStream_t stream) {
  if (choice.candidate != nullptr && p.count() > 0) {
    const PermuteProblem q = simplified(p, src, dst);
    const cudaError_t error = q.rank <= 1 ? cudaErrorInvalidValue : choice.candidate->run(q, src, dst, stream);
    if (error != cudaErrorInvalidValue) return error;
  }
  return v9::run(p, src, dst, stream);
}

}  // namespace warpbook::chapter3::v10
