/// \file
/// A case of chapter 5: the tensors' shape and layout, how the index is drawn, and what the values are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chapters/chapter5_index_add/index_add.hpp"
#include "common/harness/chapter.hpp"

namespace warpbook::chapter5 {

/// One input of index_add. Inputs are the index and src; the output is dst, which holds values before.
///
/// Values are made so that a wrong sum shows: multiples of 1/16, never zero, and so small that every partial sum is
/// exact in the result's type, whatever the order. Where a row gets too many entries for that in half or bfloat16, sums
/// are exact in float and rounded once at the end (see `needs_wide_sums`). `values=real` are numbers from -1 to 1,
/// compared with a bound from the number of terms.
class IndexAddCase final : public Case {
public:
  /// \throws BadInput
  explicit IndexAddCase(const Parameters& parameters);

  const IndexAddProblem& problem() const { return problem_; }
  /// True where adding entry by entry in the result's type may lose more than the sum: no bound would mean anything.
  bool needs_wide_sums() const { return wide_; }
  /// What `IndexAddArrays::outside` must hold in the end.
  std::uint64_t outside() const;
  /// The values that the index gets from a seed.
  std::vector<std::int64_t> index(std::uint64_t seed) const;
  /// Rows that at least one entry names.
  std::int64_t distinct_rows() const { return distinct_; }
  /// The most entries that name one row.
  std::int64_t most_terms() const { return most_terms_; }

  std::string title() const override;
  std::string parameters() const override;
  std::vector<BufferLayout> inputs() const override;
  BufferLayout output() const override;
  std::int64_t bytes_moved() const override;
  std::int64_t scratch_bytes() const override;
  bool updates_output() const override { return true; }
  void fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const override;
  void reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const override;
  Difference compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const override;
  std::string coordinate(std::int64_t element) const override;

private:
  std::int64_t bad_position(std::int64_t which) const { return which * problem_.entries() / outside_; }
  void choose_values();
  void refuse_overflow() const;
  const char* dtype() const;
  /// The keys `dst`, `src` and `alpha` where they are not as usual, and their values, with texts before and between.
  std::string unusual(const char* before, const char* between) const;
  double bound(double expected) const;

  IndexAddProblem problem_;
  std::string draw_;
  std::string dst_layout_;
  std::string src_layout_;
  std::string alpha_;
  std::int64_t offset_ = 0;   // Of all arrays, in elements.
  std::int64_t outside_ = 0;  // Entries that name no row.
  bool real_ = false;         // values=real
  bool exact_ = false;        // Every sum is exact in what the steps sum in.
  bool wide_ = false;
  std::int64_t largest_ = 1;  // Of exact values, in sixteenths.
  std::int64_t distinct_ = 0;
  std::int64_t most_terms_ = 0;
};

/// The keys of a case and what they accept, for `--help`.
std::string index_add_case_help();

/// Bytes of workspace that the steps need at most. Defined beside the steps.
std::size_t step_workspace_bytes(const IndexAddProblem& problem);

/// `warpbook::index_add` of floats as it is built beside the steps, so that tests need not build its kernels again.
cudaError_t call_index_add(void* workspace, std::size_t& workspace_bytes, const IndexAddProblem& problem, float* dst,
                           const std::int64_t* index, const float* src, unsigned long long* outside,
                           cudaStream_t stream);

/// The scratch memory's first bytes are for `IndexAddArrays::outside`, the rest for the workspace.
inline constexpr std::int64_t kOutsideBytes = 256;

}  // namespace warpbook::chapter5
