/// \file
/// repeats: what is read once and written many times, through a broadcast dimension or windows that overlap.
#pragma once

#include "chapters/chapter2_strided/v6_carried_index.cuh"

namespace warpbook::chapter2::repeats {

using View = v6::View<std::uint32_t>;
using Walk = v6::Walk<std::uint32_t>;

inline constexpr int kThreads = 256;
inline constexpr int kPackBytes = 16;
inline constexpr int kCopies = 4;  ///< That a block writes of what it has read, at most.

/// What is repeated: the last dimension's elements, so that a pack reaches into two rows at most; elements nearby, as
/// in windows; or all that follows the first dimension.
enum class Repeated { last, near, whole };
template <Repeated repeated> inline constexpr int kPacks = repeated == Repeated::whole ? 1 : 2;

/// Loads `loads` elements of a pack whose first stands at `walk`; `behind` is the next row's element where one load
/// stands for the row. A pack that does not exist is not loaded.
template <class W, int loads>
__device__ __forceinline__ void load_pack(W (&element)[loads], W& behind, const W* __restrict__ src, const View& view,
                                          const Walk& walk, int pack, bool exists) {
  const std::uint32_t row = view.sizes[0].divisor;
  const std::uint32_t step = view.strides[0];
  const std::uint32_t here = walk.offset(view);
  const std::uint32_t left = row - walk.last;  // Elements of the row.
  if (loads == 1 || row >= std::uint32_t(pack)) {
    std::uint32_t next = here;  // Where the next row would begin, if the pack's first element were its own.
    if (left < std::uint32_t(pack)) {
      Walk next_row = walk;
      next_row.advance(view, left, 0);
      next = next_row.offset(view) - left * step;
    }
    if (!exists) return;
#pragma unroll
    for (int j = 0; j < loads; ++j) element[j] = src[(std::uint32_t(j) < left ? here : next) + j * step];
    if (loads < pack) behind = src[next];
  } else if (exists && walk.second + loads < view.sizes[1].divisor) {  // Rows shorter than a pack,
    std::uint32_t at = here;
    std::uint32_t last = walk.last;
#pragma unroll
    for (int j = 0; j < loads; ++j) {
      element[j] = src[at];
      at += step;
      if (++last == row) {
        last = 0;
        at += view.strides[1] - row * step;
      }
    }
  } else if (exists) {  // and those where the second digit may run over too.
    Walk one = walk;
#pragma unroll
    for (int j = 0; j < loads; ++j) {
      element[j] = src[one.offset(view)];
      if (j + 1 < loads) one.advance(view, 1, 0);
    }
  }
}

/// Writes the packs from `first` on, `copies` times with a whole result between two copies.
template <Repeated repeated, class P, int packs>
__device__ __forceinline__ void store_copies(P* dst, const P (&word)[packs], std::uint32_t first, std::uint32_t count,
                                             std::uint32_t copies) {
  const std::uint32_t first_copy = blockIdx.y * kCopies;
  const std::uint32_t end_copy = repeated == Repeated::whole ? min(first_copy + kCopies, copies) : first_copy + 1;
  for (std::uint32_t copy = first_copy; copy < end_copy; ++copy) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (first + 32 * p >= count) break;
      P* const to = dst + copy * count + first + 32 * p;
      if constexpr (repeated == Repeated::whole) {
        store_streaming(to, word[p]);  // Or the copies would push out of the L2 what is read.
      } else {
        store_whole(to, word[p]);
      }
    }
  }
}

template <class W, Repeated repeated>
__global__ void __launch_bounds__(kThreads)
    repeat_kernel(W* __restrict__ dst, const W* __restrict__ src, const __grid_constant__ View view,
                  const __grid_constant__ Packs<std::uint32_t> whole, std::uint32_t copies) {
  constexpr int pack = kPackBytes / static_cast<int>(sizeof(W));
  constexpr int packs = kPacks<repeated>;
  constexpr bool broadcast = repeated == Repeated::last;
  using P = Pack<W, pack>;
  Walk walk;
  if (pack > 1 && blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x < whole.ends) {
    const std::uint32_t linear = whole.end(threadIdx.x, pack);
    walk.locate(view, linear);
    dst[linear] = src[walk.offset(view)];
  }
  const std::uint32_t warp = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  const std::uint32_t first = warp * (32 * packs) + threadIdx.x % 32;
  if (first >= whole.count) return;
  walk.locate(view, whole.head + first * pack);

  //! [exercise one_load]
  constexpr int loads = broadcast ? 1 : pack;  // Of a pack, in its first row.
  //! [exercise one_load]
  W element[packs][loads];
  W behind[packs];
  std::uint32_t left[packs];
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    left[p] = view.sizes[0].divisor - walk.last;
    load_pack<W, loads>(element[p], behind[p], src, view, walk, pack, first + 32 * p < whole.count);
    if (p + 1 < packs) walk.advance(view, view.step_last, view.step_second);
  }
  // Packs are made only now: a load that is waited for in the loop would hold up those behind it.
  P word[packs];
#pragma unroll
  for (int p = 0; p < packs; ++p) {
#pragma unroll
    for (int j = 0; j < pack; ++j) {
      word[p][j] = loads < pack && std::uint32_t(j) >= left[p] ? behind[p] : element[p][j % loads];
    }
  }
  store_copies<repeated>(reinterpret_cast<P*>(dst + whole.head), word, first, whole.count, copies);
}

/// How often all that follows the first dimension is shown: the dimension's size where it is a broadcast of whole
/// packs, else 1.
inline std::int64_t whole_copies(const StridedProblem& q) {
  const TensorView& view = q.view;
  if (view.dims < 2 || view.strides[0] != 0 || q.alignment < kPackBytes) return 1;
  return view.count() / view.sizes[0] * q.element_bytes % kPackBytes == 0 ? view.sizes[0] : 1;
}

/// Whether a row of a broadcast fills a pack.
inline bool repeats_last(const StridedProblem& q) {
  const int last = q.view.dims - 1;
  return q.view.strides[last] == 0 && q.view.sizes[last] * q.element_bytes >= kPackBytes;
}

inline const char* refuse(const StridedProblem& q) {
  if (q.into_view) return "a view that is written";
  return fits_32_bits(q.view, 16 * kThreads * kPackBytes) ? nullptr : "2^31 elements or more";
}

inline cudaError_t run_prepared(const Prepared& q, cudaStream_t stream) {
  Prepared once = q;
  const std::int64_t copies = whole_copies(q.problem);
  if (copies > 1) {
    once.problem.view.sizes[0] = 1;
    once.problem = collapsed(once.problem);
  }
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    constexpr int pack = kPackBytes / bytes;
    const auto whole = packs_of<std::uint32_t>(once, pack);
    const auto run_as = [&]<Repeated repeated>() {
      const std::int64_t blocks =
          whole.count == 0 ? 1 : ceil_div<std::int64_t>(whole.count, kThreads * kPacks<repeated>);
      return launch(repeat_kernel<W, repeated>,
                    {.grid = {blocks, ceil_div<std::int64_t>(copies, kCopies)}, .block = kThreads, .stream = stream},
                    reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), View(once.problem.view, 32 * pack),
                    whole, static_cast<std::uint32_t>(copies));
    };
    if (copies > 1) return run_as.template operator()<Repeated::whole>();
    return repeats_last(once.problem) ? run_as.template operator()<Repeated::last>()
                                      : run_as.template operator()<Repeated::near>();
  });
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  return run_simplified(p, src, dst, stream, refuse, run_prepared);
}

}  // namespace warpbook::chapter2::repeats
