#include "common/emulator/pass/device_code.hpp"

#include "common/emulator/pass/kernel_registry.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <cstdlib>
#include <string>

namespace warpbook::emulator {
namespace {

using namespace llvm;

constexpr const char* kGlobal = "warpbook-global";
constexpr const char* kDevice = "warpbook-device";
constexpr const char* kHost = "warpbook-host";
constexpr const char* kShared = "warpbook-shared";
constexpr const char* kConstant = "warpbook-constant";
constexpr const char* kManaged = "warpbook-managed";
constexpr const char* kBounds = "warpbook-bounds";
constexpr const char* kCluster = "warpbook-cluster";

/// Functions that the C library and CUDA have under one name. Each of these, and the same with an f behind it.
bool is_math(StringRef name) {
  static const StringSet<> names = {
      "abs", "labs", "llabs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign",
      "cos", "cosh", "cospi", "erf", "erfc", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax",
      "fmin", "fmod", "frexp", "hypot", "ilogb", "isfinite", "isinf", "isnan", "isnormal", "j0", "j1", "jn", "ldexp",
      "lgamma", "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "lrint", "lround", "modf", "nan",
      "nearbyint", "nextafter", "pow", "remainder", "remquo", "rint", "round", "scalbln", "scalbn", "signbit", "sin",
      "sincos", "sinh", "sinpi", "sqrt", "tan", "tanh", "tgamma", "trunc", "y0", "y1", "yn", "isgreater",
      "isgreaterequal", "isless", "islessequal", "islessgreater", "isunordered"};
  return names.contains(name) || (name.consume_back("f") && names.contains(name));
}

/// Functions of the C library that kernels may call.
bool is_in_device_library(StringRef name) {
  static const StringSet<> names = {"memcpy", "memmove", "memset", "printf", "vprintf", "malloc", "free",
                                    "clock",  "clock64", "alloca", "abort",  "__assert_fail"};
  return names.contains(name) || is_math(name) || name.starts_with("llvm.") || name.starts_with("__warpbook_") ||
         name.starts_with("__cxa_") || name.starts_with("__clang_") || name.starts_with("__gxx_") ||
         name.starts_with("_Zn") || name.starts_with("_Zd") || name.starts_with("_Unwind");
}

bool is_standard(StringRef name) {
  return name.starts_with("_ZSt") || name.starts_with("_ZNSt") || name.starts_with("_ZNKSt") ||
         name.starts_with("_ZNS") || name.starts_with("_ZNKS") || name.starts_with("_ZS");
}

/// `std::sqrt` and what else of the standard library CUDA declares for kernels, too.
bool is_standard_for_kernels(StringRef name) {
  if (name.starts_with("_ZNKSt16initializer_list") || name.starts_with("_ZNSt16initializer_list")) return true;
  if (!name.consume_front("_ZSt")) return false;
  std::size_t length = 0;
  if (name.consumeInteger(10, length)) return false;
  const StringRef plain = name.take_front(length);
  return is_math(plain) || plain == "move" || plain == "forward" || plain == "addressof" || plain == "as_const";
}

/// The emulator's own headers: they say nothing of host and device.
bool is_own(const Function& function) {
  const StringRef name = function.getName();
  if (name.starts_with("_ZN8warpbook8emulator") || name.starts_with("_ZNK8warpbook8emulator")) return true;
  if (const DISubprogram* subprogram = function.getSubprogram())
    return subprogram->getFile()->getFilename().contains("common/emulator/include/");
  return function.hasFnAttribute(Attribute::AlwaysInline);  // and `nodebug`
}

/// What a class has without saying so, and what it may say that it has by default: both are for host and device.
bool may_be_implicit(const Function& function) {
  const StringRef name = function.getName();
  if (const DISubprogram* subprogram = function.getSubprogram();
      subprogram != nullptr && (subprogram->getFlags() & DINode::FlagArtificial) != 0)
    return true;
  if (!function.hasLinkOnceLinkage() && !function.hasLocalLinkage() && !function.hasWeakLinkage()) return false;
  for (const char* kind : {"C1", "C2"})
    for (const char* parameters : {"Ev", "ERKS", "EOS"})
      if (name.contains((Twine(kind) + parameters).str())) return true;
  for (const char* part : {"D0Ev", "D1Ev", "D2Ev", "aSERKS", "aSEOS", "CI1", "CI2"})
    if (name.contains(part)) return true;
  return false;
}

/// True for a lambda, or a member of a class, that is written inside of a device function.
bool is_inside_device_code(const Function& function) {
  StringRef name = function.getName();
  if (!name.consume_front("_ZZ")) return false;
  if (name.starts_with("Z")) return true;  // inside of something that is inside itself
  for (const Function& other : *function.getParent()) {
    StringRef outer = other.getName();
    if ((other.hasFnAttribute(kDevice) || other.hasFnAttribute(kGlobal)) && outer.consume_front("_Z") &&
        name.starts_with(outer))
      return true;
  }
  return false;
}

/// Its name, behind the result's type where there is one.
std::string plain_name(const Function& function) {
  const std::string text = demangle(function.getName());
  const StringRef name = text;
  return name.substr(name.take_until([](char c) { return c == '('; }).rfind(' ') + 1).str();
}

/// What `threadIdx` and its kin are to the emulator.
bool is_index(const Function& function) {
  const std::string name = demangle(function.getName());
  for (const char* index : {"::ThreadIndex::", "::BlockIndex::", "::BlockExtent::", "::GridExtent::"})
    if (StringRef(name).contains(("warpbook::emulator" + Twine(index)).str())) return true;
  return false;
}

/// Functions of CCCL. They are right; and what they instantiate for other architectures nvcc does not see.
bool is_of_cccl(const Function& function) {
  StringRef name = function.getName();
  if (!name.consume_front("_Z")) return false;
  name.consume_front("Z");  // a lambda in one of them
  if (!name.consume_front("N")) return false;
  name.consume_front("K");
  return name.starts_with("6thrust") || name.starts_with("3cub") || name.starts_with("4cuda");
}

/// Of the emulator's functions, those that are for device code alone.
bool is_for_devices_alone(const Function& function) {
  if (!is_own(function)) return false;
  const std::string text = plain_name(function);
  const StringRef name = text;
  for (const char* begin : {"__syncthreads", "__syncwarp", "__shfl_", "__ballot_sync", "__any_sync", "__all_sync",
                            "__activemask", "__match_", "__reduce_", "__threadfence", "__nanosleep", "atomicAdd",
                            "atomicSub", "atomicExch", "atomicMin", "atomicMax", "atomicInc", "atomicDec", "atomicCAS",
                            "atomicAnd", "atomicOr", "atomicXor"})
    if (name.starts_with(begin)) return true;
  return false;
}

/// Functions of CUDA's runtime that kernels may call.
bool is_runtime_for_kernels(StringRef name) {
  static const StringSet<> names = {
      "cudaGetLastError", "cudaPeekAtLastError", "cudaGetErrorName", "cudaGetErrorString", "cudaMalloc", "cudaFree",
      "cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamCreateWithFlags", "cudaStreamDestroy"};
  return names.contains(name.take_until([](char c) { return c == '<'; }));
}

void refuse(const Instruction& instruction, const Twine& text) {
  const Function& function = *instruction.getFunction();
  const std::string words = text.str();
  function.getContext().diagnose(DiagnosticInfoUnsupported(function, words, instruction.getDebugLoc()));
}

void warn(const Instruction& instruction, const Twine& text) {
  const Function& function = *instruction.getFunction();
  const std::string words = text.str();
  function.getContext().diagnose(
      DiagnosticInfoUnsupported(function, words, instruction.getDebugLoc(), DS_Warning));
}

void refuse(const Function& function, const Twine& text) {
  const std::string words = text.str();
  const DISubprogram* subprogram = function.getSubprogram();
  function.getContext().diagnose(DiagnosticInfoUnsupported(
      function, words, subprogram == nullptr ? DiagnosticLocation() : DiagnosticLocation(subprogram)));
}

/// Whose element or member a pointer leads to. The front end does not say that it stays inside: -fwrapv.
const Value* base_of(const Value* pointer) {
  for (;;) {
    pointer = pointer->stripPointerCasts();
    const auto* step = dyn_cast<GEPOperator>(pointer);
    if (step == nullptr) return pointer;
    pointer = step->getPointerOperand();
  }
}

std::string named(const Function& function) { return "(\"" + demangle(function.getName()) + "\")"; }

class Judge {
public:
  explicit Judge(Module& module) : module_(module) {}

  void run() {
    constants();
    for (Function& function : module_) {
      if (function.isDeclaration() || is_own(function)) continue;
      const bool global = function.hasFnAttribute(kGlobal);
      const bool device = global || function.hasFnAttribute(kDevice);
      const bool host = function.hasFnAttribute(kHost);
      if (global) kernel(function);
      if (device && is_lambda(function) && !is_of_cccl(function) && !is_inside_device_code(function)) lambda(function);
      for (Instruction& instruction : instructions(function)) {
        if (device) in_device(instruction);
        if (!device) in_host(instruction);
        if (auto* call = dyn_cast<CallBase>(&instruction)) {
          Function* callee = call->getCalledFunction();
          if (callee != nullptr && device && !host) from_device(*call, *callee, global);
          if (callee != nullptr && !device) from_host(*call, *callee);
        }
        if (device && !host) variables(instruction);
      }
    }
  }

private:
  static void kernel(const Function& function) {
    if (function.hasFnAttribute(kDevice) || function.hasFnAttribute(kHost))
      refuse(function, "illegal combination of memory qualifiers");
    if (!function.getReturnType()->isVoidTy() || function.hasStructRetAttr())
      refuse(function, "a __global__ function must have a void return type");
    if (function.isVarArg()) refuse(function, "a __global__ function cannot have ellipsis");
    if (function.arg_size() != 0 && function.getArg(0)->getName() == "this")
      refuse(function, "A __global__ function or function template cannot be a member function");
    const std::string text = demangle(function.getName());
    const StringRef parameters = StringRef(text).substr(StringRef(text).rfind('('));
    if (parameters.contains("&&"))
      refuse(function, "a __global__ function cannot have a parameter with rvalue reference type");
  }

  void constants() const {
    constexpr std::uint64_t kMost = 64 << 10;  // bytes
    std::uint64_t bytes = 0;
    for (const GlobalVariable& variable : module_.globals())
      if (variable.hasAttribute(kConstant) && !variable.isDeclaration())
        bytes += module_.getDataLayout().getTypeAllocSize(variable.getValueType());
    if (bytes > kMost)
      module_.getContext().emitError("File uses too much global constant data (" + Twine(bytes) + " bytes, at most " +
                                     Twine(kMost) + ")");
  }

  static bool is_lambda(const Function& function) {
    const DISubprogram* subprogram = function.getSubprogram();
    if (subprogram == nullptr || !subprogram->getName().starts_with("operator()")) return false;
    const StringRef name = function.getName();
    return name.contains("$_") || (name.starts_with("_ZZ") && name.contains("Ul"));
  }

  /// A `__device__` lambda in host code. How it captures, its source alone tells.
  static void lambda(const Function& function) {
    if (std::getenv("WARPBOOK_PLAIN_LAMBDA") != nullptr)
      refuse(function, "__host__ or __device__ annotation on lambda requires --extended-lambda nvcc flag");
    const DISubprogram* subprogram = function.getSubprogram();
    const auto file = MemoryBuffer::getFile(subprogram->getFile()->getFilename());
    if (!file) return;
    StringRef text = (*file)->getBuffer();
    for (unsigned line = 1; line < subprogram->getLine(); ++line) text = text.split('\n').second;
    auto [captures, behind] = text.split('\n').first.split('[').second.split(']');
    if (!behind.ltrim().starts_with("__")) return;
    for (StringRef capture : split(captures, ','))
      if (capture.ltrim().starts_with("&"))
        refuse(function, "An extended __device__ lambda cannot capture variables by reference");
  }

  /// What no device function may have.
  static void in_device(const Instruction& instruction) {
    const auto* variable = dyn_cast<AllocaInst>(&instruction);
    if (variable != nullptr && variable->isArrayAllocation() && variable->getName().starts_with("vla"))
      refuse(instruction, "expression must have a constant value: an array's length is known when it is compiled");
    if (const auto* store = dyn_cast<StoreInst>(&instruction))
      if (const GlobalVariable* to = variable_of(store->getPointerOperand());
          to != nullptr && to->hasAttribute(kConstant)) {
        if (to == store->getPointerOperand())
          refuse(instruction, "expression must be a modifiable lvalue: kernels only read __constant__ variables");
        else
          warn(instruction, "cannot store to pointer that points to constant memory space");
      }
    for (const Use& operand : instruction.operands()) {
      const GlobalVariable* used = variable_of(operand.get());
      if (used != nullptr && used->hasAttribute(kShared) && has_initialiser(*used))
        refuse(instruction, "initializer not allowed for __shared__ variable");
    }
  }

  static bool has_initialiser(const GlobalVariable& shared) {
    const Type* type = shared.getValueType();
    while (type->isArrayTy()) type = type->getArrayElementType();
    // A class has what its members begin with, which counts for nothing.
    return shared.hasInitializer() && !type->isStructTy() && !shared.getInitializer()->isNullValue() &&
           !isa<UndefValue>(shared.getInitializer());
  }

  void in_host(const Instruction& instruction) const {
    const Function& function = *instruction.getFunction();
    if (const auto* call = dyn_cast<CallBase>(&instruction))
      if (const Function* callee = call->getCalledFunction();
          callee != nullptr && callee->getName() == "__warpbook_launch")
        launched(*call);
    local_variable(instruction);
    const bool begins = function.getName().starts_with("__cxx_global_var_init");
    for (const Use& operand : instruction.operands()) {
      if (const auto* used = dyn_cast<Function>(operand.get())) address_of(instruction, operand, *used);
      const GlobalVariable* used = variable_of(operand.get());
      if (used == nullptr) continue;
      if (used->getName().starts_with("_ZZ") && !is_inside_device_code(function)) {
        const auto* has = find_if(kQualifiers, [&](const char* qualifier) { return used->hasAttribute(qualifier); });
        if (has != std::end(kQualifiers)) {
          refuse_in_host(instruction, "a static", *has);
          continue;
        }
      }
      if (used->hasAttribute(kDevice) && !used->hasAttribute(kManaged) && !function.hasFnAttribute(kHost) && !begins &&
          !is_inside_device_code(function) && !is_of_cccl(function))
        device_variable(instruction, operand, *used);
      const auto* store = dyn_cast<StoreInst>(&instruction);
      const auto* call = dyn_cast<CallBase>(&instruction);
      const bool sets =
          (store != nullptr && operand.getOperandNo() == 1) || (call != nullptr && operand.getOperandNo() == 0);
      if (begins && sets && used->hasAttribute(kDevice))
        refuse(instruction, "dynamic initialization is not supported for a __" +
                                Twine(used->hasAttribute(kConstant) ? "constant" : "device") + "__ variable \"" +
                                demangle(used->getName()) + "\"");
    }
  }

  static constexpr const char* kQualifiers[] = {kShared, kConstant, kManaged, kDevice};  // Most of them are kDevice, too.

  static void refuse_in_host(const Instruction& instruction, StringRef kind, StringRef qualifier) {
    refuse(instruction, kind + " \"__" + qualifier.substr(StringRef("warpbook-").size()) +
                            "__\" variable declaration is not allowed inside a host function body");
  }

  /// The word that an instruction notes of a local variable; "" where it does not.
  static StringRef noted(const User& instruction) {
    const auto* note = dyn_cast<IntrinsicInst>(&instruction);
    if (note == nullptr || note->getIntrinsicID() != Intrinsic::var_annotation) return "";
    const auto* word = dyn_cast<GlobalVariable>(note->getArgOperand(1)->stripPointerCasts());
    if (word == nullptr || !word->hasInitializer()) return "";
    const auto* text = dyn_cast<ConstantDataSequential>(word->getInitializer());
    return text != nullptr && text->isCString() ? text->getAsCString() : "";
  }

  /// `__constant__` and `__managed__` variables are `__device__`, too.
  static void local_variable(const Instruction& instruction) {
    if (noted(instruction) != kDevice) return;
    StringRef qualifier = kDevice;
    for (const User* user : instruction.getOperand(0)->users())
      if (const StringRef word = noted(*user); word == kConstant || word == kManaged) qualifier = word;
    refuse_in_host(instruction, "an automatic", qualifier);
  }

  /// The host has a variable of that name, too, of which kernels know nothing.
  static void device_variable(const Instruction& instruction, const Use& operand, const GlobalVariable& variable) {
    const auto* store = dyn_cast<StoreInst>(&instruction);
    const bool is_array = variable.getValueType()->isArrayTy();
    const bool hands_on = store != nullptr && operand.getOperandNo() == 0 && is_array;  // where it begins
    const bool writes = store != nullptr && operand.getOperandNo() == 1;
    if (!isa<LoadInst>(instruction) && !hands_on && !writes) return;
    warn(instruction, "a __" + Twine(variable.hasAttribute(kConstant) ? "constant" : "device") + "__ variable \"" +
                          demangle(variable.getName()) + "\" cannot be directly " + (writes ? "written" : "read") +
                          " in a host function");
  }

  /// The host's address of a device function means nothing to a kernel.
  static void address_of(const Instruction& instruction, const Use& operand, const Function& used) {
    const Function& function = *instruction.getFunction();
    if (!used.hasFnAttribute(kDevice) || used.hasFnAttribute(kHost) || used.hasFnAttribute(kGlobal)) return;
    const auto* call = dyn_cast<CallBase>(&instruction);
    if (call != nullptr && (call->isCallee(&operand) || (call->getCalledFunction() != nullptr &&
                                                         call->getCalledFunction()->getName() == "__warpbook_launch")))
      return;  // is refused
    if (function.hasFnAttribute(kHost) || is_inside_device_code(function) || is_of_cccl(function)) return;
    warn(instruction, "the address of __device__ function" + named(used) +
                          " taken in a host function cannot be used in device code");
  }

  /// A launch of what is no kernel.
  static void launched(const CallBase& launch) {
    const auto* what = dyn_cast<Function>(launch.getArgOperand(0)->stripPointerCasts());
    if (what == nullptr || what->hasFnAttribute(kGlobal)) return;
    if (what->hasFnAttribute(kDevice))
      refuse(launch, "a __device__ function call cannot be configured: a kernel is __global__");
    else if (!what->isDeclaration())
      refuse(launch, "a host function call cannot be configured: a kernel is __global__");
  }

  static const GlobalVariable* variable_of(const Value* pointer) {
    pointer = base_of(pointer);
    if (const auto* intrinsic = dyn_cast<IntrinsicInst>(pointer);
        intrinsic != nullptr && intrinsic->getIntrinsicID() == Intrinsic::threadlocal_address)
      return nullptr;  // its own operand tells
    return dyn_cast<GlobalVariable>(pointer);
  }

  void from_device(CallBase& call, const Function& callee, bool global) {
    const StringRef name = callee.getName();
    if (name == "__cxa_throw" || name == "__cxa_rethrow" || name == "__cxa_begin_catch") {
      refuse(call, "device code does not support exception handling");
      return;
    }
    if (name == "__dynamic_cast" || name.starts_with("_ZNKSt9type_info")) {
      refuse(call, "The operator '" + Twine(name == "__dynamic_cast" ? "dynamic_cast" : "typeid") +
                       "' is not allowed in device code");
      return;
    }
    const std::string plain = plain_name(callee);
    const bool of_runtime = StringRef(plain).starts_with("cuda") && !is_runtime_for_kernels(plain) && is_own(callee);
    if (name == "__warpbook_launch" && std::getenv("WARPBOOK_WHOLE_PROGRAM") != nullptr) {
      refuse(call,
             "kernel launch from __device__ or __global__ functions requires separate compilation mode (-rdc=true)");
      return;
    }
    const bool for_kernels = callee.hasFnAttribute(kDevice) || callee.isIntrinsic() || is_own(callee) ||
                             is_in_device_library(name) || is_standard_for_kernels(name) ||
                             is_runtime_for_kernels(plain);
    if (for_kernels && !of_runtime) return;
    if (callee.hasFnAttribute(kGlobal)) {
      refuse(call, "a __global__ function call must be configured");
      return;
    }
    // One that another file defines says nothing of itself.
    if (callee.isDeclaration() && name.starts_with("_Z") && !is_standard(name)) return;
    if (!callee.isDeclaration() && (may_be_implicit(callee) || is_inside_device_code(callee))) return;
    const bool may_be_constexpr = !callee.isDeclaration() && callee.hasLinkOnceLinkage();
    if (may_be_constexpr && std::getenv("WARPBOOK_RELAXED_CONSTEXPR") != nullptr) return;
    refuse(call, "calling a __host__ function" + named(callee) + " from a " + (global ? "__global__" : "__device__") +
                     " function" + named(*call.getFunction()) + " is not allowed" +
                     (may_be_constexpr ? "; a constexpr one may be called with --expt-relaxed-constexpr" : ""));
  }

  void from_host(CallBase& call, const Function& callee) {
    const Function& caller = *call.getFunction();
    const bool global = callee.hasFnAttribute(kGlobal);
    const bool device = callee.hasFnAttribute(kDevice) && !callee.hasFnAttribute(kHost);
    const bool index = is_index(callee);
    if (!global && !device && !index && !is_for_devices_alone(callee)) return;
    if (caller.hasFnAttribute(kHost) || is_standard(caller.getName()) || may_be_implicit(caller) ||
        is_inside_device_code(caller) || is_of_cccl(caller))
      return;
    if (global)
      refuse(call, "a __global__ function call must be configured");
    else if (index)
      refuse(call, "threadIdx, blockIdx, blockDim and gridDim are undefined in a __host__ function");
    else
      refuse(call, "calling a __device__ function" + named(callee) + " from a __host__ function" + named(caller) +
                       " is not allowed");
  }

  void variables(Instruction& instruction) {
    const auto* call = dyn_cast<CallBase>(&instruction);
    for (Value* operand : instruction.operands()) {
      if (const auto* function = dyn_cast<Function>(operand);
          function != nullptr && (call == nullptr || call->getCalledOperand() != function) && is_hosts_own(*function)) {
        refuse(instruction, "identifier \"" + demangle(function->getName()) + "\" is undefined in device code");
        continue;
      }
      const auto* variable = dyn_cast<GlobalVariable>(isa<Constant>(operand) ? base_of(operand) : operand);
      if (variable == nullptr || variable->hasAttribute(kDevice) || variable->hasPrivateLinkage() ||
          variable->hasAttribute(kShared) || variable->hasSection())
        continue;
      const StringRef name = variable->getName();
      if (name.starts_with("_ZZ") || name.starts_with("_ZT") || name.starts_with("_ZGV") || name.starts_with("__"))
        continue;
      const bool of_library = is_standard(name) || name == "stdout" || name == "stderr" || name == "stdin";
      if (variable->isDeclaration() ? !of_library
                                    : variable->isConstant() && !variable->getValueType()->isArrayTy())
        continue;
      refuse(instruction, "identifier \"" + demangle(name) + "\" is undefined in device code");
    }
  }

  /// A function of which it is certain that the program has it for the host alone.
  static bool is_hosts_own(const Function& function) {
    return !function.isDeclaration() && function.hasExternalLinkage() && !function.hasFnAttribute(kDevice) &&
           !function.hasFnAttribute(kGlobal) && !is_own(function) && !is_standard(function.getName()) &&
           !may_be_implicit(function) && !is_inside_device_code(function);
  }

  Module& module_;
};

/// An annotation's arguments, as far as they are numbers.
SmallVector<std::uint64_t, 3> arguments_of(const ConstantStruct& annotation) {
  SmallVector<std::uint64_t, 3> numbers;
  const auto* variable = dyn_cast<GlobalVariable>(annotation.getOperand(4)->stripPointerCasts());
  const auto* all = variable == nullptr ? nullptr : dyn_cast<ConstantStruct>(variable->getInitializer());
  for (unsigned i = 0; all != nullptr && i < all->getNumOperands(); ++i)
    if (const auto* number = dyn_cast<ConstantInt>(all->getOperand(i))) numbers.push_back(number->getZExtValue());
  return numbers;
}

/// What an annotation says, as one number; empty where it is a word alone.
std::string value_of(StringRef word, const ConstantStruct& annotation) {
  const SmallVector<std::uint64_t, 3> numbers = arguments_of(annotation);
  if (numbers.empty()) return "";
  if (word == kBounds) return std::to_string(numbers[0]);
  if (word != kCluster) return "";
  constexpr std::uint64_t kMost = 0xffff;  // of an extent: each has 16 bits
  std::uint64_t packed = 0;
  for (unsigned i = 0; i < 3; ++i) packed |= std::min(kMost, i < numbers.size() ? numbers[i] : 1) << 16 * i;
  return std::to_string(packed);
}

/// Makes attributes of the annotations.
void read_qualifiers(Module& module) {
  GlobalVariable* annotations = module.getGlobalVariable("llvm.global.annotations");
  if (annotations == nullptr) return;
  const auto* all = dyn_cast<ConstantArray>(annotations->getInitializer());
  for (unsigned i = 0; all != nullptr && i < all->getNumOperands(); ++i) {
    const auto* entry = cast<ConstantStruct>(all->getOperand(i));
    const auto* text = dyn_cast<GlobalVariable>(entry->getOperand(1)->stripPointerCasts());
    const auto* bytes = text == nullptr ? nullptr : dyn_cast<ConstantDataSequential>(text->getInitializer());
    if (bytes == nullptr || !bytes->isCString() || !bytes->getAsCString().starts_with("warpbook-")) continue;
    const std::string word = bytes->getAsCString().str();
    Constant* what = entry->getOperand(0)->stripPointerCasts();
    if (auto* function = dyn_cast<Function>(what))
      function->addFnAttr(word, value_of(word, *entry));
    else if (auto* variable = dyn_cast<GlobalVariable>(what))
      variable->addAttribute(word);
  }
  annotations->eraseFromParent();  // It would keep alive what nobody uses any more.
}

/// Without -rdc, a file has device variables of its own, whatever their names are elsewhere. What nobody reads stays, too:
/// who writes it is looked at.
void keep_variables_apart(Module& module) {
  SmallVector<GlobalValue*, 8> apart;
  for (GlobalVariable& variable : module.globals())
    if (variable.hasAttribute(kDevice) && variable.hasExternalLinkage() && !variable.isDeclaration()) {
      variable.setLinkage(GlobalValue::InternalLinkage);
      apart.push_back(&variable);
    }
  appendToUsed(module, apart);
}

void set_warp_size(Module& module) {
  GlobalVariable* size = module.getGlobalVariable("warpSize");
  if (size == nullptr || !size->isDeclaration()) return;
  constexpr int kThreads = 32;
  size->setInitializer(ConstantInt::get(size->getValueType(), kThreads));
  size->setLinkage(GlobalValue::LinkOnceODRLinkage);
}

/// A program's own operators new and delete: the emulator itself calls them while a kernel runs, so what they touch is no
/// access of the kernel's.
void leave_out_allocators(Module& module) {
  for (Function& function : module)
    for (const char* name : {"_Znw", "_Zna", "_Zdl", "_Zda"})
      if (function.getName().starts_with(name)) function.removeFnAttr(Attribute::SanitizeThread);
}

}  // namespace

PreservedAnalyses DeviceCodePass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  read_qualifiers(module);
  set_warp_size(module);
  leave_out_allocators(module);
  if (std::getenv("WARPBOOK_WHOLE_PROGRAM") != nullptr) keep_variables_apart(module);
  Judge(module).run();
  register_kernels(module);
  tell_runtime(module);
  return PreservedAnalyses::none();
}

SmallPtrSet<const Function*, 32> device_functions(Module& module) {
  SmallPtrSet<const Function*, 32> found;
  SmallVector<Function*, 32> left;
  const auto add = [&](Function& function) {
    if (!function.isDeclaration() && found.insert(&function).second) left.push_back(&function);
  };
  for (Function& function : module)
    if (function.hasFnAttribute(kGlobal) || (function.hasFnAttribute(kDevice) && !function.hasFnAttribute(kHost)))
      add(function);
  while (!left.empty())
    for (Instruction& instruction : instructions(*left.pop_back_val()))
      if (auto* call = dyn_cast<CallBase>(&instruction))
        if (Function* callee = call->getCalledFunction()) add(*callee);
  return found;
}

}  // namespace warpbook::emulator
