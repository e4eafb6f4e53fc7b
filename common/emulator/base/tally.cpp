#include "common/emulator/base/tally.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the pass knows it by this name.
thread_local constinit std::uint64_t __warpbook_tally[warpbook::emulator::kTallies + 2] = {};
