/// \file
/// clang's plugin for files that nobody trusts: what a submission is compiled with besides the emulator's own pass.
///
/// It looks at the module before anything else does, so that no spelling in the source escapes it. It refuses what
/// would run outside of the step's call or unseen: assembly, constructors, aliases, resolvers, sections, attributes
/// that switch instrumentation off, memory beside the ordinary address space. What is left it makes the file's own:
/// every definition becomes internal, so that none takes the place of the checker's, and every pointer that is called
/// has to be a function of the file. Errors begin with "confined: "; toolchain.py knows them by that.

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/Regex.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>

#include <cstdlib>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace llvm;

constexpr StringRef kEntry = "_ZN8warpbook9exercises12run_exercise";
constexpr StringRef kReadOnly = "__warpbook_read_only";  // What __ldg() calls beside its load.
constexpr std::uint64_t kMostStackBytes = 1 << 20;       // A larger array might reach over the guard page.
constexpr std::uint64_t kMostVariableBytes = 64 << 20;

/// The emulator's own, in warpbook_launch.h: hands a kernel its arguments, uninstrumented, since that is nothing that
/// the kernel does.
bool is_invoke(const Function& function) {
  return function.getName().starts_with("_ZN8warpbook8emulator12ArgumentPackI") &&
         function.getName().contains("E6invokeEPKv");
}

/// Names that the compiler's passes and the emulator use among themselves, and those that begin as an assembler label
/// may, which hides what they are.
bool is_reserved(StringRef name) {
  if (name.starts_with("\1")) return true;
  for (const char* prefix :
       {"__tsan_", "__warpbook_", "__sanitizer_", "__llvm", "warpbook_own_", "__asan_", "__msan_", "__safestack"})
    if (name.starts_with(prefix)) return true;
  return false;
}

/// What compilers make of C++ without being asked, and of mathematics.
bool is_allowed_intrinsic(StringRef name) {
  name.consume_front("llvm.");
  static const char* const kPrefixes[] = {"abs.",
                                          "assume",
                                          "bitreverse.",
                                          "bswap.",
                                          "canonicalize.",
                                          "ceil.",
                                          "convert.",
                                          "copysign.",
                                          "cos.",
                                          "ctlz.",
                                          "ctpop.",
                                          "cttz.",
                                          "dbg.",
                                          "eh.typeid.for",
                                          "exp.",
                                          "exp2.",
                                          "expect.",
                                          "experimental.noalias.scope.decl",
                                          "fabs.",
                                          "floor.",
                                          "fma.",
                                          "fmuladd.",
                                          "fptosi.sat.",
                                          "fptoui.sat.",
                                          "fshl.",
                                          "fshr.",
                                          "is.constant.",
                                          "is.fpclass.",
                                          "launder.",
                                          "lifetime.",
                                          "llrint.",
                                          "llround.",
                                          "log.",
                                          "log10.",
                                          "log2.",
                                          "lrint.",
                                          "lround.",
                                          "maximum.",
                                          "maxnum.",
                                          "memcpy.p0",
                                          "memcpy.inline.p0",
                                          "memmove.p0",
                                          "memset.p0",
                                          "memset.inline.p0",
                                          "minimum.",
                                          "minnum.",
                                          "nearbyint.",
                                          "objectsize.",
                                          "pow.",
                                          "powi.",
                                          "rint.",
                                          "round.",
                                          "roundeven.",
                                          "sadd.",
                                          "sin.",
                                          "smax.",
                                          "smin.",
                                          "smul.",
                                          "sqrt.",
                                          "ssub.",
                                          "strip.",
                                          "threadlocal.address",
                                          "trap",
                                          "trunc.",
                                          "uadd.",
                                          "umax.",
                                          "umin.",
                                          "umul.",
                                          "usub.",
                                          "vector.reduce.",
                                          "x86.vcvt",
                                          "x86.sse.cvt",
                                          "x86.sse2.cvt",
                                          "ucmp.",
                                          "scmp.",
                                          "ubsantrap"};
  for (const StringRef prefix : kPrefixes)
    if (name.starts_with(prefix)) return true;
  return false;
}

/// An intrinsic as a reader may have written it.
std::string in_cuda(StringRef intrinsic) {
  if (intrinsic == "llvm.readcyclecounter") return "a clock: the check counts and times a kernel by itself";
  if (intrinsic.starts_with("llvm.prefetch")) return "a prefetch, which nobody counts";
  return intrinsic.str();
}

/// The types of what `Confinement` looks at the arguments of, since a label of assembler gives a function of any type a
/// name: p a pointer, a digit the bytes of an integer, and more behind a star. C++ names are parts of mangled ones.
struct Signature {
  StringRef name;
  StringRef types;
};
constexpr Signature kSignatures[] = {{"printf", "p*"},
                                     {kReadOnly, "p8"},
                                     {"__cxa_guard_acquire", "p"},
                                     {"__cxa_guard_release", "p"},
                                     {"__cxa_guard_abort", "p"},
                                     {"cudaGetDevice", "p"},
                                     {"cudaDeviceGetAttribute", "p44"},
                                     {"emulator13launch_kernelE", "pp"},
                                     {"emulator12reduce_pairsE", "pp4p"},
                                     {"emulator16atomic_update_16E", "p2p"},
                                     {"emulator16atomic_update_32E", "p4p"},
                                     {"emulator13active_blocksE", "pp48"},
                                     {"emulator15best_block_sizeE", "ppp84"}};

/// True where a call hands over what its callee takes, each argument in the place where the callee looks for it.
bool has_types(const CallBase& call, StringRef types) {
  const bool open = types.consume_back("*");
  if (call.arg_size() < types.size() || (call.arg_size() > types.size() && !open)) return false;
  for (unsigned i = 0; i < types.size(); ++i) {
    const Type* type = call.getArgOperand(i)->getType();
    const bool same =
        types[i] == 'p' ? type->isPointerTy() : type->isIntegerTy(8 * static_cast<unsigned>(types[i] - '0'));
    if (!same || call.isByValArgument(i) || call.paramHasAttr(i, Attribute::Nest)) return false;
  }
  return true;
}

/// True for a number that is a product of the block's number, or a sum with one, all of it in 32 bits.
bool is_narrow_place(const Value* value, SmallPtrSetImpl<const Value*>& seen) {
  const auto* instruction = dyn_cast<Instruction>(value);
  if (instruction == nullptr || !seen.insert(value).second) return false;
  const bool multiplies = instruction->getOpcode() == Instruction::Mul || instruction->getOpcode() == Instruction::Shl;
  if (!multiplies && !isa<PHINode, SelectInst, FreezeInst>(value) && instruction->getOpcode() != Instruction::Add &&
      instruction->getOpcode() != Instruction::Sub && instruction->getOpcode() != Instruction::Or)
    return false;
  return any_of(instruction->operands(), [&](const Use& operand) {
    const auto* call = dyn_cast<CallBase>(operand);
    const Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    return (multiplies && callee != nullptr && callee->getName().contains("emulator13block_index_xE")) ||
           is_narrow_place(operand, seen);
  });
}

/// True for such a number, or a sum with one, once it has 64 bits.
bool is_widened_place(const Value* value, SmallPtrSetImpl<const Value*>& seen) {
  if (const auto* wider = dyn_cast<CastInst>(value); wider != nullptr && isa<ZExtInst, SExtInst>(value))
    return wider->getSrcTy()->isIntegerTy(32) && is_narrow_place(wider->getOperand(0), seen);
  const auto* instruction = dyn_cast<Instruction>(value);
  if (instruction == nullptr || !seen.insert(value).second) return false;
  if (!isa<PHINode>(value) && instruction->getOpcode() != Instruction::Add) return false;
  return any_of(instruction->operands(), [&](const Use& operand) { return is_widened_place(operand, seen); });
}

/// True for an argument of 64 bits of which 32 are left. What clang calls so holds two numbers of a struct.
bool is_cut_argument(const Value* value) {
  const auto* cut = dyn_cast<TruncInst>(value);
  return cut != nullptr && isa<Argument>(cut->getOperand(0)) && cut->getSrcTy()->isIntegerTy(64) &&
         !cut->getOperand(0)->getName().contains(".coerce");
}

/// True where such a number meets a count of 64 bits: where that is above 2^31, the number begins anew before.
bool compares_narrow_place(const Instruction& instruction) {
  const auto* comparison = dyn_cast<ICmpInst>(&instruction);
  if (comparison == nullptr) return false;
  return any_of(std::initializer_list<unsigned>{0, 1}, [&](unsigned side) {
    SmallPtrSet<const Value*, 16> seen;
    const Value* const place = comparison->getOperand(side);
    const Value* const count = comparison->getOperand(1 - side);
    if (is_cut_argument(count)) return is_narrow_place(place, seen);
    return place->getType()->isIntegerTy(64) && !isa<Constant, ZExtInst, SExtInst>(count) &&
           is_widened_place(place, seen);
  });
}

/// True for an offset that is a number as soon as loops of known length are unrolled.
bool is_known_unrolled(const SCEV* offset, ScalarEvolution& evolution) {
  constexpr unsigned kMostTurns = 64;
  if (isa<SCEVConstant>(offset)) return true;
  if (isa<SCEVUnknown>(offset)) return false;
  if (const auto* turns = dyn_cast<SCEVAddRecExpr>(offset)) {
    const unsigned count = evolution.getSmallConstantTripCount(turns->getLoop());
    if (count == 0 || count > kMostTurns) return false;
  }
  return all_of(offset->operands(), [&](const SCEV* part) { return is_known_unrolled(part, evolution); });
}

/// The array of a thread's own that an access of a kernel's reaches at an offset that only the run tells, so that no
/// register can be it; nullptr for none. A small one may be chosen from by comparisons.
const AllocaInst* local_memory(Instruction& access, ScalarEvolution& evolution) {
  constexpr std::uint64_t kFewBytes = 64;
  Value* const address = getLoadStorePointerOperand(&access);
  const auto* array = address == nullptr ? nullptr : dyn_cast<AllocaInst>(getUnderlyingObject(address));
  const auto bytes = array == nullptr ? std::nullopt : array->getAllocationSize(access.getDataLayout());
  if (!bytes || bytes->getFixedValue() <= kFewBytes || isa<AllocaInst>(address->stripPointerCasts())) return nullptr;
  return is_known_unrolled(evolution.removePointerBase(evolution.getSCEV(address)), evolution) ? nullptr : array;
}

/// True for a thread's own variables and for the host's.
bool is_private(const Value* address) {
  const Value* object = getUnderlyingObject(address);
  const auto* variable = dyn_cast<GlobalVariable>(object);
  return isa<AllocaInst>(object) || (variable != nullptr && !variable->hasAttribute("warpbook-device") &&
                                     !variable->hasAttribute("warpbook-shared"));
}

class Confinement {
public:
  explicit Confinement(Module& module) : module_(module), pointer_(PointerType::getUnqual(module.getContext())) {}

  void run() {
    if (!module_.getModuleInlineAsm().empty()) refuse("it holds inline assembly");
    for (const char* list : {"llvm.dependent-libraries", "llvm.linker.options"})
      if (const NamedMDNode* found = module_.getNamedMetadata(list); found != nullptr && found->getNumOperands() != 0)
        refuse("it asks the linker for something");
    for (const GlobalIFunc& resolver : module_.ifuncs())
      refuse("its function " + name(resolver) + " is resolved at load time");
    for (const GlobalAlias& alias : module_.aliases()) refuse(name(alias) + " is an alias of another function");
    for (GlobalVariable& variable : module_.globals()) look_at(variable);
    for (Function& function : module_) look_at(function);
  }

  /// What the emulator cannot show to be wrong, or only by cases that are too large. The qualifiers are read by now.
  void look_at_habits() {
    const bool whole = std::getenv("WARPBOOK_WHOLE_NUMBERS") != nullptr;
    for (Function& function : module_)
      for (const Instruction& instruction : instructions(function)) {
        const auto* store = dyn_cast<StoreInst>(&instruction);
        if (store != nullptr && store->isVolatile() && !is_private(store->getPointerOperand()))
          refuse(name(function) + " stores by volatile, and what other threads store there at the same time is lost: "
                                  "use an atomic or a barrier");
        if (whole && isa<UIToFPInst, SIToFPInst>(instruction))
          refuse(name(function) + " computes indices in floating point, which above 2^24 misses some of them");
      }
  }

  /// Says of a kernel that it works in local memory, which is slow: toolchain.py knows the words.
  void look_for_local_memory(FunctionAnalysisManager& manager) {
    for (Function& function : module_) {
      if (function.isDeclaration() ||
          !(function.hasFnAttribute("warpbook-global") || function.hasFnAttribute("warpbook-device")) ||
          function.hasFnAttribute("warpbook-host"))
        continue;
      auto& evolution = manager.getResult<ScalarEvolutionAnalysis>(function);
      for (Instruction& instruction : instructions(function))
        if (const AllocaInst* array = local_memory(instruction, evolution); array != nullptr)
          if (told_.insert("local " + function.getName().str()).second)
            errs() << "warning: local memory: " << name(function) << '\n';  // A warning might be switched off.
    }
  }

  /// Puts checks before calls, once nothing more is inlined or left out.
  void guard() {
    callees_ = table_of_callees();
    for (Function& function : module_)
      if (!function.isDeclaration() && !is_invoke(function)) guard(function);
    for (Function& function : module_)
      if (!function.isDeclaration()) keep_arrays_apart(function);
    list_own_variables();
  }

private:
  /// As a reader wrote it: without what it returns, its parameters and a template's arguments.
  static std::string name(const GlobalValue& value) {
    const std::string full = demangle(value.getName().str());
    std::string result;
    int depth = 0;
    for (const char c : full.substr(0, full.find('('))) {
      depth += c == '<';
      if (depth == 0) result += c;
      depth -= c == '>';
    }
    return full.find("operator") == std::string::npos ? result.substr(result.rfind(' ') + 1)
                                                      : full.substr(0, full.find('('));
  }

  /// Reports each thing once.
  void refuse(const std::string& why) {
    if (told_.insert(why).second) module_.getContext().emitError("confined: " + why);
  }

  /// Nothing outside of this file finds it by its name, and it takes no other one's place.
  static void make_internal(GlobalObject& object) {
    object.setComdat(nullptr);
    object.setVisibility(GlobalValue::DefaultVisibility);
    object.setDLLStorageClass(GlobalValue::DefaultStorageClass);
    object.setLinkage(GlobalValue::InternalLinkage);
  }

  void look_at(GlobalVariable& variable) {
    const StringRef symbol = variable.getName();
    if (symbol == "llvm.global_ctors" || symbol == "llvm.global_dtors") {
      refuse("it runs code before or after the step: a variable outside of functions needs a constant initializer "
             "(<iostream> brings one that has none: print by printf)");
      return;
    }
    if (symbol.starts_with("llvm.") || variable.getSection() == "llvm.metadata") return;  // These reach no object file.
    if (is_reserved(symbol)) refuse(name(variable) + " is the checker's own");
    if (variable.hasSection() || variable.hasImplicitSection())
      refuse(name(variable) + " asks for a section of its own");
    if (variable.getAddressSpace() != 0) refuse(name(variable) + " lies in another address space");
    if (variable.getValueType()->isSized() &&
        module_.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue() > kMostVariableBytes)
      refuse(name(variable) + " is larger than 64 MiB");
    if (!variable.isDeclaration() && !variable.hasPrivateLinkage()) make_internal(variable);
  }

  void look_at(Function& function) {
    if (function.isIntrinsic()) {
      if (!is_allowed_intrinsic(function.getName())) refuse("it uses " + in_cuda(function.getName()));
      return;
    }
    if (is_reserved(function.getName()) && !(function.isDeclaration() && function.getName() == kReadOnly))
      refuse("it calls " + name(function) + ", which is the checker's own");
    if (function.isDeclaration()) return;
    if (function.hasSection() || function.hasFnAttribute("implicit-section-name") || function.hasPrefixData() ||
        function.hasPrologueData())
      refuse(name(function) + " asks for a section of its own");
    if (function.hasFnAttribute(Attribute::Naked) || function.hasFnAttribute(Attribute::OptimizeNone) ||
        function.hasFnAttribute(Attribute::DisableSanitizerInstrumentation) ||
        (!function.hasFnAttribute(Attribute::SanitizeThread) && !is_invoke(function) && !only_ends(function)))
      refuse(name(function) + " carries an attribute that hides it from the checks");
    if (is_invoke(function) && !hands_over(function)) refuse(name(function) + " does more than to call a kernel");
    if (function.getCallingConv() != CallingConv::C) refuse(name(function) + " has a calling convention of its own");
    if (!function.getName().starts_with(kEntry)) make_internal(function);
    for (Instruction& instruction : instructions(function)) look_at(function, instruction);
  }

  /// True for an argument of its function, also where a variable holds it.
  static bool is_argument(const Value* value, int depth = 0) {
    value = value->stripPointerCasts();
    if (isa<Argument>(value)) return true;
    const auto* load = dyn_cast<LoadInst>(value);
    const auto* variable = load == nullptr ? nullptr : dyn_cast<AllocaInst>(load->getPointerOperand());
    return variable != nullptr && depth < 4 &&
           all_of(
               variable->users(),
               [&](const User* user) {
                 const auto* store = dyn_cast<StoreInst>(user);
                 if (store == nullptr) return isa<LoadInst, IntrinsicInst>(user);
                 return store->getPointerOperand() == variable && is_argument(store->getValueOperand(), depth + 1);
               });
  }

  /// True for places in its function's variables and in what an argument points to.
  static bool is_own_or_argument(const Value* address, int depth = 0) {
    if (const auto* place = dyn_cast<GEPOperator>(address))
      return place->hasAllConstantIndices() && is_own_or_argument(place->getPointerOperand(), depth);
    if (const auto* either = dyn_cast<PHINode>(address))  // A base of a class that may be no class at all.
      return depth < 4 &&
             all_of(
                 either->incoming_values(), [&](const Value* value) { return is_own_or_argument(value, depth + 1); });
    return isa<AllocaInst, ConstantPointerNull>(address) || is_argument(address);
  }

  /// True for `ArgumentPack::invoke` as long as it does no more than to call its kernel with what lies in the pack:
  /// nobody looks at its loads and at what it calls.
  static bool hands_over(const Function& function) {
    return all_of(instructions(function), [](const Instruction& instruction) {
      if (const auto* load = dyn_cast<LoadInst>(&instruction)) return is_own_or_argument(load->getPointerOperand());
      if (const auto* store = dyn_cast<StoreInst>(&instruction)) return is_own(store->getPointerOperand());
      if (isa<AtomicRMWInst, AtomicCmpXchgInst>(instruction)) return false;
      if (const auto* copy = dyn_cast<MemTransferInst>(&instruction))
        return is_own(copy->getRawDest()) && is_own_or_argument(copy->getRawSource());
      if (const auto* fill = dyn_cast<MemSetInst>(&instruction)) return is_own(fill->getRawDest());
      if (const auto* call = dyn_cast<CallBase>(&instruction)) {
        const Function* callee = called(*call);
        if (callee == nullptr) return !call->isInlineAsm() && is_argument(call->getCalledOperand());
        return !callee->isDeclaration() || callee->isIntrinsic();  // An argument's copy, which is looked at by itself.
      }
      return true;
    });
  }

  static bool is_own(const Value* address) { return isa<AllocaInst>(address->stripInBoundsConstantOffsets()); }

  /// True for what clang itself makes, which is not instrumented: the end of a program whose destructor throws.
  static bool only_ends(const Function& function) {
    return function.getName() == "__clang_call_terminate" &&
           all_of(instructions(function), [](const Instruction& instruction) {
             if (const auto* store = dyn_cast<StoreInst>(&instruction)) return is_own(store->getPointerOperand());
             if (isa<AtomicRMWInst, AtomicCmpXchgInst, MemIntrinsic>(instruction)) return false;
             const auto* call = dyn_cast<CallBase>(&instruction);
             const Function* callee = call == nullptr ? nullptr : called(*call);
             return call == nullptr || (callee != nullptr && (callee->getName() == "__cxa_begin_catch" ||
                                                              callee->getName() == "_ZSt9terminatev"));
           });
  }

  void look_at(const Function& function, Instruction& instruction) {
    instruction.setMetadata("nosanitize", nullptr);
    if (isa<IndirectBrInst, CallBrInst>(instruction)) refuse(name(function) + " jumps to a computed address");
    for (const Value* operand : instruction.operand_values())
      if (operand->getType()->isPtrOrPtrVectorTy() && operand->getType()->getPointerAddressSpace() != 0)
        refuse(name(function) + " uses another address space");
    if (const auto* array = dyn_cast<AllocaInst>(&instruction)) {
      const auto bytes = array->getAllocationSize(module_.getDataLayout());
      if (!bytes || bytes->isScalable() || bytes->getFixedValue() > kMostStackBytes)
        refuse(name(function) + " has an array on the stack whose size is not constant, or above 1 MiB");
    }
    // Atomic loads and stores are a compiler's here, for the guards of variables inside of functions.
    if (isa<LoadInst, StoreInst>(instruction) && instruction.isAtomic() &&
        !isa<GlobalVariable>(getLoadStorePointerOperand(&instruction)->stripPointerCasts()))
      refuse(name(function) + " loads or stores atomically without CUDA's functions");
    // By this tag the sanitizer knows what it need not look at.
    if (const MDNode* tag = instruction.getMetadata(LLVMContext::MD_tbaa); tag != nullptr && tag->isTBAAVtableAccess())
      instruction.setMetadata(LLVMContext::MD_tbaa, nullptr);
    if (auto* call = dyn_cast<CallBase>(&instruction)) look_at(function, *call);
  }

  void look_at(const Function& function, const CallBase& call) {
    if (const auto* assembly =
            dyn_cast<InlineAsm>(call.getCalledOperand())) {  // Empty, it only holds a value in a register.
      if (!assembly->getAsmString().empty()) refuse("it holds inline assembly");
      return;
    }
    if (call.getCallingConv() != CallingConv::C) refuse(name(function) + " calls by a convention of its own");
    const Function* callee = called(call);
    if (callee == nullptr) return;
    if (is_invoke(*callee)) refuse(name(function) + " calls " + name(*callee));
    if (callee->getName().contains("11__nanosleepj"))
      refuse(name(function) + " sleeps, which nobody counts: there is nothing to wait for");
    if (!callee->isDeclaration()) return;
    const StringRef symbol = callee->getName();
    for (const auto& [part, types] : kSignatures)
      if ((symbol == part || (part.starts_with("emulator") && symbol.contains(part))) && !has_types(call, types))
        refuse(name(function) + " calls " + name(*callee) + " with other types than it has");
    // The compiler makes calls of these later on.
    if (symbol.starts_with("_Unwind_") || symbol.starts_with("__gxx_") || symbol == "__tls_get_addr")
      refuse("it calls " + symbol.str());
    if (symbol == "printf" && !is_plain_format(call))
      refuse(name(function) +
             " calls printf with %n, with a format that is no constant, or with one that CUDA lacks, or counts what %s "
             "prints");
    if (symbol == "puts" && !call.use_empty()) refuse(name(function) + " counts what puts prints");
    if (symbol.starts_with("__cxa_guard_") && !isa<GlobalVariable>(call.getArgOperand(0)->stripPointerCasts()))
      refuse("it calls " + symbol.str());
    if (function.getName() != "__clang_call_terminate" && symbol == "__cxa_begin_catch")
      refuse(name(function) + " catches exceptions: return an error instead");
  }

  /// The function that is called, whatever type it is called by.
  static const Function* called(const CallBase& call) {
    return dyn_cast<Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
  }

  /// True for a constant format that ends and whose conversions CUDA has. What %s prints may be anybody's memory, so
  /// nothing may learn how long it was.
  static bool is_plain_format(const CallBase& call) {
    StringRef text;
    if (call.arg_size() == 0 || !getConstantStringInfo(call.getArgOperand(0), text, false)) return false;
    const std::size_t end = text.find('\0');
    if (end == StringRef::npos) return false;
    text = text.take_front(end);
    for (std::size_t at = text.find('%'); at != StringRef::npos; at = text.find('%', at)) {
      at = text.find_first_not_of("0123456789.+-# *hljztL", at + 1);
      if (at == StringRef::npos) return true;
      if (!StringRef("%diuoxXfFeEgGaAcps").contains(text[at]) || (text[at] == 's' && !call.use_empty())) return false;
      ++at;
    }
    return true;
  }

  /// The file's functions whose addresses it takes, those first that hand kernels their arguments. Only the emulator
  /// calls the former, and nothing but the latter may be called through a pointer.
  Constant* table_of_callees() {
    std::vector<Constant*> invokes;
    std::vector<Constant*> others;
    for (Function& function : module_)
      if (!function.isDeclaration() && function.hasAddressTaken())
        (is_invoke(function) ? invokes : others).push_back(&function);
    invokes_ = invokes.size();
    others_ = others.size();
    invokes.insert(invokes.end(), others.begin(), others.end());
    auto* type = ArrayType::get(pointer_, invokes.size());
    return new GlobalVariable(module_, type, true, GlobalValue::InternalLinkage, ConstantArray::get(type, invokes),
                              "warpbook_callees");
  }

  /// Arrays whose addresses go anywhere lie apart from the stack, where functions keep what they return to.
  void keep_arrays_apart(Function& function) {
    function.addFnAttr(Attribute::SafeStack);
    std::uint64_t bytes = 0;
    for (const Instruction& instruction : instructions(function))
      if (const auto* array = dyn_cast<AllocaInst>(&instruction))
        bytes += array->getAllocationSize(module_.getDataLayout()).value_or(TypeSize::getFixed(0)).getFixedValue();
    for (const Argument& copy : function.args())
      if (copy.hasByValAttr()) bytes += copy.getPassPointeeByValueCopySize(module_.getDataLayout());
    if (bytes > kMostStackBytes) refuse(name(function) + " has more than 1 MiB of arrays on its stack");
  }

  void guard(Function& function) {
    std::vector<CallBase*> calls;
    for (Instruction& instruction : instructions(function)) {
      if (auto* call = dyn_cast<CallBase>(&instruction)) calls.push_back(call);
      if (compares_narrow_place(instruction))
        refuse(name(function) + " multiplies the block's number in 32 bits and compares it with a count of 64: beyond "
                                "2^31 it begins anew. Begin with std::int64_t{blockIdx.x}");
    }
    for (CallBase* call : calls) guard(*call);
  }

  void guard(CallBase& call) {
    IRBuilder<> builder(&call);
    const Function* callee = called(call);
    // The compiler makes these where a loop asks to be vectorized; the sanitizer does not look at them.
    if (callee != nullptr &&
        (callee->getName().starts_with("llvm.masked.") || callee->getName().starts_with("llvm.vp.")))
      refuse(name(*call.getFunction()) + " has a loop that is vectorized with a mask, which hides it from the checks");
    if (call.isInlineAsm()) return;
    if (callee == nullptr) {
      check_callee(builder, call.getCalledOperand());
      return;
    }
    if (!callee->isDeclaration()) return;
    const StringRef symbol = callee->getName();
    if (symbol.contains("emulator13launch_kernelE")) {
      check_launch(builder, call.getArgOperand(1));
    } else if (symbol.contains("emulator12reduce_pairsE") || symbol.contains("emulator16atomic_update_")) {
      check_callee(builder, call.getArgOperand(call.arg_size() - 1));
    } else if (symbol == "cudaMemsetAsync") {  // check.cpp counts what it fills.
      call.setCalledFunction(module_.getOrInsertFunction("__warpbook_fill", callee->getFunctionType()));
    } else if (symbol == "memcpy" || symbol == "memmove" || symbol == "memset") {
      // Called as plain functions, as no_builtin has it, nobody would see them.
      call.setCalledFunction(module_.getOrInsertFunction(("__tsan_" + symbol).str(), callee->getFunctionType()));
    } else if (symbol.starts_with("cudaGet") || symbol.starts_with("cudaDeviceGet") ||
               symbol.contains("emulator13active_blocksE") || symbol.contains("emulator15best_block_sizeE")) {
      announce_results(builder, call);
    }
  }

  void check_callee(IRBuilder<>& builder, Value* callee) {
    Type* size = builder.getInt64Ty();
    const FunctionCallee check =
        module_.getOrInsertFunction("__warpbook_calls", builder.getVoidTy(), pointer_, pointer_, size);
    Value* others = builder.CreateConstInBoundsGEP1_64(pointer_, callees_, invokes_);
    builder.CreateCall(check, {callee, others, ConstantInt::get(size, others_)});
  }

  void check_launch(IRBuilder<>& builder, Value* launch) {
    Type* size = builder.getInt64Ty();
    const FunctionCallee check =
        module_.getOrInsertFunction("__warpbook_launches", builder.getVoidTy(), pointer_, pointer_, size, size);
    builder.CreateCall(check, {launch, callees_, ConstantInt::get(size, invokes_), ConstantInt::get(size, others_)});
  }

  /// The runtime writes a number where a pointer says; the file's own stores are checked, and so is this one.
  void announce_results(IRBuilder<>& builder, CallBase& call) {
    const FunctionCallee write = module_.getOrInsertFunction("__tsan_write4", builder.getVoidTy(), pointer_);
    for (unsigned i = 0; i < call.arg_size() && i < 2; ++i)
      if (call.getArgOperand(i)->getType()->isPointerTy() &&
          !isa<Function>(call.getArgOperand(i)->stripPointerCasts()) &&
          (i == 0 || called(call)->getName().contains("best_block_size")))
        builder.CreateCall(write, {call.getArgOperand(i)});
  }

  /// `warpbook_own_variables`: (address, bytes, whether it may be written) of the file's variables outside of frames.
  void list_own_variables() {
    Type* size = Type::getInt64Ty(module_.getContext());
    auto* piece = StructType::get(pointer_, size, size);
    std::vector<Constant*> pieces;
    for (GlobalVariable& variable : module_.globals()) {
      if (variable.isDeclaration() || variable.isThreadLocal() || variable.getName().starts_with("llvm.")) continue;
      if (variable.isConstant() && variable.hasAtLeastLocalUnnamedAddr()) continue;  // It may be merged with others.
      const auto bytes = module_.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue();
      pieces.push_back(ConstantStruct::get(
          piece, {&variable, ConstantInt::get(size, bytes), ConstantInt::get(size, variable.isConstant() ? 0 : 1)}));
    }
    auto* type = ArrayType::get(piece, pieces.size());
    new GlobalVariable(module_, type, true, GlobalValue::ExternalLinkage, ConstantArray::get(type, pieces),
                       "warpbook_own_variables");
    new GlobalVariable(module_, size, true, GlobalValue::ExternalLinkage, ConstantInt::get(size, pieces.size()),
                       "warpbook_own_count");
  }

  Module& module_;
  PointerType* pointer_;
  Constant* callees_ = nullptr;
  std::size_t invokes_ = 0;
  std::size_t others_ = 0;
  std::set<std::string> told_;
};

/// Leaves out the bodies of the functions that `WARPBOOK_RARE`, a regular expression of full names, says no case needs.
/// One that is called all the same ends the program, and the check is compiled in full.
void leave_out_rare(Module& module) {
  const char* const names = std::getenv("WARPBOOK_RARE");
  if (names == nullptr || *names == '\0') return;
  const Regex rare(names);
  const FunctionCallee end = module.getOrInsertFunction("__warpbook_rare", Type::getVoidTy(module.getContext()));
  for (Function& function : module) {
    if (function.isDeclaration() || !rare.match(demangle(function.getName().str()))) continue;
    function.deleteBody();
    function.setLinkage(GlobalValue::InternalLinkage);
    IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", &function));
    builder.CreateCall(end);
    builder.CreateUnreachable();
  }
}

/// Announces, right before the sanitizer does the rest, what the sanitizer leaves out: accesses of sizes that it has no
/// call-back for, loads from constants, which may leave them, and arguments that a call copies.
class LeftOut {
public:
  explicit LeftOut(Module& module)
      : module_(module), layout_(module.getDataLayout()), pointer_(PointerType::getUnqual(module.getContext())),
        size_(Type::getInt64Ty(module.getContext())) {}

  void run() {
    for (Function& function : module_) {
      if (function.isDeclaration() || is_invoke(function)) continue;
      std::vector<Instruction*> all;
      for (Instruction& instruction : instructions(function)) all.push_back(&instruction);
      for (Instruction* instruction : all) {
        if (isa<LoadInst, StoreInst>(instruction)) look_at(*instruction);
        if (auto* call = dyn_cast<CallBase>(instruction)) look_at(*call);
      }
    }
  }

private:
  void look_at(Instruction& access) {
    Value* address = getLoadStorePointerOperand(&access);
    const Value* object = getUnderlyingObject(address);
    if (isa<AllocaInst>(object)) return;  // local_bounds_pass.cpp looks at these.
    const std::uint64_t bytes = layout_.getTypeStoreSize(getLoadStoreType(&access)).getFixedValue();
    const bool is_load = isa<LoadInst>(access);
    IRBuilder<> builder(&access);
    if (bytes > 16 || (bytes & (bytes - 1)) != 0)
      announce(builder, is_load ? "__tsan_read_range" : "__tsan_write_range", address, bytes);
    const auto* constant = dyn_cast<GlobalVariable>(object);
    if (!is_load || constant == nullptr || !constant->isConstant() || is_inside(address, *constant, bytes)) return;
    const FunctionCallee check =
        module_.getOrInsertFunction("__warpbook_within", builder.getVoidTy(), pointer_, size_, pointer_, size_);
    const std::uint64_t all = layout_.getTypeAllocSize(constant->getValueType()).getFixedValue();
    builder.CreateCall(check, {address, ConstantInt::get(size_, bytes), const_cast<GlobalVariable*>(constant),
                               ConstantInt::get(size_, all)});
  }

  void look_at(CallBase& call) {
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      if (!call.isByValArgument(i) || isa<AllocaInst>(getUnderlyingObject(call.getArgOperand(i)))) continue;
      IRBuilder<> builder(&call);
      announce(builder, "__tsan_read_range", call.getArgOperand(i),
               layout_.getTypeAllocSize(call.getParamByValType(i)).getFixedValue());
    }
  }

  void announce(IRBuilder<>& builder, StringRef name, Value* address, std::uint64_t bytes) {
    const FunctionCallee range = module_.getOrInsertFunction(name, builder.getVoidTy(), pointer_, size_);
    builder.CreateCall(range, {address, ConstantInt::get(size_, bytes)});
  }

  bool is_inside(const Value* address, const GlobalVariable& variable, std::uint64_t bytes) const {
    APInt offset(layout_.getIndexTypeSizeInBits(address->getType()), 0);
    const std::uint64_t all = layout_.getTypeAllocSize(variable.getValueType()).getFixedValue();
    return address->stripAndAccumulateConstantOffsets(layout_, offset, true) == &variable && !offset.isNegative() &&
           offset.getZExtValue() + bytes <= all;
  }

  Module& module_;
  const DataLayout& layout_;
  PointerType* pointer_;
  Type* size_;
};

/// At the begin.
class ConfinePass : public PassInfoMixin<ConfinePass> {
public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*manager*/) {
    Confinement(module).run();
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

/// Once everything has been looked at, by the emulator's own passes as well.
class LeaveOutPass : public PassInfoMixin<LeaveOutPass> {
public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*manager*/) {
    Confinement(module).look_at_habits();
    leave_out_rare(module);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

/// At the end, before the sanitizer.
class GuardPass : public PassInfoMixin<GuardPass> {
public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& manager) {
    Confinement confinement(module);
    confinement.look_for_local_memory(manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager());
    confinement.guard();
    LeftOut(module).run();
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "WarpbookConfinement", "1", [](PassBuilder& builder) {
            // What follows the manager differs from one LLVM to the next.
            builder.registerPipelineStartEPCallback(
                [](ModulePassManager& manager, auto&&...) { manager.addPass(ConfinePass()); });
            builder.registerPipelineEarlySimplificationEPCallback([](ModulePassManager& manager, auto&&...) {
              manager.addPass(LeaveOutPass());
              manager.addPass(GlobalDCEPass());
            });
            builder.registerOptimizerLastEPCallback(
                [](ModulePassManager& manager, auto&&...) { manager.addPass(GuardPass()); });
          }};
}
