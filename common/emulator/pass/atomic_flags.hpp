/// \file
/// What a compiler for GPUs knows of an atomic, and makes of it.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/InstrTypes.h>

namespace warpbook::emulator {

/// The flags (see base/tally.hpp) of a call of the library's atomics.
///
///  - A warp's lanes that add integers to one address, which the compiler knows to be one, are added up first.
///  - In shared memory there is an instruction that counts: lanes that add 1 at an address are one.
///  - An exchange whose result nobody uses is a store.
///  - A compare and swap whose result decides whether its loop goes on is tried again until nobody was faster.
unsigned atomic_flags(const llvm::CallBase& call, const llvm::LoopInfo& loops);

}  // namespace warpbook::emulator
