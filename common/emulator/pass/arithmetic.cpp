#include "common/emulator/pass/arithmetic.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/unrolled_loops.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

bool is_shift_by_variable(const Instruction& instruction) {
  return instruction.isShift() && instruction.getType()->isIntegerTy() && !isa<ConstantInt>(instruction.getOperand(1));
}

/// By a literal, of which the compiler warns; to LLVM its result is nothing at all.
bool shifts_too_far(const Instruction& instruction) {
  const auto* amount = instruction.isShift() ? dyn_cast<ConstantInt>(instruction.getOperand(1)) : nullptr;
  return amount != nullptr && amount->getValue().uge(instruction.getType()->getIntegerBitWidth());
}

/// What the front end made of a shift that it computed itself.
bool has_poison(const Instruction& instruction) {
  return std::any_of(instruction.op_begin(), instruction.op_end(),
                     [](const Use& operand) { return isa<PoisonValue>(operand) && operand->getType()->isIntegerTy(); });
}

void define_poison(Instruction& instruction) {
  for (Use& operand : instruction.operands())
    if (isa<PoisonValue>(operand) && operand->getType()->isIntegerTy())
      operand.set(ConstantInt::get(operand->getType(), 0));
}

/// Puts a choice between `yes` and `no`, one of which is the instruction itself, in the place of its result.
void choose(Instruction& instruction, Value* condition, Value* yes, Value* no) {
  auto* chosen = SelectInst::Create(condition, yes, no);
  chosen->insertAfter(&instruction);
  instruction.replaceUsesWithIf(chosen, [&](Use& use) { return use.getUser() != chosen; });
}

void define_shift(BinaryOperator& shift) {
  IRBuilder<> builder(&shift);
  Value* amount = shift.getOperand(1);
  const unsigned bits = shift.getType()->getIntegerBitWidth();
  if (shift.getOpcode() == Instruction::AShr) {  // The sign fills all places.
    Constant* most = ConstantInt::get(amount->getType(), bits - 1);
    shift.setOperand(1, builder.CreateBinaryIntrinsic(Intrinsic::umin, amount, most));
    return;
  }
  Value* inside = builder.CreateICmpULT(amount, ConstantInt::get(amount->getType(), bits));
  choose(shift, inside, &shift, ConstantInt::get(shift.getType(), 0));
}

bool is_conversion(const Instruction& instruction) {
  const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  return intrinsic != nullptr &&
         (intrinsic->getIntrinsicID() == Intrinsic::fptosi_sat || intrinsic->getIntrinsicID() == Intrinsic::fptoui_sat);
}

/// The intrinsic saturates and makes 0 of NaN. From and to 64 bits, NaN is the highest bit; narrow integers are what is
/// left of 32 bits.
void define_conversion(IntrinsicInst& conversion) {
  Value* from = conversion.getArgOperand(0);
  const unsigned bits = conversion.getType()->getScalarSizeInBits();
  if (conversion.getType()->isVectorTy()) return;
  IRBuilder<> builder(&conversion);
  if (bits < 32) {
    Value* wide = builder.CreateIntrinsic(conversion.getIntrinsicID(), {builder.getInt32Ty(), from->getType()}, {from});
    conversion.replaceAllUsesWith(builder.CreateTrunc(wide, conversion.getType()));
    conversion.eraseFromParent();
    return;
  }
  if (bits == 32 && !from->getType()->isDoubleTy()) return;
  Value* nan = builder.CreateFCmpUNO(from, ConstantFP::getZero(from->getType()));
  choose(conversion, nan, ConstantInt::get(conversion.getContext(), APInt::getSignMask(bits)), &conversion);
}

/// True for a choice that `choose` made.
bool selects_defined_value(const SelectInst& select) {
  const auto* compare = dyn_cast<CmpInst>(select.getCondition());
  const auto is_chosen = [&](const Value* arm, const Value* other) {
    const auto* instruction = dyn_cast<Instruction>(arm);
    if (instruction == nullptr || !isa<ConstantInt>(other)) return false;
    if (is_conversion(*instruction)) return compare->getOperand(0) == instruction->getOperand(0);
    return is_shift_by_variable(*instruction) && cast<ConstantInt>(other)->isZero() &&
           compare->getOperand(0) == instruction->getOperand(1);
  };
  return compare != nullptr && (is_chosen(select.getTrueValue(), select.getFalseValue()) ||
                                is_chosen(select.getFalseValue(), select.getTrueValue()));
}

bool is_sum(const Value& value) {
  const auto* operation = dyn_cast<BinaryOperator>(&value);
  return operation != nullptr && operation->hasAllowContract() &&
         (operation->getOpcode() == Instruction::FAdd || operation->getOpcode() == Instruction::FSub);
}

/// A product, maybe negated, that is used by sums alone: ptxas leaves others as they are.
struct Product {
  BinaryOperator* multiplication = nullptr;
  bool negated = false;
};

Product product_of(Value* value) {
  Product product;
  if (auto* negation = dyn_cast<UnaryOperator>(value);
      negation != nullptr && negation->getOpcode() == Instruction::FNeg && negation->hasOneUse()) {
    product.negated = true;
    value = negation->getOperand(0);
  }
  auto* multiplication = dyn_cast<BinaryOperator>(value);
  if (multiplication == nullptr || multiplication->getOpcode() != Instruction::FMul ||
      !multiplication->hasAllowContract())
    return {};
  for (const User* user : multiplication->users())
    if (!is_sum(*user) && !(product.negated && multiplication->hasOneUse())) return {};
  product.multiplication = multiplication;
  return product;
}

/// Makes a fused operation of the sum where it can; of two products the first is fused.
bool contract(BinaryOperator& sum) {
  if (!sum.getType()->isFloatTy() && !sum.getType()->isDoubleTy()) return false;
  for (const unsigned side : {0U, 1U}) {
    const Product product = product_of(sum.getOperand(side));
    if (product.multiplication == nullptr) continue;
    IRBuilder<> builder(&sum);
    const bool difference = sum.getOpcode() == Instruction::FSub;
    Value* factor = product.multiplication->getOperand(0);
    Value* addend = sum.getOperand(1 - side);
    if (product.negated != (difference && side == 1)) factor = builder.CreateFNeg(factor);
    if (difference && side == 0) addend = builder.CreateFNeg(addend);
    sum.replaceAllUsesWith(builder.CreateIntrinsic(Intrinsic::fma, {sum.getType()},
                                                   {factor, product.multiplication->getOperand(1), addend}));
    auto* operand = cast<Instruction>(sum.getOperand(side));
    sum.eraseFromParent();
    if (operand->use_empty()) operand->eraseFromParent();
    if (product.negated && product.multiplication->use_empty()) product.multiplication->eraseFromParent();
    return true;
  }
  return false;
}

/// A GPU does not stop at a division by zero: a quotient has all bits set, a remainder is what was divided.
void define_division(BinaryOperator& division) {
  Value* dividend = division.getOperand(0);
  Value* divisor = division.getOperand(1);
  Type* type = division.getType();
  const unsigned opcode = division.getOpcode();
  IRBuilder<> builder(&division);
  Value* zero = builder.CreateICmpEQ(divisor, ConstantInt::get(type, 0));
  Instruction* then = SplitBlockAndInsertIfThen(zero, division.getIterator(), false,
                                                MDBuilder(division.getContext()).createBranchWeights(1, 1 << 20));
  IRBuilder<> report(then);
  report.SetCurrentDebugLocation(division.getDebugLoc());
  report.CreateCall(
      division.getModule()->getOrInsertFunction("__warpbook_division_by_zero", Type::getVoidTy(division.getContext())));
  builder.SetInsertPoint(&division);
  Value* bad = zero;
  if (opcode == Instruction::SDiv || opcode == Instruction::SRem) {
    const APInt lowest = APInt::getSignedMinValue(type->getIntegerBitWidth());
    bad = builder.CreateOr(bad, builder.CreateAnd(builder.CreateICmpEQ(divisor, Constant::getAllOnesValue(type)),
                                                  builder.CreateICmpEQ(dividend, ConstantInt::get(type, lowest))));
  }
  division.setOperand(1, builder.CreateSelect(bad, ConstantInt::get(type, 1), divisor));
  const bool quotient = opcode == Instruction::SDiv || opcode == Instruction::UDiv;
  choose(division, zero, quotient ? Constant::getAllOnesValue(type) : dividend, &division);
}

constexpr const char* kDivisor = "__warpbook_divisor";

/// A function that returns what it is given, of which the optimiser does not know that.
FunctionCallee divisor_function(Module& module, Type& type) {
  const std::string name = kDivisor + std::to_string(type.getIntegerBitWidth());
  FunctionCallee callee = module.getOrInsertFunction(name, &type, &type);
  auto* function = cast<Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->addFnAttr(Attribute::Speculatable);
  return callee;
}

/// True where a value is computed of one that differs by the way that leads there, and nvcc does not unroll the loop.
bool comes_of_loop(const Value& value, LoopInfo& loops, ScalarEvolution& evolution, unsigned depth = 0) {
  constexpr unsigned kMostDepth = 6;  // as many steps as the optimiser follows
  const auto* instruction = dyn_cast<Instruction>(&value);
  if (instruction == nullptr || depth == kMostDepth) return false;
  if (isa<PHINode>(instruction)) {
    const Loop* loop = loops.getLoopFor(instruction->getParent());
    const unsigned turns = loop == nullptr ? 0 : evolution.getSmallConstantTripCount(loop);
    return turns == 0 || turns > kWholeLoop;
  }
  return std::any_of(instruction->op_begin(), instruction->op_end(),
                     [&](const Use& operand) { return comes_of_loop(*operand, loops, evolution, depth + 1); });
}

}  // namespace

PreservedAnalyses DefinedArithmeticPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  std::vector<Instruction*> found;
  for (Function& function : module)
    for (Instruction& instruction : instructions(function))
      if (is_shift_by_variable(instruction) || is_conversion(instruction) || shifts_too_far(instruction) ||
          has_poison(instruction))
        found.push_back(&instruction);
  for (Instruction* instruction : found) {
    if (has_poison(*instruction)) define_poison(*instruction);
    if (!instruction->isShift() && !is_conversion(*instruction)) continue;
    if (auto* conversion = dyn_cast<IntrinsicInst>(instruction))
      define_conversion(*conversion);
    else
      define_shift(*cast<BinaryOperator>(instruction));
  }
  return found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

PreservedAnalyses ContractionPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  const auto device = device_functions(module);
  for (Function& function : module) {
    std::vector<BinaryOperator*> sums;
    if (device.contains(&function))
      for (Instruction& instruction : instructions(function))
        if (is_sum(instruction)) sums.push_back(cast<BinaryOperator>(&instruction));
    for (BinaryOperator* sum : sums) contract(*sum);
    // What is left, and the host's arithmetic, the code generator must not contract either.
    for (Instruction& instruction : instructions(function))
      if (isa<FPMathOperator>(instruction) && instruction.hasAllowContract()) instruction.setHasAllowContract(false);
  }
  return PreservedAnalyses::none();
}

PreservedAnalyses KeptDivisionsPass::run(Module& module, ModuleAnalysisManager& manager) {
  auto& functions = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  const auto device = device_functions(module);
  std::vector<Instruction*> kept;
  for (Function& function : module) {
    if (function.isDeclaration() || !device.contains(&function)) continue;
    for (Instruction& instruction : instructions(function))
      if (instruction.getType()->isIntegerTy() && is_division(instruction) &&
          isKnownToBeAPowerOfTwo(instruction.getOperand(1), module.getDataLayout(), true) &&
          comes_of_loop(*instruction.getOperand(1), functions.getResult<LoopAnalysis>(function),
                        functions.getResult<ScalarEvolutionAnalysis>(function)))
        kept.push_back(&instruction);
  }
  for (Instruction* division : kept) {
    IRBuilder<> builder(division);
    division->setOperand(1,
                         builder.CreateCall(divisor_function(module, *division->getType()), division->getOperand(1)));
  }
  return kept.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

PreservedAnalyses ShownDivisorsPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  bool changed = false;
  for (Function& function : make_early_inc_range(module)) {
    if (!function.getName().starts_with(kDivisor)) continue;
    for (User* user : make_early_inc_range(function.users())) {
      auto* call = cast<CallInst>(user);
      call->replaceAllUsesWith(call->getArgOperand(0));
      call->eraseFromParent();
    }
    function.eraseFromParent();
    changed = true;
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

PreservedAnalyses DivisionPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  std::vector<BinaryOperator*> divisions;
  for (Function& function : module) {
    if (function.isDeclaration() || !function.hasFnAttribute(Attribute::SanitizeThread)) continue;
    for (Instruction& instruction : instructions(function))
      if (instruction.getType()->isIntegerTy() && is_division(instruction))
        divisions.push_back(cast<BinaryOperator>(&instruction));
  }
  for (BinaryOperator* division : divisions) define_division(*division);
  return divisions.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

bool is_division(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
  case Instruction::SDiv:
  case Instruction::UDiv:
  case Instruction::SRem:
  case Instruction::URem:
    return !isa<Constant>(instruction.getOperand(1));
  default:
    return false;
  }
}

bool is_part_of_instruction(const Instruction& instruction) {
  const auto all_users = [&](auto&& test) {
    return !instruction.use_empty() && std::all_of(instruction.user_begin(), instruction.user_end(), test);
  };
  if (const auto* select = dyn_cast<SelectInst>(&instruction)) return selects_defined_value(*select);
  if (instruction.getOpcode() == Instruction::FNeg)
    return all_users([](const User* user) {
      const auto* fused = dyn_cast<IntrinsicInst>(user);
      return fused != nullptr && fused->getIntrinsicID() == Intrinsic::fma;
    });
  if (isa<CmpInst>(instruction))
    return all_users([](const User* user) {
      const auto* select = dyn_cast<SelectInst>(user);
      return select != nullptr && selects_defined_value(*select);
    });
  const auto* least = dyn_cast<IntrinsicInst>(&instruction);
  return least != nullptr && least->getIntrinsicID() == Intrinsic::umin && all_users([&](const User* user) {
           const auto* shift = dyn_cast<BinaryOperator>(user);
           return shift != nullptr && shift->getOpcode() == Instruction::AShr && shift->getOperand(1) == least;
         });
}

}  // namespace warpbook::emulator
