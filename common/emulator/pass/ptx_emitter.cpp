#include "common/emulator/pass/ptx_emitter.hpp"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/CFG.h>

#include <algorithm>

namespace warpbook::emulator::ptx {

using namespace llvm;

std::optional<Type> type_of(StringRef name) {
  using Kind = Type::Kind;
  if (name == "pred") return Type{Kind::predicate, 1};
  if (name == "f16") return Type{Kind::half, 16};
  if (name == "f16x2") return Type{Kind::half, 32};
  if (name == "bf16") return Type{Kind::bfloat, 16};
  if (name == "bf16x2") return Type{Kind::bfloat, 32};
  if (name == "tf32") return Type{Kind::tf32, 32};
  if (name == "f32") return Type{Kind::real, 32};
  if (name == "f64") return Type{Kind::real, 64};
  if (name.size() < 2 || !StringRef("bus").contains(name[0])) return std::nullopt;
  const Kind kind = name[0] == 'b' ? Kind::bits : name[0] == 'u' ? Kind::is_unsigned : Kind::is_signed;
  unsigned bits = 0;
  if (name.drop_front().getAsInteger(10, bits) || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
    return std::nullopt;
  return Type{kind, bits};
}

Emitter::Emitter(CallInst& assembly) : module_(*assembly.getModule()), assembly_(assembly), at_(assembly.getContext()) {
  scopes_.emplace_back();
}

void Emitter::fail(const Twine& why) {
  if (error_.empty()) error_ = why.str();
}

bool Emitter::run() {
  const auto& text = *cast<InlineAsm>(assembly_.getCalledOperand());
  const std::vector<Statement> statements = parse(text.getAsmString(), error_);
  if (error_.empty()) emit_all(statements);
  if (!error_.empty()) leave_whole();
  return error_.empty();
}

/// After a mistake: what was made so far is no use, but the compiler goes on with it.
void Emitter::leave_whole() {
  for (const auto& entry : labels_)
    if (entry.second->getParent() == nullptr) entry.second->insertInto(assembly_.getFunction());
  for (BasicBlock& block : *assembly_.getFunction())
    if (block.getTerminator() == nullptr) new UnreachableInst(module_.getContext(), &block);
  if (!assembly_.getType()->isVoidTy()) assembly_.replaceAllUsesWith(PoisonValue::get(assembly_.getType()));
  assembly_.eraseFromParent();
}

void Emitter::emit_all(const std::vector<Statement>& statements) {
  BasicBlock* head = assembly_.getParent();
  may_repeat_ = any_of(successors(head), [&](BasicBlock* next) { return isPotentiallyReachable(next, head); }) ||
                any_of(statements, [](const Statement& one) { return one.kind == Statement::Kind::label; });
  BasicBlock* tail = head->splitBasicBlock(assembly_.getIterator());
  head->getTerminator()->eraseFromParent();
  at_.SetInsertPoint(head);
  at_.SetCurrentDebugLocation(assembly_.getDebugLoc());
  if (!bind_arguments(statements)) return;
  const auto& text = *cast<InlineAsm>(assembly_.getCalledOperand());
  const bool clobbers = StringRef(text.getConstraintString()).contains("~{memory}");
  if (text.hasSideEffects()) keep_order();
  for (const Statement& statement : statements) {
    emit(statement);
    if (!error_.empty()) return;
  }
  for (const auto& entry : labels_)
    if (entry.second->empty() && entry.second->getParent() == nullptr) fail("label " + entry.first() + " is missing");
  if (!error_.empty()) return;
  if (clobbers) keep_order();
  at_.CreateBr(tail);
  at_.SetInsertPoint(&assembly_);
  make_results();
  assembly_.eraseFromParent();
}

/// Keeps the compiler from moving accesses across: a loop that asks by `asm volatile` asks each time.
void Emitter::keep_order() {
  FenceInst* fence = at_.CreateFence(AtomicOrdering::SequentiallyConsistent, SyncScope::SingleThread);
  fence->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(module_.getContext(), {}));
}

// ---- Arguments

AllocaInst* Emitter::make_place(unsigned bits, const Twine& name) {
  BasicBlock& entry = assembly_.getFunction()->getEntryBlock();
  IRBuilder<> builder(&entry, entry.begin());
  return builder.CreateAlloca(integer(bits), nullptr, name);
}

/// Any value as the bits that a register holds.
Emitter::Value* Emitter::as_integer(Value* value) {
  llvm::Type* type = value->getType();
  if (type->isPointerTy()) return at_.CreatePtrToInt(value, integer(64));
  if (type->isIntegerTy()) return value;
  return at_.CreateBitCast(value, integer(static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue())));
}

bool Emitter::bind_arguments(const std::vector<Statement>& statements) {
  // An instruction may write to an input's register, too; nobody outside sees what comes of it.
  const auto is_written = [&](unsigned number) {
    return any_of(statements, [&](const Statement& statement) {
      const auto is_it = [&](const Operand& one) {
        return one.kind == Operand::Kind::argument && one.argument == number;
      };
      if (statement.operands.empty()) return false;
      const Operand& target = statement.operands[0];
      return is_it(target) || (target.kind == Operand::Kind::list && any_of(target.parts, is_it));
    });
  };
  const auto& text = *cast<InlineAsm>(assembly_.getCalledOperand());
  llvm::Type* result = assembly_.getType();
  unsigned outputs = 0;
  unsigned inputs = 0;
  for (const InlineAsm::ConstraintInfo& constraint : text.ParseConstraints()) {
    if (constraint.Type == InlineAsm::isClobber) continue;
    if (constraint.isIndirect || constraint.Type == InlineAsm::isLabel) {
      fail("an argument of inline PTX is a register or a constant");
      return false;
    }
    Register argument;
    if (constraint.Type == InlineAsm::isOutput) {
      llvm::Type* type = result->isStructTy() ? result->getStructElementType(outputs) : result;
      ++outputs;
      const std::uint64_t size = module_.getDataLayout().getTypeSizeInBits(type).getFixedValue();
      argument.bits = static_cast<unsigned>(size);
      argument.place = make_place(argument.bits, "ptx.result");
      results_.push_back(static_cast<unsigned>(arguments_.size()));
    } else {
      Value* given = assembly_.getArgOperand(inputs++);
      if (!given->getType()->isPointerTy() && given->getType()->getPrimitiveSizeInBits().getFixedValue() == 0) {
        fail("an argument of inline PTX is a register or a constant");
        return false;
      }
      argument.value = as_integer(given);
      argument.bits = argument.value->getType()->getIntegerBitWidth();
      unsigned tied = 0;
      if (!constraint.Codes.empty() && !StringRef(constraint.Codes[0]).getAsInteger(10, tied) &&
          tied < arguments_.size() && arguments_[tied].place != nullptr)
        at_.CreateStore(at_.CreateZExtOrTrunc(argument.value, integer(arguments_[tied].bits)), arguments_[tied].place);
      else if (!isa<Constant>(given) && is_written(static_cast<unsigned>(arguments_.size()))) {
        argument.place = make_place(argument.bits, "ptx.input");
        at_.CreateStore(argument.value, argument.place);
      }
    }
    arguments_.push_back(argument);
  }
  return true;
}

void Emitter::make_results() {
  if (results_.empty()) return;
  llvm::Type* type = assembly_.getType();
  Value* all = type->isStructTy() ? PoisonValue::get(type) : nullptr;
  for (unsigned i = 0; i < results_.size(); ++i) {
    const Register& argument = arguments_[results_[i]];
    llvm::Type* wanted = all != nullptr ? type->getStructElementType(i) : type;
    Value* value = at_.CreateLoad(integer(argument.bits), argument.place);
    value = wanted->isPointerTy() ? at_.CreateIntToPtr(value, wanted) : at_.CreateBitCast(value, wanted);
    all = all != nullptr && type->isStructTy() ? at_.CreateInsertValue(all, value, i) : value;
  }
  assembly_.replaceAllUsesWith(all);
}

// ---- Statements

BasicBlock* Emitter::label(const std::string& name) {
  BasicBlock*& block = labels_[name];
  if (block == nullptr) block = BasicBlock::Create(module_.getContext(), "ptx." + name);
  return block;
}

void Emitter::declare(const Statement& statement) {
  if (statement.registers.empty()) return;
  const std::optional<Type> type = type_of(statement.parts.front());
  if (!type) return fail("registers of type ." + statement.parts.front() + " are not emulated");
  for (const std::string& name : statement.registers) {
    scopes_.back()[name] = {make_place(type->bits, name), nullptr, type->bits};
  }
}

void Emitter::emit(const Statement& statement) {
  now_ = &statement;
  switch (statement.kind) {
  case Statement::Kind::open:
    scopes_.emplace_back();
    return;
  case Statement::Kind::close:
    scopes_.pop_back();
    return;
  case Statement::Kind::registers:
    return declare(statement);
  case Statement::Kind::label: {
    BasicBlock* block = label(statement.name);
    if (block->getParent() != nullptr) return fail("label " + statement.name + " is there twice");
    block->insertInto(assembly_.getFunction(), assembly_.getParent());
    at_.CreateBr(block);
    at_.SetInsertPoint(block);
    return;
  }
  case Statement::Kind::instruction:
    return emit_instruction(statement);
  }
}

void Emitter::emit_instruction(const Statement& statement) {
  modifiers_.assign(statement.parts.begin() + 1, statement.parts.end());
  BasicBlock* behind = nullptr;
  if (statement.guard) {
    Value* condition = read(*statement.guard, 1);
    if (!error_.empty()) return;
    behind = BasicBlock::Create(module_.getContext(), "", assembly_.getFunction(), assembly_.getParent());
    BasicBlock* guarded = BasicBlock::Create(module_.getContext(), "", assembly_.getFunction(), behind);
    at_.CreateCondBr(condition, guarded, behind);
    at_.SetInsertPoint(guarded);
  }
  const bool known = dispatch();
  if (error_.empty() && (!known || !modifiers_.empty()))
    fail("\"" + statement.name + "\" is not emulated" + (known ? ": not with ." + modifiers_.front() : std::string{}));
  if (!error_.empty()) return;
  if (behind != nullptr) {
    at_.CreateBr(behind);
    at_.SetInsertPoint(behind);
  }
}

bool Emitter::dispatch() {
  const StringRef name = now_->parts.front();
  if (name == "bra") {
    branch();
    return true;
  }
  return memory(name) || collective(name) || arithmetic(name);
}

void Emitter::branch() {
  has("uni");
  const Operand& target = operand(0);
  if (!error_.empty()) return;
  at_.CreateBr(label(target.name));
  // What follows is reached by a label alone, or where the guard does not hold.
  at_.SetInsertPoint(BasicBlock::Create(module_.getContext(), "", assembly_.getFunction(), assembly_.getParent()));
}

// ---- Operands

const Operand& Emitter::operand(std::size_t index) {
  static const Operand none;
  if (index < now_->operands.size()) return now_->operands[index];
  fail("\"" + now_->text + "\" lacks an operand");
  return none;
}

const Emitter::Register* Emitter::find(const Operand& operand) {
  if (operand.kind == Operand::Kind::argument) {
    if (operand.argument < arguments_.size()) return &arguments_[operand.argument];
    fail("there is no argument %" + Twine(operand.argument));
    return nullptr;
  }
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(operand.name);
    if (found != scope->end()) return &found->second;
  }
  return nullptr;
}

unsigned Emitter::bits_of(const Operand& operand) {
  const Register* found = find(operand);
  return found == nullptr ? 32 : found->bits;
}

Emitter::Value* Emitter::read(const Operand& operand, unsigned bits) {
  Value* value = nullptr;
  switch (operand.kind) {
  case Operand::Kind::integer:
    value = number(bits, operand.bits);
    break;
  case Operand::Kind::real:
    value = bits == 64 ? number(64, bit_cast<std::uint64_t>(operand.value))
                       : number(bits, bit_cast<std::uint32_t>(static_cast<float>(operand.value)));
    break;
  case Operand::Kind::list: {  // packed, the first one lowest
    value = number(bits, 0);
    const auto count = static_cast<unsigned>(operand.parts.size());
    for (unsigned i = 0; i < count; ++i) {
      Value* part = at_.CreateZExt(read(operand.parts[i], bits / count), integer(bits));
      value = at_.CreateOr(value, at_.CreateShl(part, bits / count * i));
    }
    break;
  }
  case Operand::Kind::argument:
  case Operand::Kind::name: {
    const Register* found = find(operand);
    if (found != nullptr)
      value = found->place == nullptr ? found->value : at_.CreateLoad(integer(found->bits), found->place);
    else if (error_.empty())
      value = special(operand.name);
    break;
  }
  case Operand::Kind::address:
    break;
  }
  if (value == nullptr) {
    fail("\"" + (operand.name.empty() ? now_->text : operand.name) + "\" is no operand that is known");
    return PoisonValue::get(integer(bits));
  }
  const unsigned has_bits = value->getType()->getIntegerBitWidth();
  // A predicate may come as a flag of any width.
  value = bits == 1 && has_bits != 1 ? at_.CreateICmpNE(value, number(has_bits, 0))
                                     : at_.CreateZExtOrTrunc(value, integer(bits));
  return operand.negated ? at_.CreateNot(value) : value;
}

Emitter::Value* Emitter::as_type(Value* value, Type type) {
  if (!type.is_real()) return value;
  return at_.CreateBitCast(value, type.bits == 64 ? at_.getDoubleTy() : at_.getFloatTy());
}

Emitter::Value* Emitter::read(const Operand& operand, Type type) {
  if (type.is_real() && operand.kind == Operand::Kind::integer) {
    fail("\"" + now_->text + "\": a float's constant is written 0f3F800000, 0d... or 1.0");
    return PoisonValue::get(at_.getFloatTy());
  }
  return as_type(read(operand, type.bits), type);
}

std::optional<std::uint64_t> Emitter::constant(const Operand& operand) {
  if (operand.kind == Operand::Kind::integer) return operand.bits;
  const Register* found = operand.kind == Operand::Kind::argument ? find(operand) : nullptr;
  if (found == nullptr || found->value == nullptr) return std::nullopt;
  const auto* known = dyn_cast<ConstantInt>(found->value);
  return known == nullptr ? std::nullopt : std::optional<std::uint64_t>(known->getZExtValue());
}

void Emitter::write(const Operand& operand, Value* value) {
  if (!error_.empty() || operand.name == "_") return;
  value = as_integer(value);
  if (operand.kind == Operand::Kind::list) {
    const auto count = static_cast<unsigned>(operand.parts.size());
    const unsigned bits = value->getType()->getIntegerBitWidth() / count;
    for (unsigned i = 0; i < count; ++i)
      write(operand.parts[i], at_.CreateTrunc(at_.CreateLShr(value, bits * i), integer(bits)));
    return;
  }
  const Register* found = find(operand);
  if (found == nullptr || found->place == nullptr)
    return fail("\"" + now_->text + "\" writes to what is no register and no result");
  at_.CreateStore(at_.CreateZExtOrTrunc(value, integer(found->bits)), found->place);
}

// ---- Modifiers

bool Emitter::has(StringRef modifier) {
  const auto found = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (found == modifiers_.end()) return false;
  modifiers_.erase(found);
  return true;
}

bool Emitter::has_any(std::initializer_list<StringRef> modifiers) {
  bool any = false;
  for (const StringRef modifier : modifiers) any |= has(modifier);
  return any;
}

std::optional<Type> Emitter::take_type() {
  for (auto at = modifiers_.rbegin(); at != modifiers_.rend(); ++at) {
    const std::optional<Type> type = type_of(*at);
    if (!type) continue;
    modifiers_.erase(std::next(at).base());
    return type;
  }
  return std::nullopt;
}

Type Emitter::need_type() {
  const std::optional<Type> type = take_type();
  if (!type) fail("\"" + now_->name + "\" has no type that is known");
  return type.value_or(Type{});
}

// ---- Calls

Emitter::Value* Emitter::call(const std::string& name, llvm::Type* result, ArrayRef<Value*> arguments, Effect effect) {
  SmallVector<llvm::Type*, 8> types;
  for (const Value* argument : arguments) types.push_back(argument->getType());
  FunctionCallee callee = module_.getOrInsertFunction(name, FunctionType::get(result, types, false));
  if (auto* function = dyn_cast<Function>(callee.getCallee()); function != nullptr && effect == Effect::convergent)
    function->setConvergent();
  CallInst* made = at_.CreateCall(callee, arguments);
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (types[i]->isIntegerTy(1)) made->addParamAttr(i, Attribute::ZExt);
  if (effect == Effect::convergent) made->setConvergent();
  if (effect == Effect::none) {
    made->setDoesNotAccessMemory();
    made->setDoesNotThrow();
  }
  return made;
}

Emitter::Value* Emitter::library(StringRef name, StringRef parameters, llvm::Type* result, ArrayRef<Value*> arguments,
                                 Effect effect) {
  return call(("_ZN8warpbook8emulator" + Twine(name.size()) + name + "E" + parameters).str(), result, arguments,
              effect);
}

Emitter::Value* Emitter::runtime(StringRef name, llvm::Type* result, ArrayRef<Value*> arguments, Effect effect) {
  return call(("__warpbook_ptx_" + name).str(), result, arguments, effect);
}

Emitter::Value* Emitter::intrinsic(Intrinsic::ID id, ArrayRef<Value*> arguments) {
  return at_.CreateIntrinsic(id, {arguments.front()->getType()}, arguments);
}

/// The same of one that tells of clusters along an axis.
Emitter::Value* Emitter::special_of_cluster(StringRef name, StringRef axis) {
  const auto ask = [&](const char* function) {
    return library(function + axis.str(), "v", integer(32), {}, Effect::none);
  };
  if (name == "%cluster_nctaid") return ask("cluster_extent_");
  if (name == "%cluster_ctaid") return at_.CreateURem(ask("block_index_"), ask("cluster_extent_"));
  if (name == "%clusterid") return at_.CreateUDiv(ask("block_index_"), ask("cluster_extent_"));
  if (name == "%nclusterid") return at_.CreateUDiv(ask("grid_extent_"), ask("cluster_extent_"));
  return nullptr;
}

/// A special register's value; nullptr where there is none of this name.
Emitter::Value* Emitter::special(StringRef name) {
  llvm::Type* word = integer(32);
  const auto ask = [&](StringRef function, llvm::Type* type) { return library(function, "v", type, {}, Effect::none); };
  StringRef rest = name;
  if (rest.size() > 2 && rest[rest.size() - 2] == '.') {
    const StringRef axis = rest.take_back(1);
    const std::string function = StringSwitch<std::string>(rest.drop_back(2))
                                     .Case("%tid", "thread_index_")
                                     .Case("%ntid", "block_extent_")
                                     .Case("%ctaid", "block_index_")
                                     .Case("%nctaid", "grid_extent_")
                                     .Default("");
    if (!StringRef("xyz").contains(axis)) return nullptr;
    if (function.empty()) return special_of_cluster(rest.drop_back(2), axis);
    return ask(function + axis.str(), word);
  }
  const auto lanes = [&](bool above, bool itself) -> Value* {
    Value* own = at_.CreateShl(number(32, 1), ask("lane_index", word));
    Value* below = at_.CreateSub(own, number(32, 1));
    if (!above) return itself ? at_.CreateOr(own, below) : below;
    return at_.CreateNot(itself ? below : at_.CreateOr(own, below));
  };
  if (name == "%laneid") return ask("lane_index", word);
  if (name == "%lanemask_eq") return at_.CreateShl(number(32, 1), ask("lane_index", word));
  if (name == "%lanemask_lt") return lanes(false, false);
  if (name == "%lanemask_le") return lanes(false, true);
  if (name == "%lanemask_gt") return lanes(true, false);
  if (name == "%lanemask_ge") return lanes(true, true);
  if (name == "%cluster_ctarank") return ask("cluster_rank", word);
  if (name == "%cluster_nctarank") return ask("cluster_size", word);
  if (name == "WARP_SZ") return number(32, 32);
  for (const StringRef one : {"warpid", "nwarpid", "smid", "nsmid", "dynamic_smem_size"})
    if (name == ("%" + one).str()) return runtime(one, word, {}, Effect::none);
  if (name == "%clock64") return at_.CreateIntrinsic(Intrinsic::readcyclecounter, {}, {});
  if (name == "%clock" || name == "%clock_lo")
    return at_.CreateTrunc(at_.CreateIntrinsic(Intrinsic::readcyclecounter, {}, {}), word);
  if (name == "%clock_hi")
    return at_.CreateTrunc(at_.CreateLShr(at_.CreateIntrinsic(Intrinsic::readcyclecounter, {}, {}), 32), word);
  if (name == "%globaltimer") return runtime("globaltimer", integer(64), {}, Effect::memory);
  if (name == "%globaltimer_lo") return at_.CreateTrunc(runtime("globaltimer", integer(64), {}, Effect::memory), word);
  if (name == "%globaltimer_hi")
    return at_.CreateTrunc(at_.CreateLShr(runtime("globaltimer", integer(64), {}, Effect::memory), 32), word);
  return nullptr;
}

}  // namespace warpbook::emulator::ptx
