#include "common/emulator/base/text.hpp"

#include <fmt/format.h>

namespace warpbook::emulator {

std::string format_values(fmt::string_view text, fmt::format_args values) { return fmt::vformat(text, values); }

}  // namespace warpbook::emulator
