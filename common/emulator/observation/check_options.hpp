/// \file
/// Which checks are made besides those that always are (bounds, alignment, barriers, shared memory).
#pragma once

namespace warpbook::emulator {

/// What `WARPBOOK_CHECK` names: a list, parted by commas, of these names; or all, or none, which is what it means left
/// out.
struct CheckOptions {
  bool init = false;  ///< reads of global memory that nobody wrote
  bool race = false;  ///< races in global memory; blocks then run one after the other
  bool leak = false;  ///< allocations that are never freed
  bool api = false;   ///< calls to the runtime that fail

  /// Whether one of them is on.
  bool any() const { return init || race || leak || api; }
};

/// Parses such a list; false where a word is none of them.
bool parse_check_options(const char* text, CheckOptions& options);

/// Those of the environment. Ends the program with one line where it holds something else.
CheckOptions check_options_from_environment();

}  // namespace warpbook::emulator
