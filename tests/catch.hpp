/// \file
/// Catch2, 2.13 or 3, by one include.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;  // Where 2.13 has it.
#else
#include <catch2/catch.hpp>
#endif
