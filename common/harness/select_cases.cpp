#include <fmt/format.h>

#include <algorithm>
#include <regex>

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

bool in_selection(Tier tier, Selection selection) {
  switch (tier) {
  case Tier::quick:
    return true;
  case Tier::standard:
    return selection != Selection::quick;
  case Tier::full:
    return selection == Selection::full;
  }
  return false;
}

constexpr std::size_t kLongestExpression = 1000;

/// Finds a text, as a regular expression or as it stands, in a case's title and parameters.
class Matcher {
public:
  explicit Matcher(const std::string& text) : text_(text) {
    if (text.size() > kLongestExpression) {  // The library's parser calls itself for each bracket.
      throw BadInput(fmt::format("--case '{}...': a regular expression of more than {} characters",
                                 one_line(text.substr(0, 20)), kLongestExpression));
    }
    try {
      regex_.assign(text, std::regex::ECMAScript | std::regex::optimize);
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
  std::vector<SelectedCase> all;
  for (const CaseSpec& spec : chapter.cases)
    all.push_back({spec.parameters, make_case(chapter, spec.parameters), false});

  std::vector<bool> chosen(all.size(), false);
  std::vector<SelectedCase> own;
  for (const std::string& text : options.cases) {
    if (text.find('=') != std::string::npos) {
      auto problem = make_case(chapter, text);
      own.push_back({problem->parameters(), std::move(problem), true});
      continue;
    }
    const Matcher matcher(text);
    bool found = false;
    for (const bool anywhere : {false, true}) {
      if (found) break;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!anywhere && !in_selection(chapter.cases[i].tier, options.selection)) continue;
        if (!matcher.fits(all[i].problem->title(), all[i].parameters)) continue;
        chosen[i] = true;
        found = true;
      }
    }
    if (!found) {
      throw BadInput(
          fmt::format("--case '{}' fits no case (accepted: a regular expression that fits a title of --list, or "
                      "key=value ... for a case of your own)",
                      one_line(text)));
    }
  }

  std::vector<SelectedCase> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (options.cases.empty() ? in_selection(chapter.cases[i].tier, options.selection) : chosen[i]) {
      all[i].by_name = !options.cases.empty();
      result.push_back(std::move(all[i]));
    }
  }
  std::move(own.begin(), own.end(), std::back_inserter(result));
  return result;
}

}  // namespace warpbook
