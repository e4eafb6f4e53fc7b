/// \file
/// output_runs: a block writes one run of the output; for fast dimensions that are short on the output's side.
///
/// Where the output's fastest dimensions are short up to the one that is the input's fastest, rows that follow each
/// other in the input follow each other in the output, too. Together they make one run of the output, of any length:
/// some kilobytes of it are a block's. They lie in shared memory exactly as they will lie in the output, from the same
/// place in a word of 16 bytes on, so they leave it by such words, whatever the sizes. The block reads them in the
/// input's order: a thread keeps to one place among the input's fastest dimensions and takes it at each index of the
/// others, which a table of the block lists.
#pragma once

#include "chapters/chapter3_permute/library/composite_matrix.cuh"

namespace warpbook::chapter3::output_runs {

using composite_matrix::Digit;
using composite_matrix::elements_in_load;
using composite_matrix::even_part;
using composite_matrix::find_place;
using composite_matrix::Place;

inline constexpr int kThreads = 256;
inline constexpr int kMostTurns = kThreads;  // That read a run.

/// Loads of a thread in flight, of so many bytes each.
template <int bytes> inline constexpr std::uint32_t kInFlight = bytes <= 2 ? 16 : 8;

/// How a run is read, and where it lies. Strides of the output are those within a run.
struct Layout {
  Digit lane[kMaxRank];   // The input's fastest dimensions of the run: of each a thread has one index.
  Digit turn[kMaxRank];   // The others: the first counts parts of the last of the lanes' dimensions.
  Digit outer[kMaxRank];  // Dimensions that are not in the run: the first counts the runs of one dimension.
  int lane_digits;
  int turn_digits;
  int outer_digits;
  FastDivisor<std::uint32_t> lanes;  // At most kThreads.
  std::uint32_t down;                // Turns taken at a time: so often the lanes go into a block.
  std::uint32_t turns;               // At most kMostTurns.
  std::uint32_t lane_part;           // Lanes of an index of the last of their dimensions,
  std::uint32_t part;                // of which so many indices are a part
  std::uint32_t part_of;             // of so many.
  std::uint32_t run;                 // Elements: of all runs but the last of a dimension.
  std::uint32_t runs;                // Of a dimension;
  std::uint32_t span;                // together so many elements.
  std::uint32_t group_step;          // In the run, from an element of a load to the next.
};

/// Where a turn begins in the input and in the run, and how many lanes it has.
struct Turn {
  std::uint32_t src;
  std::uint32_t place;
  std::uint32_t lanes;
};

/// A block's run of the output.
struct Run {
  std::uint32_t begin;
  std::uint32_t size;
  std::uint32_t past;  // Elements from the last multiple of 16 bytes to its first.
};

/// Loads the elements of a run that this thread's lane has, at each of the turns, and puts them where they belong.
template <int bytes, int group>
__device__ __forceinline__ void load_run(Word<bytes>* tile, const Word<bytes>* __restrict__ src, const Layout& layout,
                                         const Run& run, const Turn* turns) {
  using Loaded = Word<group * bytes>;
  constexpr std::uint32_t kLoads = kInFlight<group * bytes>;
  const auto [first_turn, lane] = layout.lanes.divide(threadIdx.x);
  const Place own = find_place(layout.lane, layout.lane_digits, lane);
  __syncthreads();                                                        // For the turns.
  const std::uint32_t end = first_turn < layout.down ? layout.turns : 0;  // Some threads have no lane.
  for (std::uint32_t first = first_turn; first < end; first += layout.down * kLoads) {
    Loaded loaded[kLoads];
    std::uint32_t places[kLoads];
#pragma unroll
    for (std::uint32_t i = 0; i < kLoads; ++i) {
      places[i] = run.size;
      if (first + i * layout.down >= end) continue;
      const Turn turn = turns[first + i * layout.down];
      if (lane >= turn.lanes || own.dst + turn.place >= run.size) continue;
      places[i] = own.dst + turn.place;
      loaded[i] = load_keeping<(bytes > 1)>(reinterpret_cast<const Loaded*>(src + own.src + turn.src));
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kLoads; ++i) {
      if (places[i] >= run.size) continue;
#pragma unroll
      for (std::uint32_t e = 0; e < group; ++e) {
        tile[run.past + places[i] + e * layout.group_step] =
            reinterpret_cast<const Pack<Word<bytes>, group>&>(loaded[i])[e];
      }
    }
  }
}

/// Writes a run by words of 16 bytes.
template <int bytes>
__device__ __forceinline__ void store_run(Word<bytes>* __restrict__ dst, const Word<bytes>* tile, const Run& run) {
  constexpr std::uint32_t kWord = 16 / bytes;  // Elements.
  for (std::uint32_t at = threadIdx.x * kWord; at < run.past + run.size; at += kThreads * kWord) {
    Word<bytes>* to = dst + run.begin + at - run.past;
    if (at >= run.past && at + kWord <= run.past + run.size) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(tile + at);
    } else {  // The word that the run begins in, or ends in.
      for (std::uint32_t e = 0; e < kWord; ++e) {
        if (at + e >= run.past && at + e < run.past + run.size) to[e] = tile[at + e];
      }
    }
  }
}

//! [kernel]
/// A load takes `group` elements. `dst_past`: elements from the last multiple of 16 bytes to the output's first.
template <int bytes, int group>
__global__ void __launch_bounds__(kThreads)
    permute_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                   const __grid_constant__ Layout layout, std::uint32_t dst_past) {
  __shared__ Turn turns[kMostTurns];
  auto* tile = dynamic_shared<Word<bytes>>();
  const auto [dimension, in_dimension] = layout.outer[0].extent.divide(blockIdx.x);
  const std::uint32_t begin = dimension * layout.span + in_dimension * layout.run;
  const Run run{begin, min(layout.run, layout.span - in_dimension * layout.run), (begin + dst_past) % (16 / bytes)};
  src += find_place(layout.outer, layout.outer_digits, blockIdx.x).src;
  if (threadIdx.x < layout.turns) {
    const Place place = find_place(layout.turn, layout.turn_digits, threadIdx.x);
    const std::uint32_t left = layout.part_of - layout.turn[0].extent.divide(threadIdx.x).remainder * layout.part;
    turns[threadIdx.x] = {place.src, place.dst, min(layout.part, left) * layout.lane_part};
  }
  load_run<bytes, group>(tile, src, layout, run, turns);
  __syncthreads();
  store_run<bytes>(dst, tile, run);
}
//! [kernel]

/// Which of the output's dimensions make a run: so many of the fastest, of the last of them only a part.
struct RunDimensions {
  int count = 0;
  std::int64_t whole = 1;  ///< Elements of the others.
  std::int64_t part = 1;   ///< Indices of the last; a multiple of `group` where it is the input's fastest.
};

inline RunDimensions find_run(const PermuteProblem& m, std::int64_t most, int group) {
  const DimensionOrder order = dst_order(m);
  RunDimensions run;
  for (;;) {
    const int d = order[run.count++];
    const std::int64_t unit = d == m.rank - 1 ? group : 1;
    run.part = std::min(m.shape[d], even_part(m.shape[d], std::max(unit, most / run.whole / unit * unit), unit));
    if (run.part < m.shape[d] || run.count == m.rank) return run;
    run.whole *= m.shape[d];
  }
}

/// Whether a run of at most `most` elements has all or a part of the input's fastest dimension: else each load takes a
/// word and needs an element of it.
inline bool reads_runs(const PermuteProblem& m, std::int64_t most) {
  const RunDimensions run = find_run(m, most, 1);
  for (int k = 0; k < run.count; ++k) {
    if (dst_order(m)[k] == m.rank - 1) return true;
  }
  return false;
}

/// Runs of at most `most` elements, as they are read. `m` is not refused, and its runs have the input's fastest
/// dimension, which is made of groups.
inline Layout make_layout(const PermuteProblem& m, std::int64_t most, int group) {
  const Strides from = src_strides(m);
  const DimensionOrder order = dst_order(m);
  const RunDimensions run = find_run(m, most, group);
  const auto digit = [](std::int64_t extent, std::int64_t src_stride, std::int64_t dst_stride) {
    return Digit{FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(extent)), static_cast<std::uint32_t>(src_stride),
                 static_cast<std::uint32_t>(dst_stride)};
  };
  Layout layout{};
  std::array<std::int64_t, kMaxRank> extent{};  // Of the run's dimensions; 0: not in it.
  std::array<std::int64_t, kMaxRank> place{};   // Strides in the run.
  std::int64_t stride = 1;
  for (int k = 0; k < run.count; ++k) {
    const int d = order[k];
    extent[d] = k + 1 < run.count ? m.shape[d] : run.part;
    place[d] = stride;
    stride *= extent[d];
  }
  const int cut = order[run.count - 1];
  layout.run = static_cast<std::uint32_t>(stride);
  layout.span = static_cast<std::uint32_t>(run.whole * m.shape[cut]);
  layout.runs = static_cast<std::uint32_t>(ceil_div(m.shape[cut], run.part));
  layout.group_step = static_cast<std::uint32_t>(place[m.rank - 1]);
  layout.outer[layout.outer_digits++] = digit(layout.runs, run.part * from[cut], 0);
  for (int k = run.count; k < m.rank; ++k) {
    layout.outer[layout.outer_digits++] = digit(m.shape[order[k]], from[order[k]], 0);
  }

  std::int64_t lanes = 1;
  std::int64_t turns = 1;
  for (int d = m.rank - 1; d >= 0; --d) {  // The input's fastest first.
    if (extent[d] == 0) continue;
    const int step = d == m.rank - 1 ? group : 1;
    const std::int64_t indices = extent[d] / step;
    if (layout.turn_digits == 0) {
      const std::int64_t part = even_part(indices, kThreads / lanes);
      layout.lane[layout.lane_digits++] = digit(part, from[d] * step, place[d] * step);
      if (part < indices || lanes * part * 2 > kThreads) {  // No other dimension has room.
        layout.lane_part = static_cast<std::uint32_t>(lanes);
        layout.part = static_cast<std::uint32_t>(part);
        layout.part_of = static_cast<std::uint32_t>(indices);
        turns = ceil_div(indices, part);
        layout.turn[layout.turn_digits++] = digit(turns, part * from[d] * step, part * place[d] * step);
      }
      lanes *= part;
    } else {
      layout.turn[layout.turn_digits++] = digit(indices, from[d] * step, place[d] * step);
      turns *= indices;
    }
  }
  if (layout.turn_digits == 0) {  // All of the run in one turn.
    layout.turn[layout.turn_digits++] = digit(1, 0, 0);
    layout.lane_part = static_cast<std::uint32_t>(lanes);
    layout.part = layout.part_of = 1;
  }
  layout.lanes = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(lanes));
  layout.down = static_cast<std::uint32_t>(kThreads / lanes);
  layout.turns = static_cast<std::uint32_t>(turns);
  return layout;
}

/// Moves runs of at most `run_bytes`. `m` is simplified, not empty, and a composite matrix.
/// \return cudaErrorInvalidValue where runs have nothing of the input's fastest dimension, or too many turns.
/// A template, here and below, so that who never asks need not compile its kernels: plan.cuh is in permute.cuh.
template <class P = PermuteProblem>
cudaError_t run_runs(const P& m, int run_bytes, const void* src, void* dst, cudaStream_t stream) {
  const std::int64_t most = run_bytes / m.element_bytes;
  if (!reads_runs(m, most)) return cudaErrorInvalidValue;
  const auto launch_as = [&]<int bytes, int group>() {
    const Layout layout = make_layout(m, most, group);
    if (layout.turns > kMostTurns) return cudaErrorInvalidValue;
    const std::int64_t blocks = m.count() / layout.span * layout.runs;
    const auto shared = static_cast<std::size_t>(layout.run) * bytes + 16;
    return launch(permute_kernel<bytes, group>,
                  {.grid = blocks, .block = kThreads, .shared_bytes = shared, .stream = stream},
                  static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), layout,
                  composite_matrix::elements_past(dst, 16, bytes));
  };
  int group = elements_in_load(m);
  if (make_layout(m, most, group).turns > kMostTurns) group = 1;
  switch (m.element_bytes) {
  case 1:
    return group == 4   ? launch_as.template operator()<1, 4>()
           : group == 2 ? launch_as.template operator()<1, 2>()
                        : launch_as.template operator()<1, 1>();
  case 2:
    return group == 2 ? launch_as.template operator()<2, 2>() : launch_as.template operator()<2, 1>();
  case 4:
    return launch_as.template operator()<4, 1>();
  case 8:
    return launch_as.template operator()<8, 1>();
  default:
    return cudaErrorInvalidValue;
  }
}

inline constexpr int kRunBytes = 8192;  // The plan tries others, too.

/// Why the kernel refuses a simplified problem; nullptr where it takes it.
inline const char* refuse(const PermuteProblem& m) {
  if (const char* reason = composite_matrix::refuse(m)) return reason;
  const std::int64_t most = kRunBytes / m.element_bytes;
  if (!reads_runs(m, most)) return "no run of the output has a run of the input";
  const bool fits = make_layout(m, most, 1).turns <= kMostTurns;
  return fits ? nullptr : "a run of the output has too many of the input";
}

template <class P = PermuteProblem> cudaError_t run(const P& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) { return run_runs(q, kRunBytes, src, dst, stream); });
}

}  // namespace warpbook::chapter3::output_runs
