/// \file
/// How the emulator's stand-ins for CUDA's libraries do their work: on the host, in a stream's order.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "driver_types.h"
#include "warpbook_export.h"

namespace warpbook::emulator {

/// What an operation reads or writes: `count` pieces of `width` bytes, each `pitch` bytes after the one before.
struct LibraryOperand {
  const char* name;   ///< as the library's manual calls it
  const void* begin;  ///< the first piece
  std::size_t width;  ///< bytes of a piece
  std::size_t count;  ///< pieces
  std::size_t pitch;  ///< bytes from one piece's begin to the next one's
  bool written;       ///< whether it is written
  bool of_host = false;  ///< a scalar that the library takes for one in the host's memory
};

/// An operation of a library, which a GPU does in kernels.
struct LibraryCall {
  const char* function;        ///< the library's function that the program called
  const void* pc;              ///< where
  cudaStream_t stream;         ///< on which it was asked for
  double flops = 0;            ///< additions and multiplications
  unsigned element_bytes = 4;  ///< 2, 4 or 8: of what they are done on
  bool host_waits = false;     ///< the function returns when it is done
  /// What it touches. Asked when it is its turn: pointers may lie in device memory themselves.
  std::function<std::vector<LibraryOperand>()> operands;
  std::function<void()> run;  ///< Does it.
};

/// Does it on its stream, or captures it. An operand that is not the device's is an illegal access, as in a kernel.
WARPBOOK_EXPORT cudaError_t run_library_call(LibraryCall call);

/// The function that this stands in, and where the program called it.
#define WARPBOOK_HERE __func__, __builtin_return_address(0)

/// Tells of a call that a library refuses: that by `function` at `pc`, with the status of this name and number.
WARPBOOK_EXPORT void library_refused(const char* function, const void* pc, const char* name, int number,
                                     const char* why);

}  // namespace warpbook::emulator
