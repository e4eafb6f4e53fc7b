// What the lanes of a warp, or the threads of a block, do together.

#include <llvm/ADT/StringSwitch.h>

#include <algorithm>

#include "common/emulator/pass/ptx_emitter.hpp"

namespace warpbook::emulator::ptx {

using namespace llvm;

bool Emitter::collective(StringRef name) {
  if (name == "shfl" || name == "vote" || name == "match" || name == "redux") {
    if (!has("sync")) return fail("\"" + now_->name + "\" is not emulated: only with .sync, as on newer cards"), true;
    if (name == "shfl") return shuffle(), true;
    if (name == "vote") return vote(), true;
    if (name == "match") return match(), true;
    return reduce(), true;
  }
  if (name == "activemask") {
    has("b32");
    return write(0, library("warp_active_mask", "v", integer(32), {}, Effect::convergent)), true;
  }
  if ((name == "bar" || name == "barrier") && has("cluster")) return cluster_barrier(), true;
  if (name == "bar" || name == "barrier") return barrier(has("warp")), true;
  if (name == "mapa") return map_to_cluster(), true;
  if (name == "ldmatrix" || name == "stmatrix") return matrix_rows(name == "ldmatrix"), true;
  if (name == "mma") return multiply_matrices(), true;
  return false;
}

void Emitter::cluster_barrier() {
  const bool arrives = has("arrive");
  if (!arrives && !has("wait")) return fail("\"" + now_->name + "\" is not emulated");
  has_any({"release", "acquire", "relaxed", "aligned"});
  library(arrives ? "cluster_arrive" : "cluster_wait", "v", at_.getVoidTy(), {}, Effect::convergent);
}

/// A place in shared memory, as the cluster's block of a rank has it.
void Emitter::map_to_cluster() {
  const Type type = need_type();
  const bool narrow = has("shared::cluster");
  if (!type.is_integer() || type.bits < 32) return fail("\"" + now_->name + "\" is not emulated");
  Value* own = read(1, type.bits);
  if (type.bits == 32) own = at_.CreateZExt(own, integer(64));
  own =
      narrow ? runtime("shared_pointer", at_.getPtrTy(), {own}, Effect::none) : at_.CreateIntToPtr(own, at_.getPtrTy());
  Value* there = library("map_to_cluster", "PKvj", at_.getPtrTy(), {own, read(2, 32U)}, Effect::convergent);
  Value* bits =
      narrow ? runtime("shared_address", integer(64), {there}, Effect::none) : at_.CreatePtrToInt(there, integer(64));
  write(0, at_.CreateTrunc(bits, integer(type.bits)));
}

void Emitter::shuffle() {
  has("b32");
  Value* value = at_.CreateZExt(read(1, 32U), integer(64));
  Value* by = at_.CreateAnd(read(2, 32U), 31);
  Value* limits = read(3, 32U);
  Value* members = read(4, 32U);
  Value* segment = at_.CreateAnd(at_.CreateLShr(limits, 8), 31);
  Value* clamp = at_.CreateAnd(limits, 31);
  Value* own = library("lane_index", "v", integer(32), {}, Effect::none);
  Value* first = at_.CreateAnd(own, segment);
  Value* last = at_.CreateOr(first, at_.CreateAnd(clamp, at_.CreateNot(segment)));
  Value* lane = nullptr;
  bool upwards = false;
  if (has("up")) {
    lane = at_.CreateSub(own, by);
    upwards = true;
  } else if (has("down")) {
    lane = at_.CreateAdd(own, by);
  } else if (has("bfly")) {
    lane = at_.CreateXor(own, by);
  } else if (has("idx")) {
    lane = at_.CreateOr(first, at_.CreateAnd(by, at_.CreateNot(segment)));
  } else {
    return fail("\"" + now_->name + "\" is not emulated");
  }
  Value* inside = upwards ? at_.CreateICmpSGE(lane, last) : at_.CreateICmpSLE(lane, last);
  Value* source = at_.CreateSelect(inside, lane, own);
  Value* found = library("warp_shuffle", "jmj", integer(64), {members, value, source}, Effect::convergent);
  write(0, at_.CreateTrunc(found, integer(32)));
  if (!operand(0).second.empty()) write(operand(0).second.front(), inside);
}

void Emitter::vote() {
  Value* members = read(2, 32U);
  Value* votes = library("warp_ballot", "jb", integer(64), {members, read(1, 1U)}, Effect::convergent);
  Value* yes = at_.CreateTrunc(votes, integer(32));
  Value* all = at_.CreateTrunc(at_.CreateLShr(votes, 32), integer(32));
  if (has("ballot")) {
    has("b32");
    return write(0, yes);
  }
  has("pred");
  Value* none = at_.CreateICmpEQ(yes, number(32, 0));
  Value* every = at_.CreateICmpEQ(yes, all);
  if (has("any")) return write(0, at_.CreateNot(none));
  if (has("all")) return write(0, every);
  if (has("uni")) return write(0, at_.CreateOr(none, every));
  fail("\"" + now_->name + "\" is not emulated");
}

void Emitter::match() {
  const bool any = has("any");
  if (!any && !has("all")) return fail("\"" + now_->name + "\" is not emulated");
  const Type type = need_type();
  Value* members = read(2, 32U);
  Value* value = at_.CreateZExt(read(1, type.bits), integer(64));
  Value* same = library("warp_match_any", "jm", integer(32), {members, value}, Effect::convergent);
  if (any) return write(0, same);
  Value* votes = library("warp_ballot", "jb", integer(64), {members, at_.getTrue()}, Effect::convergent);
  Value* every = at_.CreateICmpEQ(same, at_.CreateTrunc(votes, integer(32)));
  write(0, at_.CreateSelect(every, same, number(32, 0)));
  if (!operand(0).second.empty()) write(operand(0).second.front(), every);
}

void Emitter::reduce() {
  const Type type = need_type();
  const int operation = modifiers_.empty() ? -1
                                           : StringSwitch<int>(modifiers_.front())
                                                 .Case("add", 0)
                                                 .Case("min", type.is_signed() ? 2 : 1)
                                                 .Case("max", type.is_signed() ? 4 : 3)
                                                 .Case("and", 5)
                                                 .Case("or", 6)
                                                 .Case("xor", 7)
                                                 .Default(-1);
  if (operation < 0 || type.bits != 32 || !type.is_integer()) return fail("\"" + now_->name + "\" is not emulated");
  modifiers_.clear();
  write(0, runtime("reduce", integer(32), {number(32, static_cast<unsigned>(operation)), read(1, 32U), read(2, 32U)},
                   Effect::convergent));
}

void Emitter::barrier(bool of_warp) {
  has_any({"cta", "aligned"});
  if (of_warp) {
    if (!has("sync")) return fail("\"" + now_->name + "\" is not emulated");
    library("warp_barrier", "j", at_.getVoidTy(), {read(0, 32U)}, Effect::convergent);
    return;
  }
  const bool arrives = has("arrive");
  if (arrives || has("sync")) {
    Value* threads = operands() > 1 ? read(1, 32U) : number(32, 0);
    if (arrives && operands() != 2) return fail("\"" + now_->text + "\" lacks the number of threads");
    const std::optional<std::uint64_t> which = constant(operand(0));
    if (!arrives && operands() == 1 && which && *which == 0) {
      library("block_barrier", "b", integer(64), {at_.getFalse()}, Effect::convergent);
      return;
    }
    runtime("named_barrier", at_.getVoidTy(), {read(0, 32U), threads, arrives ? at_.getFalse() : at_.getTrue()},
            Effect::convergent);
    return;
  }
  if (!has("red")) return fail("\"" + now_->name + "\" is not emulated");
  const std::optional<std::uint64_t> which = constant(operand(1));
  if (operands() != 3 || !which || *which != 0)
    return fail("\"" + now_->text + "\" is not emulated: only barrier 0, of all threads");
  Value* result = library("block_barrier", "b", integer(64), {read(2, 1U)}, Effect::convergent);
  Value* yes = at_.CreateTrunc(result, integer(32));
  Value* all = at_.CreateTrunc(at_.CreateLShr(result, 32), integer(32));
  has_any({"pred", "u32"});
  if (has("popc")) return write(0, yes);
  if (has("and")) return write(0, at_.CreateICmpEQ(yes, all));
  if (has("or")) return write(0, at_.CreateICmpNE(yes, number(32, 0)));
  fail("\"" + now_->name + "\" is not emulated");
}

// ---- Matrices

namespace {

/// What the library is given is nothing that the kernel does to memory.
template <class Access> Access* unseen(Access* access) {
  access->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(access->getContext(), {}));
  return access;
}

}  // namespace

/// Puts registers into memory for the library.
Emitter::Value* Emitter::pack(const Operand& list, unsigned registers) {
  const bool single = list.kind != Operand::Kind::list;
  if ((single ? 1 : list.parts.size()) != registers) {
    fail("\"" + now_->name + "\" wants " + Twine(registers) + " registers where " +
         Twine(single ? 1 : list.parts.size()) + " are given");
    return PoisonValue::get(at_.getPtrTy());
  }
  const unsigned bits = bits_of(single ? list : list.parts.front()) == 64 ? 64 : 32;
  AllocaInst* place = make_place(bits * registers);
  place->setAlignment(Align(16));
  for (unsigned i = 0; i < registers; ++i)
    unseen(at_.CreateStore(read(single ? list : list.parts[i], bits),
                           at_.CreateConstInBoundsGEP1_32(integer(bits), place, i)));
  return place;
}

void Emitter::unpack(const Operand& list, Value* place) {
  const bool single = list.kind != Operand::Kind::list;
  const auto registers = static_cast<unsigned>(single ? 1 : list.parts.size());
  const unsigned bits = bits_of(single ? list : list.parts.front()) == 64 ? 64 : 32;
  for (unsigned i = 0; i < registers; ++i)
    write(single ? list : list.parts[i],
          unseen(at_.CreateLoad(integer(bits), at_.CreateConstInBoundsGEP1_32(integer(bits), place, i))));
}

/// `ldmatrix` and `stmatrix`, of matrices of 8 by 8 elements of 16 bits.
void Emitter::matrix_rows(bool loads) {
  has_any({"sync", "aligned"});
  const std::optional<Space> where = has_any({"shared", "shared::cta"}) ? Space::shared : Space::generic;
  const unsigned count = has("x1") ? 1 : has("x2") ? 2 : has("x4") ? 4 : 0;
  const bool transposes = has("trans");
  if (!has("m8n8") || !has("b16") || count == 0) return fail("\"" + now_->name + "\" is not emulated");
  const Operand& list = operand(loads ? 0 : 1);
  Value* row = address(operand(loads ? 1 : 0), *where);
  if (!error_.empty()) return;
  Value* transposed = transposes ? at_.getTrue() : at_.getFalse();
  if (loads) {
    if ((list.kind == Operand::Kind::list ? list.parts.size() : 1) != count)
      return fail("\"" + now_->text + "\" wants " + Twine(count) + " registers");
    AllocaInst* place = make_place(32 * count);
    place->setAlignment(Align(16));
    runtime("load_matrix", at_.getVoidTy(), {place, row, number(32, count), transposed}, Effect::convergent);
    unpack(list, place);
  } else {
    Value* place = pack(list, count);
    if (!error_.empty()) return;
    runtime("store_matrix", at_.getVoidTy(), {row, place, number(32, count), transposed}, Effect::convergent);
  }
}

/// `mma.sync`. The library is told the types by these numbers (include/warpbook_matrices.h).
void Emitter::multiply_matrices() {
  has_any({"sync", "aligned"});
  const bool saturates = has("satfinite");
  if (!has("row") || !has("col")) return fail("\"" + now_->name + "\" is not emulated: A is in .row, B in .col");
  const auto number_of = [](StringRef name) {
    return StringSwitch<int>(name)
        .Case("f16", 0)
        .Case("bf16", 1)
        .Case("tf32", 2)
        .Case("f32", 3)
        .Case("f64", 4)
        .Case("s8", 5)
        .Case("u8", 6)
        .Case("s32", 7)
        .Default(-1);
  };
  if (modifiers_.size() != 5) return fail("\"" + now_->name + "\" is not emulated");
  const StringRef shape = modifiers_[0];
  int types[4];
  for (unsigned i = 0; i < 4; ++i) types[i] = number_of(modifiers_[i + 1]);
  const auto [d, a, b, c] = types;
  constexpr int kInteger = 7;
  struct Form {
    const char* shape;
    const char* kind;
    unsigned m, n, k;
  };
  static constexpr Form kForms[] = {{"m16n8k8", "half", 16, 8, 8},    {"m16n8k16", "half", 16, 8, 16},
                                    {"m16n8k4", "tf32", 16, 8, 4},    {"m16n8k8", "tf32", 16, 8, 8},
                                    {"m8n8k4", "f64", 8, 8, 4},       {"m8n8k16", "bytes", 8, 8, 16},
                                    {"m16n8k16", "bytes", 16, 8, 16}, {"m16n8k32", "bytes", 16, 8, 32}};
  const auto is_byte = [](int type) { return type == 5 || type == 6; };
  StringRef kind;
  if (a == 0 && b == 0 && (c == 0 || c == 3) && (d == 0 || d == 3)) kind = "half";
  if (a == 1 && b == 1 && c == 3 && d == 3) kind = "half";
  if (a == 2 && b == 2 && c == 3 && d == 3) kind = "tf32";
  if (a == 4 && b == 4 && c == 4 && d == 4) kind = "f64";
  if (is_byte(a) && is_byte(b) && c == kInteger && d == kInteger) kind = "bytes";
  const Form* form = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const Form& one) { return shape == one.shape && kind == one.kind; });
  if (form == std::end(kForms)) return fail("\"" + now_->name + "\" is not emulated: this shape with these types");
  modifiers_.clear();
  const auto registers = [&](unsigned elements, int type) {
    const unsigned bytes = type == 4 ? 8 : type <= 1 ? 2 : is_byte(type) ? 1 : 4;
    return elements * bytes / 32 / (type == 4 ? 8 : 4);
  };
  Value* in_a = pack(operand(1), registers(form->m * form->k, a));
  Value* in_b = pack(operand(2), registers(form->k * form->n, b));
  Value* in_c = pack(operand(3), registers(form->m * form->n, c));
  const unsigned results = registers(form->m * form->n, d);
  const Operand& list = operand(0);
  if (error_.empty() && (list.kind == Operand::Kind::list ? list.parts.size() : 1) != results)
    fail("\"" + now_->name + "\" has " + Twine(results) + " results");
  if (!error_.empty()) return;
  AllocaInst* out = make_place(results * (d == 4 ? 64 : 32));
  out->setAlignment(Align(16));
  const std::uint64_t what = form->m | form->n << 8 | form->k << 16 | std::uint64_t(a) << 32 | std::uint64_t(b) << 36 |
                             std::uint64_t(c) << 40 | std::uint64_t(d) << 44 | std::uint64_t{saturates} << 48;
  runtime("multiply_matrices", at_.getVoidTy(), {number(64, what), out, in_a, in_b, in_c}, Effect::convergent);
  unpack(list, out);
}

}  // namespace warpbook::emulator::ptx
