#include "common/emulator/pass/counted_loops.hpp"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <map>

namespace warpbook::emulator {
namespace {

using namespace llvm;

constexpr std::size_t kMostTurns = 4096;

using Values = std::map<const Value*, std::int64_t>;  ///< of counters

/// What an expression of constants and counters comes to.
std::optional<std::int64_t> evaluate(const Value* value, const Values& counters) {
  if (const auto* constant = dyn_cast<ConstantInt>(value)) {
    if (constant->getBitWidth() > 64) return std::nullopt;
    return constant->getSExtValue();
  }
  if (const auto* load = dyn_cast<LoadInst>(value)) {
    const auto found = counters.find(load->getPointerOperand());
    return found == counters.end() ? std::nullopt : std::optional{found->second};
  }
  if (const auto* cast = dyn_cast<CastInst>(value); cast != nullptr && cast->isIntegerCast())
    return evaluate(cast->getOperand(0), counters);  // Counters are small.
  const auto* operation = dyn_cast<BinaryOperator>(value);
  if (operation == nullptr || !operation->getType()->isIntegerTy()) return std::nullopt;
  const auto left = evaluate(operation->getOperand(0), counters);
  const auto right = evaluate(operation->getOperand(1), counters);
  if (!left || !right) return std::nullopt;
  switch (operation->getOpcode()) {
  case Instruction::Add:
    return *left + *right;
  case Instruction::Sub:
    return *left - *right;
  case Instruction::Mul:
    return *left * *right;
  case Instruction::And:
    return *left & *right;
  case Instruction::Or:
    return *left | *right;
  case Instruction::Xor:
    return *left ^ *right;
  case Instruction::Shl:
    return *right < 0 || *right > 31 ? std::nullopt : std::optional{*left * (std::int64_t{1} << *right)};
  case Instruction::SDiv:
  case Instruction::UDiv:
    return *left < 0 || *right <= 0 ? std::nullopt : std::optional{*left / *right};
  case Instruction::SRem:
  case Instruction::URem:
    return *left < 0 || *right <= 0 ? std::nullopt : std::optional{*left % *right};
  default:
    return std::nullopt;
  }
}

bool holds(CmpInst::Predicate predicate, std::int64_t left, std::int64_t right) {
  return ICmpInst::compare(APInt(64, static_cast<std::uint64_t>(left)), APInt(64, static_cast<std::uint64_t>(right)),
                           predicate);
}

}  // namespace

std::optional<CountedLoops::Counter> CountedLoops::counter(const Loop& loop) const {
  const BasicBlock* header = loop.getHeader();
  const BasicBlock* latch = loop.getLoopLatch();
  const auto* branch = dyn_cast<BranchInst>(header->getTerminator());
  if (latch == nullptr || branch == nullptr || !branch->isConditional() || loop.getExitingBlock() != header)
    return std::nullopt;
  const auto* compare = dyn_cast<ICmpInst>(branch->getCondition());
  const auto* load = compare == nullptr ? nullptr : dyn_cast<LoadInst>(compare->getOperand(0));
  const auto* variable = load == nullptr ? nullptr : dyn_cast<AllocaInst>(load->getPointerOperand());
  if (variable == nullptr) return std::nullopt;
  const std::optional<std::int64_t> end = evaluate(compare->getOperand(1), {});
  const auto predicate =
      loop.contains(branch->getSuccessor(0)) ? compare->getPredicate() : compare->getInversePredicate();

  const StoreInst *first = nullptr, *next = nullptr;
  for (const User* user : variable->users()) {
    if (isa<LoadInst>(user)) continue;
    if (const auto* intrinsic = dyn_cast<IntrinsicInst>(user);
        intrinsic != nullptr && intrinsic->isLifetimeStartOrEnd())
      continue;
    const auto* store = dyn_cast<StoreInst>(user);
    if (store == nullptr || store->getValueOperand() == variable) return std::nullopt;
    const StoreInst*& place = loop.contains(store) ? next : first;
    if (place != nullptr) return std::nullopt;
    place = store;
  }
  if (!end || first == nullptr || next == nullptr || !tree_.dominates(first->getParent(), header) ||
      !tree_.dominates(next->getParent(), latch) || loops_.getLoopFor(next->getParent()) != &loop)
    return std::nullopt;
  std::optional<std::int64_t> value = evaluate(first->getValueOperand(), {});
  Counter counter{&loop, variable, {}};
  while (value && holds(predicate, *value, *end) && counter.values.size() <= kMostTurns) {
    counter.values.push_back(*value);
    value = evaluate(next->getValueOperand(), {{variable, *value}});
  }
  if (!value || counter.values.empty() || counter.values.size() > kMostTurns) return std::nullopt;
  return counter;
}

std::optional<CountedLoops::Reach> CountedLoops::reach(const Instruction& access,
                                                       const std::vector<GEPOperator*>& steps) const {
  const DataLayout& layout = access.getModule()->getDataLayout();
  const unsigned bits = layout.getIndexTypeSizeInBits(PointerType::getUnqual(access.getContext()));
  MapVector<Value*, APInt> terms;
  APInt constant(bits, 0);
  for (GEPOperator* step : steps)
    if (!step->collectOffset(layout, bits, terms, constant)) return std::nullopt;

  std::vector<Counter> counters;  // from the innermost loop
  for (const Loop* loop = loops_.getLoopFor(access.getParent()); loop != nullptr; loop = loop->getParentLoop()) {
    auto found = counter(*loop);
    if (!found) break;
    counters.push_back(std::move(*found));
  }
  // Of the outer loops, only those that an index follows.
  const auto sums = [&](const Values& values) -> std::optional<std::int64_t> {
    std::int64_t sum = constant.getSExtValue();
    for (const auto& [term, scale] : terms) {
      const auto value = evaluate(term, values);
      if (!value) return std::nullopt;
      sum += *value * scale.getSExtValue();
    }
    return sum;
  };
  for (std::size_t depth = 1; depth <= counters.size(); ++depth) {
    Values values;
    std::size_t turns = 1;
    for (std::size_t i = 0; i < depth; ++i) {
      values[counters[i].variable] = counters[i].values.front();
      turns *= counters[i].values.size();
    }
    if (!sums(values)) continue;
    if (turns > kMostTurns) return std::nullopt;
    Reach found;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      std::size_t rest = turn;
      for (std::size_t i = 0; i < depth; ++i) {
        values[counters[i].variable] = counters[i].values[rest % counters[i].values.size()];
        rest /= counters[i].values.size();
      }
      const auto sum = sums(values);
      if (!sum) return std::nullopt;
      found.offsets.insert(*sum);
    }
    // Every turn of each loop comes to the access, or to the loop inside.
    const BasicBlock* inner = access.getParent();
    bool always = true;
    for (std::size_t i = 0; i < depth; ++i) {
      always = always && tree_.dominates(inner, counters[i].loop->getLoopLatch());
      inner = counters[i].loop->getHeader();
    }
    BasicBlock* behind = counters[depth - 1].loop->getExitBlock();
    if (always && behind != nullptr && behind->getSinglePredecessor() != nullptr) found.behind = behind;
    return found;
  }
  return std::nullopt;
}

}  // namespace warpbook::emulator
