#include "common/harness/predict.hpp"

#include <fmt/format.h>

#include <cmath>
#include <istream>
#include <ostream>

#include "common/harness/format.hpp"

namespace warpbook {
namespace {

/// A guess within a fifth counts as close.
constexpr double kClose = 0.2;

/// What is guessed: the gain over the base, or without one the share of a copy's speed, in percent.
std::optional<double> answer_of(const StepResult& step) {
  if (step.over_base) return step.over_base->times;
  if (step.fraction_of_limit) return *step.fraction_of_limit * 100;
  return std::nullopt;
}

/// A positive number, possibly with a unit behind it ("1.5x", "40%"); nothing for other text.
std::optional<double> parse_guess(const std::string& text) {
  try {
    std::size_t end = 0;
    const double value = std::stod(text, &end);
    const std::string rest = text.substr(end);
    if (value > 0 && std::isfinite(value) && (rest.empty() || rest == "x" || rest == "%")) return value;
  } catch (const std::exception&) {
    return std::nullopt;  // No number, or a monstrous one: asked again.
  }
  return std::nullopt;
}

}  // namespace

void Predictions::ask(const StepResult& step) {
  guess_.reset();
  if (!answer_of(step)) return;
  const std::string question =
      step.over_base ? fmt::format("How many times as fast as {} will {} {} be? (1.5; Enter: no guess) ",
                                   step.over_base->over, step.version, step.name)
                     : fmt::format("What share of a copy's speed will {} {} reach, in percent? (40; Enter: no guess) ",
                                   step.version, step.name);
  out_ << step.idea << '\n';
  while (in_) {
    out_ << question << std::flush;
    std::string line;
    const bool answered = static_cast<bool>(std::getline(in_, line));
    if (!answered || !echoed_) out_ << '\n';
    if (!answered) return;
    line = one_line(line);
    if (line.empty()) return;
    guess_ = parse_guess(line);
    if (guess_) return;
    out_ << "A number above 0, please.\n";
  }
}

void Predictions::judge(const StepResult& step) {
  const std::optional<double> answer = answer_of(step);
  if (!guess_ || !answer) return;
  ++guesses_;
  const bool close = std::abs(*guess_ - *answer) <= kClose * *answer;
  close_ += close ? 1 : 0;
  const char* const unit = step.over_base ? "x" : "%";
  out_ << fmt::format("    you said {:.2f}{}, it is {:.2f}{}: {}\n", *guess_, unit, *answer, unit,
                      close               ? "close"
                      : *guess_ > *answer ? "slower than you thought"
                                          : "faster than you thought");
  out_.flush();
}

std::string Predictions::summary() const {
  if (guesses_ == 0) return {};
  return fmt::format("{} of {} guesses within a fifth of the result", close_, guesses_);
}

}  // namespace warpbook
