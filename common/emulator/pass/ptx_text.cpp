#include "common/emulator/pass/ptx_text.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/bit.h>

#include <cctype>
#include <cstdlib>

namespace warpbook::emulator::ptx {
namespace {

using llvm::StringRef;

constexpr char kArgument = '\x01';  // stands before an argument's number

/// PTX as it was written, but for the arguments, and without comments.
std::string written(StringRef assembly) {
  std::string text;
  static unsigned statements = 0;
  ++statements;
  for (std::size_t i = 0; i < assembly.size(); ++i) {
    const char c = assembly[i];
    const char next = i + 1 < assembly.size() ? assembly[i + 1] : '\0';
    if (c == '%' && next == '%') continue;
    if (c == '/' && next == '/') {
      while (i + 1 < assembly.size() && assembly[i + 1] != '\n') ++i;
    } else if (c == '/' && next == '*') {
      const std::size_t end = assembly.find("*/", i + 2);
      i = end == StringRef::npos ? assembly.size() : end + 1;
      text += ' ';
    } else if (c != '$') {
      text += c;
    } else if (next == '(' || next == '|' || next == ')' || next == '$') {
      text += next == '(' ? '{' : next == ')' ? '}' : next;
      ++i;
    } else if (std::isdigit(static_cast<unsigned char>(next)) != 0) {
      text += kArgument;
    } else if (next == '{') {  // `${0:w}`, an argument with a modifier; `${:uid}`, a number of the statement's own
      const std::size_t end = assembly.find('}', i);
      const StringRef inside = assembly.slice(i + 2, end).split(':').first;
      text += inside.empty() ? std::to_string(statements) : kArgument + inside.str();
      i = end;
    }
  }
  return text;
}

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || StringRef("_$%.").contains(c); }
bool goes_on(char c) { return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Parser {
public:
  explicit Parser(std::string text) : text_(std::move(text)) {}

  std::vector<Statement> run(std::string& error) {
    std::vector<Statement> statements;
    for (;;) {
      skip_space();
      if (at_ == text_.size() || !error_.empty()) break;
      const std::size_t begin = at_;
      Statement statement = next();
      statement.text = llvm::join(llvm::split(StringRef(text_).slice(begin, at_).rtrim("; \t\n"), kArgument), "%");
      statements.push_back(std::move(statement));
    }
    if (depth_ != 0 && error_.empty()) error_ = "a brace is not closed";
    error = error_;
    return error_.empty() ? statements : std::vector<Statement>{};
  }

private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (std::isspace(static_cast<unsigned char>(peek())) != 0) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void fail(const std::string& what) {
    if (!error_.empty()) return;
    const StringRef rest = StringRef(text_).substr(at_).take_until([](char c) { return c == ';' || c == '\n'; });
    error_ = what + (rest.trim().empty() ? "" : " at \"" + llvm::join(llvm::split(rest.trim(), kArgument), "%") + "\"");
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "' is missing");
  }

  /// A name with dots in it, or `::`.
  std::string word() {
    skip_space();
    const std::size_t begin = at_;
    if (!begins_word(peek())) fail("a name is missing");
    while (at_ < text_.size()) {
      if (goes_on(text_[at_]))
        ++at_;
      else if (StringRef(text_).substr(at_).starts_with("::"))
        at_ += 2;
      else
        break;
    }
    return text_.substr(begin, at_ - begin);
  }

  Statement next() {
    Statement statement;
    if (accept('{')) {
      statement.kind = Statement::Kind::open;
      ++depth_;
      return statement;
    }
    if (peek() == '}') {
      ++at_;
      statement.kind = Statement::Kind::close;
      if (depth_-- == 0) fail("a brace is closed that was not opened");
      return statement;
    }
    if (peek() == ';') {  // an empty one
      ++at_;
      statement.kind = Statement::Kind::registers;
      return statement;
    }
    if (accept('@')) statement.guard = operand();
    statement.name = word();
    if (!statement.guard && peek() == ':') {
      ++at_;
      statement.kind = Statement::Kind::label;
      return statement;
    }
    if (statement.name == ".reg") {
      registers(statement);
    } else {
      llvm::SmallVector<StringRef, 8> parts;
      StringRef(statement.name).split(parts, '.');
      for (const StringRef part : parts) statement.parts.push_back(part.str());
      skip_space();
      while (error_.empty() && peek() != ';' && peek() != '\0') {
        statement.operands.push_back(operand());
        if (!accept(',')) break;
      }
    }
    expect(';');
    return statement;
  }

  void registers(Statement& statement) {
    statement.kind = Statement::Kind::registers;
    statement.parts.push_back(word().substr(1));
    do {
      const std::string name = word();
      if (!accept('<')) {
        statement.registers.push_back(name);
        continue;
      }
      const Operand count = operand();
      for (std::uint64_t i = 0; i < count.bits && i < 4096; ++i)
        statement.registers.push_back(name + std::to_string(i));
      expect('>');
    } while (error_.empty() && accept(','));
  }

  Operand operand() {
    Operand result;
    skip_space();
    if (accept('{')) {
      result.kind = Operand::Kind::list;
      do result.parts.push_back(operand());
      while (error_.empty() && accept(','));
      expect('}');
    } else if (accept('[')) {
      result.kind = Operand::Kind::address;
      result.parts.push_back(operand());
      while (error_.empty() && peek() != ']') {
        const bool plus = accept('+');
        if (!plus && peek() != '-') break;
        result.parts.push_back(operand());
        skip_space();
      }
      expect(']');
    } else if (accept('!')) {
      result = operand();
      result.negated = !result.negated;
    } else if (accept('-')) {
      result = operand();
      result.bits = -result.bits;
      result.value = -result.value;
    } else if (peek() == kArgument) {
      ++at_;
      result.kind = Operand::Kind::argument;
      while (std::isdigit(static_cast<unsigned char>(peek())) != 0)
        result.argument = result.argument * 10 + static_cast<unsigned>(text_[at_++] - '0');
    } else if (std::isdigit(static_cast<unsigned char>(peek())) != 0) {
      number(result);
    } else {
      result.name = word();
    }
    if (accept('|')) result.second.push_back(operand());
    return result;
  }

  void number(Operand& result) {
    const char* const begin = text_.c_str() + at_;
    char* end = nullptr;
    const StringRef text(begin);
    if (text.starts_with_insensitive("0f") || text.starts_with_insensitive("0d")) {  // a float's bits
      const std::uint64_t bits = std::strtoull(begin + 2, &end, 16);
      result.kind = Operand::Kind::real;
      result.value = text[1] == 'f' || text[1] == 'F'
                         ? static_cast<double>(llvm::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                         : llvm::bit_cast<double>(bits);
    } else if (text.starts_with_insensitive("0b")) {
      result.kind = Operand::Kind::integer;
      result.bits = std::strtoull(begin + 2, &end, 2);
    } else {
      result.kind = Operand::Kind::integer;
      result.bits = std::strtoull(begin, &end, 0);
      if (*end == '.' || *end == 'e' || *end == 'E') {
        result.kind = Operand::Kind::real;
        result.value = std::strtod(begin, &end);
      } else if (*end == 'U' || *end == 'u') {
        ++end;
      }
    }
    at_ = static_cast<std::size_t>(end - text_.c_str());
  }

  std::string text_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  std::string error_;
};

}  // namespace

std::vector<Statement> parse(StringRef assembly, std::string& error) { return Parser(written(assembly)).run(error); }

}  // namespace warpbook::emulator::ptx
