/// \file
/// Makes the compiler's representation of one inline PTX statement. Registers are local variables, which the optimiser
/// makes values of; what asks for more than arithmetic, a load or a store is a call of the emulator's library.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>
#include <vector>

#include "common/emulator/pass/ptx_text.hpp"

namespace warpbook::emulator::ptx {

/// An instruction's type.
struct Type {
  enum class Kind : std::uint8_t { bits, is_unsigned, is_signed, real, half, bfloat, tf32, predicate };
  Kind kind = Kind::bits;
  unsigned bits = 32;

  bool is_signed() const { return kind == Kind::is_signed; }
  bool is_real() const { return kind == Kind::real; }
  bool is_narrow() const { return kind == Kind::half || kind == Kind::bfloat; }
  bool is_integer() const { return kind <= Kind::is_signed || kind == Kind::predicate; }
};
/// The type of this name, without its dot.
std::optional<Type> type_of(llvm::StringRef name);

/// Where an instruction's address points to.
enum class Space : std::uint8_t { generic, shared, cluster };

class Emitter {
public:
  explicit Emitter(llvm::CallInst& assembly);

  /// Puts what the statement says into its place. False where it cannot: `error` says why, and the function is broken.
  bool run();
  const std::string& error() const { return error_; }

private:
  using Value = llvm::Value;

  // ---- The statement as a whole (ptx_emitter.cpp)
  struct Register {
    llvm::AllocaInst* place = nullptr;  ///< nullptr: an argument that is only read
    Value* value = nullptr;
    unsigned bits = 0;
  };
  void emit_all(const std::vector<Statement>& statements);
  void leave_whole();
  void keep_order();
  bool bind_arguments(const std::vector<Statement>& statements);
  void make_results();
  void emit(const Statement& statement);
  void emit_instruction(const Statement& statement);
  bool dispatch();
  void branch();
  void declare(const Statement& statement);
  llvm::BasicBlock* label(const std::string& name);
  llvm::AllocaInst* make_place(unsigned bits, const llvm::Twine& name = "");
  void fail(const llvm::Twine& why);

  // ---- Reading and writing operands
  const Operand& operand(std::size_t index);
  std::size_t operands() const { return now_->operands.size(); }
  const Register* find(const Operand& operand);
  Value* special(llvm::StringRef name);
  Value* special_of_cluster(llvm::StringRef name, llvm::StringRef axis);
  Value* read(const Operand& operand, unsigned bits);
  Value* read(const Operand& operand, Type type);
  Value* read(std::size_t index, Type type) { return read(operand(index), type); }
  Value* read(std::size_t index, unsigned bits) { return read(operand(index), bits); }
  std::optional<std::uint64_t> constant(const Operand& operand);
  void write(const Operand& operand, Value* value);
  void write(std::size_t index, Value* value) { write(operand(index), value); }
  unsigned bits_of(const Operand& operand);

  // ---- Modifiers
  bool has(llvm::StringRef modifier);
  bool has_any(std::initializer_list<llvm::StringRef> modifiers);
  std::optional<Type> take_type();  ///< the last one that is a type
  Type need_type();

  // ---- Types and calls
  llvm::IntegerType* integer(unsigned bits) { return at_.getIntNTy(bits); }
  Value* number(unsigned bits, std::uint64_t value) {
    return llvm::ConstantInt::get(at_.getContext(), llvm::APInt(64, value).zextOrTrunc(bits));
  }
  Value* as_integer(Value* value);
  Value* as_type(Value* value, Type type);
  enum class Effect : std::uint8_t { none, memory, convergent };
  /// Calls a function of namespace warpbook::emulator; `parameters` is how its name ends.
  Value* library(llvm::StringRef name, llvm::StringRef parameters, llvm::Type* result, llvm::ArrayRef<Value*> arguments,
                 Effect effect);
  /// Calls `__warpbook_ptx_NAME`.
  Value* runtime(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<Value*> arguments, Effect effect);
  Value* call(const std::string& name, llvm::Type* result, llvm::ArrayRef<Value*> arguments, Effect effect);
  Value* intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> arguments);

  // ---- Arithmetic (ptx_arithmetic.cpp)
  bool arithmetic(llvm::StringRef name);
  bool integer_arithmetic(llvm::StringRef name, Type type);
  bool real_arithmetic(llvm::StringRef name, Type type);
  static unsigned directed(llvm::StringRef rounding);
  Value* rounded(unsigned mode, unsigned operation, Value* a, Value* b, Value* c);
  Value* converted(unsigned mode, Value* value, llvm::Type* to, llvm::StringRef from);
  bool narrow_arithmetic(llvm::StringRef name, Type type);
  bool bits(llvm::StringRef name, Type type);
  bool fields(llvm::StringRef name, Type type);
  void add_with_carry(llvm::StringRef name, Type type);
  void multiply_add(llvm::StringRef name, Type type);
  void move();
  void convert();
  void convert_address();
  void compare(bool to_predicate);
  Value* compared(llvm::StringRef how, Type type, Value* a, Value* b);
  Value* shifted(llvm::StringRef name, Type type, Value* value, Value* amount);
  Value* flushed(Value* value);
  Value* finished(Value* value, bool flush, bool saturate);
  Value* narrowed(Value* value, Type type, llvm::StringRef rounding);
  Value* widened(Value* bits, Type type);
  llvm::AllocaInst* carry();

  // ---- Memory (ptx_memory.cpp)
  bool memory(llvm::StringRef name);
  Value* address(const Operand& operand, Space space);
  std::optional<Space> space();
  void load(bool is_load);
  bool atomic(bool has_result);
  void copy_asynchronously();
  void fence();

  // ---- What a warp or a block does together (ptx_warp.cpp)
  bool collective(llvm::StringRef name);
  void cluster_barrier();
  void map_to_cluster();
  void shuffle();
  void vote();
  void match();
  void reduce();
  void barrier(bool of_warp);
  void matrix_rows(bool loads);
  void multiply_matrices();
  Value* pack(const Operand& list, unsigned registers);
  void unpack(const Operand& list, Value* place);

  llvm::Module& module_;
  llvm::CallInst& assembly_;
  llvm::IRBuilder<> at_;
  std::vector<llvm::StringMap<Register>> scopes_;
  std::vector<Register> arguments_;
  std::vector<unsigned> results_;  ///< which arguments these are
  llvm::StringMap<llvm::BasicBlock*> labels_;
  llvm::AllocaInst* carry_ = nullptr;
  const Statement* now_ = nullptr;
  bool may_repeat_ = false;             ///< the statement is in a loop, or has one
  std::vector<std::string> modifiers_;  ///< of the instruction, those that nobody took yet
  std::string error_;
};

}  // namespace warpbook::emulator::ptx
