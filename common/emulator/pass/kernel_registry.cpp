#include "common/emulator/pass/kernel_registry.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <vector>

#include "common/emulator/pass/invoke.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// A small struct may be two parameters; the front end names the second so.
bool is_second_half(const Argument& argument) { return argument.getName().ends_with(".coerce1"); }

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
      constexpr unsigned kAlignment = 16;
      place = (place + kAlignment - 1) / kAlignment * kAlignment;
      layout.parameters.push_back(place);
      layout.sizes.push_back(0);
    }
    layout.compiled.push_back(place);
    Type* type = argument.hasByValAttr() ? argument.getParamByValType() : argument.getType();
    place += static_cast<unsigned>(data.getTypeStoreSize(type));
    layout.sizes.back() = place - layout.parameters.back();
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
      arguments.push_back(argument.hasByValAttr() ? slot
                                                  : builder.CreateAlignedLoad(argument.getType(), slot, Align(1)));
    }
    return arguments;
  };
  CallInst* call = make_invoke(*kernel.getParent(), kernel.getFunctionType(), read);
  call->setAttributes(kernel.getAttributes().removeFnAttributes(kernel.getContext()));
  return call->getFunction();
}

bool launches_by_address(const Module& module) {
  for (const char* name : {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelExC",
                           "cudaGraphAddKernelNode", "cudaGraphAddNode"})
    if (const Function* function = module.getFunction(name); function != nullptr && !function->use_empty()) return true;
  return false;
}

Constant* numbers(Module& module, ArrayRef<unsigned> values) {
  Constant* data = ConstantDataArray::get(module.getContext(), values);
  return new GlobalVariable(module, data->getType(), true, GlobalValue::PrivateLinkage, data);
}

}  // namespace

bool register_kernels(Module& module) {
  if (!launches_by_address(module)) return false;
  LLVMContext& context = module.getContext();
  Type* pointer = PointerType::getUnqual(context);
  Type* number = Type::getInt32Ty(context);
  const FunctionCallee told = module.getOrInsertFunction("__warpbook_kernel", Type::getVoidTy(context), pointer,
                                                         pointer, pointer, pointer, number);
  auto* tell = Function::Create(FunctionType::get(Type::getVoidTy(context), false), GlobalValue::InternalLinkage,
                                "__warpbook_tell_kernels", module);
  IRBuilder<> builder(BasicBlock::Create(context, "", tell));
  std::vector<Function*> kernels;
  for (Function& function : module)
    if (!function.isDeclaration() && function.hasFnAttribute("warpbook-global") && !function.isVarArg())
      kernels.push_back(&function);
  for (Function* kernel : kernels) {
    const Layout layout = layout_of(*kernel);
    builder.CreateCall(told, {kernel, invoke_of(*kernel, layout), numbers(module, layout.parameters),
                              numbers(module, layout.sizes), ConstantInt::get(number, layout.sizes.size())});
  }
  builder.CreateRetVoid();
  appendToGlobalCtors(module, tell, 65535);
  return true;
}

}  // namespace warpbook::emulator
