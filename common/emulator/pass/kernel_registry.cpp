#include "common/emulator/pass/kernel_registry.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <vector>

#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/invoke.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// A small struct may be two parameters; the front end names the second so.
bool is_second_half(const Argument& argument) { return argument.getName().ends_with(".coerce1"); }

/// The local variable that the front end makes for a parameter, by its name's ending.
const AllocaInst* local_of(const Argument& argument, StringRef of, StringRef ending) {
  StringRef name = argument.getName();
  if (!name.consume_back(of)) return nullptr;
  for (const Instruction& instruction : argument.getParent()->getEntryBlock())
    if (const auto* local = dyn_cast<AllocaInst>(&instruction);
        local != nullptr && local->getName() == (name + ending).str())
      return local;
  return nullptr;
}

/// On arm64, a struct of more than 16 bytes comes as the address of a copy.
bool is_indirect(const Argument& argument) { return local_of(argument, "", ".indirect_addr") != nullptr; }

/// So many bytes from `place` on are used: an address has no type to tell.
std::uint64_t bytes_used(const Value& place, const DataLayout& data) {
  std::uint64_t most = 0;
  for (const Use& use : place.uses()) {
    std::uint64_t bytes = 0;
    if (const auto* step = dyn_cast<GetElementPtrInst>(use.getUser())) {
      APInt offset(data.getIndexTypeSizeInBits(step->getType()), 0);
      const bool whole = !step->getSourceElementType()->isIntegerTy(8);
      if (whole) bytes = data.getTypeAllocSize(step->getSourceElementType());
      if (step->accumulateConstantOffset(data, offset))
        bytes = std::max(bytes, offset.getZExtValue() + bytes_used(*step, data));
    } else if (const auto* copy = dyn_cast<MemTransferInst>(use.getUser())) {
      if (const auto* length = dyn_cast<ConstantInt>(copy->getLength())) bytes = length->getZExtValue();
    } else if (const auto* call = dyn_cast<CallBase>(use.getUser())) {
      if (call->isArgOperand(&use)) bytes = call->getParamDereferenceableBytes(call->getArgOperandNo(&use));
    } else if (const auto* load = dyn_cast<LoadInst>(use.getUser())) {
      bytes = data.getTypeStoreSize(load->getType());
    } else if (const auto* store = dyn_cast<StoreInst>(use.getUser()); store != nullptr && use.getOperandNo() == 1) {
      bytes = data.getTypeStoreSize(store->getValueOperand()->getType());
    }
    most = std::max(most, bytes);
  }
  return most;
}

/// What the caller holds for a parameter.
unsigned bytes_of(const Argument& argument, const DataLayout& data) {
  if (is_indirect(argument)) return static_cast<unsigned>(bytes_used(argument, data));
  Type* type = argument.hasByValAttr() ? argument.getParamByValType() : argument.getType();
  const std::uint64_t bytes = data.getTypeStoreSize(type);
  // Of a small struct, arm64's registers hold more than there is.
  const AllocaInst* local = local_of(argument, ".coerce", "");
  return static_cast<unsigned>(
      local == nullptr ? bytes : std::min<std::uint64_t>(bytes, data.getTypeStoreSize(local->getAllocatedType())));
}

struct Layout {
  std::vector<unsigned> parameters;  ///< where each of the source's begins, and the end behind the last
  std::vector<unsigned> sizes;
  std::vector<unsigned> compiled;  ///< where each of the compiled function's lies
};

Layout layout_of(const Function& kernel) {
  const DataLayout& data = kernel.getParent()->getDataLayout();
  Layout layout;
  unsigned place = 0;
  for (const Argument& argument : kernel.args()) {
    if (is_second_half(argument)) {
      place = layout.parameters.back() + 8;
    } else {
      layout.parameters.push_back(place);
      layout.sizes.push_back(0);
    }
    layout.compiled.push_back(place);
    place += bytes_of(argument, data);
    layout.sizes.back() = place - layout.parameters.back();
    constexpr unsigned kAlignment = 16;
    place = (place + kAlignment - 1) / kAlignment * kAlignment;
  }
  layout.parameters.push_back(place);
  return layout;
}

/// As the launch pass makes them.
Function* invoke_of(Function& kernel, const Layout& layout) {
  const auto read = [&](IRBuilder<>& builder, Value* memory) {
    std::vector<Value*> arguments;
    for (Argument& argument : kernel.args()) {
      Value* slot = builder.CreateConstGEP1_32(builder.getInt8Ty(), memory, layout.compiled[argument.getArgNo()]);
      if (is_indirect(argument)) {  // The kernel's own, like any parameter.
        const unsigned bytes = bytes_of(argument, kernel.getParent()->getDataLayout());
        AllocaInst* own = builder.CreateAlloca(ArrayType::get(builder.getInt8Ty(), bytes));
        own->setAlignment(Align(16));
        builder.CreateMemCpy(own, Align(16), slot, Align(1), bytes);
        slot = own;
      } else if (!argument.hasByValAttr()) {
        slot = builder.CreateAlignedLoad(argument.getType(), slot, Align(1));
      }
      arguments.push_back(slot);
    }
    return arguments;
  };
  CallInst* call = make_invoke(*kernel.getParent(), kernel.getFunctionType(), read);
  call->setAttributes(kernel.getAttributes().removeFnAttributes(kernel.getContext()));
  return call->getFunction();
}

/// True for a variable outside of functions that no kernel may name; see device_code.cpp.
bool is_hosts_own(const GlobalVariable& variable) {
  const StringRef name = variable.getName();
  return !variable.isDeclaration() && !variable.isConstant() && !variable.hasPrivateLinkage() &&
         !variable.isThreadLocal() && !variable.hasSection() && !variable.hasAttribute("warpbook-device") &&
         !variable.hasAttribute("warpbook-shared") && !variable.hasAttribute("warpbook-constant") &&
         !variable.hasAttribute("warpbook-managed") && !name.starts_with("_ZZ") && !name.starts_with("_ZT") &&
         !name.starts_with("_ZGV") && !name.starts_with("__") && !name.starts_with("llvm.") &&
         !name.starts_with("_ZN8warpbook");
}

/// A function of the host's that no other file brings, too: an inline one could be device code there.
bool is_hosts_own(const Function& function, const SmallPtrSet<const Function*, 32>& device) {
  return !device.contains(&function) && !function.isDiscardableIfUnused() &&
         !function.hasFnAttribute("warpbook-device") && !function.hasFnAttribute("warpbook-global");
}

bool is_used_by_host(const Use& use, const SmallPtrSet<const Function*, 32>& device) {
  const auto* instruction = dyn_cast<Instruction>(use.getUser());
  return instruction != nullptr && is_hosts_own(*instruction->getFunction(), device);
}

/// A static variable of the host's functions.
bool is_of_hosts_functions(const GlobalVariable& variable, const SmallPtrSet<const Function*, 32>& device) {
  return variable.hasInternalLinkage() && variable.getName().starts_with("_ZZ") && !variable.isThreadLocal() &&
         !variable.hasSection() && !variable.hasAttributes() &&
         all_of(variable.uses(), [&](const Use& use) { return is_used_by_host(use, device); });
}

/// A copy of a string for the host's functions, where they give it to others than the C library; nobody joins it with
/// an equal one of a kernel's.
GlobalVariable* hosts_copy(GlobalVariable& string, const SmallPtrSet<const Function*, 32>& device) {
  const auto* text = string.hasInitializer() ? dyn_cast<ConstantDataSequential>(string.getInitializer()) : nullptr;
  if (text == nullptr || !text->isString() || !string.hasPrivateLinkage() || !string.isConstant()) return nullptr;
  bool goes_further = false;
  for (const Use& use : string.uses()) {
    const auto* call = dyn_cast<CallBase>(use.getUser());
    const Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    goes_further |= is_used_by_host(use, device) && (callee == nullptr || !callee->isDeclaration());
  }
  if (!goes_further) return nullptr;
  auto* copy = new GlobalVariable(*string.getParent(), string.getValueType(), true, GlobalValue::PrivateLinkage,
                                  string.getInitializer(), string.getName() + ".of_host");
  copy->setSection(".rodata.of_host");
  string.replaceUsesWithIf(copy, [&](const Use& use) { return is_used_by_host(use, device); });
  return copy;
}

Constant* numbers(Module& module, ArrayRef<unsigned> values) {
  Constant* data = ConstantDataArray::get(module.getContext(), values);
  return new GlobalVariable(module, data->getType(), true, GlobalValue::PrivateLinkage, data);
}

}  // namespace

void tell_runtime(Module& module) {
  LLVMContext& context = module.getContext();
  Type* number = Type::getInt64Ty(context);
  auto* tell = Function::Create(FunctionType::get(Type::getVoidTy(context), false), GlobalValue::InternalLinkage,
                                "__warpbook_tell", module);
  IRBuilder<> builder(BasicBlock::Create(context, "", tell));
  const auto call = [&](const char* name, GlobalValue& what, std::uint64_t value) {
    builder.CreateCall(module.getOrInsertFunction(name, builder.getVoidTy(), PointerType::getUnqual(context), number),
                       {&what, ConstantInt::get(number, value)});
  };
  for (GlobalVariable& variable : module.globals())
    if (!variable.isDeclaration() && variable.hasAttribute("warpbook-managed"))
      call("__warpbook_managed", variable, module.getDataLayout().getTypeAllocSize(variable.getValueType()));
  const SmallPtrSet<const Function*, 32> device = device_functions(module);
  std::vector<GlobalVariable*> hosts_own;
  for (GlobalVariable& variable : module.globals())
    if (is_hosts_own(variable) || is_of_hosts_functions(variable, device)) hosts_own.push_back(&variable);
  std::vector<GlobalVariable*> before_copies;
  for (GlobalVariable& variable : module.globals()) before_copies.push_back(&variable);
  for (GlobalVariable* variable : before_copies)
    if (GlobalVariable* copy = hosts_copy(*variable, device)) hosts_own.push_back(copy);
  for (GlobalVariable* variable : hosts_own)
    call("__warpbook_host_variable", *variable, module.getDataLayout().getTypeAllocSize(variable->getValueType()));
  for (Function& function : module) {
    const auto tell_number = [&](const char* attribute, const char* name) {
      std::uint64_t value = 0;
      if (!function.isDeclaration() && !function.getFnAttribute(attribute).getValueAsString().getAsInteger(10, value))
        call(name, function, value);
    };
    tell_number("warpbook-bounds", "__warpbook_launch_bounds");
    tell_number("warpbook-cluster", "__warpbook_cluster_dims");
  }
  if (tell->getEntryBlock().empty()) {
    tell->eraseFromParent();
    return;
  }
  builder.CreateRetVoid();
  constexpr int kFirst = 0;  // Constructors of the program's own may use them.
  appendToGlobalCtors(module, tell, kFirst);
}

void register_kernels(Module& module) {
  std::vector<Function*> kernels;
  for (Function& function : module)
    if (!function.isDeclaration() && function.hasFnAttribute("warpbook-global") && !function.isVarArg() &&
        (function.hasAddressTaken() || function.hasExternalLinkage()))
      kernels.push_back(&function);
  if (kernels.empty()) return;
  LLVMContext& context = module.getContext();
  Type* pointer = PointerType::getUnqual(context);
  Type* number = Type::getInt32Ty(context);
  const FunctionCallee told = module.getOrInsertFunction("__warpbook_kernel", Type::getVoidTy(context), pointer,
                                                         pointer, pointer, pointer, number);
  auto* tell = Function::Create(FunctionType::get(Type::getVoidTy(context), false), GlobalValue::InternalLinkage,
                                "__warpbook_tell_kernels", module);
  IRBuilder<> builder(BasicBlock::Create(context, "", tell));
  for (Function* kernel : kernels) {
    const Layout layout = layout_of(*kernel);
    builder.CreateCall(told, {kernel, invoke_of(*kernel, layout), numbers(module, layout.parameters),
                              numbers(module, layout.sizes), ConstantInt::get(number, layout.sizes.size())});
  }
  builder.CreateRetVoid();
  appendToGlobalCtors(module, tell, 65535);
}

}  // namespace warpbook::emulator
