// An LLVM pass for kernel files on the emulator, loaded by clang's -fpass-plugin.
//
// Clang's thread-sanitizer instrumentation shows every load and store of the optimised code, but the optimiser is free
// to cut a struct copy into its fields, which a GPU compiler does not do: `float4 v = p[i]` is one 16-byte load there.
// So, in two places of the pipeline, this pass
//
//  - at its start, adds guard bytes behind each `__shared__` array, so that an index past its end is seen as such, and
//  turns
//    each fixed-size memcpy (which is how clang copies a struct) into accesses as wide as the
//    alignment allows, at most 16 bytes each. They are vector accesses, which no later pass cuts;
//  - at its end, before the instrumentation, adds what each basic block executes (instructions, integer divisions whose
//    divisor is not a constant, by width) to a thread-local tally of the emulator; announces each of the compiler's
//    atomics with its address, its width and whether its result is used; and marks calls of CUDA's atomics, which are
//    functions of the emulator's library, whose result nobody uses.
//
// A quotient and a remainder of the same operands count as one division, since a compiler computes one from the other.

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/emulator/base/shared_guard.hpp"
#include "common/emulator/base/stage.hpp"
#include "common/emulator/pass/arithmetic.hpp"
#include "common/emulator/pass/atomic_flags.hpp"
#include "common/emulator/pass/cast_alignment.hpp"
#include "common/emulator/pass/counted_loads.hpp"
#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/ended_locals.hpp"
#include "common/emulator/pass/endless_loops.hpp"
#include "common/emulator/pass/host_objects.hpp"
#include "common/emulator/pass/joined_loads.hpp"
#include "common/emulator/pass/launch_pass.hpp"
#include "common/emulator/pass/library_calls.hpp"
#include "common/emulator/pass/local_bounds_pass.hpp"
#include "common/emulator/pass/machine_instructions.hpp"
#include "common/emulator/pass/memory_stages.hpp"
#include "common/emulator/pass/ptx_pass.hpp"
#include "common/emulator/pass/row_bounds.hpp"
#include "common/emulator/pass/source_checks.hpp"
#include "common/emulator/pass/unrolled_loops.hpp"
#include "common/emulator/pass/unset_values.hpp"

namespace {

using namespace llvm;
using warpbook::emulator::JoinedLoads;
using warpbook::emulator::UnrolledLoops;

constexpr std::uint64_t kWidestAccess = 16;  // bytes: the widest load or store of a GPU thread
constexpr std::uint64_t kLargestCopy = 256;  // bytes: longer copies stay calls, seen as ranges

/// True when the pointer leads to a local variable, whose accesses are no memory traffic once it lives in registers.
bool is_local(const Value* pointer) { return isa<AllocaInst>(getUnderlyingObject(pointer)); }

/// Replaces one fixed-size memcpy by loads and stores of the width that its alignment allows.
class StructCopyPass : public PassInfoMixin<StructCopyPass> {
public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    bool changed = false;
    for (Function& function : module) {
      if (function.isDeclaration()) continue;
      keep_apart(function);
      std::vector<MemCpyInst*> copies;
      for (Instruction& instruction : instructions(function))
        if (auto* copy = dyn_cast<MemCpyInst>(&instruction)) copies.push_back(copy);
      for (MemCpyInst* copy : copies) changed |= widen(*copy);
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }

private:
  /// Tells the optimiser that there are no library functions into which it could merge a loop's or a row of separate
  /// loads and stores: on a GPU each stays an instruction.
  static void keep_apart(Function& function) {
    for (const char* name : {"no-builtin-memcpy", "no-builtin-memset", "no-builtin-memmove"}) function.addFnAttr(name);
  }

  static bool widen(MemCpyInst& copy) {
    const auto* length = dyn_cast<ConstantInt>(copy.getLength());
    if (length == nullptr || copy.isVolatile()) return false;
    const std::uint64_t bytes = length->getZExtValue();
    if (bytes == 0 || bytes > kLargestCopy) return false;
    const bool from_local = is_local(copy.getSource());
    const bool to_local = is_local(copy.getDest());
    if (from_local && to_local) return false;

    // The side that is memory decides the width; a local variable's alignment is the compiler's to choose.
    std::uint64_t alignment = kWidestAccess;
    if (!from_local) alignment = std::min(alignment, copy.getSourceAlign().valueOrOne().value());
    if (!to_local) alignment = std::min(alignment, copy.getDestAlign().valueOrOne().value());
    if (bytes / alignment > 32) return false;

    IRBuilder<> builder(&copy);
    std::vector<std::pair<Value*, std::uint64_t>> values;
    // All loads first: source and destination may be the same object, and a GPU compiler batches them as well.
    for (std::uint64_t offset = 0; offset < bytes;) {
      std::uint64_t width = alignment;
      while (width > bytes - offset) width /= 2;
      Value* address = at(builder, copy.getSource(), offset);
      values.emplace_back(builder.CreateAlignedLoad(type_of_width(builder, width), address,
                                                    commonAlignment(copy.getSourceAlign().valueOrOne(), offset)),
                          offset);
      offset += width;
    }
    // A struct that is handed over in an integer would be loaded as that, and integers are cut.
    const bool whole = to_local ? is_handed_over(*getUnderlyingObject(copy.getDest()))
                                : from_local && is_received(*getUnderlyingObject(copy.getSource()));
    for (const auto& [value, offset] : values)
      builder.CreateAlignedStore(whole ? builder.CreateFreeze(value) : value, at(builder, copy.getDest(), offset),
                                 commonAlignment(copy.getDestAlign().valueOrOne(), offset));
    copy.eraseFromParent();
    return true;
  }

  /// True where the variable, or a copy of it, is loaded as an integer, which is how a small struct becomes an argument
  /// or is returned.
  static bool is_handed_over(const Value& variable, unsigned copies = 4) {
    const auto takes = [](const User* user) { return isa<CallBase>(user) || isa<ReturnInst>(user); };
    return std::any_of(variable.user_begin(), variable.user_end(), [&](const User* user) {
      if (const auto* address = dyn_cast<GEPOperator>(user)) return is_handed_over(*address, copies);
      if (const auto* copy = dyn_cast<MemCpyInst>(user))
        return copies != 0 && copy->getSource() == &variable && is_local(copy->getDest()) &&
               is_handed_over(*getUnderlyingObject(copy->getDest()), copies - 1);
      const auto* load = dyn_cast<LoadInst>(user);
      return load != nullptr && load->getType()->isIntegerTy() &&
             std::any_of(load->user_begin(), load->user_end(), takes);
    });
  }

  /// True where the variable gets what a call returns as an integer: where that is a variable of the function called, a
  /// load of it, cut, would cut the store.
  static bool is_received(const Value& variable) {
    return std::any_of(variable.user_begin(), variable.user_end(), [&](const User* user) {
      if (const auto* address = dyn_cast<GEPOperator>(user)) return is_received(*address);
      const auto* store = dyn_cast<StoreInst>(user);
      return store != nullptr && store->getPointerOperand() == &variable && isa<CallBase>(store->getValueOperand()) &&
             store->getValueOperand()->getType()->isIntegerTy();
    });
  }

  static Value* at(IRBuilder<>& builder, Value* base, std::uint64_t offset) {
    return offset == 0 ? base : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
  }

  /// A vector of this many bytes: scalar replacement of aggregates cuts wide integers, never vectors.
  static Type* type_of_width(IRBuilder<>& builder, std::uint64_t bytes) {
    switch (bytes) {
    case 16:
      return FixedVectorType::get(builder.getInt32Ty(), 4);
    case 8:
      return FixedVectorType::get(builder.getInt32Ty(), 2);
    case 4:
      return FixedVectorType::get(builder.getInt16Ty(), 2);
    case 2:
      return FixedVectorType::get(builder.getInt8Ty(), 2);
    default:
      return builder.getInt8Ty();
    }
  }
};

/// Marks as convergent what calls a barrier or a warp-level operation, directly or not: no optimisation may make two
/// calls of one, on either side of a branch. Nor may it make one of two: each call to the emulator, and to CUDA's
/// runtime, is told by its line.
class ConvergencePass : public PassInfoMixin<ConvergencePass> {
public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    std::vector<Function*> found;
    for (Function& function : module)
      if (function.isConvergent()) found.push_back(&function);
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (User* user : found[i]->users()) {
        auto* call = dyn_cast<CallBase>(user);
        if (call == nullptr || call->getCalledFunction() != found[i]) continue;
        call->setConvergent();
        call->addFnAttr(Attribute::NoMerge);
        Function* caller = call->getFunction();
        if (caller->isConvergent()) continue;
        caller->setConvergent();
        found.push_back(caller);
      }
    }
    bool changed = !found.empty();
    for (Function& function : module) {
      if (!function.isDeclaration() ||
          !(function.getName().starts_with("cuda") || function.getName().starts_with("_ZN8warpbook8emulator")))
        continue;
      for (User* user : function.users()) {
        auto* call = dyn_cast<CallBase>(user);
        if (call == nullptr || call->doesNotAccessMemory()) continue;
        call->addFnAttr(Attribute::NoMerge);
        changed = true;
      }
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }
};

/// Puts guard bytes behind each `__shared__` array, which is a thread-local variable inside of a function.
class SharedGuardPass : public PassInfoMixin<SharedGuardPass> {
public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    std::vector<GlobalVariable*> arrays;
    for (GlobalVariable& variable : module.globals())
      if (variable.isThreadLocal() && variable.hasInitializer() && variable.getName().starts_with("_ZZ"))
        arrays.push_back(&variable);
    for (GlobalVariable* array : arrays) guard(module, *array);
    return arrays.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }

private:
  static void guard(Module& module, GlobalVariable& array) {
    Type* bytes = ArrayType::get(Type::getInt8Ty(module.getContext()), warpbook::emulator::kSharedGuardBytes);
    auto* type = StructType::get(module.getContext(), {array.getValueType(), bytes});
    auto* value = ConstantStruct::get(type, {array.getInitializer(), Constant::getNullValue(bytes)});
    auto* guarded = new GlobalVariable(module, type, array.isConstant(), array.getLinkage(), value, "", &array,
                                       array.getThreadLocalMode(), array.getAddressSpace());
    const Align alignment = module.getDataLayout().getPreferredAlign(&array);
    guarded->copyAttributesFrom(&array);
    guarded->copyMetadata(&array, 0);  // so that a debugger finds it: where it begins, and its type, are the array's
    guarded->setAlignment(array.getAlign().value_or(alignment));
    guarded->setComdat(array.getComdat());
    guarded->takeName(&array);
    array.replaceAllUsesWith(guarded);
    array.eraseFromParent();
  }
};

/// Counts what runs, block by block, and announces atomics.
class TallyPass : public PassInfoMixin<TallyPass> {
public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& manager) {
    auto& functions = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    bool changed = false;
    for (Function& function : module) {
      if (function.isDeclaration() || !function.hasFnAttribute(Attribute::SanitizeThread)) continue;
      // What this pass adds itself is neither looked at nor counted.
      const warpbook::emulator::MemoryStages stages(function);
      const UnrolledLoops loops(functions.getResult<LoopAnalysis>(function),
                                functions.getResult<ScalarEvolutionAnalysis>(function));
      const JoinedLoads joined(function, functions.getResult<ScalarEvolutionAnalysis>(function));
      changed |= announce_atomics(function);
      changed |= announce_loops(module, loops);
      changed |= mark_atomics(function, functions.getResult<LoopAnalysis>(function));
      changed |= tally(function, loops, joined);
      changed |= mark_stages(function, stages, loops, joined);
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }

private:
  enum Counter : unsigned { kInstructions, kDivisions32, kDivisions64, kWideDivisions64, kChained, kCounters };
  static constexpr unsigned kAtomicFlags = kCounters;  // an entry of the tally: what is known of the next atomic
  static constexpr unsigned kStage = kCounters + 1;    // another: the next access's stage
  using Counts = std::array<std::uint64_t, kCounters>;

  /// `extern thread_local std::uint64_t __warpbook_tally[7]`, which the emulator's library defines; see tally.hpp.
  static GlobalVariable* tally_variable(Module& module) {
    auto* type = ArrayType::get(Type::getInt64Ty(module.getContext()), kCounters + 2);
    auto* variable = cast<GlobalVariable>(module.getOrInsertGlobal("__warpbook_tally", type));
    variable->setThreadLocalMode(GlobalValue::InitialExecTLSModel);
    return variable;
  }

  static Value* tally_slot(IRBuilder<>& builder, Module& module, unsigned entry) {
    GlobalVariable* variable = tally_variable(module);
    return builder.CreateConstInBoundsGEP2_64(variable->getValueType(), builder.CreateThreadLocalAddress(variable), 0,
                                              entry);
  }

  static bool is_signed(const Instruction& instruction) {
    return instruction.getOpcode() == Instruction::SDiv || instruction.getOpcode() == Instruction::SRem;
  }

  /// True when both have the same operands and signedness, so that one machine computation serves both.
  static bool same_operands(const Instruction& a, const Instruction& b) {
    return is_signed(a) == is_signed(b) && a.getOperand(0) == b.getOperand(0) && a.getOperand(1) == b.getOperand(1);
  }

  /// An estimate of issue slots: what has no counterpart in machine code is free.
  static bool costs_a_slot(const Instruction& instruction) {
    if (isa<PHINode>(instruction) || isa<AllocaInst>(instruction) || isa<BitCastInst>(instruction) ||
        isa<GetElementPtrInst>(instruction) || isa<DbgInfoIntrinsic>(instruction) || isa<ZExtInst>(instruction) ||
        isa<TruncInst>(instruction) || isa<FreezeInst>(instruction) || isa<FenceInst>(instruction) ||
        isa<ExtractElementInst>(instruction) || isa<InsertElementInst>(instruction) ||
        isa<ExtractValueInst>(instruction) || isa<InsertValueInst>(instruction))
      return false;
    if (warpbook::emulator::is_part_of_instruction(instruction) || warpbook::emulator::is_value_check(instruction))
      return false;
    if (const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction)) return !intrinsic->isAssumeLikeIntrinsic();
    return !warpbook::emulator::is_division(instruction);
  }

  /// For how many average instructions of the compiler's it counts; such a one is kSlots of the machine's.
  static double weight_of(const Instruction& instruction) {
    constexpr double kSlots = 1.55;  // DeviceTable::slots_per_instruction
    return std::max(1.0, warpbook::emulator::machine_instructions(instruction) / kSlots);
  }

  /// The most instructions of a block that wait for each other, one after the other.
  static std::uint64_t longest_chain(const BasicBlock& block, const UnrolledLoops& loops) {
    DenseMap<const Value*, std::uint64_t> length;
    std::uint64_t longest = 0;
    for (const Instruction& instruction : block) {
      if (isa<PHINode>(instruction)) continue;
      std::uint64_t behind = 0;
      for (const Value* operand : instruction.operands()) behind = std::max(behind, length.lookup(operand));
      const bool costs = costs_a_slot(instruction) && !loops.is_counting(instruction);
      const std::uint64_t own = behind + (costs ? static_cast<std::uint64_t>(std::lround(weight_of(instruction))) : 0);
      length[&instruction] = own;
      longest = std::max(longest, own);
    }
    return longest;
  }

  /// Instructions of a block: those of a loop that is unrolled, divided among the turns that become one.
  static std::uint64_t instructions_of(const BasicBlock& block, const UnrolledLoops& loops, const JoinedLoads& joined) {
    const double turns = loops.turns(block);
    double count = 0;
    for (const Instruction& instruction : block) {
      if (!costs_a_slot(instruction) || joined.joined(instruction) == 0) continue;
      count += weight_of(instruction) / (loops.is_counting(instruction) ? turns : loops.merged(instruction));
      if (loops.is_placed(instruction)) ++count;
    }
    return static_cast<std::uint64_t>(std::lround(count));
  }

  static bool tally(Function& function, const UnrolledLoops& loops, const JoinedLoads& joined) {
    const DominatorTree dominators(function);
    std::vector<Instruction*> divisions;  // those that count
    std::vector<Instruction*> candidates;
    for (Instruction& instruction : instructions(function))
      if (warpbook::emulator::is_division(instruction)) candidates.push_back(&instruction);
    for (Instruction* candidate : candidates) {
      const bool computed = std::any_of(candidates.begin(), candidates.end(), [&](Instruction* other) {
        return other != candidate && same_operands(*other, *candidate) && dominators.dominates(other, candidate);
      });
      if (!computed) divisions.push_back(candidate);
    }

    bool changed = false;
    for (BasicBlock& block : function) {
      Counts counts{};
      counts[kInstructions] = instructions_of(block, loops, joined);
      for (const Instruction* division : divisions)
        if (division->getParent() == &block)
          ++counts[division->getType()->getScalarSizeInBits() > 32 ? kDivisions64 : kDivisions32];
      counts[kChained] = longest_chain(block, loops);
      changed |= add(block, counts);
    }
    for (Instruction* division : divisions)
      if (division->getType()->isIntegerTy(64)) count_if_wide(*division);
    return changed;
  }

  /// A GPU divides numbers of 64 bits as quickly as of 32 where both fit.
  static void count_if_wide(Instruction& division) {
    IRBuilder<> builder(&division);
    Value* bits = builder.CreateOr(division.getOperand(0), division.getOperand(1));
    Value* wide = builder.CreateZExt(builder.CreateICmpNE(builder.CreateLShr(bits, 32), builder.getInt64(0)),
                                     builder.getInt64Ty());
    Value* slot = tally_slot(builder, *division.getModule(), kWideDivisions64);
    LoadInst* old = builder.CreateLoad(builder.getInt64Ty(), slot);
    hide(*old);
    hide(*builder.CreateStore(builder.CreateAdd(old, wide), slot));
  }

  static bool add(BasicBlock& block, const Counts& counts) {
    if (std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; })) return false;
    const auto position = block.getFirstInsertionPt();
    if (position == block.end()) return false;
    IRBuilder<> builder(&block, position);
    for (unsigned counter = 0; counter < kCounters; ++counter) {
      if (counts[counter] == 0) continue;
      Value* slot = tally_slot(builder, *block.getModule(), counter);
      LoadInst* old = builder.CreateLoad(builder.getInt64Ty(), slot);
      StoreInst* store = builder.CreateStore(builder.CreateAdd(old, builder.getInt64(counts[counter])), slot);
      hide(*old);
      hide(*store);
    }
    return true;
  }

  /// Keeps the thread sanitizer from instrumenting this instruction.
  static void hide(Instruction& instruction) {
    instruction.setMetadata(LLVMContext::MD_nosanitize, MDNode::get(instruction.getContext(), {}));
  }

  /// Calls `__warpbook_atomic(address, bytes, result used)` before each atomic, which stays as it is.
  static bool announce_atomics(Function& function) {
    std::vector<Instruction*> atomics;
    for (Instruction& instruction : instructions(function))
      if (isa<AtomicRMWInst>(instruction) || isa<AtomicCmpXchgInst>(instruction)) atomics.push_back(&instruction);
    Module& module = *function.getParent();
    LLVMContext& context = module.getContext();
    for (Instruction* atomic : atomics) {
      const auto* update = dyn_cast<AtomicRMWInst>(atomic);
      Value* address = atomic->getOperand(0);
      Type* type = update != nullptr ? update->getValOperand()->getType()
                                     : cast<AtomicCmpXchgInst>(atomic)->getNewValOperand()->getType();
      const std::uint64_t bytes = module.getDataLayout().getTypeStoreSize(type).getFixedValue();
      const FunctionCallee announce =
          module.getOrInsertFunction("__warpbook_atomic", Type::getVoidTy(context), PointerType::getUnqual(context),
                                     Type::getInt32Ty(context), Type::getInt32Ty(context));
      IRBuilder<> builder(atomic);
      builder.CreateCall(announce, {address, builder.getInt32(static_cast<std::uint32_t>(bytes)),
                                    builder.getInt32(update == nullptr || !atomic->use_empty() ? 1 : 0)});
      hide(*atomic);
    }
    return !atomics.empty();
  }

  /// Calls `__warpbook_loop(number)` where an inner loop begins whose turns are counted.
  static bool announce_loops(Module& module, const UnrolledLoops& loops) {
    for (const auto& [position, number] : loops.begins()) {
      IRBuilder<> builder(position);
      builder.CreateCall(module.getOrInsertFunction("__warpbook_loop", builder.getVoidTy(), builder.getInt32Ty()),
                         {builder.getInt32(number)});
    }
    return !loops.begins().empty();
  }

  /// Sets the tally's entry for it to the stage of each load that waits for others, and to what its loop makes of it,
  /// and back behind it.
  static bool mark_stages(Function& function, const warpbook::emulator::MemoryStages& stages,
                          const UnrolledLoops& loops, const JoinedLoads& joined) {
    std::vector<std::pair<Instruction*, std::uint64_t>> marked;
    for (Instruction& instruction : instructions(function)) {
      const warpbook::emulator::Stage stage{stages.stage(instruction), loops.together(instruction),
                                            loops.merged(instruction), joined.joined(instruction),
                                            loops.loop(instruction)};
      if (stage.packed() != 0) marked.emplace_back(&instruction, stage.packed());
    }
    for (const auto& [instruction, stage] : marked) {
      const auto set = [&](Instruction* position, std::uint64_t value) {
        IRBuilder<> builder(position);
        hide(*builder.CreateStore(builder.getInt64(value), tally_slot(builder, *function.getParent(), kStage)));
      };
      set(instruction, stage);
      set(instruction->getNextNode(), 0);
    }
    return !marked.empty();
  }

  /// Sets the tally's entry for it before each of CUDA's atomics of which there is something to tell.
  static bool mark_atomics(Function& function, const LoopInfo& loops) {
    std::vector<std::pair<CallBase*, unsigned>> calls;
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallBase>(&instruction);
          call != nullptr && warpbook::emulator::is_library_atomic(*call))
        if (const unsigned flags = warpbook::emulator::atomic_flags(*call, loops); flags != 0)
          calls.emplace_back(call, flags);
    for (const auto& [call, flags] : calls) {
      IRBuilder<> builder(call);
      hide(*builder.CreateStore(builder.getInt64(flags), tally_slot(builder, *function.getParent(), kAtomicFlags)));
    }
    return !calls.empty();
  }
};

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "WarpbookKernels", "1", [](PassBuilder& builder) {
            // What follows the manager differs from one LLVM to the next.
            builder.registerPipelineStartEPCallback([](ModulePassManager& manager, auto&&...) {
              manager.addPass(warpbook::emulator::LaunchPass());
              manager.addPass(warpbook::emulator::DeviceCodePass());
              manager.addPass(warpbook::emulator::PtxPass());
              manager.addPass(warpbook::emulator::HostWaitsPass());
              manager.addPass(warpbook::emulator::LocalValuesPass());
              manager.addPass(warpbook::emulator::AtomicScopePass());
              manager.addPass(warpbook::emulator::PrintPass());
              manager.addPass(warpbook::emulator::UnsetValuesPass());
              manager.addPass(warpbook::emulator::CastAlignmentPass());
              manager.addPass(warpbook::emulator::DefinedArithmeticPass());
              manager.addPass(ConvergencePass());
              manager.addPass(SharedGuardPass());
              manager.addPass(StructCopyPass());
              manager.addPass(warpbook::emulator::EndedLocalsPass());
              manager.addPass(warpbook::emulator::FirstMembersPass());
            });
            builder.registerPipelineEarlySimplificationEPCallback([](ModulePassManager& manager, auto&&...) {
              manager.addPass(warpbook::emulator::KeptDivisionsPass());
            });
            builder.registerOptimizerLastEPCallback([](ModulePassManager& manager, auto&&...) {
              manager.addPass(warpbook::emulator::ShownDivisorsPass());
              manager.addPass(warpbook::emulator::ContractionPass());
              manager.addPass(warpbook::emulator::MarkedChecksPass());
              manager.addPass(warpbook::emulator::ForgottenLocalsPass());
              manager.addPass(warpbook::emulator::SpokenAccessPass());
              manager.addPass(TallyPass());
              manager.addPass(warpbook::emulator::CountedLoadsPass());
              manager.addPass(warpbook::emulator::LocalBoundsPass());
              manager.addPass(warpbook::emulator::StatedAlignmentPass());
              manager.addPass(warpbook::emulator::RowBoundsPass());
              manager.addPass(warpbook::emulator::HostObjectsPass());
              manager.addPass(warpbook::emulator::EndlessLoopsPass());
              manager.addPass(warpbook::emulator::RareChecksPass());
              manager.addPass(warpbook::emulator::DivisionPass());
            });
          }};
}
