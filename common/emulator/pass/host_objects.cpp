#include "common/emulator/pass/host_objects.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <utility>
#include <vector>

#include "common/emulator/pass/library_calls.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// A copy, and which of its arguments is the destination.
struct HostCopy {
  CallBase* call;
  unsigned destination;
  unsigned source;
};

std::optional<HostCopy> as_copy(Instruction& instruction) {
  auto* call = dyn_cast<CallBase>(&instruction);
  const Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return std::nullopt;
  if (callee->getName() == "cudaMemcpy" || callee->getName() == "cudaMemcpyAsync") return HostCopy{call, 0, 1};
  if (callee->getName() == "cudaMemcpy2D" || callee->getName() == "cudaMemcpy2DAsync") return HostCopy{call, 0, 2};
  if (calls_library(*call, "copy_symbol")) return HostCopy{call, 1, 2};
  return std::nullopt;
}

/// The array of arguments' addresses of a launch by a kernel's address, behind that of the kernel; null for other
/// calls.
Value* launch_arguments(Instruction& instruction) {
  auto* call = dyn_cast<CallBase>(&instruction);
  const Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return nullptr;
  const bool configured = callee->getName() == "cudaLaunchKernelExC";
  if (!configured && callee->getName() != "cudaLaunchKernel" && callee->getName() != "cudaLaunchCooperativeKernel")
    return nullptr;
  unsigned before = configured ? 2 : 1;
  for (Value* argument : call->args())
    if (argument->getType()->isPointerTy() && before-- == 0) return argument;
  return nullptr;
}

/// The pointers that the function stores in an array, one by one or several at once.
void collect_stored(Value* array, std::vector<Value*>& pointers) {
  auto* local = dyn_cast<AllocaInst>(const_cast<Value*>(getUnderlyingObject(array, 0)));
  if (local == nullptr) return;
  for (Instruction& instruction : instructions(local->getFunction())) {
    auto* store = dyn_cast<StoreInst>(&instruction);
    if (store == nullptr || getUnderlyingObject(store->getPointerOperand(), 0) != local) continue;
    Value* stored = store->getValueOperand();
    for (auto* insert = dyn_cast<InsertElementInst>(stored); insert != nullptr;
         insert = dyn_cast<InsertElementInst>(stored)) {
      pointers.push_back(insert->getOperand(1));
      stored = insert->getOperand(0);
    }
    if (stored->getType()->isPointerTy()) pointers.push_back(stored);
  }
}

/// How many bytes a call of malloc or new[] was asked for; null where it is none.
Value* bytes_asked_for(const Value& value) {
  const auto* call = dyn_cast<CallBase>(&value);
  const Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return nullptr;
  const StringRef name = callee->getName();
  const bool asks = name == "malloc" || name == "_Znam" || name == "__warpbook_malloc" || name == "__warpbook_new";
  return asks ? call->getArgOperand(0) : nullptr;
}

/// The end of the variable or of what was asked for; null where the pointer leads to neither.
Value* end_of(Value* pointer, IRBuilder<>& builder, const DataLayout& layout) {
  Value* base = getUnderlyingObject(pointer, 0);
  std::uint64_t bytes = 0;
  if (const auto* local = dyn_cast<AllocaInst>(base)) {
    if (const auto size = local->getAllocationSize(layout); size && !size->isScalable()) bytes = size->getFixedValue();
  } else if (const auto* global = dyn_cast<GlobalVariable>(base); global != nullptr && !global->isDeclaration()) {
    bytes = layout.getTypeAllocSize(global->getValueType()).getFixedValue();
  }
  if (Value* asked = bytes_asked_for(*base)) return builder.CreatePtrAdd(base, asked);
  if (bytes == 0) return ConstantPointerNull::get(builder.getPtrTy());
  return builder.CreatePtrAdd(base, builder.getInt64(bytes));
}

}  // namespace

PreservedAnalyses HostObjectsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  std::vector<HostCopy> copies;
  std::vector<std::pair<CallBase*, Value*>> launches;
  for (Function& function : module)
    for (Instruction& instruction : instructions(function)) {
      if (const auto copy = as_copy(instruction)) copies.push_back(*copy);
      if (Value* arguments = launch_arguments(instruction))
        launches.emplace_back(cast<CallBase>(&instruction), arguments);
    }
  for (const auto& [call, arguments] : launches) {
    IRBuilder<> builder(call);
    std::vector<Value*> pointers;
    collect_stored(arguments, pointers);
    const FunctionCallee variable =
        module.getOrInsertFunction("__warpbook_launch_variable", builder.getVoidTy(), builder.getPtrTy(),
                                   builder.getPtrTy(), builder.getInt32Ty());
    for (Value* pointer : pointers) {
      const auto* local = dyn_cast<AllocaInst>(pointer);
      const bool floats = local != nullptr && local->getAllocatedType()->isFloatingPointTy();
      builder.CreateCall(variable, {pointer, end_of(pointer, builder, module.getDataLayout()),
                                    builder.getInt32(floats ? 1 : 0)});
    }
    builder.CreateCall(
        module.getOrInsertFunction("__warpbook_launch_arguments", builder.getVoidTy(), builder.getPtrTy()),
        {end_of(arguments, builder, module.getDataLayout())});
  }
  for (const HostCopy& copy : copies) {
    IRBuilder<> builder(copy.call);
    const FunctionCallee callee = module.getOrInsertFunction("__warpbook_host_objects", builder.getVoidTy(),
                                                             builder.getPtrTy(), builder.getPtrTy());
    builder.CreateCall(callee, {end_of(copy.call->getArgOperand(copy.destination), builder, module.getDataLayout()),
                                end_of(copy.call->getArgOperand(copy.source), builder, module.getDataLayout())});
  }
  return copies.empty() && launches.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace warpbook::emulator
