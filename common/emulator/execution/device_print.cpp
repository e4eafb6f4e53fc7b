/// `printf` in a kernel: its strings are looked at before it prints them.

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // of a string

/// Reads a string as the kernel would, to its end or its longest part that is printed.
void look_at(const char* text, std::size_t most, const void* pc) {
  if (text == nullptr) return;
  for (std::size_t i = 0; i < most && i < kMostBytes; ++i) {
    observer().access(*current_block, AccessKind::read, text + i, 1, pc);
    if (text[i] == '\0') return;
  }
}

/// Walks through a format's arguments. What it does not know ends it.
class Walk {
public:
  Walk(const char* format, const void* pc) : at_(format), pc_(pc) {}

  void go(std::va_list& arguments) {
    while ((at_ = std::strchr(at_, '%')) != nullptr) {
      ++at_;
      at_ += std::strspn(at_, "-+ #0");
      number(arguments);
      std::size_t most = kMostBytes;
      if (*at_ == '.') {
        ++at_;
        const int digits = number(arguments);
        if (digits >= 0) most = static_cast<std::size_t>(digits);
      }
      const char* const width = at_;
      at_ += std::strspn(at_, "hlqjzt");
      const bool is_long = at_ != width && *width != 'h';
      const char kind = *at_;
      if (kind == '\0') return;
      ++at_;
      if (kind == '%') continue;
      if (kind == 's')
        look_at(va_arg(arguments, const char*), most, pc_);
      else if (kind == 'p')
        va_arg(arguments, const void*);
      else if (std::strchr("diuoxXc", kind) != nullptr)
        is_long ? static_cast<void>(va_arg(arguments, std::int64_t)) : static_cast<void>(va_arg(arguments, int));
      else if (std::strchr("fFeEgGaA", kind) != nullptr)
        va_arg(arguments, double);
      else
        return;
    }
  }

private:
  int number(std::va_list& arguments) {
    if (*at_ == '*') {
      ++at_;
      return va_arg(arguments, int);
    }
    int value = 0;
    for (; *at_ >= '0' && *at_ <= '9'; ++at_) value = value * 10 + (*at_ - '0');
    return value;
  }

  const char* at_;
  const void* pc_;
};

}  // namespace
}  // namespace warpbook::emulator

// NOLINTBEGIN(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT int __warpbook_printf(const char* format, ...) {
  using namespace warpbook::emulator;
  std::va_list arguments;
  if (current_block != nullptr) {
    va_start(arguments, format);
    Walk(format, __builtin_return_address(0)).go(arguments);
    va_end(arguments);
  }
  va_start(arguments, format);
  const int printed = std::vprintf(format, arguments);
  va_end(arguments);
  return printed;
}
// NOLINTEND(readability-identifier-naming)
