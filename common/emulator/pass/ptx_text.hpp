/// \file
/// Inline PTX as text: what an `asm` statement says, instruction by instruction.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace warpbook::emulator::ptx {

/// What an instruction works on.
struct Operand {
  enum class Kind : std::uint8_t {
    name,      ///< a register, a special register or a label
    argument,  ///< `%0`: one of the statement's own
    integer,   ///< the number in `bits`
    real,      ///< the number in `value`
    address,   ///< `[base + offset]`; the base is in `parts`
    list       ///< `{a, b}`
  };
  Kind kind = Kind::name;
  std::string name;
  unsigned argument = 0;
  std::uint64_t bits = 0;
  double value = 0;
  bool negated = false;         ///< `!p`
  std::vector<Operand> parts;   ///< of an address or a list
  std::vector<Operand> second;  ///< of `d|p`: p
};

/// An instruction, a label or a declaration.
struct Statement {
  enum class Kind : std::uint8_t { instruction, label, registers, open, close };
  Kind kind = Kind::instruction;
  std::string text;                ///< as it was written
  std::string name;                ///< of a label; of an instruction, its name with all modifiers
  std::vector<std::string> parts;  ///< the name, cut at its dots; of registers, the type
  std::vector<Operand> operands;
  std::vector<std::string> registers;
  std::optional<Operand> guard;  ///< `@p`
};

/// The statements of an asm string as LLVM has it: `$0` for an argument, `$$` for a dollar, `$(` for a brace. Empty,
/// and `error` says why, where it cannot be read.
std::vector<Statement> parse(llvm::StringRef assembly, std::string& error);

}  // namespace warpbook::emulator::ptx
