#include "common/emulator/pass/host_objects.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
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

/// What a host function is given that the instruction hands to a stream; null for other instructions.
Value* host_function_data(Instruction& instruction) {
  auto* call = dyn_cast<CallBase>(&instruction);
  const Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return nullptr;
  constexpr unsigned kData = 2;  // of the arguments, in both
  return callee->getName() == "cudaLaunchHostFunc" || callee->getName() == "cudaStreamAddCallback"
             ? call->getArgOperand(kData)
             : nullptr;
}

bool frees(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  if (callee == nullptr) return false;
  const StringRef name = callee->getName();
  return name == "free" || name == "__warpbook_free" || name.starts_with("__warpbook_delete") ||
         name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv");
}

/// Without optimisation, a pointer is read from its variable at each use; the run compares what was read.
bool may_be_same(const Value* pointer, const Value* other) {
  const auto* load = dyn_cast<LoadInst>(pointer);
  const auto* other_load = dyn_cast<LoadInst>(other);
  return pointer == other || (load != nullptr && other_load != nullptr && isa<AllocaInst>(load->getPointerOperand()) &&
                              load->getPointerOperand() == other_load->getPointerOperand());
}

/// True where the host may learn there, by other means than a call of CUDA's, that a host function has run.
bool may_learn(const Instruction& instruction) {
  if (instruction.isVolatile() || instruction.isAtomic()) return true;
  const auto* call = dyn_cast<CallBase>(&instruction);
  if (call == nullptr || isa<IntrinsicInst>(call) || frees(*call)) return false;
  const Function* callee = call->getCalledFunction();
  if (callee == nullptr) return true;
  const StringRef name = callee->getName();
  const bool prints =
      name == "printf" || name == "puts" || name == "putchar" || name.starts_with("_ZNSo") || name.starts_with("_ZSt");
  return !prints && !name.starts_with("cuda") && !name.starts_with("_ZN8warpbook8emulator") &&
         !name.starts_with("__warpbook") && name != "malloc" && !name.starts_with("_Zn");
}

/// Where the object ends, and its pointer there, of what comes behind the call before the host may learn that the
/// function has run.
std::vector<std::pair<Instruction*, Value*>> ends_behind(CallBase& call, Value* object) {
  std::vector<std::pair<Instruction*, Value*>> ends;
  const bool is_local = isa<AllocaInst>(object);
  const bool returns = is_local && call.getFunction()->getName() != "main";  // The program ends behind that.
  SmallPtrSet<const BasicBlock*, 16> seen;
  std::vector<BasicBlock::iterator> begins{std::next(call.getIterator())};
  if (call.isTerminator()) begins = {cast<InvokeInst>(call).getNormalDest()->begin()};
  while (!begins.empty()) {
    BasicBlock::iterator at = begins.back();
    begins.pop_back();
    BasicBlock* block = at->getParent();
    bool goes_on = true;
    for (; goes_on && at != block->end(); ++at) {
      const auto* lifetime = dyn_cast<LifetimeIntrinsic>(&*at);
      const auto* other = dyn_cast<CallBase>(&*at);
      const bool ends_here = is_local
                                 ? (lifetime != nullptr && lifetime->getIntrinsicID() == Intrinsic::lifetime_end &&
                                    lifetime->getArgOperand(1) == object) ||
                                       (returns && isa<ReturnInst>(*at))
                                 : other != nullptr && frees(*other) && may_be_same(other->getArgOperand(0), object);
      if (ends_here) ends.emplace_back(&*at, is_local ? object : other->getArgOperand(0));
      goes_on = !ends_here && !may_learn(*at);
    }
    if (goes_on)
      for (BasicBlock* next : successors(block))
        if (seen.insert(next).second) begins.push_back(next->begin());
  }
  return ends;
}

/// Calls `__warpbook_host_data_ends(what the host function is given)` where that ends.
bool announce_ends(CallBase& call, Value* data) {
  Value* object = data->stripPointerCasts();
  Module& module = *call.getModule();
  const auto ends = ends_behind(call, object);
  for (const auto& [end, what] : ends) {
    IRBuilder<> builder(end);
    builder.CreateCall(module.getOrInsertFunction("__warpbook_host_data_ends", builder.getVoidTy(), builder.getPtrTy()),
                       {what});
  }
  return !ends.empty();
}

}  // namespace

PreservedAnalyses HostObjectsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  std::vector<HostCopy> copies;
  std::vector<std::pair<CallBase*, Value*>> launches;
  std::vector<std::pair<CallBase*, Value*>> functions;
  for (Function& function : module)
    for (Instruction& instruction : instructions(function)) {
      if (const auto copy = as_copy(instruction)) copies.push_back(*copy);
      if (Value* arguments = launch_arguments(instruction))
        launches.emplace_back(cast<CallBase>(&instruction), arguments);
      if (Value* data = host_function_data(instruction)) functions.emplace_back(cast<CallBase>(&instruction), data);
    }
  bool changed = !copies.empty() || !launches.empty();
  for (const auto& [call, data] : functions) changed |= announce_ends(*call, data);
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
      builder.CreateCall(variable,
                         {pointer, end_of(pointer, builder, module.getDataLayout()), builder.getInt32(floats ? 1 : 0)});
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
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace warpbook::emulator
