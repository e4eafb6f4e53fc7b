#include "common/emulator/execution/engine.hpp"

#include <cstdio>
#include <cstdlib>

#include "common/emulator/execution/block_runner.hpp"

namespace warpbook::emulator {
namespace {

Observer& null_observer() {
  static Observer& instance = *new Observer;
  return instance;
}

Observer* installed = nullptr;

std::string triple(uint3 index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

}  // namespace

void Observer::report(const char* /*kind*/, const void* /*pc*/, const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

void set_observer(Observer* observer) { installed = observer; }

Observer& observer() { return installed != nullptr ? *installed : null_observer(); }

void abort_kernel(cudaError_t error) {
  if (current_runner == nullptr) {
    std::fputs("abort_kernel: called outside of a kernel\n", stderr);
    std::abort();
  }
  current_runner->abort(error);
}

void poll(const void* address, unsigned bytes, const void* pc) { current_runner->poll({address, bytes}, pc); }

std::string describe_thread(const BlockContext& block) {
  return "block " + triple(block.block_index) + ", thread " + triple(block.thread_index);
}

AddressRange local_range() { return current_runner == nullptr ? AddressRange{} : current_runner->local_range(); }
AddressRange own_stack(const void* address) {
  return current_runner == nullptr ? AddressRange{} : current_runner->own_stack(address);
}
ArraysApart own_arrays() { return current_runner == nullptr ? ArraysApart{} : current_runner->own_arrays(); }

}  // namespace warpbook::emulator

/// `assert` in a kernel ends the kernel as CUDA has it; on the host it ends the program, as everywhere.
// NOLINTNEXTLINE(readability-identifier-naming): the C library's name
extern "C" WARPBOOK_EXPORT void __assert_fail(const char* expression, const char* file, unsigned line,
                                              const char* function) noexcept(false) {
  using namespace warpbook::emulator;
  if (current_block != nullptr) {
    {
      const BlockContext& block = *current_block;
      const Unwatched unwatched;
      observer().report("assert", __builtin_return_address(0),
                        std::string(file) + ":" + std::to_string(line) + ": " + function + ": " +
                            describe_thread(block) + " Assertion `" + expression + "` failed.\n");
    }
    abort_kernel(cudaErrorAssert);
  }
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
  std::abort();
}
