/// \file
/// The main function of every test program.
#define CATCH_CONFIG_RUNNER  // Catch2 2.13 compiles its implementation here; 3 brings it as a library.
#include "tests/catch.hpp"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
