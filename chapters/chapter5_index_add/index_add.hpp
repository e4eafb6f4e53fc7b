/// \file
/// The problem of chapter 5: dst.index_add_(dim, index, src, alpha), and the words that its steps share.
///
/// Every step has the signature `cudaError_t run(const IndexAddProblem&, const IndexAddArrays&, cudaStream_t)`.
/// `refuse` says why one does not take a problem, or nullptr.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/cuda/alignment.hpp"
#include "common/cuda/tensor_view.hpp"

namespace warpbook::chapter5 {

/// What the tensors hold.
enum class ElementType { float16, bfloat16, float32, float64, int8, uint8, int16, int32, int64 };

/// Bytes of one element.
inline int element_bytes(ElementType type) {
  constexpr int kBytes[] = {2, 2, 4, 8, 1, 1, 2, 4, 8};
  return kBytes[static_cast<int>(type)];
}

/// For every i: dst[..., index[i], ...] += alpha * src[..., i, ...], where index[i] and i stand at dimension `dim`.
///
/// A *row* is what one value of the index addresses (all of dst at one place of `dim`), however its elements lie in
/// memory; an *entry* is one value of the index with its row of src. So N entries are added into R rows.
struct IndexAddProblem {
  ElementType type = ElementType::float32;
  int index_bytes = 8;  ///< 4 or 8: the index holds int32 or int64.
  int dim = 0;
  TensorView dst;                  ///< At least one dimension; offset 0.
  TensorView src;                  ///< Sizes as dst's, but for `dim`; offset 0.
  double alpha = 1;                ///< Of the types with a fraction.
  std::int64_t alpha_integer = 1;  ///< Of the integers.
  bool deterministic = false;      ///< The same result on every run; for the dispatcher.
  int alignment = 16;              ///< Bytes that dst and src both begin at a multiple of: 1, 2, 4, 8 or 16.

  /// R.
  std::int64_t rows() const { return dst.sizes[dim]; }
  /// N.
  std::int64_t entries() const { return src.sizes[dim]; }
  /// Elements of a row.
  std::int64_t row_elements() const {
    std::int64_t n = 1;
    for (int d = 0; d < dst.dims; ++d) n *= d == dim ? 1 : dst.sizes[d];
    return n;
  }
  /// True where nothing is to be done.
  bool empty() const { return entries() == 0 || row_elements() == 0; }
};

/// Where a problem's arrays lie, in device memory.
struct IndexAddArrays {
  void* dst = nullptr;
  const void* index = nullptr;
  const void* src = nullptr;
  /// Gets the largest position of an index outside [0, R), plus 1; is not touched where there is none. May be null.
  unsigned long long* outside = nullptr;
  void* workspace = nullptr;        ///< For steps that need one; aligned to 256 bytes.
  std::size_t workspace_bytes = 0;  ///< What lies there.
};

/// One dimension of a row, as it lies in both tensors.
struct RowDim {
  std::int64_t size = 1;
  std::int64_t dst_stride = 0;  ///< In elements.
  std::int64_t src_stride = 0;
};

/// A row's dimensions: all of the tensor's but `dim`, with those of size 1 dropped and neighbours merged that are one
/// in both tensors. A contiguous tensor has two at most, one before `dim` and one behind it.
struct RowDims {
  int dims = 0;
  std::array<RowDim, kMaxViewDims> dim{};  ///< Outermost first.
};

/// The row of a problem with elements.
inline RowDims row_dims(const IndexAddProblem& p) {
  RowDims row;
  for (int d = 0; d < p.dst.dims; ++d) {
    if (d == p.dim || p.dst.sizes[d] == 1) continue;
    const RowDim inner{p.dst.sizes[d], p.dst.strides[d], p.src.strides[d]};
    if (row.dims > 0) {
      RowDim& outer = row.dim[row.dims - 1];
      const auto one = [&](std::int64_t outer_stride, std::int64_t inner_stride) {
        return static_cast<std::uint64_t>(outer_stride) ==
               static_cast<std::uint64_t>(inner.size) * static_cast<std::uint64_t>(inner_stride);
      };
      if (one(outer.dst_stride, inner.dst_stride) && one(outer.src_stride, inner.src_stride)) {
        outer = {outer.size * inner.size, inner.dst_stride, inner.src_stride};
        continue;
      }
    }
    row.dim[row.dims++] = inner;
  }
  return row;
}

/// Elements of a word of `word_bytes` where both tensors hold runs of whole aligned words; else 1.
inline int word_elements(const IndexAddProblem& p, const RowDims& row, int word_bytes) {
  const int elements = word_bytes / element_bytes(p.type);
  if (elements <= 1 || row.dims == 0 || p.alignment < word_bytes) return 1;
  const RowDim& last = row.dim[row.dims - 1];
  if (last.dst_stride != 1 || last.src_stride != 1 || last.size % elements != 0) return 1;
  for (int d = 0; d + 1 < row.dims; ++d) {
    if (row.dim[d].dst_stride % elements != 0 || row.dim[d].src_stride % elements != 0) return 1;
  }
  if (p.dst.strides[p.dim] % elements != 0 && p.rows() > 1) return 1;
  return p.src.strides[p.dim] % elements == 0 || p.entries() == 1 ? elements : 1;
}

/// Elements of the widest word: of 16 bytes, for half and bfloat16 else of 8 or 4 bytes, or a single element.
inline int widest_word(const IndexAddProblem& p, const RowDims& row) {
  const bool pairs = p.type == ElementType::float16 || p.type == ElementType::bfloat16;
  for (int bytes = 16; bytes >= (pairs ? 4 : 16); bytes /= 2) {
    const int elements = word_elements(p, row, bytes);
    if (elements > 1) return elements;
  }
  return 1;
}

/// As PyTorch has it: true where a row's elements lie closer together than the rows do, so that neighbouring threads
/// should take elements of one row. False for the last dimension of a contiguous tensor: there they take entries.
inline bool index_is_major(const TensorView& dst, int dim) {
  for (int d = 0; d < dst.dims; ++d) {
    if (d != dim && dst.sizes[d] > 1 && dst.strides[d] < dst.strides[dim]) return true;
  }
  return false;
}

/// Why a problem is none, in one line; nullptr where it is one.
inline const char* refuse_problem(const IndexAddProblem& p) {
  if (p.dst.dims < 1 || p.dst.dims > kMaxViewDims) return "the tensors have 1 to 25 dimensions";
  if (p.src.dims != p.dst.dims) return "src has as many dimensions as dst";
  if (p.dim < 0 || p.dim >= p.dst.dims) return "dim is one of dst's dimensions, counted from 0";
  if (p.index_bytes != 4 && p.index_bytes != 8) return "the index holds int32 or int64";
  if (const char* reason = refuse_view(p.dst, element_bytes(p.type))) return reason;
  if (const char* reason = refuse_view(p.src, element_bytes(p.type))) return reason;
  for (int d = 0; d < p.dst.dims; ++d) {
    if (d != p.dim && p.src.sizes[d] != p.dst.sizes[d]) return "src has dst's sizes, but for dim";
  }
  if (!surely_distinct(p.dst)) return "two elements of dst share a place";
  return nullptr;
}

}  // namespace warpbook::chapter5
