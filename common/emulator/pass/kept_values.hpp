/// \file
/// Functions that are handed the address of a variable and give it no value.
#pragma once

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Value.h>

#include <cstdint>
#include <optional>

namespace warpbook::emulator {

/// True where a call leaves a variable without a value, if it had none: the function, or a lambda that captured it,
/// only reads it, and sets what is computed of itself (`sum += v`). `pointer` is the variable's address.
bool keeps_unset(const llvm::CallBase& call, const llvm::Value& pointer);

/// The same of all that is done with a closure into which the variable's address is stored.
bool keeps_unset(const llvm::StoreInst& capture);

}  // namespace warpbook::emulator
