#include "common/emulator/pass/row_bounds.hpp"
#include "common/emulator/pass/unset_values.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cstdint>
#include <vector>

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// An index of a row or of a struct's array that only the run tells.
struct RowIndex {
  Instruction* instruction;
  Value* index;
  std::int64_t beyond;  ///< elements that the access lies behind the index
  std::uint64_t elements;
};

bool is_zero(const Value& index) {
  const auto* constant = dyn_cast<ConstantInt>(&index);
  return constant != nullptr && constant->isZero();
}

/// True where the pointer is that to a struct, which begins with such an array and has more behind it.
bool begins_struct(const Value& pointer, const Type& array) {
  const auto* step = dyn_cast<GEPOperator>(&pointer);
  const auto* outer = step == nullptr ? nullptr : dyn_cast<StructType>(step->getSourceElementType());
  return outer != nullptr && step->getNumIndices() == 1 && outer->getNumElements() > 1 &&
         outer->getElementType(0) == &array;
}

/// Headers of libraries know what they do.
bool is_of_library(const Instruction& instruction) {
  const DILocation* location = instruction.getDebugLoc().get();
  if (location == nullptr) return false;
  const StringRef file = location->getFilename();
  return file.contains("cccl/") || file.contains("common/emulator/include") || file.starts_with("/usr/");
}

void look_at(Instruction& instruction, const DataLayout& layout, std::vector<RowIndex>& found) {
  Value* address = getLoadStorePointerOperand(&instruction);
  if (address == nullptr || is_value_check(instruction) || is_of_library(instruction)) return;
  APInt behind(layout.getIndexTypeSizeInBits(address->getType()), 0);
  auto* step = dyn_cast<GEPOperator>(address);
  while (step != nullptr && step->hasAllConstantIndices() && step->accumulateConstantOffset(layout, behind))
    step = dyn_cast<GEPOperator>(step->getPointerOperand());
  if (step == nullptr) return;
  const auto* outer = cast<Value>(step->idx_begin()->get());  // the index before
  const Type* holder = nullptr;                               // what that is an index of; null: of a pointer
  Type* type = step->getSourceElementType();
  for (auto each = std::next(step->idx_begin()); each != step->idx_end(); ++each) {
    Value* const index = each->get();
    auto* const array = dyn_cast<ArrayType>(type);
    const auto* const parent = dyn_cast_or_null<StructType>(holder);
    if (array != nullptr && array->getNumElements() > 1 && !isa<Constant>(index)) {
      const bool inside = parent != nullptr ? cast<ConstantInt>(outer)->getZExtValue() + 1 < parent->getNumElements()
                                            : !is_zero(*outer) || (holder == nullptr &&
                                                                   begins_struct(*step->getPointerOperand(), *array));
      const std::uint64_t elements = array->getNumElements();
      if (inside && !computeKnownBits(index, layout).getMaxValue().ult(elements)) {
        const auto bytes = static_cast<std::int64_t>(layout.getTypeAllocSize(array->getElementType()).getFixedValue());
        const bool ends = std::next(each) == step->idx_end() && bytes != 0;
        found.push_back({&instruction, index, ends ? behind.getSExtValue() / bytes : 0, elements});
      }
    }
    outer = index;
    holder = type;
    type = GetElementPtrInst::getTypeAtIndex(type, index);
  }
}

/// Calls `__warpbook_row_bounds(index, elements)` where the index is not below the number of elements.
void check(const RowIndex& row) {
  Module& module = *row.instruction->getModule();
  IRBuilder<> builder(row.instruction);
  Value* index = builder.CreateSExtOrTrunc(row.index, builder.getInt64Ty());
  index = builder.CreateAdd(index, builder.getInt64(static_cast<std::uint64_t>(row.beyond)));
  Value* outside = builder.CreateICmpUGE(index, builder.getInt64(row.elements));
  Instruction* then = SplitBlockAndInsertIfThen(outside, row.instruction->getIterator(), false,
                                                MDBuilder(module.getContext()).createBranchWeights(1, 1 << 20));
  IRBuilder<> report(then);
  report.SetCurrentDebugLocation(row.instruction->getDebugLoc());
  report.CreateCall(
      module.getOrInsertFunction("__warpbook_row_bounds", report.getVoidTy(), report.getInt64Ty(), report.getInt64Ty()),
      {index, report.getInt64(row.elements)});
}

/// The struct that begins with what the step leads into, and has more behind it; null where there is none.
StructType* struct_around(const GetElementPtrInst& step) {
  const Value& begin = *step.getPointerOperand();
  Type* type = nullptr;
  if (const auto* member = dyn_cast<GEPOperator>(&begin)) {
    if (member->hasAllZeroIndices() && member->getNumIndices() == 2) type = member->getSourceElementType();
  } else if (const auto* variable = dyn_cast<GlobalVariable>(&begin)) {
    type = variable->getValueType();
  }
  auto* const around = dyn_cast_or_null<StructType>(type);
  return around != nullptr && around->getNumElements() > 1 && around->getElementType(0) == step.getSourceElementType()
             ? around
             : nullptr;
}

}  // namespace

PreservedAnalyses FirstMembersPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  bool changed = false;
  for (Function& function : module) {
    if (function.isDeclaration() || !function.hasFnAttribute(Attribute::SanitizeThread)) continue;
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
      auto* step = dyn_cast<GetElementPtrInst>(&instruction);
      if (step == nullptr || step->getNumIndices() != 2 || !step->getSourceElementType()->isArrayTy() ||
          !is_zero(*step->idx_begin()->get()) || isa<Constant>(std::next(step->idx_begin())->get()))
        continue;
      StructType* const around = struct_around(*step);
      if (around == nullptr) continue;
      Value* begin = step->getPointerOperand();
      if (auto* member = dyn_cast<GEPOperator>(begin)) begin = member->getPointerOperand();
      IRBuilder<> builder(step);
      Value* const whole = builder.CreateGEP(
          around, begin, {builder.getInt32(0), builder.getInt32(0), std::next(step->idx_begin())->get()},
          step->getName(), step->isInBounds());
      step->replaceAllUsesWith(whole);
      step->eraseFromParent();
      changed = true;
    }
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

PreservedAnalyses RowBoundsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  std::vector<RowIndex> found;
  for (Function& function : module) {
    if (function.isDeclaration() || !function.hasFnAttribute(Attribute::SanitizeThread)) continue;
    for (Instruction& instruction : instructions(function)) look_at(instruction, module.getDataLayout(), found);
  }
  for (const RowIndex& row : found) check(row);
  return found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace warpbook::emulator
