#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "common/harness/device.hpp"
#include "common/harness/expression.hpp"
#include "common/harness/format.hpp"
#include "common/harness/options.hpp"

namespace warpbook {
namespace {

std::unique_ptr<Case> make_case(const Chapter& chapter, const std::string& text) {
  try {
    return chapter.make_case(Parameters::parse(text));
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("--case '{}': {}", one_line(text), one_line(error.what())));
  }
}

/// The chapter's cases of a selection.
std::vector<SelectedCase> cases_of(const Chapter& chapter, Selection selection) {
  std::vector<SelectedCase> result;
  for (const CaseSpec& spec : chapter.cases) {
    if (selection != Selection::full && !spec.headline) continue;
    const bool stands_in = selection != Selection::full && device_emulated() && !spec.emulated.empty();
    const std::string& parameters = stands_in ? spec.emulated : spec.parameters;
    result.push_back({parameters, make_case(chapter, parameters), false, stands_in});
    if (selection == Selection::quick) break;
  }
  return result;
}

/// Finds a text, as a regular expression or as it stands, in a case's title and parameters.
class Matcher {
public:
  explicit Matcher(const std::string& text) : text_(text) {
    if (text.size() > kLongestExpression) {
      throw BadInput(fmt::format("--case '{}...': a regular expression of more than {} characters",
                                 one_line(text.substr(0, 20)), kLongestExpression));
    }
    try {
      regex_ = make_expression(text, std::regex::ECMAScript);
    } catch (const std::regex_error& error) {
      throw BadInput(
          fmt::format("--case '{}': no regular expression ({}), and no key=value", text, one_line(error.what())));
    }
  }

  bool fits(const std::string& title, const std::string& parameters) const {
    return title.find(text_) != std::string::npos || parameters.find(text_) != std::string::npos ||
           std::regex_search(title, regex_) || std::regex_search(parameters, regex_);
  }

private:
  std::string text_;
  std::regex regex_;
};

}  // namespace

std::vector<SelectedCase> select_cases(const Chapter& chapter, const Options& options) {
  if (options.cases.empty()) return cases_of(chapter, options.selection);
  std::vector<SelectedCase> result;
  for (const std::string& text : options.cases) {
    if (one_line(text).empty()) throw BadInput("--case '' (accepted: a regular expression, or key=value ...)");
    if (text.find('=') != std::string::npos) {
      auto problem = make_case(chapter, text);
      result.push_back({problem->parameters(), std::move(problem), true, false});
      continue;
    }
    const Matcher matcher(text);
    bool found = false;
    for (const Selection selection : {options.selection, Selection::full}) {
      if (found) break;
      for (SelectedCase& c : cases_of(chapter, selection)) {
        if (!matcher.fits(c.problem->title(), c.parameters)) continue;
        found = true;
        c.by_name = true;
        if (std::none_of(result.begin(), result.end(),
                         [&](const SelectedCase& other) { return other.parameters == c.parameters; })) {
          result.push_back(std::move(c));
        }
      }
    }
    if (!found) {
      throw BadInput(
          fmt::format("--case '{}' fits no case (accepted: a regular expression that fits a title of --list, or "
                      "key=value ... for a case of your own)",
                      one_line(text)));
    }
  }
  return result;
}

}  // namespace warpbook
