/// \file
/// What a load or a store leads to.
#pragma once

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>

#include "common/emulator/pass/library_calls.hpp"

namespace warpbook::emulator {

/// What the address of a load or a store leads to.
inline const llvm::Value* object_of(const llvm::Instruction& instruction) {
  return llvm::getUnderlyingObject(llvm::getLoadStorePointerOperand(&instruction), 0);
}

/// True for a load from shared memory, and for a store to it.
inline bool is_shared(const llvm::Instruction& instruction) {
  if (llvm::getLoadStorePointerOperand(&instruction) == nullptr) return false;
  const llvm::Value* object = object_of(instruction);
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(object)) return calls_library(*call, "dynamic_shared");
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object);
  return variable != nullptr && variable->isThreadLocal();
}

/// True where a load's address is one of global or shared memory, as far as can be told: parameters of the kernel, and
/// constants, come from elsewhere.
inline bool is_followed(const llvm::LoadInst& load) {
  const llvm::Value* object = object_of(load);
  if (llvm::isa<llvm::AllocaInst>(object)) return false;
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) return !argument->hasByValAttr();
  if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object))
    return variable->isThreadLocal();  // a shared array
  return true;
}

/// True where nothing that is written through another pointer changes what the load brings.
inline bool is_restricted(const llvm::LoadInst& load) {
  const auto* argument = llvm::dyn_cast<llvm::Argument>(object_of(load));
  return argument != nullptr && argument->hasNoAliasAttr();
}

}  // namespace warpbook::emulator
