#include "common/emulator/pass/counted_loads.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <array>
#include <cstdint>
#include <vector>

#include "common/emulator/base/counted_loads.hpp"
#include "common/emulator/base/tally.hpp"
#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/memory_objects.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

bool is_hidden(const Instruction& instruction) { return instruction.hasMetadata(LLVMContext::MD_nosanitize); }

void hide(Instruction& instruction) {
  instruction.setMetadata(LLVMContext::MD_nosanitize, MDNode::get(instruction.getContext(), {}));
}

/// The entry of the tally that an address is; -1 where it is none.
int tally_entry(const Value* address, const DataLayout& layout) {
  APInt offset(64, 0);
  const auto* base = dyn_cast<IntrinsicInst>(address->stripAndAccumulateConstantOffsets(layout, offset, true));
  if (base == nullptr || base->getIntrinsicID() != Intrinsic::threadlocal_address ||
      base->getArgOperand(0)->getName() != "__warpbook_tally")
    return -1;
  return static_cast<int>(offset.getZExtValue() / sizeof(std::uint64_t));
}

/// A loop of which a second form can be made.
struct CountedLoop {
  Loop* loop;
  std::vector<LoadInst*> loads;
  std::vector<const SCEVAddRecExpr*> addresses;
  const SCEV* turns_but_one;
};

/// Whether the thread sanitizer looks at a load.
bool is_watched(const LoadInst& load) {
  if (is_hidden(load)) return false;
  const Value* object = object_of(load);
  const auto* variable = dyn_cast<GlobalVariable>(object);
  return !isa<AllocaInst>(object) && (variable == nullptr || !variable->isConstant());
}

bool has_known_width(const LoadInst& load) {
  const std::uint64_t bits = load.getDataLayout().getTypeStoreSizeInBits(load.getType()).getFixedValue();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
}

/// Whether the loop does nothing but load and compute; adds its loads.
bool only_loads(const Loop& loop, std::vector<LoadInst*>& loads) {
  for (Instruction& instruction : *loop.getHeader()) {
    if (is_hidden(instruction)) continue;
    if (auto* load = dyn_cast<LoadInst>(&instruction)) {
      if (!load->isSimple() || !has_known_width(*load)) return false;
      if (is_watched(*load)) loads.push_back(load);
      continue;
    }
    if (const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
        intrinsic != nullptr && intrinsic->isAssumeLikeIntrinsic())
      continue;
    if (instruction.mayHaveSideEffects() || instruction.mayReadOrWriteMemory() ||
        (isa<CallBase>(instruction) && cast<CallBase>(instruction).isConvergent()))
      return false;
  }
  return !loads.empty() && loads.size() <= kMostCountedLoads;
}

/// Looks at a loop that only loads. Leaves the conditions for which it holds in `evolution`.
bool look_at(CountedLoop& counted, PredicatedScalarEvolution& evolution, const SCEVExpander& expander) {
  const Loop& loop = *counted.loop;
  ScalarEvolution& plain = *evolution.getSE();
  if (const unsigned turns = plain.getSmallConstantTripCount(&loop); turns != 0 && turns < kFewestTurns) return false;
  counted.turns_but_one = evolution.getBackedgeTakenCount();
  if (isa<SCEVCouldNotCompute>(counted.turns_but_one) ||
      plain.getTypeSizeInBits(counted.turns_but_one->getType()) > 64 || !expander.isSafeToExpand(counted.turns_but_one))
    return false;
  for (LoadInst* load : counted.loads) {
    const SCEVAddRecExpr* address = evolution.getAsAddRec(load->getPointerOperand());
    if (address == nullptr || address->getLoop() != &loop || !address->isAffine() ||
        !expander.isSafeToExpand(address->getStart()) || !expander.isSafeToExpand(address->getStepRecurrence(plain)))
      return false;
    counted.addresses.push_back(address);
  }
  return true;
}

/// Takes the counting out of a block; returns what it added to each entry of the tally.
std::array<std::uint64_t, kTallies> take_tally(BasicBlock& block) {
  const DataLayout& layout = block.getModule()->getDataLayout();
  std::array<std::uint64_t, kTallies> sums{};
  std::vector<Instruction*> gone;
  for (Instruction& instruction : block) {
    auto* store = dyn_cast<StoreInst>(&instruction);
    if (store == nullptr || !is_hidden(*store)) continue;
    const int entry = tally_entry(store->getPointerOperand(), layout);
    if (entry == static_cast<int>(kStage)) gone.push_back(store);  // It says something of loads that nobody sees.
    if (entry < 0 || entry >= static_cast<int>(kTallies)) continue;
    auto* sum = dyn_cast<BinaryOperator>(store->getValueOperand());
    auto* more = sum == nullptr ? nullptr : dyn_cast<ConstantInt>(sum->getOperand(1));
    auto* before = sum == nullptr ? nullptr : dyn_cast<LoadInst>(sum->getOperand(0));
    if (more == nullptr || before == nullptr || sum->getOpcode() != Instruction::Add || !sum->hasOneUse() ||
        !before->hasOneUse() || before->getParent() != &block)
      continue;
    sums[static_cast<unsigned>(entry)] += more->getZExtValue();
    gone.insert(gone.end(), {store, sum, before});
  }
  for (Instruction* instruction : gone) instruction->eraseFromParent();
  return sums;
}

/// Adds that of all turns.
void add_tally(Instruction& position, const std::array<std::uint64_t, kTallies>& sums, Value* turns) {
  IRBuilder<> builder(&position);
  GlobalVariable* tally = position.getModule()->getGlobalVariable("__warpbook_tally");
  for (unsigned entry = 0; entry < sums.size(); ++entry) {
    if (sums[entry] == 0) continue;
    Value* slot =
        builder.CreateConstInBoundsGEP2_64(tally->getValueType(), builder.CreateThreadLocalAddress(tally), 0, entry);
    LoadInst* old = builder.CreateLoad(builder.getInt64Ty(), slot);
    hide(*old);
    hide(*builder.CreateStore(builder.CreateAdd(old, builder.CreateMul(turns, builder.getInt64(sums[entry]))), slot));
  }
}

/// `CountedLoad[]` of the loop's loads.
GlobalVariable* describe(Module& module, const std::vector<LoadInst*>& loads) {
  LLVMContext& context = module.getContext();
  Type* number = Type::getInt32Ty(context);
  auto* pointer = PointerType::getUnqual(context);
  auto* type = StructType::get(context, {pointer, number, number});
  std::vector<Constant*> entries;
  for (const LoadInst* load : loads) {
    const std::uint64_t bytes = module.getDataLayout().getTypeStoreSize(load->getType()).getFixedValue();
    // As the thread sanitizer tells what is aligned.
    const bool aligned = load->getAlign() >= 8 || load->getAlign().value() % bytes == 0;
    entries.push_back(ConstantStruct::get(type, {ConstantPointerNull::get(pointer), ConstantInt::get(number, bytes),
                                                 ConstantInt::get(number, aligned ? bytes : 1)}));
  }
  auto* all = ArrayType::get(type, entries.size());
  return new GlobalVariable(module, all, false, GlobalValue::PrivateLinkage, ConstantArray::get(all, entries),
                            "__warpbook_loads_of_loop");
}

/// In the loop as it was, each load is announced with what describes it.
void announce(const std::vector<LoadInst*>& loads, GlobalVariable* description) {
  Module& module = *description->getParent();
  for (unsigned i = 0; i < loads.size(); ++i) {
    IRBuilder<> builder(loads[i]);
    const FunctionCallee callee = module.getOrInsertFunction("__warpbook_counted_load", builder.getVoidTy(),
                                                             builder.getPtrTy(), builder.getPtrTy());
    Value* own = builder.CreateConstInBoundsGEP2_64(description->getValueType(), description, 0, i);
    builder.CreateCall(callee, {loads[i]->getPointerOperand(), own});
    hide(*loads[i]);
  }
}

void add_form(CountedLoop& counted, PredicatedScalarEvolution& evolution, SCEVExpander& expander, LoopInfo& loops,
              DominatorTree& dominators) {
  Loop& loop = *counted.loop;
  ScalarEvolution& plain = *evolution.getSE();
  Function& function = *loop.getHeader()->getParent();
  Module& module = *function.getParent();
  const auto count = static_cast<unsigned>(counted.loads.size());
  formLCSSA(loop, dominators, &loops, &plain);

  // Before the loop: is it long enough, and does it keep to what was supposed?
  BasicBlock* before = loop.getLoopPreheader();
  BasicBlock* own = SplitBlock(before, before->getTerminator(), &dominators, &loops);
  BasicBlock* ask = SplitBlock(before, before->getTerminator(), &dominators, &loops);
  Instruction* end = before->getTerminator();
  IRBuilder<> builder(end);
  builder.SetCurrentDebugLocation(loop.getHeader()->getTerminator()->getDebugLoc());
  Type* number = builder.getInt64Ty();
  Value* turns =
      builder.CreateAdd(expander.expandCodeFor(plain.getNoopOrZeroExtend(counted.turns_but_one, number), number, end),
                        builder.getInt64(1));
  Value* differs = evolution.getPredicate().isAlwaysTrue()
                       ? builder.getFalse()
                       : expander.expandCodeForPredicate(&evolution.getPredicate(), end);
  std::vector<std::array<Value*, 2>> walks;
  for (const SCEVAddRecExpr* address : counted.addresses) {
    Value* begin = expander.expandCodeFor(address->getStart(), address->getStart()->getType(), end);
    Value* step =
        expander.expandCodeFor(plain.getTruncateOrSignExtend(address->getStepRecurrence(plain), number), number, end);
    walks.push_back({begin, step});
  }
  builder.SetInsertPoint(end);
  Value* worth =
      builder.CreateAnd(builder.CreateICmpUGE(turns, builder.getInt64(kFewestTurns)), builder.CreateNot(differs));

  // Then the emulator is asked.
  GlobalVariable* description = describe(module, counted.loads);
  auto* type = ArrayType::get(StructType::get(builder.getPtrTy(), number), count);
  AllocaInst* told = nullptr;
  {
    IRBuilder<> first(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
    told = first.CreateAlloca(type);
  }
  builder.SetInsertPoint(ask->getTerminator());
  for (unsigned i = 0; i < count; ++i)
    for (unsigned part = 0; part < 2; ++part) {
      Value* place =
          builder.CreateInBoundsGEP(type, told, {builder.getInt64(0), builder.getInt64(i), builder.getInt32(part)});
      hide(*builder.CreateStore(walks[i][part], place));
    }
  const FunctionCallee callee =
      module.getOrInsertFunction("__warpbook_counted_loads", builder.getInt32Ty(), builder.getPtrTy(),
                                 builder.getPtrTy(), builder.getInt32Ty(), number);
  Value* quiet = builder.CreateICmpNE(builder.CreateCall(callee, {description, told, builder.getInt32(count), turns}),
                                      builder.getInt32(0));

  // The second form.
  ValueToValueMapTy map;
  SmallVector<BasicBlock*, 2> blocks;
  cloneLoopWithPreheader(own, ask, &loop, map, ".counted", &loops, &dominators, blocks);
  remapInstructionsInBlocks(blocks, map);
  auto* const second = cast<BasicBlock>(map[own]);
  auto* const body = cast<BasicBlock>(map[loop.getHeader()]);
  for (PHINode& phi : loop.getExitBlock()->phis()) {
    Value* value = phi.getIncomingValueForBlock(loop.getHeader());
    const auto mapped = map.find(value);
    phi.addIncoming(mapped == map.end() ? value : static_cast<Value*>(mapped->second), body);
  }
  const auto branch = [](BasicBlock& from, Value* condition, BasicBlock* then, BasicBlock* otherwise) {
    Instruction* old = from.getTerminator();
    BranchInst* made = BranchInst::Create(then, otherwise, condition, old->getIterator());
    made->setDebugLoc(old->getDebugLoc());
    old->eraseFromParent();
  };
  branch(*before, worth, ask, own);
  branch(*ask, quiet, second, own);
  dominators.changeImmediateDominator(own, before);
  dominators.changeImmediateDominator(loop.getExitBlock(), before);

  for (LoadInst* load : counted.loads) hide(*cast<Instruction>(map[load]));
  add_tally(*second->getTerminator(), take_tally(*body), turns);
  announce(counted.loads, description);
  plain.forgetLoop(&loop);
}

}  // namespace

PreservedAnalyses CountedLoadsPass::run(Module& module, ModuleAnalysisManager& manager) {
  auto& functions = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  bool changed = false;
  const auto of_device = device_functions(module);
  for (Function& function : module) {  // in their order: what comes out may not depend on where they lie in memory
    if (!of_device.contains(&function) || function.hasOptNone() || !function.hasFnAttribute(Attribute::SanitizeThread))
      continue;
    auto& loops = functions.getResult<LoopAnalysis>(function);
    auto& dominators = functions.getResult<DominatorTreeAnalysis>(function);
    auto& plain = functions.getResult<ScalarEvolutionAnalysis>(function);
    SmallVector<Loop*, 8> inner;
    for (Loop* loop : loops.getLoopsInPreorder())
      if (loop->isInnermost()) inner.push_back(loop);
    for (Loop* loop : inner) {
      CountedLoop counted{loop, {}, {}, nullptr};
      if (loop->getNumBlocks() != 1 || !only_loads(*loop, counted.loads)) continue;
      changed |= simplifyLoop(loop, &dominators, &loops, &plain, nullptr, nullptr, false);
      if (!loop->isLoopSimplifyForm() || loop->getExitBlock() == nullptr) continue;
      PredicatedScalarEvolution evolution(plain, *loop);
      SCEVExpander expander(plain, module.getDataLayout(), "counted");
      if (!look_at(counted, evolution, expander)) continue;
      add_form(counted, evolution, expander, loops, dominators);
      changed = true;
    }
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace warpbook::emulator
