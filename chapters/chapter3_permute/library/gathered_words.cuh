/// \file
/// gathered_words: a thread gathers 16 bytes of the output; where neighbours of the output are near each other in the
/// input, so that the L1 makes up for the disorder.
///
/// A thread divides for its first element; from there the index is carried on, as an odometer carries: one addition per
/// element, a second where the fastest dimension ends, and a division again where the second fastest does. The lanes of
/// a warp come to that end at different elements, and the warp divides for each. Where this is often, a thread divides
/// for what is behind the end beforehand, all lanes together.
#pragma once

#include "chapters/chapter3_permute/permute.hpp"
#include "common/cuda/fast_division.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/pack.cuh"

namespace warpbook::chapter3::gathered_words {

inline constexpr int kThreads = 256;

/// The output's dimensions, its slowest first.
struct Layout {
  int rank;  // 2 or more.
  FastDivisor<std::uint32_t> dst_stride[kMaxRank];
  std::uint32_t src_stride[kMaxRank];
  std::uint32_t fastest;      // Extents of the output's fastest dimension
  std::uint32_t second;       // and of the next.
  std::uint32_t second_step;  // From the end of the one to the next index of the other: added modulo 2^32.
};

/// An element of the output: where the input has it, and its indices along the two fastest dimensions.
struct Place {
  std::uint32_t src_offset;
  std::uint32_t second;
  std::uint32_t fastest;
};

__device__ __forceinline__ Place find_place(const Layout& layout, std::uint32_t rest) {
  Place place{0, 0, 0};
#pragma unroll
  for (int d = 0; d < kMaxRank; ++d) {
    if (d == layout.rank - 1) break;
    const auto [index, remainder] = layout.dst_stride[d].divide(rest);
    place.src_offset += index * layout.src_stride[d];
    place.second = index;
    rest = remainder;
  }
  place.fastest = rest;
  place.src_offset += rest * layout.src_stride[layout.rank - 1];
  return place;
}

/// `before`: elements from the last multiple of a word's size to the output's first; the output may begin anywhere.
/// What helps on an H200: of halves, stores that leave the L2 first; of floats, loads that stay.
/// kNext: the two fastest dimensions end at most once in a word, and a thread finds the element behind it beforehand.
template <int bytes, int elements, int words, bool kNext>
__global__ void __launch_bounds__(kThreads)
    permute_kernel(Word<bytes>* __restrict__ dst, const Word<bytes>* __restrict__ src,
                   const __grid_constant__ Layout layout, int count, int before) {
  using P = Pack<Word<bytes>, elements>;
  const auto first_of = [&](int i) {
    return (static_cast<int>(blockIdx.x * words + i) * kThreads + static_cast<int>(threadIdx.x)) * elements - before;
  };
  const auto is_whole = [&](int first) { return first >= 0 && first + elements <= count; };
  const std::uint32_t fastest_stride = layout.src_stride[layout.rank - 1];

  P word[words];
#pragma unroll
  for (int i = 0; i < words; ++i) {
    const int first = first_of(i);
    if (!is_whole(first)) continue;
    Place place = find_place(layout, first);
    std::uint32_t next_offset = 0;
    if constexpr (kNext) {
      const std::uint32_t left = (layout.second - place.second) * layout.fastest - place.fastest;
      if (left < elements) next_offset = find_place(layout, first + left).src_offset;
    }
#pragma unroll
    for (int e = 0; e < elements; ++e) {
      word[i][e] = load_keeping<(bytes == 4)>(src + place.src_offset);
      if (e + 1 == elements) break;
      place.src_offset += fastest_stride;
      if (++place.fastest < layout.fastest) continue;
      place.fastest = 0;
      place.src_offset += layout.second_step;
      if (++place.second < layout.second) continue;
      place = kNext ? Place{next_offset, 0, 0} : find_place(layout, first + e + 1);
    }
  }
#pragma unroll
  for (int i = 0; i < words; ++i) {
    const int first = first_of(i);
    if (is_whole(first)) {
      if constexpr (bytes == 2) {
        store_leaving(reinterpret_cast<P*>(dst + first), word[i]);
      } else {
        store_whole(reinterpret_cast<P*>(dst + first), word[i]);
      }
    } else {  // The word that the output begins in, or ends in.
      for (int e = max(first, 0); e < min(first + elements, count); ++e) {
        dst[e] = src[find_place(layout, e).src_offset];
      }
    }
  }
}

inline const char* refuse(const PermuteProblem& m) {
  if (m.rank < 2) return "nothing moves";
  if (m.element_bytes > 4) return "elements must have 1, 2 or 4 bytes";
  return fits_32_bits(m.count() + 16 * kThreads) ? nullptr : "2^31 elements or more";
}

/// The kernel for a layout. With kNext where the two fastest dimensions hold a word, and their end is met often: in
/// words of 16 single bytes, and among 64 halves.
template <int bytes, int elements, int words> auto kernel_for(const Layout& layout) {
  if constexpr (bytes <= 2) {
    const std::uint64_t both = std::uint64_t{layout.fastest} * layout.second;
    const bool is_often = bytes == 1 ? elements == 16 : both < 64;
    if (both >= elements && is_often) return permute_kernel<bytes, elements, words, true>;
  }
  return permute_kernel<bytes, elements, words, false>;
}

/// Gathers words of `elements`, so many per thread. `m` is simplified, not empty and not refused.
template <int bytes, int elements, int words>
cudaError_t run_as(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const Strides to = dst_strides(m);
  const Strides from = src_strides(m);
  Layout layout{};
  layout.rank = m.rank;
  for (int d = 0; d < m.rank; ++d) {
    layout.dst_stride[d] = FastDivisor<std::uint32_t>(static_cast<std::uint32_t>(to[d]));
    layout.src_stride[d] = static_cast<std::uint32_t>(from[m.permutation[d]]);
  }
  layout.fastest = static_cast<std::uint32_t>(m.dst_shape(m.rank - 1));
  layout.second = static_cast<std::uint32_t>(m.dst_shape(m.rank - 2));
  layout.second_step = layout.src_stride[m.rank - 2] - layout.fastest * layout.src_stride[m.rank - 1];
  const auto before = static_cast<int>(reinterpret_cast<std::uintptr_t>(dst) % (elements * bytes)) / bytes;
  const auto all_words = ceil_div<std::int64_t>(m.count() + before, elements);
  return launch(kernel_for<bytes, elements, words>(layout),
                {.grid = ceil_div<std::int64_t>(all_words, kThreads * words), .block = kThreads, .stream = stream},
                static_cast<Word<bytes>*>(dst), static_cast<const Word<bytes>*>(src), layout,
                static_cast<int>(m.count()), before);
}

/// Gathers words of 16 bytes. Single bytes that lie a few apart in long rows, as those of a plane do among pixels, make
/// two words of 8: a warp's load then touches half as many lines. `m` is simplified, not empty and not refused.
inline cudaError_t run_words(const PermuteProblem& m, const void* src, void* dst, cudaStream_t stream) {
  const std::int64_t apart = src_strides(m)[m.permutation[m.rank - 1]];
  const bool long_rows = m.dst_shape(m.rank - 1) * m.dst_shape(m.rank - 2) >= 512;
  switch (m.element_bytes) {
  case 1:
    return apart > 1 && apart <= 8 && long_rows ? run_as<1, 8, 2>(m, src, dst, stream)
                                                : run_as<1, 16, 1>(m, src, dst, stream);
  case 2:
    return run_as<2, 8, 1>(m, src, dst, stream);
  case 4:
    return run_as<4, 4, 1>(m, src, dst, stream);
  default:
    return cudaErrorInvalidValue;
  }
}

inline cudaError_t run(const PermuteProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, refuse, [&](const PermuteProblem& q) { return run_words(q, src, dst, stream); });
}

}  // namespace warpbook::chapter3::gathered_words
