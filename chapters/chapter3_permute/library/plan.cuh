/// \file
/// plan: the kernel that was fastest here, on this device and this problem; for what is permuted very often. The
/// kernels that take the problem run on the caller's own arrays and are timed, the dispatch's choice first.
/// Source: M. Frigo, S. G. Johnson, "The design and implementation of FFTW3", Proceedings of the IEEE 93, 2005; so do
/// torch.compile's max-autotune and the users of cuBLASLt's heuristics.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "chapters/chapter3_permute/v9_dispatch.cuh"

namespace warpbook::chapter3::plan {

/// A kernel and how it is laid on a problem.
struct Candidate {
  using Run = std::function<cudaError_t(const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream)>;

  std::string name;  ///< The kernel's; behind a comma its arrangement.
  Run run;  ///< Moves a simplified problem of rank 2 or more with elements; cudaErrorInvalidValue, with nothing
            ///< launched, where the candidate does not take it.
};

namespace detail {

using composite_matrix::Arrangement;
using List = std::vector<Candidate>;

/// What columns have at least, in bytes; and all dimensions but the input's fastest.
inline constexpr int kAllColumns = std::numeric_limits<int>::max();
inline constexpr int kLeastBytes[] = {64, 256, 1024, kAllColumns};

inline void add(List& list, std::string name, const char* (*refuse)(const PermuteProblem&), const Candidate::Run& run) {
  list.push_back({std::move(name), [=](const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
                    return refuse(q) == nullptr ? run(q, src, dst, stream) : cudaErrorInvalidValue;
                  }});
}

/// Adds tiles T of a composite matrix in one arrangement, for problems whose columns no lesser number of bytes makes.
template <class T> void add_arranged(List& list, std::string name, const Arrangement& arrangement) {
  constexpr bool kPlaced = requires { T::kStore; };
  const int bytes = arrangement.least_bytes;
  name += bytes == kAllColumns ? ", all columns" : ", columns of " + std::to_string(bytes) + " bytes";
  if (arrangement.whole_groups) name += ", whole runs";
  if (arrangement.along_input) name += ", along the input";
  add(list, name, composite_matrix::refuse,
      [=](const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
        const auto count = [&](int least) { return composite_matrix::find_columns(q, least, kPlaced).count; };
        for (const int less : kLeastBytes) {
          if (less < bytes && count(less) == count(bytes)) return cudaErrorInvalidValue;
        }
        if constexpr (kPlaced) {
          return placed_words::run_arranged<T>(q, src, dst, stream, arrangement);
        } else {
          return fixed_tile::run_arranged<T>(q, src, dst, stream, arrangement);
        }
      });
}

/// Adds tiles of fixed_tile and of placed_words, each in every arrangement that gained something.
template <class... T> void add_tiles(List& list) {
  const auto add_tile = [&]<class Tile>() {
    constexpr bool kPlaced = requires { Tile::kStore; };
    std::string name = kPlaced ? "placed_words " : "fixed_tile ";
    name += std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns) + " by " + std::to_string(Tile::kGroup);
    if constexpr (kPlaced) name += "x" + std::to_string(Tile::kStore);
    for (const int least_bytes : kLeastBytes) {
      for (const bool along_input : {false, true}) {
        for (const bool whole_groups : {false, true}) {
          if (kPlaced ? whole_groups : least_bytes == kAllColumns) continue;
          add_arranged<Tile>(list, name, {least_bytes, along_input, whole_groups});
        }
      }
    }
  };
  (add_tile.template operator()<T>(), ...);
}

/// Adds composite_tile's tiles of several shapes, loaded by words where they can be, and by elements.
inline void add_composite(List& list) {
  constexpr int kSides[][2] = {{256, 64}, {256, 128}, {512, 32}, {512, 64}, {1024, 32}, {2048, 16}};
  for (const bool by_words : {false, true}) {
    for (const auto& side : kSides) {
      for (const int least_bytes : {256, 1024}) {
        const composite_tile::TileShape shape{side[0], side[1], least_bytes};
        add(list,
            std::string("composite_tile") + (by_words ? " by words, " : ", ") + std::to_string(side[0]) + "x" +
                std::to_string(side[1]) + " bytes, columns of " + std::to_string(least_bytes),
            composite_tile::refuse, [=](const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
              const int group = composite_tile::rows_in_group(q);
              if (by_words && group == 1) return cudaErrorInvalidValue;
              return composite_tile::run_shaped(q, shape, by_words ? group : 1, src, dst, stream);
            });
      }
    }
  }
}

/// Adds element_tiles' tiles of other shapes, along the output.
template <class... T> void add_elements(List& list) {
  (add(list, "element_tiles " + std::to_string(T::kRows) + "x" + std::to_string(T::kColumns), element_tiles::refuse,
       [](const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
         return element_tiles::run_elements<T>(q, dst_order(q), src, dst, stream);
       }),
   ...);
}

template <int bytes, int group, int store, int rows, int columns, int threads = 256>
using Placed = placed_words::Tile<bytes, group, store, rows, columns, threads>;

/// Adds tiles in an order: of 16-byte words, or else of words of 4 bytes or elements.
inline void add_ordered(List& list, std::string name, DimensionOrder (*order)(const PermuteProblem&)) {
  add(list, std::move(name), v8::refuse_tiles,
      [=](const PermuteProblem& q, const void* src, void* dst, cudaStream_t stream) {
        return v8::refuse(q) == nullptr              ? v8::run_wide(q, order(q), src, dst, stream)
               : element_tiles::refuse(q) == nullptr ? element_tiles::run_in_order(q, order(q), src, dst, stream)
                                                     : cudaErrorInvalidValue;
      });
}

/// All for elements of so many bytes: the dispatch's kernels wherever they can be, and what was faster on some of
/// several hundred random problems on an H200.
template <class P> List make_candidates(int element_bytes) {
  using element_tiles::ElementTile;
  using fixed_tile::Tile;
  List list;
  add(list, "gather", [](const P&) -> const char* { return nullptr; }, gather::run_words);
  add(list, "input_runs", input_runs::refuse, input_runs::run_runs);
  add_ordered(list, "tiles along the input", src_order);
  add_ordered(list, "tiles along the output", dst_order);
  if (element_bytes <= 4) {
    add(list, "gathered_words", gathered_words::refuse, gathered_words::run_words);
    add_composite(list);
  }
  switch (element_bytes) {
  case 1:
    add_elements<ElementTile<1, 32, 128, 128>>(list);
    add(list, "gathered_words 2 of 8", gathered_words::refuse, gathered_words::run_as<1, 8, 2>);
    add_tiles<Tile<1, 1, 16, 1024>, Tile<1, 1, 32, 256>, Tile<1, 1, 32, 512>, Tile<1, 1, 64, 128, 128>,
              Tile<1, 2, 64, 256>, Tile<1, 4, 64, 256>, Tile<1, 4, 256, 128>, Placed<1, 1, 1, 64, 128>,
              Placed<1, 1, 2, 64, 128>, Placed<1, 1, 4, 64, 64, 128>, Placed<1, 1, 4, 32, 256>,
              Placed<1, 1, 4, 16, 512>, Placed<1, 2, 1, 64, 128>, Placed<1, 2, 2, 64, 256>, Placed<1, 2, 4, 64, 256>,
              Placed<1, 2, 8, 64, 256>, Placed<1, 4, 4, 64, 256>, Placed<1, 4, 8, 64, 256>>(list);
    break;
  case 2:
    add_elements<ElementTile<2, 32, 64, 64>, ElementTile<2, 128, 32, 128>>(list);
    add_tiles<Tile<2, 1, 8, 1024>, Tile<2, 1, 16, 512>, Tile<2, 1, 32, 256>, Tile<2, 1, 64, 256>, Tile<2, 2, 32, 256>,
              Tile<2, 2, 64, 256>, Placed<2, 1, 1, 64, 128>, Placed<2, 1, 2, 64, 128>, Placed<2, 1, 4, 32, 256>,
              Placed<2, 1, 8, 32, 256>, Placed<2, 2, 2, 64, 128>, Placed<2, 2, 2, 32, 256>, Placed<2, 2, 4, 32, 256>,
              Placed<2, 2, 4, 64, 256>, Placed<2, 2, 8, 16, 512>>(list);
    break;
  case 4:
    add_elements<ElementTile<4, 32, 64, 128>>(list);
    add(list, "gathered_words 2 of 4", gathered_words::refuse, gathered_words::run_as<4, 4, 2>);
    add_tiles<Tile<4, 1, 8, 512>, Tile<4, 1, 16, 256>, Tile<4, 1, 32, 64, 128>, Tile<4, 1, 32, 128>,
              Tile<4, 1, 64, 128>, Tile<4, 2, 16, 256>, Tile<4, 2, 32, 128>, Tile<4, 2, 64, 32, 128>,
              Placed<4, 1, 1, 32, 128>, Placed<4, 1, 2, 32, 64, 128>, Placed<4, 1, 4, 64, 64>, Placed<4, 2, 2, 64, 64>,
              Placed<4, 2, 4, 32, 128>, Placed<4, 4, 4, 64, 64>>(list);
    break;
  case 8:
    add_tiles<Tile<8, 1, 8, 256>, Tile<8, 1, 16, 128>, Tile<8, 1, 32, 32, 64>, Tile<8, 1, 32, 64>,
              Tile<8, 1, 64, 16, 128>, Tile<8, 1, 64, 64>, Placed<8, 1, 1, 32, 64>, Placed<8, 1, 2, 16, 64, 128>,
              Placed<8, 1, 2, 64, 32>, Placed<8, 2, 2, 32, 64>>(list);
    break;
  default:
    add_tiles<Tile<16, 1, 32, 32>, Placed<16, 1, 1, 32, 32>>(list);
    break;
  }
  return list;
}

}  // namespace detail

/// Those for elements of so many bytes. A template, so that who does not choose need not compile them: `P` is
/// PermuteProblem.
template <class P> std::span<const Candidate> candidates(int element_bytes) {
  static const auto lists = [] {
    std::map<int, detail::List> made;
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

/// What `run()` takes, with a cold L2. The device writes `flush` until the host has queued everything.
template <class Run> cudaError_t sample(const Run& run, const Flush& flush, cudaStream_t stream, float& milliseconds) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  cudaError_t error = cudaSuccess;
  const auto then = [&](auto&& call) {
    if (error == cudaSuccess) error = call();
  };
  then([&] { return cudaEventCreate(&begin); });
  then([&] { return cudaEventCreate(&end); });
  then([] {  // Lines that kernels asked the L2 to keep would stay through the flush.
    const cudaError_t freed = cudaCtxResetPersistingL2Cache();
    if (freed != cudaErrorNotSupported) return freed;
    static_cast<void>(cudaGetLastError());
    return cudaSuccess;
  });
  then([&] { return flush.bytes == 0 ? cudaSuccess : cudaMemsetAsync(flush.data, 0, flush.bytes, stream); });
  then([&] { return cudaEventRecord(begin, stream); });
  then(run);
  then([&] { return cudaEventRecord(end, stream); });
  then([&] { return cudaEventSynchronize(end); });
  then([&] { return cudaEventElapsedTime(&milliseconds, begin, end); });
  for (const cudaEvent_t event : {begin, end}) {
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  }
  return error;
}

struct Runner {
  const Candidate* candidate;
  std::vector<float> milliseconds;

  float median() const {
    std::vector<float> sorted = milliseconds;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

}  // namespace detail

inline constexpr int kSamples = 31;     ///< Of whoever may win: for 1% to be told from noise.
inline constexpr float kNoise = 0.99F;  ///< Of the rule's time: what is not faster than that is the rule's equal.

/// Times the dispatch's choice and the candidates that take a problem, sample by sample in turn, so that whatever the
/// device does meanwhile it does to all. After 2 samples, what is a third slower than the best is dropped; after 5, a
/// tenth; after 11, 3%.
///
/// \param time_of called with a candidate, or nullptr for the dispatch's choice, and where its milliseconds go. It
///        returns a cudaError_t; cudaErrorInvalidValue where the candidate does not take the problem.
/// \return what else `time_of` returned, with `choice` as it was.
template <class TimeOf>
cudaError_t choose_measured(std::span<const Candidate> candidates, const TimeOf& time_of, Choice& choice) {
  float uncounted = 0;  // A kernel's first launch loads it.
  if (const cudaError_t error = time_of(nullptr, uncounted); error != cudaSuccess) return error;
  std::vector<detail::Runner> runners{{nullptr, {}}};
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
      for (detail::Runner& runner : runners) {
        const cudaError_t error = time_of(runner.candidate, runner.milliseconds.emplace_back());
        if (error != cudaSuccess) return error;
      }
    }
    const float best = std::ranges::min_element(runners, {}, &detail::Runner::median)->median();
    std::erase_if(runners, [&](const detail::Runner& runner) {
      return runner.candidate != nullptr && runner.median() > best * round.slowest;
    });
  }
  const float rule = runners.front().median();
  const float fastest = runners.back().median();
  const bool other = fastest < kNoise * rule;
  choice = {other ? runners.back().candidate : nullptr, rule, other ? fastest : rule};
  return cudaSuccess;
}

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
  const auto time_of = [&](const Candidate* candidate, float& milliseconds) {
    const auto run = [&] {
      return candidate == nullptr ? v9::run(q, src, dst, stream) : candidate->run(q, src, dst, stream);
    };
    return detail::sample(run, flush, stream, milliseconds);
  };
  return choose_measured(candidates<P>(q.element_bytes), time_of, choice);
}

/// Permutes by what was chosen; as the dispatch has it where the arrays' alignment does not suit it.
inline cudaError_t run(const PermuteProblem& p, const Choice& choice, const void* src, void* dst, cudaStream_t stream) {
  const PermuteProblem q = simplified(p);
  if (choice.candidate != nullptr && p.count() > 0 && q.rank > 1) {
    const cudaError_t error = choice.candidate->run(q, src, dst, stream);
    if (error != cudaErrorInvalidValue) return error;
  }
  return v9::run(p, src, dst, stream);
}

}  // namespace warpbook::chapter3::plan
