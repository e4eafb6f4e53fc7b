/// \file
/// v7h lone elements: what a load brings besides its element is used by nobody, and need not be kept.
///
/// Where neighbours lie 32 bytes apart or more, and no other dimension brings them together, each element is alone in
/// its sector. All steps so far took about the same time for such a view: the memory's, it seemed. But what a load
/// brings is kept by default, by the L1 and by the L2, and there it pushes out what lay there before. Much of that may
/// be dirty, the last kernel's results for instance, and has to be written to the DRAM while this kernel reads.
///
/// So the loads say that nobody comes back for the line, where the blocks of 64 bytes that the DRAM is read in follow
/// each other. Where there are gaps between them they don't: there the hint costs more than it saves
/// (chapter2_trials_9.txt), and why is not known. All else is as simple as in v5: an element a thread, as it has
/// nothing to share with its neighbours, placed by v7f's divisions.
///
/// Expect the requests and the sectors of v5, and fewer bytes written to the DRAM meanwhile.
#pragma once

#include "chapters/chapter2_strided/v7g_row_pieces.cuh"

namespace warpbook::chapter2::v7h {

inline constexpr int kThreads = 128;
inline constexpr int kSectorBytes = 32;
inline constexpr int kBlockBytes = 64;  ///< That the DRAM is read in.

//! [kernel]
template <bool passing, class W, int dims>
__global__ void __launch_bounds__(kThreads)
    lone_elements_kernel(W* __restrict__ dst, const W* __restrict__ src,
                         const __grid_constant__ v7f::FewDims<dims> view, std::uint32_t count) {
  const std::uint32_t linear = blockIdx.x * kThreads + threadIdx.x;
  if (linear < count) dst[linear] = load_passing<passing>(src + view.place(linear));
}
//! [kernel]

/// Elements between the nearest neighbours along any dimension. The view has one.
inline std::int64_t least_stride(const TensorView& view) {
  return *std::min_element(view.strides.begin(), view.strides.begin() + view.dims);
}

/// Why the step does not take a collapsed problem in its widest elements; nullptr where it does.
inline const char* refuse(const StridedProblem& p) {
  const TensorView& view = p.view;
  if (p.into_view) return "a view that is written";
  if (view.dims > kMostStaticDims) return "more than 5 dimensions";
  if (least_stride(view) * p.element_bytes < kSectorBytes) return "elements share sectors";
  return fits_32_bits(view, kThreads) ? nullptr : "2^31 elements or more";
}

/// Moves a problem that is not refused.
inline cudaError_t run_lone(const Prepared& q, cudaStream_t stream) {
  const TensorView& view = q.problem.view;
  const std::int64_t count = view.count();
  return with_word_bytes(q.problem.element_bytes, [&]<int bytes>() {
    using W = Word<bytes>;
    return v7f::with_few_dims(view, [&]<int dims>(const v7f::FewDims<dims>& few) {
      const bool passing = least_stride(view) * bytes <= kBlockBytes;
      return launch(passing ? lone_elements_kernel<true, W, dims> : lone_elements_kernel<false, W, dims>,
                    {.grid = ceil_div<std::int64_t>(count, kThreads), .block = kThreads, .stream = stream},
                    reinterpret_cast<W*>(q.dst), reinterpret_cast<const W*>(q.src), few,
                    static_cast<std::uint32_t>(count));
    });
  });
}

/// Moves a collapsed problem.
inline cudaError_t run_prepared(const Prepared& p, cudaStream_t stream) {
  const Prepared q = with_elements_of(p, movement_bytes(p));
  return refuse(q.problem) == nullptr ? run_lone(q, stream) : v7g::run_prepared(q, stream);
}

inline cudaError_t run(const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
  if (p.count() == 0) return cudaSuccess;
  return run_prepared(prepare_collapsed(p, src, dst), stream);
}

}  // namespace warpbook::chapter2::v7h
