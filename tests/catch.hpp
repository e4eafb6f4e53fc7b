/// \file
/// Catch2, 2.13 or 3, by one include.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;  // Where 2.13 has it.
#else
#include <catch2/catch.hpp>
#endif

/// Tags a test with an illegal access. A GPU's process gets no device after one, so there it runs only when it is
/// named, in a process of its own: `harness_verify_test "[.traps]"`.
#ifdef WARPBOOK_EMULATED
inline constexpr const char* kTraps = "[traps]";
#else
inline constexpr const char* kTraps = "[.traps]";
#endif
