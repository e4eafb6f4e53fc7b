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
/// To the kernels of v9 it adds v7m, v7n and v7o, and tiles of v7l and v7j with other sides: no rule tells when to take
/// those.
///
/// Expect v9's time at worst, but for noise; and where v9's rules are wrong, up to half of it. A plan costs about a
/// tenth of a second once: it pays for what is permuted ten thousand times.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chapters/chapter3_permute/v7m_direct_tile.cuh"
#include "chapters/chapter3_permute/v7n_output_runs.cuh"
#include "chapters/chapter3_permute/v7o_placed_words.cuh"
#include "chapters/chapter3_permute/v9_dispatch.cuh"

namespace warpbook::chapter3::v10 {

/// A kernel and how it is laid on a problem.
struct Candidate {
  std::string name;
  cudaError_t (*launch)(const Candidate& own, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream);
  v7l::Arrangement arrangement{};  ///< Of v7l's tiles and v7m's.
  int most_across = 0;             ///< Of v7m's: threads.
  int run_bytes = 0;               ///< Of v7n's runs.
  v7j::TileShape shape{};          ///< Of v7j's tiles,
  bool by_words = false;           ///< and whether they are loaded by words.

  /// Moves a simplified problem of rank 2 or more with elements.
  /// \return cudaErrorInvalidValue, with nothing launched, where the candidate does not take it; else as `launch`.
  cudaError_t run(const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) const {
    return launch(*this, q, src, dst, stream);
  }
};

namespace detail {

/// Of bytes: what columns have at least. Those that make the same columns as a lesser one are left out.
inline constexpr int kLeastBytes[] = {64, 256, 1024};

inline bool makes_new_columns(const PermuteProblem& q, int least_bytes) {
  return std::ranges::none_of(kLeastBytes, [&](int less) {
    return less < least_bytes && v7l::find_columns(q, less).count == v7l::find_columns(q, least_bytes).count;
  });
}

/// Whether v7l's matrix can be loaded by `group` elements of the input.
inline bool is_made_of(const PermuteProblem& q, int group, const void* src) {
  if (group == 1) return true;
  const auto bytes = static_cast<std::uintptr_t>(group * q.element_bytes);
  return !keeps_last_dimension(q) && q.shape[q.rank - 1] % group == 0 &&
         reinterpret_cast<std::uintptr_t>(src) % bytes == 0;
}

inline bool takes_matrix(const Candidate& own, const PermuteProblem& q, int group, const void* src) {
  return v7l::refuse(q) == nullptr && is_made_of(q, group, src) && makes_new_columns(q, own.arrangement.least_bytes);
}

/// Adds a kernel in every arrangement.
inline void add_arranged(std::vector<Candidate>& list, const Candidate& kernel) {
  for (const int least_bytes : kLeastBytes) {
    for (const bool whole_groups : {false, true}) {
      for (const bool along_input : {false, true}) {
        Candidate candidate = kernel;
        candidate.arrangement = {least_bytes, along_input, whole_groups};
        candidate.name += ", columns of " + std::to_string(least_bytes) + " bytes" +
                          (whole_groups ? ", whole runs" : "") + (along_input ? ", along the input" : "");
        list.push_back(candidate);
      }
    }
  }
}

/// v7l's tiles of these types.
template <class... T> void add_fixed(std::vector<Candidate>& list) {
  const auto add = [&]<class Tile>() {
    const auto launch = [](const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                           cudaStream_t stream) {
      if (!takes_matrix(own, q, Tile::kGroup, src)) return cudaErrorInvalidValue;
      return v7l::run_arranged<Tile>(q, src, dst, stream, own.arrangement);
    };
    add_arranged(list, {"v7l " + std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns) + " by " +
                            std::to_string(Tile::kGroup) + ", " + std::to_string(Tile::kThreads) + " threads",
                        launch});
  };
  (add.template operator()<T>(), ...);
}

/// v7m's tiles, of several widths.
template <int bytes, int group, int vector, int turns> void add_direct(std::vector<Candidate>& list) {
  const auto launch = [](const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                         cudaStream_t stream) {
    if (!takes_matrix(own, q, group, src)) return cudaErrorInvalidValue;
    return v7m::run_as<bytes, group, vector, turns>(q, src, dst, stream, own.most_across, own.arrangement);
  };
  for (const int across : {32, 128, 256}) {
    Candidate kernel{"v7m " + std::to_string(turns) + " turns of " + std::to_string(group) + "x" +
                         std::to_string(vector) + ", " + std::to_string(across) + " across",
                     launch};
    kernel.most_across = across;
    add_arranged(list, kernel);
  }
}

inline constexpr int kAllColumns =
    std::numeric_limits<int>::max();  // Bytes: of all dimensions but the input's fastest.

/// v7o's tiles of these types.
template <class... T> void add_placed(std::vector<Candidate>& list) {
  const auto add = [&]<class Tile>() {
    const auto launch = [](const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                           cudaStream_t stream) {
      if (v7l::refuse(q) != nullptr) return cudaErrorInvalidValue;
      const int least_bytes = own.arrangement.least_bytes;
      const int count = v7o::find_columns(q, least_bytes).count;
      for (const int less : kLeastBytes) {
        if (less < least_bytes && v7o::find_columns(q, less).count == count) return cudaErrorInvalidValue;
      }
      return v7o::run_arranged<Tile>(q, src, dst, stream, own.arrangement);
    };
    const Candidate kernel{"v7o " + std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns) + " by " +
                               std::to_string(Tile::kGroup) + "x" + std::to_string(Tile::kStore) + ", " +
                               std::to_string(Tile::kThreads) + " threads",
                           launch};
    for (const int least_bytes : {64, 256, 1024, kAllColumns}) {
      for (const bool along_input : {false, true}) {
        Candidate candidate = kernel;
        candidate.arrangement = {least_bytes, along_input, false};
        candidate.name +=
            (least_bytes == kAllColumns ? ", all columns" : ", columns of " + std::to_string(least_bytes) + " bytes") +
            std::string(along_input ? ", along the input" : "");
        list.push_back(candidate);
      }
    }
  };
  (add.template operator()<T>(), ...);
}

/// v7n's runs of several lengths.
template <class P> void add_runs(std::vector<Candidate>& list) {
  const auto launch = [](const Candidate& own, const P& q, const void* src, void* dst, cudaStream_t stream) {
    return v7n::refuse(q) == nullptr ? v7n::run_runs(q, own.run_bytes, src, dst, stream) : cudaErrorInvalidValue;
  };
  for (const int bytes : {1024, 2048, 4096, 8192, 16384, 32768}) {
    Candidate candidate{"v7n " + std::to_string(bytes) + " bytes", launch};
    candidate.run_bytes = bytes;
    list.push_back(candidate);
  }
}

/// v7j's tiles of several shapes, loaded by words where they can be, and by elements.
inline void add_composite(std::vector<Candidate>& list) {
  const auto launch = [](const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                         cudaStream_t stream) {
    if (v7j::refuse(q) != nullptr) return cudaErrorInvalidValue;
    const int group = v7j::rows_in_group(q, src);
    if (own.by_words && group == 1) return cudaErrorInvalidValue;
    return v7j::run_shaped(q, own.shape, own.by_words ? group : 1, src, dst, stream);
  };
  for (const bool by_words : {false, true}) {
    for (const auto& [row_bytes, column_bytes] :
         {std::pair{256, 64}, {256, 128}, {512, 32}, {512, 64}, {1024, 32}, {2048, 16}}) {
      for (const int least_bytes : {256, 1024}) {
        Candidate candidate{"v7j " + std::to_string(row_bytes) + "x" + std::to_string(column_bytes) + " bytes" +
                                (by_words ? " by words" : "") + ", columns of " + std::to_string(least_bytes) +
                                " bytes",
                            launch};
        candidate.shape = {row_bytes, column_bytes, least_bytes};
        candidate.by_words = by_words;
        list.push_back(candidate);
      }
    }
  }
}

/// v7c's tiles of single elements, of other shapes, in the output's order.
template <class... T> void add_elements(std::vector<Candidate>& list) {
  const auto add = [&]<class Tile>() {
    const auto launch = [](const Candidate&, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
      if (v7c::refuse(q) != nullptr) return cudaErrorInvalidValue;
      return v7c::run_element_tiles<Tile, kHinted<true, Tile::kBytes>>(q, dst_order(q), src, dst, stream);
    };
    list.push_back({"v7c " + std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns), launch});
  };
  (add.template operator()<T>(), ...);
}

/// v7h's words of fewer elements, several a thread.
template <int bytes, int elements, int words> void add_words(std::vector<Candidate>& list) {
  const auto launch = [](const Candidate&, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
    if (v7h::refuse(q) != nullptr) return cudaErrorInvalidValue;
    return v7h::run_as<bytes, elements, words, (bytes > 2)>(q, src, dst, stream);
  };
  list.push_back({"v7h " + std::to_string(words) + " words of " + std::to_string(elements), launch});
}

/// The steps' kernels that v9 has, wherever they can be.
inline void add_ruled(std::vector<Candidate>& list, int element_bytes) {
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

/// All for elements of so many bytes. What is not v9's was chosen by 400 random problems (seeds 1 and 3 of tests/peers)
/// among 700 kernels and arrangements, v7o's by half of these problems: `chapter3_trials_measured.txt` and
/// `chapter3_trials_placed.txt` in docs/results. But its tile of bytes by 2x4 was kept for a problem of seed 5.
template <class P> std::vector<Candidate> make_candidates(int element_bytes) {
  using v7c::ElementTile;
  using v7l::Tile;
  std::vector<Candidate> list;
  add_ruled(list, element_bytes);
  if (element_bytes <= 8) add_runs<P>(list);
  if (element_bytes <= 4) add_composite(list);
  switch (element_bytes) {
  case 1:
    add_elements<ElementTile<1, 32, 128, 128>>(list);
    add_words<1, 8, 2>(list);
    add_direct<1, 1, 1, 16>(list);
    add_direct<1, 1, 4, 8>(list);
    add_direct<1, 2, 1, 8>(list);
    add_direct<1, 2, 2, 8>(list);
    add_direct<1, 4, 4, 4>(list);
    add_fixed<Tile<1, 1, 16, 1024>, Tile<1, 1, 32, 256>, Tile<1, 1, 32, 512>, Tile<1, 1, 64, 128, 128>,
              Tile<1, 2, 64, 256>, Tile<1, 4, 64, 256>, Tile<1, 4, 256, 128>>(list);
    add_placed<v7o::Tile<1, 1, 1, 64, 128>, v7o::Tile<1, 1, 2, 64, 128>, v7o::Tile<1, 1, 4, 64, 64, 128>,
               v7o::Tile<1, 1, 4, 32, 256>, v7o::Tile<1, 1, 4, 16, 512>, v7o::Tile<1, 2, 1, 64, 128>,
               v7o::Tile<1, 2, 2, 64, 256>, v7o::Tile<1, 2, 4, 64, 256>, v7o::Tile<1, 2, 8, 64, 256>,
               v7o::Tile<1, 4, 4, 64, 256>, v7o::Tile<1, 4, 8, 64, 256>>(list);
    break;
  case 2:
    add_elements<ElementTile<2, 32, 64, 64>, ElementTile<2, 128, 32, 128>>(list);
    add_direct<2, 1, 1, 16>(list);
    add_direct<2, 1, 2, 8>(list);
    add_direct<2, 2, 1, 8>(list);
    add_direct<2, 2, 2, 4>(list);
    add_fixed<Tile<2, 1, 8, 1024>, Tile<2, 1, 16, 512>, Tile<2, 1, 32, 256>, Tile<2, 1, 64, 256>, Tile<2, 2, 32, 256>,
              Tile<2, 2, 64, 256>>(list);
    add_placed<v7o::Tile<2, 1, 1, 64, 128>, v7o::Tile<2, 1, 2, 64, 128>, v7o::Tile<2, 1, 4, 32, 256>,
               v7o::Tile<2, 1, 8, 32, 256>, v7o::Tile<2, 2, 2, 64, 128>, v7o::Tile<2, 2, 2, 32, 256>,
               v7o::Tile<2, 2, 4, 32, 256>, v7o::Tile<2, 2, 4, 64, 256>, v7o::Tile<2, 2, 8, 16, 512>>(list);
    break;
  case 4:
    add_elements<ElementTile<4, 32, 64, 128>>(list);
    add_words<4, 4, 2>(list);
    add_direct<4, 1, 1, 8>(list);
    add_direct<4, 1, 2, 4>(list);
    add_direct<4, 1, 4, 2>(list);
    add_fixed<Tile<4, 1, 8, 512>, Tile<4, 1, 16, 256>, Tile<4, 1, 32, 64, 128>, Tile<4, 1, 32, 128>,
              Tile<4, 1, 64, 128>, Tile<4, 2, 16, 256>, Tile<4, 2, 32, 128>, Tile<4, 2, 64, 32, 128>>(list);
    add_placed<v7o::Tile<4, 1, 1, 32, 128>, v7o::Tile<4, 1, 2, 32, 64, 128>, v7o::Tile<4, 1, 4, 64, 64>,
               v7o::Tile<4, 2, 2, 64, 64>, v7o::Tile<4, 2, 4, 32, 128>, v7o::Tile<4, 4, 4, 64, 64>>(list);
    break;
  case 8:
    add_direct<8, 1, 1, 8>(list);
    add_fixed<Tile<8, 1, 8, 256>, Tile<8, 1, 16, 128>, Tile<8, 1, 32, 32, 64>, Tile<8, 1, 32, 64>,
              Tile<8, 1, 64, 16, 128>, Tile<8, 1, 64, 64>>(list);
    add_placed<v7o::Tile<8, 1, 1, 32, 64>, v7o::Tile<8, 1, 2, 16, 64, 128>, v7o::Tile<8, 1, 2, 64, 32>,
               v7o::Tile<8, 2, 2, 32, 64>>(list);
    break;
  default:
    break;
  }
  return list;
}

}  // namespace detail

/// Those for elements of so many bytes. A template, so that who does not choose need not compile them: `P` is
/// PermuteProblem.
template <class P> std::span<const Candidate> candidates(int element_bytes) {
  static const std::map<int, std::vector<Candidate>> lists = [] {
    std::map<int, std::vector<Candidate>> made;
    for (const int bytes : {1, 2, 4, 8, 16}) made[bytes] = detail::make_candidates<P>(bytes);
    return made;
  }();
  return lists.at(element_bytes);
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

inline constexpr int kSamples = 31;     ///< Of whoever may win: for 1% to be told from noise.
inline constexpr float kNoise = 0.99F;  ///< Of the rule's time: what is not faster than that is the rule's equal.

//! [kernel]
/// Times v9's choice and the candidates that take a problem, sample by sample in turn, so that whatever the device does
/// meanwhile it does to all. After 2 samples, what is a third slower than the best is dropped; after 5, a tenth; after
/// 11, 3%.
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
  for (const Round round : {Round{2, 4.0F / 3}, Round{5, 1.1F}, Round{11, 1.03F}, Round{kSamples, 1}}) {
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
