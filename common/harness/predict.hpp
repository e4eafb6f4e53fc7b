/// \file
/// The reader's guesses, for `--predict`.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "common/harness/results.hpp"

namespace warpbook {

/// Asks for a guess before a result is shown, and says afterwards how far off it was.
class Predictions {
public:
  /// `echoed`: what is typed shows by itself, line break included, as on a terminal.
  Predictions(std::istream& in, std::ostream& out, bool echoed) : in_(in), out_(out), echoed_(echoed) {}

  /// Asks about a step that passed, once its comparisons are filled in. An empty answer is no guess; the end of the
  /// input ends the asking.
  void ask(const StepResult& step);
  /// Compares the last answer with the result. Prints nothing where there was none.
  void judge(const StepResult& step);
  /// How the guesses were, all together; empty where there were none.
  std::string summary() const;

private:
  std::istream& in_;
  std::ostream& out_;
  bool echoed_;
  std::optional<double> guess_;
  int guesses_ = 0;
  int close_ = 0;
};

}  // namespace warpbook
