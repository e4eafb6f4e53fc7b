#include "common/emulator/pass/local_bounds_pass.hpp"
#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/unset_values.hpp"

#include <llvm/Analysis/Utils/Local.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cstdint>
#include <vector>

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// An access to a local array, to a struct that was handed over by value, or to a variable outside of functions by its
/// name, at an offset that only the run tells.
struct LocalAccess {
  Instruction* instruction;
  std::vector<GEPOperator*> steps;  ///< from the array to the address
  std::uint64_t array_bytes;
  std::uint64_t bytes;
  GlobalVariable* variable = nullptr;  ///< the array, where it is one outside of functions
};

/// The access as one to a local array; `steps` is empty where it is none, or certain to be inside.
LocalAccess look_at(Instruction& instruction, const DataLayout& layout, bool device) {
  LocalAccess access{&instruction, {}, 0, 0};
  Value* address = getLoadStorePointerOperand(&instruction);
  if (address == nullptr || is_value_check(instruction)) return access;
  access.bytes = layout.getTypeStoreSize(getLoadStoreType(&instruction)).getFixedValue();
  APInt constant(layout.getIndexTypeSizeInBits(address->getType()), 0);
  bool is_constant = true;
  while (auto* step = dyn_cast<GEPOperator>(address)) {
    is_constant = is_constant && step->accumulateConstantOffset(layout, constant);
    access.steps.push_back(step);
    address = step->getPointerOperand();
  }
  const auto* array = dyn_cast<AllocaInst>(address);
  const auto bytes = array == nullptr ? std::nullopt : array->getAllocationSize(layout);
  const auto* given = dyn_cast<Argument>(address);
  auto* variable = dyn_cast<GlobalVariable>(address);
  const bool has_end = variable != nullptr && !variable->isDeclaration() && !variable->isThreadLocal() &&
                       !variable->hasSection() && !variable->hasCommonLinkage();
  if (has_end && device) {
    access.variable = variable;
    access.array_bytes = layout.getTypeAllocSize(variable->getValueType()).getFixedValue();
  } else if (given != nullptr && given->hasByValAttr()) {
    access.array_bytes = layout.getTypeAllocSize(given->getParamByValType()).getFixedValue();
  } else if (bytes && !bytes->isScalable()) {
    access.array_bytes = bytes->getFixedValue();
  } else {
    access.steps.clear();
    return access;
  }
  if (is_constant && constant.isNonNegative() && constant.getZExtValue() + access.bytes <= access.array_bytes)
    access.steps.clear();
  return access;
}

/// Calls `__warpbook_local_bounds(offset, bytes of the access, bytes of the array, whether it writes)` where the access
/// leaves the array.
void check(const LocalAccess& access) {
  Module& module = *access.instruction->getModule();
  LLVMContext& context = module.getContext();
  IRBuilder<> builder(access.instruction);
  Type* size = builder.getInt64Ty();
  Value* offset = builder.getInt64(0);
  for (GEPOperator* step : access.steps)
    offset = builder.CreateAdd(offset, emitGEPOffset(&builder, module.getDataLayout(), step, true));
  const std::uint64_t last = access.array_bytes < access.bytes ? 0 : access.array_bytes - access.bytes;
  Value* outside = builder.CreateICmpUGT(offset, builder.getInt64(last));
  Instruction* then = SplitBlockAndInsertIfThen(outside, access.instruction->getIterator(), false,
                                                MDBuilder(context).createBranchWeights(1, 1 << 20));
  IRBuilder<> report(then);
  report.SetCurrentDebugLocation(access.instruction->getDebugLoc());
  std::vector<Value*> arguments{offset, report.getInt64(access.bytes), report.getInt64(access.array_bytes),
                                report.getInt32(isa<StoreInst>(access.instruction) ? 1 : 0)};
  if (access.variable == nullptr) {
    report.CreateCall(module.getOrInsertFunction("__warpbook_local_bounds", report.getVoidTy(), size, size, size,
                                                 report.getInt32Ty()),
                      arguments);
    return;
  }
  arguments.push_back(access.variable);
  report.CreateCall(module.getOrInsertFunction("__warpbook_variable_bounds", report.getVoidTy(), size, size, size,
                                               report.getInt32Ty(), report.getPtrTy()),
                    arguments);
}

}  // namespace

PreservedAnalyses LocalBoundsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  const SmallPtrSet<const Function*, 32> device = device_functions(module);
  std::vector<LocalAccess> accesses;
  for (Function& function : module) {
    if (function.isDeclaration() || !function.hasFnAttribute(Attribute::SanitizeThread)) continue;
    for (Instruction& instruction : instructions(function))
      if (LocalAccess access = look_at(instruction, module.getDataLayout(), device.contains(&function));
          !access.steps.empty())
        accesses.push_back(std::move(access));
  }
  for (const LocalAccess& access : accesses) check(access);
  return accesses.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace warpbook::emulator
