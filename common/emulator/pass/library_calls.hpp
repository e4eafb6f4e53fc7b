/// \file
/// Calls of the emulator's library that mean something to the passes.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

namespace warpbook::emulator {

/// True where `call` calls a function of namespace warpbook::emulator whose name begins with `prefix`.
inline bool calls_library(const llvm::CallBase& call, llvm::StringRef prefix) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return false;
  llvm::StringRef name = callee->getName();
  if (!name.consume_front("_ZN8warpbook8emulator")) return false;
  return name.drop_while([](char c) { return c >= '0' && c <= '9'; }).starts_with(prefix);
}

/// True for the functions that CUDA's atomics are.
inline bool is_library_atomic(const llvm::CallBase& call) { return calls_library(call, "atomic_"); }

/// True for the function that begins an asynchronous copy.
inline bool is_asynchronous_copy(const llvm::CallBase& call) { return calls_library(call, "async_copy"); }

}  // namespace warpbook::emulator
