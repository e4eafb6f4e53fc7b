/// \file
/// Only in the toolkit's library, so in each program that the compiler driver or another linker makes with it, whether
/// it has kernels of its own or only calls CUDA's runtime and libraries.
#include <cstdlib>

#include "common/emulator/include/warpbook_emulator.h"

namespace warpbook::emulator {
namespace {

/// The program is checked in full unless its environment says otherwise.
__attribute__((constructor)) void check_in_full() {
  if (std::getenv("WARPBOOK_CHECK") == nullptr) set_checks("all");
  if (std::getenv("WARPBOOK_TRACE") == nullptr) set_trace(TraceMode::first);
}

}  // namespace
}  // namespace warpbook::emulator
