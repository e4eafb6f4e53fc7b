/// \file
/// v5 collapsed dims: as few dimensions as the tensors have, known to the compiler, in 32 bits.
///
/// v4b finds an element's place with a quotient and a remainder a dimension and tensor, in 64 bits, in a loop of
/// unknown length. Dimensions that are one in memory can be one in the arithmetic: collapsing around `dim` leaves a
/// contiguous tensor one dimension behind it and one before it, whatever its rank. So nearly every row has one, two or
/// three, and with that number known the loop is gone, and with one dimension all division with it. Where offsets fit
/// 32 bits, numbers have 32.
///
/// The article saw 300 us become 180 on (32,1024,1024) += (15,1024,1024). Expect the 64-bit divisions to vanish there,
/// and what remains to be the atomics'.
#pragma once

#include "chapters/chapter5_index_add/v4b_fitting_grid.cuh"

namespace warpbook::chapter5::v5 {

/// The better kernel of the two on collapsed rows, with the given way to divide and to add.
template <template <class> class Divisor, class Add>
cudaError_t run_as(const IndexAddProblem& p, const IndexAddArrays& a, Add add, cudaStream_t stream) {
  if (p.empty()) return cudaSuccess;
  const TensorView dst_row = collapsed_row(p.dst, p.dim);
  const TensorView src_row = collapsed_row(p.src, p.dim);
  const int rank = std::max({dst_row.dims, src_row.dims, 1});
  const bool small = v4b::small_index_fits(p);
  const Grid grid = fitting_grid(small ? p.row_elements() : p.src.count());
  return with_early_type(p.type, [&]<class T>() {
    const auto run = [&]<int static_rank>() {
      return small
                 ? v2::launch_small<T, std::uint32_t, Divisor, static_rank>(p, a, dst_row, src_row, grid, add, stream)
                 : v3::launch_large<T, std::uint32_t, Divisor, static_rank>(p, a, dst_row, src_row, grid, add, stream);
    };
    switch (rank) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    default:
      return run.template operator()<3>();
    }
  });
}

/// Why the step refuses a problem; nullptr where it takes it.
inline const char* refuse(const IndexAddProblem& p) {
  if (const char* reason = refuse_other_types(p)) return reason;
  if (p.empty()) return nullptr;
  if (std::max(collapsed_row(p.dst, p.dim).dims, collapsed_row(p.src, p.dim).dims) > 3) {
    return "a row has more than three dimensions, collapsed";
  }
  // A grid's stride beyond the last element must fit, too.
  const std::int64_t slack = std::int64_t(multiprocessors()) * 2048;
  return fits_32_bits(p.dst, slack) && fits_32_bits(p.src, slack) ? nullptr : "offsets do not fit 32 bits";
}

inline cudaError_t run(const IndexAddProblem& p, const IndexAddArrays& a, cudaStream_t stream) {
  return run_as<ModuloDivisor>(p, a, PlainAdd{}, stream);
}

}  // namespace warpbook::chapter5::v5
