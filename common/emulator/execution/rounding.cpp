/// \file
/// One operation of the host's, rounded as it is asked to be.

#include <cfenv>
#include <cmath>

#include "common/emulator/include/warpbook_builtins.h"

namespace warpbook::emulator {
namespace {

/// What `make` gives where the processor rounds in this way. It reads its operands from volatile objects and its result
/// goes to one, so that no compiler takes the operation to where the processor rounds otherwise.
template <class Make> auto in_mode(Rounding rounding, Make&& make) {
  const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  std::fesetround(modes[static_cast<int>(rounding)]);
  const volatile auto result = make();
  std::fesetround(FE_TONEAREST);
  return static_cast<decltype(make())>(result);
}

template <class T> T compute(Rounding rounding, Rounded operation, T x, T y, T z) {
  const volatile T operands[] = {x, y, z};
  return in_mode(rounding, [&]() -> T {
    switch (operation) {
    case Rounded::add:
      return operands[0] + operands[1];
    case Rounded::subtract:
      return operands[0] - operands[1];
    case Rounded::multiply:
      return operands[0] * operands[1];
    case Rounded::divide:
      return operands[0] / operands[1];
    case Rounded::root:
      return std::sqrt(operands[0]);
    case Rounded::multiply_add:
      return std::fma(operands[0], operands[1], operands[2]);
    }
    return {};
  });
}

template <class To, class From> To convert(Rounding rounding, From x) {
  const volatile From operand = x;
  return in_mode(rounding, [&] { return static_cast<To>(operand); });
}

}  // namespace

float rounded(Rounding rounding, Rounded operation, float x, float y, float z) noexcept {
  return compute(rounding, operation, x, y, z);
}
double rounded(Rounding rounding, Rounded operation, double x, double y, double z) noexcept {
  return compute(rounding, operation, x, y, z);
}
float rounded_float(Rounding rounding, double x) noexcept { return convert<float>(rounding, x); }
float rounded_float(Rounding rounding, long long x) noexcept { return convert<float>(rounding, x); }
float rounded_float(Rounding rounding, unsigned long long x) noexcept { return convert<float>(rounding, x); }
double rounded_double(Rounding rounding, long long x) noexcept { return convert<double>(rounding, x); }
double rounded_double(Rounding rounding, unsigned long long x) noexcept { return convert<double>(rounding, x); }

}  // namespace warpbook::emulator
