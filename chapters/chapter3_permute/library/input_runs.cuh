/// \file
/// input_runs: a thread moves a run of the input by itself; for fast dimensions that are short on the input's side. A
/// warp writes in order, and what one load leaves of a line, the next finds in the L1.
#pragma once

#include <algorithm>

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::input_runs {

inline constexpr int kThreads = 256;
inline constexpr int kMostElements = 64;  // Of a run.

/// Bytes of the longest run: the better of 64 and 128 on an H200.
constexpr int most_bytes(int element_bytes) { return element_bytes == 2 || element_bytes == 4 ? 128 : 64; }

/// The output without the run's dimensions, its slowest dimension first, and the run.
struct Layout {
  FastDivisor<std::uint32_t> dst_stride[kMaxRank];  // Of the output without the run.
  std::uint32_t src_step[kMaxRank];                 // Between neighbours, in elements,
  std::uint32_t dst_step[kMaxRank];                 // in the whole output.
  int rank;
  int run;                             // Elements.
  std::uint32_t place[kMostElements];  // In the output, of each of a run's elements.
};

template <class W, int vector>
__global__ void __launch_bounds__(kThreads) permute_kernel(W* __restrict__ dst, const W* __restrict__ src,
                                                           const __grid_constant__ Layout layout, std::uint32_t runs) {
  using Vector = Pack<W, vector>;
  constexpr int kLoads = sizeof(Vector) >= 16 ? 1 : sizeof(Vector) >= 8 ? 2 : 4;  // In flight.
  std::uint32_t rest = blockIdx.x * kThreads + threadIdx.x;
  if (rest >= runs) return;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
#pragma unroll
  for (int d = 0; d < kMaxRank; ++d) {
    if (d == layout.rank - 1) break;
    const auto [index, remainder] = layout.dst_stride[d].divide(rest);
    from += index * layout.src_step[d];
    to += index * layout.dst_step[d];
    rest = remainder;
  }
  from += rest * layout.src_step[layout.rank - 1];
  to += rest * layout.dst_step[layout.rank - 1];

#pragma unroll 1
  for (int first = 0; first < layout.run; first += kLoads * vector) {
    Vector loaded[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * vector;
      if (at < layout.run) loaded[i] = load_keeping<(sizeof(W) > 1)>(reinterpret_cast<const Vector*>(src + from + at));
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * vector;
      if (at >= layout.run) break;
#pragma unroll
      for (int e = 0; e < vector; ++e) dst[to + layout.place[at + e]] = loaded[i][e];
    }
  }
}

/// The run that a thread takes: so many of the input's fastest dimensions, and a part of the next.
struct RunPlan {
  int dimensions = 0;         ///< Whole ones.
  std::int64_t part = 1;      ///< Elements of the next; they divide its size.
  std::int64_t elements = 1;  ///< Of the run. 1: there is none.
};

/// Plans a run of two elements or more for a merged problem, where one exists: none of the dimensions that a warp
/// writes along is in it.
inline RunPlan plan_run(const PermuteProblem& m) {
  std::array<bool, kMaxRank> written_along{};
  std::int64_t span = 1;
  for (int k = m.rank - 1; k >= 0 && span < 32; --k) {
    written_along[m.permutation[k]] = true;
    span *= m.dst_shape(k);
  }
  const std::int64_t most = std::min(kMostElements, most_bytes(m.element_bytes) / m.element_bytes);
  RunPlan plan;
  int d = m.rank - 1;
  for (; d >= 0 && !written_along[d] && plan.elements * m.shape[d] <= most; --d) {
    plan.elements *= m.shape[d];
    ++plan.dimensions;
  }
  if (d >= 0 && !written_along[d]) {
    for (plan.part = most / plan.elements; m.shape[d] % plan.part != 0;) --plan.part;
    plan.elements *= plan.part;
  }
  return plan;
}

/// Sectors or lines of the input, of `unit` bytes, that so many neighbours of the output touch at least.
inline double touched(const PermuteProblem& m, double neighbours, int unit) {
  const Strides stride = src_strides(m);
  double left = neighbours;
  double units = 1;
  for (int k = m.rank - 1; k >= 0 && left > 1; --k) {
    const int d = m.permutation[k];
    const double taken = std::min(static_cast<double>(m.shape[d]), left);
    const double step = static_cast<double>(stride[d]) * m.element_bytes / unit;
    units *= step >= 1 ? taken : std::max(1.0, taken * step);
    left /= taken;
  }
  return units;
}

inline const char* refuse(const PermuteProblem& m) {
  if (m.rank < 2 || plan_run(m).elements < 2) return "a warp writes along the input's fastest dimension";
  return fits_32_bits(m.count() + kThreads) ? nullptr : "2^31 elements or more";
}

/// Moves runs. `m` is simplified, not empty and not refused.
inline cudaError_t run_runs(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const RunPlan plan = plan_run(m);
  const Strides from = src_strides(m);
  const Strides to = dst_strides_by_src(m);
  const int whole = m.rank - plan.dimensions;  // The first of the run's whole dimensions.
  Layout layout{};
  layout.run = static_cast<int>(plan.elements);
  for (int i = 0; i < layout.run; ++i) {
    std::int64_t rest = i;
    std::int64_t place = 0;
    for (int d = m.rank - 1; d >= whole; --d) {
      place += rest % m.shape[d] * to[d];
      rest /= m.shape[d];
    }
    if (whole > 0) place += rest * to[whole - 1];
    layout.place[i] = static_cast<std::uint32_t>(place);
  }

  // What is left of the output, from its slowest dimension on.
  std::int64_t runs = m.count() / plan.elements;
  std::int64_t stride = runs;
  for (int k = 0; k < m.rank; ++k) {
    const int d = m.permutation[k];
    if (d >= whole) continue;
    const std::int64_t part = d == whole - 1 ? plan.part : 1;
    stride /= m.shape[d] / part;
    layout.dst_stride[layout.rank] = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(stride));
    layout.src_step[layout.rank] = static_cast<std::uint32_t>(from[d] * part);
    layout.dst_step[layout.rank] = static_cast<std::uint32_t>(to[d] * part);
    ++layout.rank;
  }
  return with_word_bytes(m.element_bytes, [&]<int bytes>() {
    const auto launch_with = [&]<int vector>() {
      return launch(permute_kernel<Word<bytes>, vector>,
                    {.grid = ceil_div<std::int64_t>(runs, kThreads), .block = kThreads, .stream = stream},
                    static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), layout,
                    static_cast<std::uint32_t>(runs));
    };
    // Runs follow each other without gaps, so all are aligned as the first is, up to their length.
    const auto is_made_of = [&](int word) { return m.alignment % word == 0 && layout.run * bytes % word == 0; };
    if constexpr (bytes < 16) {
      if (is_made_of(16)) return launch_with.template operator()<16 / bytes>();
    }
    if constexpr (bytes < 8) {
      if (is_made_of(8)) return launch_with.template operator()<8 / bytes>();
    }
    if constexpr (bytes < 4) {
      if (is_made_of(4)) return launch_with.template operator()<4 / bytes>();
    }
    return launch_with.template operator()<1>();
  });
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) { return run_runs(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::input_runs
