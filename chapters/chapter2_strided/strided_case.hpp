/// \file
/// A strided problem as the harness sees it: its parameters as text, its data, its reference, its least traffic.
#pragma once

#include <optional>
#include <span>

#include "chapters/chapter2_strided/strided.hpp"
#include "common/harness/chapter.hpp"

namespace warpbook::chapter2 {

/// One case of chapter 2.
class StridedCase final : public Case {
public:
  /// Reads `shape`, `strides`, `offset`, `dtype`, `into`, `shift` and `name`. \throws BadInput with one line.
  explicit StridedCase(const Parameters& parameters);

  const StridedProblem& problem() const { return problem_; }

  std::string title() const override;
  std::string parameters() const override;
  std::vector<BufferLayout> inputs() const override { return {array("src", !problem_.into_view)}; }
  BufferLayout output() const override { return array("dst", problem_.into_view); }
  /// The contiguous side's bytes, and the 64-byte blocks that the view touches.
  std::int64_t bytes_moved() const override;
  /// Writing into a view leaves what lies between its elements alone.
  bool updates_output() const override { return problem_.into_view; }
  void fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const override;
  void reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const override;
  std::string coordinate(std::int64_t element) const override;
  std::string likely_cause(std::span<const std::span<const std::byte>> inputs, std::span<const std::byte> expected,
                           std::span<const std::byte> actual) const override;

private:
  using Numbers = std::span<const std::int64_t>;

  Numbers sizes() const { return Numbers(problem_.view.sizes).first(problem_.view.dims); }
  Numbers strides() const { return Numbers(problem_.view.strides).first(problem_.view.dims); }
  std::int64_t storage_elements() const;
  BufferLayout array(const char* name, bool is_view) const;

  StridedProblem problem_;
  std::string dtype_;
  std::string name_;
  std::int64_t shift_ = 0;  // Elements that both arrays begin behind a 256-byte boundary.
  mutable std::optional<std::int64_t> bytes_moved_;
};

std::string strided_case_help();

/// Moves on the host, one element after another, straight from the definition. `src` and `dst` are the arrays, not the
/// view's first element. Shares no code with the steps' rules.
void move_on_host(const StridedProblem& p, const std::byte* src, std::byte* dst);

/// How many blocks of `block_bytes` a view's elements lie in, if the array begins `first_byte` bytes behind a block's.
std::int64_t touched_blocks(const StridedProblem& p, std::int64_t first_byte, std::int64_t block_bytes);

}  // namespace warpbook::chapter2
