#include "common/emulator/pass/cast_alignment.hpp"

#include <llvm/Analysis/Utils/Local.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/memory_objects.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

constexpr std::uint64_t kWidest = 16;  // bytes of an access

/// The variable that an address is one of by name; null where it is none.
Value* variable_of(Value* address) {
  Value* object = const_cast<Value*>(getUnderlyingObject(address, 0));
  return isa<AllocaInst>(object) || isa<GlobalVariable>(object) ? object : nullptr;
}

/// What the address is one of, as the program says; null where that is not known.
Type* element_of(Value* address) {
  if (auto* step = dyn_cast<GEPOperator>(address)) return step->getResultElementType();
  if (auto* variable = dyn_cast<GlobalVariable>(address)) return variable->getValueType();
  if (auto* local = dyn_cast<AllocaInst>(address)) return local->getAllocatedType();
  return nullptr;
}

bool is_packed(const Value* address) {
  for (const auto* step = dyn_cast<GEPOperator>(address); step != nullptr;
       step = dyn_cast<GEPOperator>(step->getPointerOperand()))
    if (const auto* type = dyn_cast<StructType>(step->getSourceElementType()); type != nullptr && type->isPacked())
      return true;
  return false;
}

/// An access whose type wants more than the variable's elements give.
struct Access {
  Instruction* instruction;
  Value* address;
  std::uint64_t bytes;
  Align wanted;
  bool writes;
};

class Finder {
public:
  explicit Finder(const DataLayout& layout) : layout_(layout) {}

  void look_at(Instruction& instruction) {
    if (auto* copy = dyn_cast<MemCpyInst>(&instruction)) {
      const auto* length = dyn_cast<ConstantInt>(copy->getLength());
      // A call of memcpy has no type; it may copy from anywhere.
      if (length == nullptr || copy->getMetadata(LLVMContext::MD_tbaa_struct) == nullptr) return;
      const std::uint64_t bytes = length->getZExtValue();
      const Align from = copy->getSourceAlign().valueOrOne();
      const Align to = copy->getDestAlign().valueOrOne();
      if (from < to) side(*copy, copy->getRawSource(), copy->getRawDest(), bytes, to, false);
      if (to < from) side(*copy, copy->getRawDest(), copy->getRawSource(), bytes, from, true);
      return;
    }
    Value* address = getLoadStorePointerOperand(&instruction);
    // Without that mark, it is a part of a struct, as which the struct is handed over.
    if (address == nullptr || instruction.getMetadata(LLVMContext::MD_tbaa) == nullptr) return;
    Type* type = getLoadStoreType(&instruction);
    if (!type->isIntegerTy() && !type->isFloatingPointTy() && !type->isPointerTy()) return;
    const Align wanted = layout_.getABITypeAlign(type);
    if (getLoadStoreAlignment(&instruction) >= wanted || variable_of(address) == nullptr || is_packed(address)) return;
    found.push_back({&instruction, address, layout_.getTypeStoreSize(type), wanted, isa<StoreInst>(instruction)});
  }

  std::vector<Access> found;

private:
  /// The side of a copy that is aligned less than the other one.
  void side(MemCpyInst& copy, Value* address, Value* other, std::uint64_t bytes, Align wanted, bool writes) {
    if (wanted.value() > kWidest || bytes % wanted.value() != 0) return;
    if (variable_of(address) == nullptr || is_packed(address)) return;
    const Type* element = element_of(address);
    if (element == nullptr || layout_.getTypeAllocSize(const_cast<Type*>(element)) == bytes) return;  // no cast
    // The other side tells the type: a variable of this type, or what a pointer leads to.
    if (const Value* variable = variable_of(other); variable != nullptr) {
      const auto* local = dyn_cast<AllocaInst>(other);
      if (local == nullptr || layout_.getTypeAllocSize(local->getAllocatedType()) != bytes) return;
    }
    found.push_back({&copy, address, bytes, wanted, writes});
  }

  const DataLayout& layout_;
};

/// How far the address lies behind the variable's begin.
Value* offset_of(IRBuilder<>& builder, Value* address, const DataLayout& layout) {
  Value* offset = builder.getInt64(0);
  for (auto* step = dyn_cast<GEPOperator>(address); step != nullptr;
       step = dyn_cast<GEPOperator>(step->getPointerOperand()))
    offset = builder.CreateAdd(offset, emitGEPOffset(&builder, layout, step, true));
  return offset;
}

/// Calls `__warpbook_local_alignment(offset, bytes, whether it writes)` where the address is no multiple of what is
/// wanted.
void check(const Access& access) {
  Module& module = *access.instruction->getModule();
  IRBuilder<> builder(access.instruction);
  Value* offset = offset_of(builder, access.address, module.getDataLayout());
  Value* rest = builder.CreateAnd(offset, builder.getInt64(access.wanted.value() - 1));
  Value* bad = builder.CreateICmpNE(rest, builder.getInt64(0));
  if (const auto* known = dyn_cast<ConstantInt>(bad); known != nullptr && known->isZero()) return;
  Instruction* then = SplitBlockAndInsertIfThen(bad, access.instruction->getIterator(), false,
                                                MDBuilder(module.getContext()).createBranchWeights(1, 1 << 20));
  IRBuilder<> report(then);
  report.SetCurrentDebugLocation(access.instruction->getDebugLoc());
  const FunctionCallee callee = module.getOrInsertFunction(
      "__warpbook_local_alignment", report.getVoidTy(), report.getInt64Ty(), report.getInt64Ty(), report.getInt32Ty());
  report.CreateCall(callee, {offset, report.getInt64(access.wanted.value()), report.getInt32(access.writes ? 1 : 0)});
}

void align(const Access& access) {
  // Where the variable itself begins is the compiler's choice: a GPU's has a reason for the widest one.
  Value* variable = variable_of(access.address);
  if (auto* local = dyn_cast<AllocaInst>(variable)) {
    local->setAlignment(std::max(local->getAlign(), access.wanted));
    check(access);
  } else if (auto* global = cast<GlobalVariable>(variable); global->hasInitializer()) {
    global->setAlignment(std::max(global->getAlign().valueOrOne(), access.wanted));
  }
  if (auto* load = dyn_cast<LoadInst>(access.instruction))
    load->setAlignment(access.wanted);
  else if (auto* store = dyn_cast<StoreInst>(access.instruction))
    store->setAlignment(access.wanted);
  else if (auto* copy = cast<MemCpyInst>(access.instruction); access.writes)
    copy->setDestAlignment(access.wanted);
  else
    copy->setSourceAlignment(access.wanted);
}

/// What a load or a store says of its address beyond what its own width asks for; 0 where that is nothing.
std::uint64_t stated_alignment(Instruction& instruction, const DataLayout& layout) {
  if (getLoadStorePointerOperand(&instruction) == nullptr) return 0;
  const std::uint64_t stated = getLoadStoreAlignment(&instruction).value();
  const std::uint64_t bytes = layout.getTypeStoreSize(getLoadStoreType(&instruction)).getFixedValue();
  if (stated <= bytes || stated > kWidest) return 0;
  const Value* object = object_of(instruction);
  const auto* given = dyn_cast<Argument>(object);
  const bool is_placed_here = isa<AllocaInst>(object) || isa<GlobalVariable>(object) || isa<IntrinsicInst>(object) ||
                              (given != nullptr && given->hasByValAttr());
  return is_placed_here ? 0 : stated;
}

/// Calls `__warpbook_stated_alignment(address, alignment, whether it writes)` where the address is no multiple of it.
void check_stated(Instruction& instruction, std::uint64_t alignment) {
  Module& module = *instruction.getModule();
  IRBuilder<> builder(&instruction);
  Value* address = getLoadStorePointerOperand(&instruction);
  Value* rest =
      builder.CreateAnd(builder.CreatePtrToInt(address, builder.getInt64Ty()), builder.getInt64(alignment - 1));
  Instruction* then =
      SplitBlockAndInsertIfThen(builder.CreateICmpNE(rest, builder.getInt64(0)), instruction.getIterator(), false,
                                MDBuilder(module.getContext()).createBranchWeights(1, 1 << 20));
  IRBuilder<> report(then);
  report.SetCurrentDebugLocation(instruction.getDebugLoc());
  report.CreateCall(module.getOrInsertFunction("__warpbook_stated_alignment", report.getVoidTy(), report.getPtrTy(),
                                               report.getInt64Ty(), report.getInt32Ty()),
                    {address, report.getInt64(alignment), report.getInt32(isa<StoreInst>(instruction) ? 1 : 0)});
}

}  // namespace

PreservedAnalyses CastAlignmentPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  const auto device = device_functions(module);
  Finder finder(module.getDataLayout());
  for (Function& function : module)
    if (!function.isDeclaration() && device.contains(&function))
      for (Instruction& instruction : instructions(function)) finder.look_at(instruction);
  for (const Access& access : finder.found) align(access);
  return finder.found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

PreservedAnalyses StatedAlignmentPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  const auto device = device_functions(module);
  std::vector<std::pair<Instruction*, std::uint64_t>> found;
  for (Function& function : module) {
    if (function.isDeclaration() || !device.contains(&function) || !function.hasFnAttribute(Attribute::SanitizeThread))
      continue;
    for (Instruction& instruction : instructions(function))
      if (const std::uint64_t alignment = stated_alignment(instruction, module.getDataLayout()); alignment != 0)
        found.emplace_back(&instruction, alignment);
  }
  for (const auto& [instruction, alignment] : found) check_stated(*instruction, alignment);
  return found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace warpbook::emulator
