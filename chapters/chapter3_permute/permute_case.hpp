/// \file
/// A permute problem as the harness sees it: its parameters as text, its data, its reference.
#pragma once

#include <span>

#include "chapters/chapter3_permute/permute.hpp"
#include "common/harness/chapter.hpp"

namespace warpbook::chapter3 {

class PermuteCase final : public Case {
public:
  /// Reads `shape`, `perm`, `dtype` and `offset`. \throws BadInput with one line.
  explicit PermuteCase(const Parameters& parameters);

  const PermuteProblem& problem() const { return problem_; }

  std::string title() const override;
  std::string parameters() const override;
  std::vector<BufferLayout> inputs() const override { return {array("src")}; }
  BufferLayout output() const override { return array("dst"); }
  std::int64_t bytes_moved() const override { return 2 * problem_.count() * problem_.element_bytes; }
  void fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const override;
  void reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const override;
  std::string coordinate(std::int64_t element) const override;
  std::string likely_cause(std::span<const std::span<const std::byte>> inputs, std::span<const std::byte> expected,
                           std::span<const std::byte> actual) const override;

private:
  auto shape() const { return std::span(problem_.shape).first(problem_.rank); }
  auto permutation() const { return std::span(problem_.permutation).first(problem_.rank); }
  BufferLayout array(const char* name) const;

  PermuteProblem problem_;
  std::string dtype_;
  std::int64_t offset_ = 0;  // Elements that both arrays begin behind a 256-byte boundary.
};

std::string permute_case_help();

/// Permutes on the host, one element after another, straight from the definition: `dst` gets p.count() elements. Shares
/// no code with the steps' rules.
void permute_on_host(const PermuteProblem& p, const std::byte* src, std::byte* dst);

}  // namespace warpbook::chapter3
