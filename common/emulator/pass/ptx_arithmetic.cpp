// What threads compute by themselves.

#include <llvm/ADT/StringSwitch.h>

#include <algorithm>

#include "common/emulator/pass/ptx_emitter.hpp"

namespace warpbook::emulator::ptx {

using namespace llvm;

bool Emitter::arithmetic(StringRef name) {
  if (name == "mov") return move(), true;
  if (name == "cvt") return convert(), true;
  if (name == "cvta") return convert_address(), true;
  if (name == "setp" || name == "set") return compare(name == "setp"), true;
  if (name == "trap") return library("trap_thread", "v", at_.getVoidTy(), {}, Effect::memory), true;
  if (name == "nanosleep") {
    need_type();
    read(0, 32U);
    library("yield_thread", "v", at_.getVoidTy(), {}, Effect::convergent);
    return true;
  }
  const std::optional<Type> type = take_type();
  if (!type) return false;
  if (name == "addc" || name == "subc" || name == "madc" ||
      std::count(modifiers_.begin(), modifiers_.end(), "cc") != 0) {
    if (type->bits != 32 && type->bits != 64) return false;
    return add_with_carry(name, *type), true;
  }
  if (bits(name, *type) || fields(name, *type)) return true;
  if (type->is_narrow()) return narrow_arithmetic(name, *type);
  if (type->is_real()) return real_arithmetic(name, *type);
  return type->is_integer() && integer_arithmetic(name, *type);
}

/// What does not depend on what the bits mean.
bool Emitter::bits(StringRef name, Type type) {
  const auto both = [&](auto&& make) {
    write(0, make(read(1, type.bits), read(2, type.bits)));
    return true;
  };
  if (name == "and") return both([&](Value* a, Value* b) { return at_.CreateAnd(a, b); });
  if (name == "or") return both([&](Value* a, Value* b) { return at_.CreateOr(a, b); });
  if (name == "xor") return both([&](Value* a, Value* b) { return at_.CreateXor(a, b); });
  if (name == "not") return write(0, at_.CreateNot(read(1, type.bits))), true;
  if (name == "cnot")
    return write(0, at_.CreateZExt(at_.CreateICmpEQ(read(1, type.bits), number(type.bits, 0)), integer(type.bits))),
           true;
  if (name == "selp") return write(0, at_.CreateSelect(read(3, 1U), read(1, type.bits), read(2, type.bits))), true;
  if (name == "shl" || name == "shr") return write(0, shifted(name, type, read(1, type.bits), read(2, 32U))), true;
  if (name == "brev") return write(0, intrinsic(Intrinsic::bitreverse, {read(1, type.bits)})), true;
  if (name == "popc")
    return write(0, at_.CreateZExtOrTrunc(intrinsic(Intrinsic::ctpop, {read(1, type.bits)}), integer(32))), true;
  if (name == "clz")
    return write(0,
                 at_.CreateZExtOrTrunc(intrinsic(Intrinsic::ctlz, {read(1, type.bits), at_.getFalse()}), integer(32))),
           true;
  if (name == "shf") {
    const bool left = has("l");
    if (!left && !has("r")) return false;
    const bool clamps = has("clamp");
    if (!clamps && !has("wrap")) return false;
    Value* low = read(1, 32U);
    Value* high = read(2, 32U);
    Value* amount = read(3, 32U);
    Value* result = intrinsic(left ? Intrinsic::fshl : Intrinsic::fshr, {high, low, amount});
    if (clamps) result = at_.CreateSelect(at_.CreateICmpUGE(amount, number(32, 32)), left ? low : high, result);
    write(0, result);
    return true;
  }
  if (name == "lop3") {
    const std::optional<std::uint64_t> table = constant(operand(4));
    if (!table) return false;
    Value* in[3] = {read(1, 32U), read(2, 32U), read(3, 32U)};
    Value* result = number(32, 0);
    for (unsigned row = 0; row < 8; ++row) {
      if ((*table >> row & 1U) == 0) continue;
      Value* term = number(32, ~std::uint64_t{0});
      for (unsigned i = 0; i < 3; ++i)
        term = at_.CreateAnd(term, (row >> (2 - i) & 1U) != 0 ? in[i] : at_.CreateNot(in[i]));
      result = at_.CreateOr(result, term);
    }
    write(0, result);
    return true;
  }
  return false;
}

/// Shifts by the width and more move all bits out.
Emitter::Value* Emitter::shifted(StringRef name, Type type, Value* value, Value* amount) {
  const bool arithmetic = name == "shr" && type.is_signed();
  Value* most = number(32, type.bits - 1);
  Value* fits = at_.CreateICmpULE(amount, most);
  Value* by = at_.CreateZExtOrTrunc(intrinsic(Intrinsic::umin, {amount, most}), integer(type.bits));
  if (arithmetic) return at_.CreateAShr(value, by);
  return at_.CreateSelect(fits, name == "shl" ? at_.CreateShl(value, by) : at_.CreateLShr(value, by),
                          number(type.bits, 0));
}

/// Fields of bits, and bytes.
bool Emitter::fields(StringRef name, Type type) {
  const unsigned width = type.bits;
  const auto least = [&](Value* a, unsigned most) { return intrinsic(Intrinsic::umin, {a, number(32, most)}); };
  const auto byte = [&](std::size_t index) { return at_.CreateAnd(read(index, 32U), 0xff); };
  if (name == "bfe") {  // In twice the width all shifts are defined.
    llvm::Type* wide = integer(2 * width);
    Value* value = type.is_signed() ? at_.CreateSExt(read(1, width), wide) : at_.CreateZExt(read(1, width), wide);
    Value* from = at_.CreateZExt(least(byte(2), 2 * width - 1), wide);
    Value* length = byte(3);
    Value* empty = at_.CreateICmpEQ(length, number(32, 0));
    Value* rest =
        at_.CreateZExt(at_.CreateAnd(at_.CreateSub(number(32, 2 * width), least(length, width)), 2 * width - 1), wide);
    value = type.is_signed() ? at_.CreateAShr(value, from) : at_.CreateLShr(value, from);
    value = at_.CreateShl(value, rest);
    value = type.is_signed() ? at_.CreateAShr(value, rest) : at_.CreateLShr(value, rest);
    write(0, at_.CreateSelect(empty, number(width, 0), at_.CreateTrunc(value, integer(width))));
    return true;
  }
  if (name == "bfi") {
    llvm::Type* wide = integer(2 * width);
    Value* from = at_.CreateZExt(least(byte(3), width), wide);
    Value* ones = at_.CreateSub(at_.CreateShl(number(2 * width, 1), at_.CreateZExt(least(byte(4), width), wide)),
                                number(2 * width, 1));
    Value* mask = at_.CreateTrunc(at_.CreateShl(ones, from), integer(width));
    Value* value = at_.CreateTrunc(at_.CreateShl(at_.CreateZExt(read(1, width), wide), from), integer(width));
    write(0, at_.CreateOr(at_.CreateAnd(read(2, width), at_.CreateNot(mask)), at_.CreateAnd(value, mask)));
    return true;
  }
  if (name == "bfind") {
    const bool distance = has("shiftamt");
    Value* value = read(1, width);
    if (type.is_signed()) value = at_.CreateXor(value, at_.CreateAShr(value, width - 1));
    Value* zeros = at_.CreateZExtOrTrunc(intrinsic(Intrinsic::ctlz, {value, at_.getFalse()}), integer(32));
    Value* found = distance ? zeros : at_.CreateSub(number(32, width - 1), zeros);
    write(0, at_.CreateSelect(at_.CreateICmpEQ(value, number(width, 0)), number(32, ~std::uint64_t{0}), found));
    return true;
  }
  if (name == "prmt" && width == 32) {
    Value* bytes = at_.CreateOr(at_.CreateZExt(read(1, 32U), integer(64)),
                                at_.CreateShl(at_.CreateZExt(read(2, 32U), integer(64)), 32));
    Value* selector = read(3, 32U);
    Value* result = number(32, 0);
    for (unsigned i = 0; i < 4; ++i) {
      Value* place = at_.CreateZExt(at_.CreateShl(at_.CreateAnd(at_.CreateLShr(selector, 4 * i), 7), 3), integer(64));
      Value* chosen = at_.CreateTrunc(at_.CreateLShr(bytes, place), integer(8));
      Value* sign = at_.CreateICmpNE(at_.CreateAnd(selector, 8U << 4 * i), number(32, 0));
      chosen = at_.CreateSelect(sign, at_.CreateAShr(chosen, 7), chosen);
      result = at_.CreateOr(result, at_.CreateShl(at_.CreateZExt(chosen, integer(32)), 8 * i));
    }
    write(0, result);
    return true;
  }
  return false;
}

bool Emitter::integer_arithmetic(StringRef name, Type type) {
  const unsigned width = type.bits;
  const bool is_signed = type.is_signed();
  const auto a = [&] { return read(1, width); };
  const auto b = [&] { return read(2, width); };
  if (name == "add" || name == "sub") {
    const bool adds = name == "add";
    if (has("sat")) {
      if (!is_signed || width != 32) return false;
      return write(0, intrinsic(adds ? Intrinsic::sadd_sat : Intrinsic::ssub_sat, {a(), b()})), true;
    }
    return write(0, adds ? at_.CreateAdd(a(), b()) : at_.CreateSub(a(), b())), true;
  }
  if (name == "mul" || name == "mad") return multiply_add(name, type), true;
  if (name == "div") return write(0, is_signed ? at_.CreateSDiv(a(), b()) : at_.CreateUDiv(a(), b())), true;
  if (name == "rem") return write(0, is_signed ? at_.CreateSRem(a(), b()) : at_.CreateURem(a(), b())), true;
  if (name == "min" || name == "max") {
    const bool least = name == "min";
    const Intrinsic::ID id =
        is_signed ? (least ? Intrinsic::smin : Intrinsic::smax) : (least ? Intrinsic::umin : Intrinsic::umax);
    return write(0, intrinsic(id, {a(), b()})), true;
  }
  if (name == "neg") return write(0, at_.CreateNeg(a())), true;
  if (name == "abs") return write(0, intrinsic(Intrinsic::abs, {a(), at_.getFalse()})), true;
  if (name == "sad") {
    Value* most = intrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, {a(), b()});
    Value* least = intrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, {a(), b()});
    return write(0, at_.CreateAdd(at_.CreateSub(most, least), read(3, width))), true;
  }
  if (name == "dp4a" || name == "dp2a") {  // The type that was taken is b's; a's stands before it.
    const std::optional<Type> first = take_type();
    if (name != "dp4a" || !first) return false;
    Value* sum = read(3, 32U);
    for (unsigned i = 0; i < 4; ++i) {
      const auto part = [&](std::size_t index, bool sign) {
        Value* byte = at_.CreateTrunc(at_.CreateLShr(read(index, 32U), 8 * i), integer(8));
        return sign ? at_.CreateSExt(byte, integer(32)) : at_.CreateZExt(byte, integer(32));
      };
      sum = at_.CreateAdd(sum, at_.CreateMul(part(1, first->is_signed()), part(2, is_signed)));
    }
    return write(0, sum), true;
  }
  return false;
}

void Emitter::multiply_add(StringRef name, Type type) {
  const unsigned width = type.bits;
  llvm::Type* wide = integer(2 * width);
  const bool low = has("lo");
  const bool high = !low && has("hi");
  if (!low && !high && !has("wide")) return fail("\"" + now_->name + "\" is one of .lo, .hi and .wide");
  const auto extended = [&](std::size_t index) {
    Value* value = read(index, width);
    return type.is_signed() ? at_.CreateSExt(value, wide) : at_.CreateZExt(value, wide);
  };
  Value* product = nullptr;
  if (low)
    product = at_.CreateMul(read(1, width), read(2, width));
  else
    product = at_.CreateMul(extended(1), extended(2));
  if (high) product = at_.CreateTrunc(at_.CreateLShr(product, width), integer(width));
  if (name == "mad") {
    const unsigned bits = product->getType()->getIntegerBitWidth();
    if (high && has("sat") && type.is_signed())
      product = intrinsic(Intrinsic::sadd_sat, {product, read(3, bits)});
    else
      product = at_.CreateAdd(product, read(3, bits));
  }
  write(0, product);
}

/// The carry of one statement's instructions, from one to the next.
AllocaInst* Emitter::carry() {
  if (carry_ == nullptr) carry_ = make_place(1, "ptx.carry");
  return carry_;
}

void Emitter::add_with_carry(StringRef name, Type type) {
  const unsigned width = type.bits;
  const bool sets = has("cc");
  const bool uses = name.ends_with("c");
  const bool subtracts = name.starts_with("sub");
  llvm::Type* wide = integer(2 * width);
  Value* left = nullptr;
  Value* right = nullptr;
  if (name.starts_with("mad")) {
    const bool high = has("hi");
    if (!high && !has("lo")) return fail("\"" + now_->name + "\" is one of .lo and .hi");
    const auto extended = [&](std::size_t index) {
      return type.is_signed() ? at_.CreateSExt(read(index, width), wide) : at_.CreateZExt(read(index, width), wide);
    };
    Value* product = at_.CreateMul(extended(1), extended(2));
    left = at_.CreateTrunc(high ? at_.CreateLShr(product, width) : product, integer(width));
    right = read(3, width);
  } else {
    left = read(1, width);
    right = read(2, width);
  }
  Value* in = uses ? at_.CreateZExt(at_.CreateLoad(integer(1), carry()), wide) : number(2 * width, 0);
  left = at_.CreateZExt(left, wide);
  right = at_.CreateZExt(right, wide);
  Value* sum =
      subtracts ? at_.CreateSub(at_.CreateSub(left, right), in) : at_.CreateAdd(at_.CreateAdd(left, right), in);
  if (sets) at_.CreateStore(at_.CreateTrunc(at_.CreateLShr(sum, width), integer(1)), carry());
  write(0, at_.CreateTrunc(sum, integer(width)));
}

// ---- Floats

/// Of float, what is too small to be normal becomes zero.
Emitter::Value* Emitter::flushed(Value* value) {
  Value* small = at_.CreateFCmpOLT(intrinsic(Intrinsic::fabs, {value}), ConstantFP::get(value->getType(), 0x1p-126));
  return at_.CreateSelect(small, intrinsic(Intrinsic::copysign, {ConstantFP::get(value->getType(), 0.0), value}),
                          value);
}

Emitter::Value* Emitter::finished(Value* value, bool flush, bool saturate) {
  if (flush) value = flushed(value);
  if (!saturate) return value;
  Value* positive = intrinsic(Intrinsic::maxnum, {value, ConstantFP::get(value->getType(), 0.0)});
  return intrinsic(Intrinsic::minnum, {positive, ConstantFP::get(value->getType(), 1.0)});
}

bool Emitter::real_arithmetic(StringRef name, Type type) {
  const bool flush = has("ftz") && type.bits == 32;
  const bool saturate = has("sat");
  const bool nearest = has("rn");
  const bool approximate = has_any({"approx", "full"});
  const bool nan = has("NaN");
  const auto in = [&](std::size_t index) {
    Value* value = read(index, type);
    return flush ? flushed(value) : value;
  };
  const auto out = [&](Value* value) { return write(0, finished(value, flush, saturate)), true; };
  // Without a rounding, a product and a sum may become one operation.
  FastMathFlags flags;
  if (!nearest) flags.setAllowContract(true);
  const auto sum = [&](auto&& make) {
    Value* value = make();
    if (auto* instruction = dyn_cast<llvm::Instruction>(value); instruction != nullptr)
      instruction->setFastMathFlags(flags);
    return out(value);
  };
  Value* one = ConstantFP::get(at_.getContext(), type.bits == 64 ? APFloat(1.0) : APFloat(1.0F));
  if (const unsigned mode = directed(has("rm") ? "rm" : has("rp") ? "rp" : has("rz") ? "rz" : ""); mode != 0) {
    const unsigned operation = StringSwitch<unsigned>(name)
                                   .Case("add", 0)
                                   .Case("sub", 1)
                                   .Case("mul", 2)
                                   .Cases("div", "rcp", 3)
                                   .Case("sqrt", 4)
                                   .Cases("fma", "mad", 5)
                                   .Default(6);
    if (operation == 6) return false;
    Value* a = name == "rcp" ? one : in(1);
    Value* b = name == "rcp" ? in(1) : operation == 4 ? a : in(2);
    return out(rounded(mode, operation, a, b, operation == 5 ? in(3) : b));
  }
  if (name == "add") return sum([&] { return at_.CreateFAdd(in(1), in(2)); });
  if (name == "sub") return sum([&] { return at_.CreateFSub(in(1), in(2)); });
  if (name == "mul") return sum([&] { return at_.CreateFMul(in(1), in(2)); });
  if (name == "fma" || name == "mad")
    return out(at_.CreateIntrinsic(Intrinsic::fma, {in(1)->getType()}, {in(1), in(2), in(3)}));
  if (name == "div") return out(at_.CreateFDiv(in(1), in(2)));
  if (name == "neg") return out(at_.CreateFNeg(in(1)));
  if (name == "abs") return out(intrinsic(Intrinsic::fabs, {in(1)}));
  if (name == "min") return out(intrinsic(nan ? Intrinsic::minimum : Intrinsic::minnum, {in(1), in(2)}));
  if (name == "max") return out(intrinsic(nan ? Intrinsic::maximum : Intrinsic::maxnum, {in(1), in(2)}));
  if (name == "copysign") return out(intrinsic(Intrinsic::copysign, {in(2), in(1)}));
  if (name == "sqrt") return out(intrinsic(Intrinsic::sqrt, {in(1)}));
  if (name == "rcp") return out(at_.CreateFDiv(one, in(1)));
  if (!approximate) return false;
  if (name == "rsqrt") return out(at_.CreateFDiv(one, intrinsic(Intrinsic::sqrt, {in(1)})));
  if (name == "tanh" && type.bits == 32) return out(call("tanhf", at_.getFloatTy(), {in(1)}, Effect::none));
  const Intrinsic::ID id = StringSwitch<Intrinsic::ID>(name)
                               .Case("ex2", Intrinsic::exp2)
                               .Case("lg2", Intrinsic::log2)
                               .Case("sin", Intrinsic::sin)
                               .Case("cos", Intrinsic::cos)
                               .Default(Intrinsic::not_intrinsic);
  return id != Intrinsic::not_intrinsic && out(intrinsic(id, {in(1)}));
}

/// A rounding other than to the nearest, as Rounding counts; 0 for all else.
unsigned Emitter::directed(StringRef rounding) {
  return StringSwitch<unsigned>(rounding).Case("rm", 1).Case("rp", 2).Case("rz", 3).Default(0);
}

/// A conversion in such a rounding; `from` is how the names of functions have the value's type.
Emitter::Value* Emitter::converted(unsigned mode, Value* value, llvm::Type* to, StringRef from) {
  return library(to->isDoubleTy() ? "rounded_double" : "rounded_float", ("NS0_8RoundingE" + from).str(), to,
                 {number(32, mode), value}, Effect::none);
}

/// One operation in such a rounding, which Rounded counts.
Emitter::Value* Emitter::rounded(unsigned mode, unsigned operation, Value* a, Value* b, Value* c) {
  llvm::Type* type = a->getType();
  const std::string parameters = std::string("NS0_8RoundingENS0_7RoundedE") + (type->isDoubleTy() ? "ddd" : "fff");
  return library("rounded", parameters, type, {number(32, mode), number(32, operation), a, b, c}, Effect::none);
}

/// Halves and bfloat16, or pairs of them: the library computes as the functions of cuda_fp16.h do.
bool Emitter::narrow_arithmetic(StringRef name, Type type) {
  const int operation = StringSwitch<int>(name)
                            .Case("add", 0)
                            .Case("sub", 1)
                            .Case("mul", 2)
                            .Case("fma", 3)
                            .Case("neg", 4)
                            .Case("abs", 5)
                            .Case("min", 6)
                            .Case("max", 7)
                            .Case("ex2", 8)
                            .Case("tanh", 9)
                            .Default(-1);
  if (operation < 0) return false;
  has_any({"rn", "approx", "noftz", "ftz"});  // A half's small values are kept.
  unsigned flags = type.kind == Type::Kind::bfloat ? 1U : 0U;
  flags |= has("sat") ? 2U : 0U;
  flags |= has("NaN") ? 4U : 0U;
  flags |= has("relu") ? 8U : 0U;
  Value* in[3] = {number(32, 0), number(32, 0), number(32, 0)};
  for (std::size_t i = 0; i + 1 < operands() && i < 3; ++i) in[i] = at_.CreateZExt(read(i + 1, type.bits), integer(32));
  Value* result =
      runtime("narrow", integer(32),
              {number(32, static_cast<unsigned>(operation)), number(32, flags), in[0], in[1], in[2]}, Effect::none);
  write(0, at_.CreateTrunc(result, integer(type.bits)));
  return true;
}

// ---- Moves, conversions, comparisons

void Emitter::move() {
  const Type type = need_type();
  write(0, read(1, type.bits));
}

void Emitter::convert_address() {
  const bool to = has("to");
  const std::optional<Type> type = take_type();
  const bool shared = has_any({"shared", "shared::cta"});
  if (!shared && !has_any({"global", "local", "const"}))
    return fail("\"" + now_->name + "\" names no space that is emulated");
  if (!type || type->bits == 32) return fail("\"" + now_->name + "\": addresses have 64 bits");
  if (!shared) return write(0, read(1, 64U));
  Value* result = nullptr;
  if (to)
    result = runtime("shared_address", integer(64), {at_.CreateIntToPtr(read(1, 64U), at_.getPtrTy())}, Effect::none);
  else
    result = at_.CreatePtrToInt(runtime("shared_pointer", at_.getPtrTy(), {read(1, 64U)}, Effect::none), integer(64));
  write(0, result);
}

/// A half or bfloat16 as a float.
Emitter::Value* Emitter::widened(Value* value, Type type) {
  if (type.kind == Type::Kind::bfloat)
    return at_.CreateBitCast(at_.CreateShl(at_.CreateZExt(value, integer(32)), 16), at_.getFloatTy());
  return at_.CreateFPExt(at_.CreateBitCast(value, at_.getHalfTy()), at_.getFloatTy());
}

/// The bits of a half, bfloat16 or tf32 from a float.
Emitter::Value* Emitter::narrowed(Value* value, Type type, StringRef rounding) {
  const unsigned kind = type.kind == Type::Kind::half ? 0 : type.kind == Type::Kind::bfloat ? 1 : 2;
  const int mode = StringSwitch<int>(rounding).Case("rn", 0).Case("rz", 1).Case("rna", 2).Default(-1);
  if (mode < 0 || (mode == 2 && kind != 2)) fail("\"" + now_->name + "\" is not emulated: this rounding");
  if (kind == 0 && mode == 0) return at_.CreateBitCast(at_.CreateFPTrunc(value, at_.getHalfTy()), integer(16));
  Value* bits = runtime("narrowed", integer(32), {value, number(32, kind), number(32, static_cast<unsigned>(mode))},
                        Effect::none);
  return kind == 2 ? bits : at_.CreateTrunc(bits, integer(16));
}

void Emitter::convert() {
  const std::optional<Type> from_type = take_type();
  const std::optional<Type> to_type = take_type();
  if (!from_type || !to_type) return fail("\"" + now_->name + "\" is not emulated: its types");
  const Type from = *from_type;
  const Type to = *to_type;
  std::string rounding;
  for (const char* mode : {"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"})
    if (has(mode)) rounding = mode;
  const bool flush = has("ftz");
  const bool saturate = has("sat");
  const bool rectify = has("relu");
  const auto real = [&](std::size_t index) -> Value* {
    Value* value = from.is_narrow() ? widened(read(index, from.bits), from) : read(index, from);
    if (flush && value->getType()->isFloatTy() && from.is_real()) value = flushed(value);
    if (rectify) value = intrinsic(Intrinsic::maxnum, {value, ConstantFP::get(value->getType(), 0.0)});
    return value;
  };
  const bool from_real = from.is_real() || from.is_narrow();
  if (!from.is_real() && !from.is_narrow() && !from.is_integer()) return fail("\"" + now_->name + "\" is not emulated");
  if (from.is_narrow() && from.bits == 32) return fail("\"" + now_->name + "\" is not emulated: from a pair");
  if (to.is_narrow() && to.bits == 32) {  // Two floats: the first one goes to the upper half.
    if (!from.is_real() || from.bits != 32) return fail("\"" + now_->name + "\" is not emulated");
    Value* high = at_.CreateZExt(narrowed(finished(real(1), false, saturate), to, rounding), integer(32));
    Value* low = at_.CreateZExt(narrowed(finished(real(2), false, saturate), to, rounding), integer(32));
    return write(0, at_.CreateOr(at_.CreateShl(high, 16), low));
  }
  const auto whole = [&](Value* value) -> Value* {  // to an integer's value, still a float
    const Intrinsic::ID id = StringSwitch<Intrinsic::ID>(rounding)
                                 .Case("rni", Intrinsic::roundeven)
                                 .Case("rzi", Intrinsic::trunc)
                                 .Case("rmi", Intrinsic::floor)
                                 .Case("rpi", Intrinsic::ceil)
                                 .Default(Intrinsic::not_intrinsic);
    return id == Intrinsic::not_intrinsic ? value : intrinsic(id, {value});
  };
  if (to.is_integer() && from_real) {
    if (rounding.size() != 3 || rounding == "rna") return fail("\"" + now_->name + "\" lacks a rounding to integers");
    Value* value = whole(real(1));
    const bool sign = to.is_signed();
    // As C++'s conversions, which the pass that defines these knows.
    Value* result = at_.CreateIntrinsic(sign ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                        {integer(to.bits), value->getType()}, {value});
    return write(0, result);
  }
  if (to.is_integer()) {
    Value* value = read(1, from.bits);
    if (saturate) {
      // Into the narrower range: first in a type that holds both.
      const unsigned wide = std::max(from.bits, to.bits) + 1;
      value = from.is_signed() ? at_.CreateSExt(value, integer(wide)) : at_.CreateZExt(value, integer(wide));
      const APInt most =
          to.is_signed() ? APInt::getSignedMaxValue(to.bits).sext(wide) : APInt::getMaxValue(to.bits).zext(wide);
      const APInt least = to.is_signed() ? APInt::getSignedMinValue(to.bits).sext(wide) : APInt(wide, 0);
      value = intrinsic(Intrinsic::smin, {value, ConstantInt::get(integer(wide), most)});
      value = intrinsic(Intrinsic::smax, {value, ConstantInt::get(integer(wide), least)});
      value = at_.CreateTrunc(value, integer(to.bits));
    } else {
      value = from.is_signed() ? at_.CreateSExtOrTrunc(value, integer(to.bits))
                               : at_.CreateZExtOrTrunc(value, integer(to.bits));
    }
    // A register that is wider than the type gets the sign as well.
    const unsigned bits = std::max(bits_of(operand(0)), to.bits);
    return write(0, to.is_signed() ? at_.CreateSExt(value, integer(bits)) : value);
  }
  if (from.is_integer()) {
    llvm::Type* type = to.is_real() && to.bits == 64 ? at_.getDoubleTy() : at_.getFloatTy();
    if (to.kind == Type::Kind::bfloat || to.kind == Type::Kind::tf32)
      return fail("\"" + now_->name + "\" is not emulated");
    Value* value = read(1, from.bits);
    if (const unsigned mode = directed(rounding); mode != 0 && to.is_real()) {
      value = from.is_signed() ? at_.CreateSExt(value, integer(64)) : at_.CreateZExt(value, integer(64));
      return write(0, finished(converted(mode, value, type, from.is_signed() ? "x" : "y"), false, saturate));
    }
    if (rounding != "rn") return fail("\"" + now_->name + "\" is not emulated: this rounding");
    value = from.is_signed() ? at_.CreateSIToFP(value, type) : at_.CreateUIToFP(value, type);
    return write(0, to.is_real() ? finished(value, false, saturate) : narrowed(value, to, "rn"));
  }
  Value* value = real(1);
  if (!to.is_real()) {
    if (value->getType()->isDoubleTy()) return fail("\"" + now_->name + "\" is not emulated: from f64");
    return write(0, narrowed(finished(value, false, saturate), to, rounding));
  }
  if (to.bits == from.bits && from.is_real()) return write(0, finished(whole(value), flush, saturate));
  if (to.bits == 64) {
    if (value->getType()->isFloatTy()) value = at_.CreateFPExt(value, at_.getDoubleTy());
  } else if (value->getType()->isDoubleTy()) {
    const unsigned mode = directed(rounding);
    if (mode == 0 && rounding != "rn") return fail("\"" + now_->name + "\" is not emulated: this rounding");
    value = mode == 0 ? at_.CreateFPTrunc(value, at_.getFloatTy()) : converted(mode, value, at_.getFloatTy(), "d");
  }
  write(0, finished(value, flush && to.bits == 32, saturate));
}

/// The result of one comparison; nullptr where there is none of this name.
Emitter::Value* Emitter::compared(StringRef how, Type type, Value* a, Value* b) {
  using Predicate = CmpInst::Predicate;
  constexpr Predicate kNone = CmpInst::BAD_ICMP_PREDICATE;
  if (type.is_real() || type.is_narrow()) {
    const Predicate predicate = StringSwitch<Predicate>(how)
                                    .Case("eq", CmpInst::FCMP_OEQ)
                                    .Case("ne", CmpInst::FCMP_ONE)
                                    .Case("lt", CmpInst::FCMP_OLT)
                                    .Case("le", CmpInst::FCMP_OLE)
                                    .Case("gt", CmpInst::FCMP_OGT)
                                    .Case("ge", CmpInst::FCMP_OGE)
                                    .Case("equ", CmpInst::FCMP_UEQ)
                                    .Case("neu", CmpInst::FCMP_UNE)
                                    .Case("ltu", CmpInst::FCMP_ULT)
                                    .Case("leu", CmpInst::FCMP_ULE)
                                    .Case("gtu", CmpInst::FCMP_UGT)
                                    .Case("geu", CmpInst::FCMP_UGE)
                                    .Case("num", CmpInst::FCMP_ORD)
                                    .Case("nan", CmpInst::FCMP_UNO)
                                    .Default(kNone);
    return predicate == kNone ? nullptr : at_.CreateFCmp(predicate, a, b);
  }
  const bool sign = type.is_signed();
  const Predicate predicate = StringSwitch<Predicate>(how)
                                  .Case("eq", CmpInst::ICMP_EQ)
                                  .Case("ne", CmpInst::ICMP_NE)
                                  .Case("lt", sign ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT)
                                  .Case("le", sign ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE)
                                  .Case("gt", sign ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT)
                                  .Case("ge", sign ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE)
                                  .Case("lo", CmpInst::ICMP_ULT)
                                  .Case("ls", CmpInst::ICMP_ULE)
                                  .Case("hi", CmpInst::ICMP_UGT)
                                  .Case("hs", CmpInst::ICMP_UGE)
                                  .Default(kNone);
  return predicate == kNone ? nullptr : at_.CreateICmp(predicate, a, b);
}

void Emitter::compare(bool to_predicate) {
  const Type type = need_type();
  const Type result = to_predicate ? Type{Type::Kind::predicate, 1} : need_type();
  const bool flush = has("ftz");
  if (modifiers_.empty() || (type.is_narrow() && type.bits == 32))
    return fail("\"" + now_->name + "\" is not emulated");
  const std::string how = modifiers_.front();
  modifiers_.erase(modifiers_.begin());
  const auto in = [&](std::size_t index) -> Value* {
    if (type.is_narrow()) return widened(read(index, type.bits), type);
    Value* value = read(index, type);
    return flush && type.is_real() ? flushed(value) : value;
  };
  Value* found = compared(how, type, in(1), in(2));
  if (found == nullptr) return fail("\"" + now_->name + "\" is not emulated: ." + how);
  Value* opposite = at_.CreateNot(found);
  const bool combines = !modifiers_.empty();
  if (combines) {
    const bool with_and = has("and");
    const bool with_or = !with_and && has("or");
    if (!with_and && !with_or && !has("xor")) return;
    Value* other = read(3, 1U);
    const auto combine = [&](Value* value) {
      return with_and  ? at_.CreateAnd(value, other)
             : with_or ? at_.CreateOr(value, other)
                       : at_.CreateXor(value, other);
    };
    found = combine(found);
    opposite = combine(opposite);
  }
  if (to_predicate) {
    write(0, found);
    if (!operand(0).second.empty()) write(operand(0).second.front(), opposite);
  } else if (result.is_real()) {
    write(0, at_.CreateUIToFP(found, at_.getFloatTy()));
  } else {
    write(0, at_.CreateSExt(found, integer(result.bits)));
  }
}

}  // namespace warpbook::emulator::ptx
