#include "common/emulator/observation/check_options.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace warpbook::emulator {

bool parse_check_options(const char* text, CheckOptions& options) {
  options = {};
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (word == "all")
      options = {true, true, true, true};
    else if (word == "init")
      options.init = true;
    else if (word == "race")
      options.race = true;
    else if (word == "leak")
      options.leak = true;
    else if (word == "api")
      options.api = true;
    else if (word != "none")
      return false;
  }
  return true;
}

CheckOptions check_options_from_environment() {
  CheckOptions options;
  const char* text = std::getenv("WARPBOOK_CHECK");
  if (text != nullptr && !parse_check_options(text, options)) {
    std::fprintf(stderr, "WARPBOOK_CHECK: \"%s\" is no list of init, race, leak, api, or all, or none\n", text);
    std::exit(2);
  }
  return options;
}

}  // namespace warpbook::emulator
