/// \file
/// What a chapter's `run_all` is asked to do.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/chapter.hpp"

namespace warpbook {

/// What decides which cases are run: the first headline case, the headline cases, all.
enum class Selection { quick, headline, full };

/// Which counters `--counters` shows: those that a step's story is about, or all.
enum class Counters { none, story, all };

/// The command line, checked.
struct Options {
  bool help = false;         ///< `--help`.
  bool list = false;         ///< `--list`.
  bool device_info = false;  ///< `--device-info`.

  std::vector<std::string> steps;             ///< As given with `--step`; empty: the ladder.
  bool all_steps = false;                     ///< `--all-steps`.
  std::vector<std::string> cases;             ///< As given with `--case`; empty: those of the selection.
  Selection selection = Selection::headline;  ///< `--quick`, `--full`, or neither.

  std::string json;                     ///< Files to write; empty: none.
  std::string csv;                      ///< `--csv`.
  std::string svg;                      ///< `--svg`.
  Counters counters = Counters::none;   ///< `--counters`.
  bool predict = false;                 ///< `--predict`.
  bool profile = false;                 ///< `--profile`.
  std::vector<std::string> access_map;  ///< Steps to draw; empty: none.

  std::uint64_t seed = 1;                     ///< `--seed`.
  int samples = 50;                           ///< `--samples`.
  bool settle = true;                         ///< More are taken where these leave the median in doubt.
  std::vector<std::string> benchmark_flags;   ///< Google Benchmark's own, checked, as given.
  std::string benchmark_out;                  ///< The file that gets Google Benchmark's report; empty: none.
  std::string benchmark_out_format = "json";  ///< Its form: "json", "csv", "console".
  std::string benchmark_filter;               ///< As given; empty: none.
  bool benchmark_table = true;                ///< False: Google Benchmark prints its own report in place of our table.
  bool benchmark_list = false;  ///< The names that a filter is compared with are listed, and nothing is run.
};

/// Reads a command line. \throws BadInput with one line: what was wrong, and what is accepted.
Options parse_options(const Chapter& chapter, int argc, const char* const* argv);

/// The text of `--help`.
std::string help_text(const Chapter& chapter);

/// The chapter's steps that are named, by version ("v2a"), name ("index_type"), or the number of lettered versions
/// ("v2" is v2a and v2b), whatever their kind. None named: the ladder, or with `all` every kind. The ladder comes
/// first, then asides, library kernels and yardsticks. \throws BadInput for a name that fits no step.
std::vector<const Step*> select_steps(const Chapter& chapter, const std::vector<std::string>& names, bool all);

/// A case to run.
struct SelectedCase {
  std::string parameters;         ///< As `Case::parameters()`.
  std::unique_ptr<Case> problem;  ///< The case itself.
  bool by_name = false;           ///< `--case` asked for it.
  bool stands_in = false;         ///< The emulator runs it in place of a larger headline case.
};

/// Cases that fit the options: of the selection, or those that `--case` names. A text with '=' is a case of the user's
/// own; any other is a regular expression, or a part of a title, that is looked for in the selection's cases, and in
/// all cases where none of these fit. On the emulator smaller cases stand in for headline cases. \throws BadInput
std::vector<SelectedCase> select_cases(const Chapter& chapter, const Options& options);

}  // namespace warpbook
