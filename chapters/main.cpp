/// \file
/// The main function of every chapter's run_all; the build says which chapter by WARPBOOK_CHAPTER.
#include "common/harness/chapter.hpp"

namespace warpbook::WARPBOOK_CHAPTER {
Chapter chapter();
}

int main(int argc, char** argv) { return warpbook::run_all(warpbook::WARPBOOK_CHAPTER::chapter(), argc, argv); }
