/// \file
/// What users type, by libFuzzer: the first byte of an input chooses the parser, the rest is for it.
///
///     A to F    a case of chapter 1 to 6, as `--case` takes it: refused with one line, or a case whose parameters make
///               the same case again, and whose memory can be added up
///     else      a command line, one word a line: refused with one line, or options that select steps and cases
///
/// What was found is kept in tests/harness/fuzz/found/, which tests/harness/fuzz_parsers_test.py runs.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "common/harness/chapter.hpp"
#include "common/harness/options.hpp"
#include "common/harness/plan.hpp"

namespace warpbook {

// chapter.cu of each.
namespace chapter1 {
Chapter chapter();
}
namespace chapter2 {
Chapter chapter();
}
namespace chapter3 {
Chapter chapter();
}
namespace chapter4 {
Chapter chapter();
}
namespace chapter5 {
Chapter chapter();
}
namespace chapter6 {
Chapter chapter();
}

namespace {

[[noreturn]] void fail(std::string_view what, std::string_view text) {
  std::cerr << what << ": " << text << '\n';
  std::abort();
}

void check_line(const std::string& text) {
  if (text.empty()) fail("refused without a word", text);
}

void check_case(const Chapter& chapter, const std::string& text) {
  std::unique_ptr<Case> problem;
  try {
    problem = chapter.make_case(Parameters::parse(text));
  } catch (const BadInput& error) {
    check_line(error.what());
    return;
  }
  const std::string parameters = problem->parameters();
  try {
    const auto again = chapter.make_case(Parameters::parse(parameters));
    if (again->parameters() != parameters) fail("its parameters make another case", parameters);
    if (again->title() != problem->title()) fail("its parameters make another title", parameters);
    if (again->output().elements != problem->output().elements) fail("its parameters make another size", parameters);
  } catch (const BadInput& error) {
    fail("its own parameters are refused", parameters + ": " + error.what());
  }
  constexpr std::int64_t kLarge = 1'000'000;  // Chapter 2 looks at each element of a view to see what it moves.
  if (problem->output().elements > kLarge) return;
  if (problem->output().elements < 0 || problem->bytes_moved() < 0) fail("less than nothing", parameters);
  for (const BufferLayout& layout : problem->inputs()) {
    if (layout.elements < 0 || layout.element_bytes < 1) fail("an input of less than nothing", parameters);
  }
  static_cast<void>(needed_memory(*problem));
}

void check_command_line(const Chapter& chapter, const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<const char*> arguments{"run_all"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    const Options options = parse_options(chapter, static_cast<int>(arguments.size()), arguments.data());
    if (select_steps(chapter, options.steps).empty()) fail("no step", text);
    for (const std::string& name : options.cases) {
      // An expression that takes forever is the user's own.
      if (name.find('=') == std::string::npos && name.find_first_of("*+{") != std::string::npos) return;
    }
    static_cast<void>(select_cases(chapter, options));
  } catch (const BadInput& error) {
    check_line(error.what());
  }
}

/// A case of chapter 5 draws its index when it is made: millions of entries take seconds under the sanitizers.
bool draws_much(const std::string& text) {
  const std::size_t at = text.rfind("count=");
  return at != std::string::npos && std::strtoll(text.c_str() + at + 6, nullptr, 10) > 20'000;
}

const std::vector<Chapter>& chapters() {
  static const std::vector<Chapter> all{chapter1::chapter(), chapter2::chapter(), chapter3::chapter(),
                                        chapter4::chapter(), chapter5::chapter(), chapter6::chapter()};
  return all;
}

}  // namespace
}  // namespace warpbook

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warpbook;
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  text.resize(std::strlen(text.c_str()));  // What is typed ends at the first zero byte.
  const std::size_t parser = static_cast<std::size_t>(data[0]) - 'A';
  if (parser == 4 && draws_much(text)) return 0;
  if (parser < chapters().size()) {
    check_case(chapters()[parser], text);
  } else {
    check_command_line(chapters()[2], text);
  }
  return 0;
}
