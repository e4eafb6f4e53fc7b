#include "common/emulator/pass/launch_pass.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/TargetParser/Triple.h>

#include <vector>

#include "common/emulator/pass/invoke.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

constexpr const char* kMarker = "_ZN8warpbook8emulator6launchEv";
constexpr const char* kDynamicShared = "_ZN8warpbook8emulator14dynamic_sharedEv";
constexpr const char* kDynamicSharedSection = "warpbook_dynamic_shared";

/// The call right before the marker: the launch. What the front end puts in between are intrinsics alone.
CallBase* launch_before(Instruction& marker) {
  Instruction* at = &marker;
  for (;;) {
    if (Instruction* before = at->getPrevNode()) {
      at = before;
    } else {
      BasicBlock* block = at->getParent()->getSinglePredecessor();
      if (block == nullptr) return nullptr;
      at = block->getTerminator();  // an `invoke`, or a branch
    }
    if (isa<IntrinsicInst>(at) || isa<BranchInst>(at)) continue;
    if (auto* call = dyn_cast<CallBase>(at)) return call;
  }
}

/// The temporary that an argument is, where its class has a copy constructor or a destructor of its own: C++ then hands
/// over an address, CUDA the bytes. The front end names what it makes so.
const AllocaInst* temporary(const CallBase& call, unsigned index) {
  const auto* argument = dyn_cast<AllocaInst>(call.getArgOperand(index));
  if (call.isByValArgument(index) || argument == nullptr || !argument->getName().starts_with("agg.tmp")) return nullptr;
  return argument;
}

/// What an argument is when it is kept: the object itself where it is handed over by a hidden copy.
Type* kept_type(const CallBase& call, unsigned index) {
  if (call.isByValArgument(index)) return call.getParamByValType(index);
  if (const AllocaInst* object = temporary(call, index)) return object->getAllocatedType();
  return call.getArgOperand(index)->getType();
}

Function* invoke_of(Module& module, const CallBase& call, StructType* pack) {
  const DataLayout& data = module.getDataLayout();
  const auto read = [&](IRBuilder<>& builder, Value* memory) {
    std::vector<Value*> arguments;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      Type* type = pack->getElementType(i);
      Value* slot = builder.CreateStructGEP(pack, memory, i);
      const AllocaInst* object = temporary(call, i);
      // The alignment that a class asks for is none of its elements': the slot may lie between.
      const Align wanted = object != nullptr ? object->getAlign() : call.getParamAlign(i).valueOrOne();
      if (object != nullptr || (call.isByValArgument(i) && wanted > data.getABITypeAlign(type))) {
        AllocaInst* own = builder.CreateAlloca(type);  // The kernel's own, like any parameter.
        own->setAlignment(wanted);
        builder.CreateMemCpy(own, wanted, slot, Align(1), data.getTypeAllocSize(type));
        slot = own;
      } else if (!call.isByValArgument(i)) {
        slot = builder.CreateLoad(type, slot);
      }
      arguments.push_back(slot);
    }
    return arguments;
  };
  CallInst* kernel = make_invoke(module, call.getFunctionType(), read);
  kernel->setAttributes(call.getAttributes());
  kernel->setCallingConv(call.getCallingConv());
  return kernel->getFunction();
}

/// Replaces the call by one of `__warpbook_launch` with its arguments packed.
void make_launch(CallBase& call) {
  Module& module = *call.getModule();
  LLVMContext& context = module.getContext();
  std::vector<Type*> types;
  for (unsigned i = 0; i < call.arg_size(); ++i) types.push_back(kept_type(call, i));
  auto* pack = StructType::get(context, types);
  Function* invoke = invoke_of(module, call, pack);

  IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  AllocaInst* arguments = entry.CreateAlloca(pack);
  arguments->setAlignment(Align(16));
  IRBuilder<> builder(&call);
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    Value* slot = builder.CreateStructGEP(pack, arguments, i);
    Value* argument = call.getArgOperand(i);
    if (call.isByValArgument(i) || temporary(call, i) != nullptr)
      builder.CreateMemCpy(slot, Align(1), argument, Align(1), module.getDataLayout().getTypeAllocSize(types[i]));
    else
      builder.CreateStore(argument, slot);
  }
  Type* pointer = PointerType::getUnqual(context);
  Type* size = Type::getInt64Ty(context);
  const FunctionCallee launch =
      module.getOrInsertFunction("__warpbook_launch", Type::getVoidTy(context), pointer, pointer, pointer, size);
  builder.CreateCall(launch, {call.getCalledOperand(), invoke, arguments,
                              ConstantInt::get(size, module.getDataLayout().getTypeAllocSize(pack))});
  // The launcher does not throw.
  if (auto* throwing = dyn_cast<InvokeInst>(&call)) {
    throwing->getUnwindDest()->removePredecessor(throwing->getParent());
    builder.CreateBr(throwing->getNormalDest());
  }
  call.eraseFromParent();
}

bool make_launches(Module& module) {
  Function* marker = module.getFunction(kMarker);
  if (marker == nullptr) return false;
  std::vector<CallBase*> marks;
  for (User* user : marker->users())
    if (auto* mark = dyn_cast<CallBase>(user)) marks.push_back(mark);
  for (CallBase* mark : marks) {
    CallBase* call = launch_before(*mark);
    if (call == nullptr || !call->getType()->isVoidTy()) {
      module.getContext().emitError(mark, "<<<>>> does not launch a kernel here");
      continue;
    }
    make_launch(*call);
    if (auto* throwing = dyn_cast<InvokeInst>(mark)) {
      throwing->getUnwindDest()->removePredecessor(throwing->getParent());
      BranchInst::Create(throwing->getNormalDest(), throwing->getParent());
    }
    mark->eraseFromParent();
  }
  return !marks.empty();
}

/// Calls of CUDA in two branches stay two: a report names the line of the one that was made.
void keep_calls_apart(Module& module) {
  for (Function& function : module)
    if (function.isDeclaration() && (function.getName().contains("cuda") || function.getName() == "__warpbook_launch"))
      for (User* user : function.users())
        if (auto* call = dyn_cast<CallBase>(user)) call->addFnAttr(Attribute::NoMerge);
}

/// Puts a call of `dynamic_shared()` for each use of an array that is marked as dynamic shared memory.
bool place_dynamic_shared(Module& module) {
  std::vector<GlobalVariable*> arrays;
  for (GlobalVariable& variable : module.globals())
    if (variable.getSection() == kDynamicSharedSection) arrays.push_back(&variable);
  for (GlobalVariable* array : arrays) {
    convertUsersOfConstantsToInstructions({array});
    std::vector<Use*> uses;
    for (Use& use : array->uses()) uses.push_back(&use);
    for (Use* use : uses) {
      auto* user = dyn_cast<Instruction>(use->getUser());
      if (user == nullptr) continue;
      const FunctionCallee address =
          module.getOrInsertFunction(kDynamicShared, PointerType::getUnqual(module.getContext()));
      IRBuilder<> builder(&*user->getFunction()->getEntryBlock().getFirstInsertionPt());
      CallInst* call = builder.CreateCall(address);
      call->setDoesNotAccessMemory();
      call->setDoesNotThrow();
      use->set(call);
    }
  }
  return !arrays.empty();
}

/// Functions of the C and C++ libraries that mean something else in a kernel. The emulator's, which are called instead,
/// tell where they are.
bool redirect_library(Module& module) {
  bool changed = false;
  constexpr const char* kNames[][2] = {{"clock", "__warpbook_clock"},         {"malloc", "__warpbook_malloc"},
                                       {"free", "__warpbook_free"},           {"_Znwm", "__warpbook_new"},
                                       {"_Znam", "__warpbook_new"},           {"_ZdlPv", "__warpbook_delete"},
                                       {"_ZdaPv", "__warpbook_delete"},       {"_ZdlPvm", "__warpbook_delete_sized"},
                                       {"_ZdaPvm", "__warpbook_delete_sized"}};
  for (const auto& [name, ours] : kNames) {
    Function* function = module.getFunction(name);
    if (function == nullptr || !function->isDeclaration() || function->use_empty()) continue;
    function->replaceAllUsesWith(module.getOrInsertFunction(ours, function->getFunctionType()).getCallee());
    changed = true;
  }
  return changed;
}

/// True where nobody stores to it or keeps its address.
bool is_never_set(const Value& place) {
  return all_of(place.users(), [](const User* user) {
    if (isa<GetElementPtrInst>(user)) return is_never_set(*user);
    const auto* intrinsic = dyn_cast<IntrinsicInst>(user);
    return isa<LoadInst>(user) || (intrinsic != nullptr && intrinsic->isLifetimeStartOrEnd());
  });
}

/// On arm64, an object of an empty class is handed over as a byte that has no value. Nobody looks at it: it may as well
/// be zero. The front end's name for the way to it tells it from a member, where there are names.
bool fill_empty_objects(Module& module) {
  if (!Triple(module.getTargetTriple()).isAArch64()) return false;
  std::vector<LoadInst*> bytes;
  for (Function& function : module)
    for (Instruction& instruction : instructions(function)) {
      auto* load = dyn_cast<LoadInst>(&instruction);
      if (load == nullptr || !load->getType()->isIntegerTy(8)) continue;
      const Value* way = load->getPointerOperand();
      const auto* object = dyn_cast<AllocaInst>(way->stripInBoundsConstantOffsets());
      if (object != nullptr && object->getAllocatedType()->isStructTy() &&
          (!way->hasName() || way->getName().starts_with("coerce.dive")) && is_never_set(*object) &&
          all_of(load->users(), [](const User* user) { return isa<CallBase>(user); }))
        bytes.push_back(load);
    }
  for (LoadInst* byte : bytes) {
    byte->replaceAllUsesWith(ConstantInt::get(byte->getType(), 0));
    byte->eraseFromParent();
  }
  return !bytes.empty();
}

}  // namespace

llvm::PreservedAnalyses LaunchPass::run(llvm::Module& module, llvm::ModuleAnalysisManager& /*manager*/) {
  // Only of programs with launches: elsewhere kernels do not use these, and the host's own should stay the library's.
  const bool filled = fill_empty_objects(module);
  const bool launches = make_launches(module);
  const bool arrays = place_dynamic_shared(module);
  if (launches) redirect_library(module);
  keep_calls_apart(module);
  return launches || arrays || filled ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace warpbook::emulator
