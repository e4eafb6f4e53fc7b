/// \file
/// v7b repeats: what is read once and written many times.
///
/// A view may show an element many times: through a broadcast dimension (stride 0), or through windows that overlap.
/// v7a loads it again each time. From the caches, but every load is a request, and where a whole matrix is repeated, as
/// many bytes come out of the L2 as go into memory. Three things help. Where the last dimension is a broadcast, one
/// load fills a pack. Where it is not, but neighbours are read from close together, a thread's pack is 16 bytes, so
/// that stores are few and the loads of a pack meet in the L1. And where the first dimension is a broadcast, a thread
/// keeps what it has loaded and writes it kCopies times.
///
/// Expect a fill's speed for broadcasts, and nothing elsewhere: all other views, and writing into any, are left to v7a.
#pragma once

#include "chapters/chapter2_strided/v7a_wide_words.cuh"

namespace warpbook::chapter2::v7b {

inline constexpr int kThreads = 256;
inline constexpr int kPackBytes = 16;
inline constexpr int kCopies = 4;  ///< That a block writes of what it has read, at most.

/// What is repeated: the last dimension's elements, so that a pack reaches into two rows at most; elements nearby, as
/// in windows; or all that follows the first dimension.
enum class Repeated { last, near, whole };
/// Packs of a thread.
template <Repeated repeated> inline constexpr int kPacks = repeated == Repeated::whole ? 1 : 2;

/// What the kernel moves, `copies` times with `copy_step` packs between two copies; see v7a::Extent.
struct Extent {
  std::uint32_t packs;
  int head;
  int tail;
  std::uint32_t count;
  std::uint32_t copies;
  std::uint32_t copy_step;
};

//! [kernel]
template <class W, Repeated repeated>
__global__ void __launch_bounds__(kThreads)
    repeat_kernel(W* __restrict__ dst, const W* __restrict__ src,
                  const __grid_constant__ WalkedView<std::uint32_t> view, const __grid_constant__ Extent extent) {
  constexpr int pack = kPackBytes / static_cast<int>(sizeof(W));
  constexpr int packs = kPacks<repeated>;
  constexpr bool broadcast = repeated == Repeated::last;
  using P = Pack<W, pack>;
  Walk<std::uint32_t> walk;

  const int i = static_cast<int>(threadIdx.x);
  if (pack > 1 && blockIdx.x == 0 && blockIdx.y == 0 && i < extent.head + extent.tail) {
    const std::uint32_t linear =
        i < extent.head ? std::uint32_t(i) : extent.count - std::uint32_t(extent.head + extent.tail - i);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }

  const std::uint32_t warp = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  const std::uint32_t first = warp * (32 * packs) + threadIdx.x % 32;
  if (first >= extent.packs) return;
  walk.locate(view, std::uint32_t(extent.head) + first * pack);

  //! [exercise one_load]
  constexpr int loads = broadcast ? 1 : pack;  // Of a pack, in its first row.
  //! [exercise one_load]
  W element[packs][loads];
  W behind[packs];  // The next row's element.
  std::uint32_t left[packs];
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const std::uint32_t here = walk.offset(view);
    left[p] = view.sizes[0].divisor - walk.last;  // Elements of the row.
    const bool exists = first + 32 * p < extent.packs;
    if (broadcast || view.sizes[0].divisor >= pack) {
      std::uint32_t next = here;  // Where the next row would begin, if the pack's first element were its own.
      if (left[p] < pack) {
        Walk<std::uint32_t> next_row = walk;
        next_row.advance(view, left[p], 0);
        next = next_row.offset(view) - left[p] * view.strides[0];
      }
      if (exists) {
#pragma unroll
        for (int j = 0; j < loads; ++j) {
          element[p][j] = src[(std::uint32_t(j) < left[p] ? here : next) + std::uint32_t(j) * view.strides[0]];
        }
        if (broadcast) behind[p] = src[next];
      }
    } else if (exists && walk.second + loads < view.sizes[1].divisor) {  // Rows shorter than a pack,
      const std::uint32_t to_next_row = view.strides[1] - view.sizes[0].divisor * view.strides[0];
      std::uint32_t at = here;
      std::uint32_t last = walk.last;
#pragma unroll
      for (int j = 0; j < loads; ++j) {
        element[p][j] = src[at];
        at += view.strides[0];
        if (++last == view.sizes[0].divisor) {
          last = 0;
          at += to_next_row;
        }
      }
    } else if (exists) {  // and those where the second digit may run over too.
      Walk<std::uint32_t> one = walk;
#pragma unroll
      for (int j = 0; j < loads; ++j) {
        element[p][j] = src[one.offset(view)];
        if (j + 1 < loads) one.advance(view, 1, 0);
      }
    }
    if (p + 1 < packs) walk.advance(view, view.step_last, view.step_second);
  }
  // Packs are made only now: a load that is waited for in the loop would hold up those behind it.
  P word[packs];
#pragma unroll
  for (int p = 0; p < packs; ++p) {
#pragma unroll
    for (int j = 0; j < pack; ++j) {
      word[p][j] = broadcast && std::uint32_t(j) >= left[p] ? behind[p] : element[p][j % loads];
    }
  }
  P* const dst_packs = reinterpret_cast<P*>(dst + extent.head);
  const std::uint32_t first_copy = blockIdx.y * kCopies;
  const std::uint32_t end_copy =
      repeated == Repeated::whole ? min(first_copy + kCopies, extent.copies) : first_copy + 1;
  for (std::uint32_t copy = first_copy; copy < end_copy; ++copy) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (first + 32 * p >= extent.packs) break;
      P* const to = dst_packs + copy * extent.copy_step + first + 32 * p;
      if constexpr (repeated == Repeated::whole) {
        store_streaming(to, word[p]);  // Or the copies would push out of the L2 what is read.
      } else {
        store_whole(to, word[p]);
      }
    }
  }
}
//! [kernel]

/// How often the whole of what follows a collapsed view's first dimension is shown: its size where it is a broadcast of
/// whole packs, else 1.
inline std::int64_t whole_copies(const Prepared& q) {
  const TensorView& view = q.problem.view;
  if (view.dims < 2 || view.strides[0] != 0) return 1;
  const auto address = reinterpret_cast<std::uintptr_t>(q.dst);
  const std::int64_t bytes = view.count() / view.sizes[0] * q.problem.element_bytes;
  return bytes % kPackBytes == 0 && address % kPackBytes == 0 ? view.sizes[0] : 1;
}

/// Whether neighbours are read from the same elements: a broadcast innermost dimension, or windows of which each shares
/// half with the next one, or more. Both limits were chosen on an H200, over the views of seed 11 of tests/peers, and
/// the first one's 8 bytes later: of halves 10 bytes apart, 9x293x2x146x7 by 434148,1452,726,5,1452, v7b took 16.0 us
/// and v7a takes 14.6 (chapter2_trials_7.txt).
inline bool reads_again(const StridedProblem& p) {
  const TensorView& view = p.view;
  const int last = view.dims - 1;
  if (view.strides[last] == 0) return true;
  // A short dimension that lies far apart, with neighbours of each of its elements behind it.
  if (last > 0 && view.sizes[last] <= 8 && view.strides[last - 1] > 0 &&
      view.strides[last - 1] * p.element_bytes <= 8) {
    return true;
  }
  constexpr std::int64_t kNearBytes = 16;  // Further apart, each element of a window has a sector nearly of its own.
  return last > 0 && view.strides[last] * p.element_bytes <= kNearBytes && view.strides[last - 1] > 0 &&
         2 * view.strides[last - 1] < view.sizes[last] * view.strides[last];
}

/// Whether v7b has anything to add for a collapsed problem in its widest elements.
inline bool pays(const Prepared& q) {
  const TensorView& view = q.problem.view;
  return !q.problem.into_view && fits_32_bits(view, 16 * kThreads * kPackBytes) &&
         (whole_copies(q) > 1 || reads_again(q.problem));
}

/// Moves a problem that v7b pays for.
inline cudaError_t run_repeats(const Prepared& q, cudaStream_t stream) {
  TensorView once = q.problem.view;
  const std::int64_t copies = whole_copies(q);
  if (copies > 1) once.sizes[0] = 1;
  once = collapse(once).view;
  if (once.dims == 0) {
    once.dims = 1;
    once.sizes[0] = once.strides[0] = 1;
  }
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    constexpr int pack = kPackBytes / bytes;
    const std::int64_t count = once.count();
    const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(q.dst) % kPackBytes) / bytes;
    const std::int64_t head = off == 0 ? 0 : pack - off < count ? pack - off : count;
    const std::int64_t whole = (count - head) / pack;
    const Extent extent{static_cast<std::uint32_t>(whole),
                        static_cast<int>(head),
                        static_cast<int>(count - head - whole * pack),
                        static_cast<std::uint32_t>(count),
                        static_cast<std::uint32_t>(copies),
                        static_cast<std::uint32_t>(whole)};
    const auto run_as = [&]<Repeated repeated>() {
      const std::int64_t blocks = whole == 0 ? 1 : ceil_div<std::int64_t>(whole, kThreads * kPacks<repeated>);
      return launch(repeat_kernel<W, repeated>,
                    {.grid = {blocks, ceil_div<std::int64_t>(copies, kCopies)}, .block = kThreads, .stream = stream},
                    reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src),
                    walked<std::uint32_t>(once, 32 * pack), extent);
    };
    if (copies > 1) return run_as.template operator()<Repeated::whole>();
    const bool broadcast = once.strides[once.dims - 1] == 0 && once.sizes[once.dims - 1] >= pack;
    return broadcast ? run_as.template operator()<Repeated::last>() : run_as.template operator()<Repeated::near>();
  });
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  return pays(q) ? run_repeats(q, stream) : v7a::run_prepared(p, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7b
