/// \file
/// plan: the kernel that was fastest here, on this device and this problem; for what is permuted very often.
///
/// The dispatch looks at a shape and nothing else, and no counter foretells what a tile's sides do to a problem: that
/// depends on how its dimensions fall on lines, on the multiprocessors and on the L2, all at once. So the kernels that
/// take the problem, the dispatch's choice first among them, run on the caller's own arrays and are timed. The fastest
/// is remembered, and later calls use it. A plan costs about a tenth of a second, once.
///
/// Source: M. Frigo, S. G. Johnson, "The design and implementation of FFTW3", Proceedings of the IEEE 93, 2005; so do
/// torch.compile's max-autotune and the users of cuBLASLt's heuristics.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chapters/chapter3_permute/library/direct_tile.cuh"
#include "chapters/chapter3_permute/library/output_runs.cuh"
#include "chapters/chapter3_permute/library/placed_words.cuh"
#include "chapters/chapter3_permute/v9_dispatch.cuh"

namespace warpbook::chapter3::plan {

/// A kernel and how it is laid on a problem.
struct Candidate {
  std::string name;
  cudaError_t (*launch)(const Candidate& own, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream);
  composite_matrix::Arrangement arrangement{};  ///< Of the tiles of fixed_tile, direct_tile and placed_words.
  int most_across = 0;                          ///< Of direct_tile's: threads.
  int run_bytes = 0;                            ///< Of output_runs'.
  composite_tile::TileShape shape{};            ///< Of composite_tile's,
  bool by_words = false;                        ///< and whether they are loaded by words.

  /// Moves a simplified problem of rank 2 or more with elements.
  /// \return cudaErrorInvalidValue, with nothing launched, where the candidate does not take it; else as `launch`.
  cudaError_t run(const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) const {
    return launch(*this, q, src, dst, stream);
  }
};

namespace detail {

/// What columns have at least, in bytes; and all dimensions but the input's fastest.
inline constexpr int kLeastBytes[] = {64, 256, 1024};
inline constexpr int kAllColumns = std::numeric_limits<int>::max();

/// Whether the composite matrix of `own` is one, and has columns that no lesser number of bytes makes.
inline bool takes_matrix(const Candidate& own, const PermuteProblem& q, bool beyond) {
  const auto count = [&](int bytes) { return composite_matrix::find_columns(q, bytes, beyond).count; };
  const int bytes = own.arrangement.least_bytes;
  return composite_matrix::refuse(q) == nullptr &&
         std::ranges::none_of(kLeastBytes, [&](int less) { return less < bytes && count(less) == count(bytes); });
}

/// Adds a kernel as it is arranged.
inline void add_arranged(std::vector<Candidate>& list, Candidate kernel,
                         const composite_matrix::Arrangement& arrangement) {
  const int bytes = arrangement.least_bytes;
  kernel.arrangement = arrangement;
  kernel.name += bytes == kAllColumns ? ", all columns" : ", columns of " + std::to_string(bytes) + " bytes";
  if (arrangement.whole_groups) kernel.name += ", whole runs";
  if (arrangement.along_input) kernel.name += ", along the input";
  list.push_back(kernel);
}

/// Adds a kernel in every arrangement.
inline void add_all_arranged(std::vector<Candidate>& list, const Candidate& kernel) {
  for (const int least_bytes : kLeastBytes) {
    for (const bool whole_groups : {false, true}) {
      for (const bool along_input : {false, true}) {
        add_arranged(list, kernel, {least_bytes, along_input, whole_groups});
      }
    }
  }
}

/// What a tile's sides and loads are, for its name.
template <class T> std::string tile_name() {
  return std::to_string(T::kRows) + "x" + std::to_string(T::kColumns) + " by " + std::to_string(T::kGroup);
}

/// fixed_tile's tiles of these types.
template <class... T> void add_fixed(std::vector<Candidate>& list) {
  const auto add = [&]<class Tile>() {
    const auto launch = [](const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                           cudaStream_t stream) {
      if (!takes_matrix(own, q, false)) return cudaErrorInvalidValue;
      return fixed_tile::run_arranged<Tile>(q, src, dst, stream, own.arrangement);
    };
    add_all_arranged(list,
                     {"fixed_tile " + tile_name<Tile>() + ", " + std::to_string(Tile::kThreads) + " threads", launch});
  };
  (add.template operator()<T>(), ...);
}

/// direct_tile's tiles, of several widths.
template <int bytes, int group, int vector, int turns> void add_direct(std::vector<Candidate>& list) {
  const auto launch = [](const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                         cudaStream_t stream) {
    if (!takes_matrix(own, q, false)) return cudaErrorInvalidValue;
    return direct_tile::run_as<bytes, group, vector, turns>(q, src, dst, stream, own.most_across, own.arrangement);
  };
  for (const int across : {32, 128, 256}) {
    Candidate kernel{"direct_tile " + std::to_string(turns) + " turns of " + std::to_string(group) + "x" +
                         std::to_string(vector) + ", " + std::to_string(across) + " across",
                     launch};
    kernel.most_across = across;
    add_all_arranged(list, kernel);
  }
}

/// placed_words' tiles of these types.
template <class... T> void add_placed(std::vector<Candidate>& list) {
  const auto add = [&]<class Tile>() {
    const auto launch = [](const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                           cudaStream_t stream) {
      if (!takes_matrix(own, q, true)) return cudaErrorInvalidValue;
      return placed_words::run_arranged<Tile>(q, src, dst, stream, own.arrangement);
    };
    const Candidate kernel{"placed_words " + tile_name<Tile>() + "x" + std::to_string(Tile::kStore) + ", " +
                               std::to_string(Tile::kThreads) + " threads",
                           launch};
    for (const int least_bytes : {64, 256, 1024, kAllColumns}) {
      for (const bool along_input : {false, true}) add_arranged(list, kernel, {least_bytes, along_input, false});
    }
  };
  (add.template operator()<T>(), ...);
}

/// output_runs' of several lengths.
template <class P> void add_runs(std::vector<Candidate>& list) {
  const auto launch = [](const Candidate& own, const P& q, const void* src, void* dst, cudaStream_t stream) {
    if (composite_matrix::refuse(q) != nullptr) return cudaErrorInvalidValue;
    return output_runs::run_runs(q, own.run_bytes, src, dst, stream);
  };
  for (const int bytes : {1024, 2048, 4096, 8192, 16384, 32768}) {
    Candidate candidate{"output_runs of " + std::to_string(bytes) + " bytes", launch};
    candidate.run_bytes = bytes;
    list.push_back(candidate);
  }
}

/// composite_tile's tiles of several shapes, loaded by words where they can be, and by elements.
inline void add_composite(std::vector<Candidate>& list) {
  const auto launch = [](const Candidate& own, const PermuteProblem& q, const void* src, void* dst,
                         cudaStream_t stream) {
    if (composite_tile::refuse(q) != nullptr) return cudaErrorInvalidValue;
    const int group = composite_tile::rows_in_group(q);
    if (own.by_words && group == 1) return cudaErrorInvalidValue;
    return composite_tile::run_shaped(q, own.shape, own.by_words ? group : 1, src, dst, stream);
  };
  for (const bool by_words : {false, true}) {
    for (const auto& [row_bytes, column_bytes] :
         {std::pair{256, 64}, {256, 128}, {512, 32}, {512, 64}, {1024, 32}, {2048, 16}}) {
      for (const int least_bytes : {256, 1024}) {
        Candidate candidate{"composite_tile " + std::to_string(row_bytes) + "x" + std::to_string(column_bytes) +
                                " bytes" + (by_words ? " by words" : "") + ", columns of " +
                                std::to_string(least_bytes) + " bytes",
                            launch};
        candidate.shape = {row_bytes, column_bytes, least_bytes};
        candidate.by_words = by_words;
        list.push_back(candidate);
      }
    }
  }
}

/// element_tiles' tiles of other shapes, along the output.
template <class... T> void add_elements(std::vector<Candidate>& list) {
  const auto add = [&]<class Tile>() {
    const auto launch = [](const Candidate&, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
      if (element_tiles::refuse(q) != nullptr) return cudaErrorInvalidValue;
      return element_tiles::run_elements<Tile>(q, dst_order(q), src, dst, stream);
    };
    list.push_back({"element_tiles " + std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns), launch});
  };
  (add.template operator()<T>(), ...);
}

/// gathered_words of fewer elements, several per thread.
template <int bytes, int elements, int words> void add_words(std::vector<Candidate>& list) {
  const auto launch = [](const Candidate&, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
    if (gathered_words::refuse(q) != nullptr) return cudaErrorInvalidValue;
    return gathered_words::run_as<bytes, elements, words>(q, src, dst, stream);
  };
  list.push_back({"gathered_words " + std::to_string(words) + " of " + std::to_string(elements), launch});
}

/// Tiles along the output: of 16-byte words, or element_tiles' own.
inline cudaError_t run_along_output(const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
  if (v8::refuse(q) != nullptr) return element_tiles::run(q, src, dst, stream);
  return with_word_bytes(q.element_bytes, [&]<int bytes>() {
    using T = v6::Tile<bytes>;
    std::int64_t blocks = 0;
    const v8::TileGrid grid = v8::make_grid(q, dst_order(q), T::kRows, T::kColumns, blocks);
    return launch(v8::permute_kernel<T>, {.grid = blocks, .block = T::kThreads, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), grid);
  });
}

/// Tiles along the input: of 16-byte words, of words of 4 bytes, or of elements, where these are tall or flat.
inline cudaError_t run_along_input(const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
  if (v8::refuse(q) == nullptr) return v8::run(q, src, dst, stream);
  if (element_tiles::refuse(q) != nullptr) return cudaErrorInvalidValue;
  if (element_tiles::moves_words(q)) return element_tiles::run_words(q, src_order(q), src, dst, stream);
  return element_tiles::with_element_bytes(q, [&]<int bytes>() {
    using Tall = element_tiles::ElementTile<bytes, bytes <= 4 ? 256 : 64, 32, bytes <= 4 ? 512 : 256>;
    using Flat = element_tiles::ElementTile<bytes, 32, bytes <= 4 ? 64 : 32, 256>;
    return q.dst_shape(q.rank - 1) >= 128 ? element_tiles::run_elements<Tall>(q, src_order(q), src, dst, stream)
                                          : element_tiles::run_elements<Flat>(q, src_order(q), src, dst, stream);
  });
}

/// A kernel by its `run`, which takes what it can.
using Run = cudaError_t (*)(const PermuteProblem&, const void*, void*, cudaStream_t);
template <Run run> void add_run(std::vector<Candidate>& list, const char* name) {
  list.push_back({name, [](const Candidate&, const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
                    return run(q, src, dst, stream);
                  }});
}

/// The dispatch's kernels, wherever they can be.
inline void add_ruled(std::vector<Candidate>& list, int element_bytes) {
  add_run<gather::run>(list, "gather");
  add_run<boxes::run>(list, "boxes");
  add_run<run_along_input>(list, "tiles along the input");
  add_run<run_along_output>(list, "tiles along the output");
  add_run<input_runs::run>(list, "input_runs");
  if (element_bytes <= 4) add_run<gathered_words::run>(list, "gathered_words");
}

/// All for elements of so many bytes. What is not the dispatch's was chosen on an H200 by several hundred random
/// problems.
template <class P> std::vector<Candidate> make_candidates(int element_bytes) {
  using element_tiles::ElementTile;
  using fixed_tile::Tile;
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
    add_placed<placed_words::Tile<1, 1, 1, 64, 128>, placed_words::Tile<1, 1, 2, 64, 128>,
               placed_words::Tile<1, 1, 4, 64, 64, 128>, placed_words::Tile<1, 1, 4, 32, 256>,
               placed_words::Tile<1, 1, 4, 16, 512>, placed_words::Tile<1, 2, 1, 64, 128>,
               placed_words::Tile<1, 2, 2, 64, 256>, placed_words::Tile<1, 2, 4, 64, 256>,
               placed_words::Tile<1, 2, 8, 64, 256>, placed_words::Tile<1, 4, 4, 64, 256>,
               placed_words::Tile<1, 4, 8, 64, 256>>(list);
    break;
  case 2:
    add_elements<ElementTile<2, 32, 64, 64>, ElementTile<2, 128, 32, 128>>(list);
    add_direct<2, 1, 1, 16>(list);
    add_direct<2, 1, 2, 8>(list);
    add_direct<2, 2, 1, 8>(list);
    add_direct<2, 2, 2, 4>(list);
    add_fixed<Tile<2, 1, 8, 1024>, Tile<2, 1, 16, 512>, Tile<2, 1, 32, 256>, Tile<2, 1, 64, 256>, Tile<2, 2, 32, 256>,
              Tile<2, 2, 64, 256>>(list);
    add_placed<placed_words::Tile<2, 1, 1, 64, 128>, placed_words::Tile<2, 1, 2, 64, 128>,
               placed_words::Tile<2, 1, 4, 32, 256>, placed_words::Tile<2, 1, 8, 32, 256>,
               placed_words::Tile<2, 2, 2, 64, 128>, placed_words::Tile<2, 2, 2, 32, 256>,
               placed_words::Tile<2, 2, 4, 32, 256>, placed_words::Tile<2, 2, 4, 64, 256>,
               placed_words::Tile<2, 2, 8, 16, 512>>(list);
    break;
  case 4:
    add_elements<ElementTile<4, 32, 64, 128>>(list);
    add_words<4, 4, 2>(list);
    add_direct<4, 1, 1, 8>(list);
    add_direct<4, 1, 2, 4>(list);
    add_direct<4, 1, 4, 2>(list);
    add_fixed<Tile<4, 1, 8, 512>, Tile<4, 1, 16, 256>, Tile<4, 1, 32, 64, 128>, Tile<4, 1, 32, 128>,
              Tile<4, 1, 64, 128>, Tile<4, 2, 16, 256>, Tile<4, 2, 32, 128>, Tile<4, 2, 64, 32, 128>>(list);
    add_placed<placed_words::Tile<4, 1, 1, 32, 128>, placed_words::Tile<4, 1, 2, 32, 64, 128>,
               placed_words::Tile<4, 1, 4, 64, 64>, placed_words::Tile<4, 2, 2, 64, 64>,
               placed_words::Tile<4, 2, 4, 32, 128>, placed_words::Tile<4, 4, 4, 64, 64>>(list);
    break;
  case 8:
    add_direct<8, 1, 1, 8>(list);
    add_fixed<Tile<8, 1, 8, 256>, Tile<8, 1, 16, 128>, Tile<8, 1, 32, 32, 64>, Tile<8, 1, 32, 64>,
              Tile<8, 1, 64, 16, 128>, Tile<8, 1, 64, 64>>(list);
    add_placed<placed_words::Tile<8, 1, 1, 32, 64>, placed_words::Tile<8, 1, 2, 16, 64, 128>,
               placed_words::Tile<8, 1, 2, 64, 32>, placed_words::Tile<8, 2, 2, 32, 64>>(list);
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

/// What was chosen for a problem. `candidate` is nullptr for the dispatch's choice.
struct Choice {
  const Candidate* candidate = nullptr;
  float rule_milliseconds = 0;  ///< Of the dispatch's choice, and
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
/// Times the dispatch's choice and the candidates that take a problem, sample by sample in turn, so that whatever the
/// device does meanwhile it does to all. After 2 samples, what is a third slower than the best is dropped; after 5, a
/// tenth; after 11, 3%.
///
/// \param time_of called with a candidate, or nullptr for the dispatch's choice, and where its milliseconds go. It
/// returns a
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
/// times are modelled, on the emulator, a choice by them would tell of the model: there it is the dispatch's.
template <class P = PermuteProblem>
cudaError_t choose(const P& p, const void* src, void* dst, const Flush& flush, cudaStream_t stream, Choice& choice) {
  choice = {};
  const PermuteProblem q = simplified(p);
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

/// Permutes by what was chosen; as the dispatch has it where the arrays' alignment does not suit it.
inline cudaError_t run(const PermuteProblem& p, const Choice& choice, const void* src, void* dst, cudaStream_t stream) {
  if (choice.candidate != nullptr && p.count() > 0) {
    const PermuteProblem q = simplified(p);
    const cudaError_t error = q.rank <= 1 ? cudaErrorInvalidValue : choice.candidate->run(q, src, dst, stream);
    if (error != cudaErrorInvalidValue) return error;
  }
  return v9::run(p, src, dst, stream);
}

}  // namespace warpbook::chapter3::plan
