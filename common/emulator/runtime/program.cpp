/// \file
/// Only in the toolkit's library, so in each program that the compiler driver or another linker makes with it, whether
/// it has kernels of its own or only calls CUDA's runtime and libraries.
#include <cstdint>
#include <cstdlib>

#include "common/emulator/include/warpbook_emulator.h"
#include "common/emulator/include/warpbook_export.h"

namespace warpbook::emulator {
namespace {

/// The program is checked in full unless its environment says otherwise.
__attribute__((constructor)) void check_in_full() {
  if (std::getenv("WARPBOOK_CHECK") == nullptr) set_checks("all");
  if (std::getenv("WARPBOOK_TRACE") == nullptr) set_trace(TraceMode::first);
}

}  // namespace
}  // namespace warpbook::emulator

/// clang calls it behind a loop that OpenMP schedules at run time. The runtimes of older clangs lack it, and need none.
extern "C" WARPBOOK_EXPORT void __kmpc_dispatch_deinit(void*, std::int32_t) {}
