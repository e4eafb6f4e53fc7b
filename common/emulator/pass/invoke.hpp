/// \file
/// How the engine calls a kernel, whose parameters it does not know.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace warpbook::emulator {

/// `void invoke(kernel, arguments)`: calls the kernel once, through its address, with what `read` takes from the memory
/// of the arguments. Not instrumented: what it reads is nothing that the kernel does.
inline llvm::CallInst*
make_invoke(llvm::Module& module, llvm::FunctionType* kernel,
            llvm::function_ref<std::vector<llvm::Value*>(llvm::IRBuilder<>& builder, llvm::Value* memory)> read) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
  auto* invoke = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "__warpbook_invoke", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", invoke));
  llvm::CallInst* call = builder.CreateCall(kernel, invoke->getArg(0), read(builder, invoke->getArg(1)));
  builder.CreateRetVoid();
  return call;
}

}  // namespace warpbook::emulator
