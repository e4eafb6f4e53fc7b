// Loads, stores, atomics, asynchronous copies and fences: what memory sees of them is what it sees of C++'s.

#include <llvm/ADT/StringSwitch.h>

#include "common/emulator/pass/ptx_emitter.hpp"

namespace warpbook::emulator::ptx {

using namespace llvm;

bool Emitter::memory(StringRef name) {
  if (name == "ld" || name == "ldu") return load(true), true;
  if (name == "st") return load(false), true;
  if (name == "atom" || name == "red") return atomic(name == "atom");
  if (name == "cp") return has("async") ? (copy_asynchronously(), true) : false;
  if (name == "membar" || name == "fence") return fence(), true;
  if (name == "prefetch" || name == "prefetchu") {  // A hint: nothing that anybody sees.
    has_any({"global", "local", "L1", "L2", "L2::evict_last", "L2::evict_normal"});
    if (operands() != 1) fail("\"" + now_->text + "\" has one operand");
    return true;
  }
  if (name == "createpolicy") {
    has_any({"fractional", "L2::evict_first", "L2::evict_last", "L2::evict_normal", "L2::evict_unchanged", "b64"});
    return write(0, number(64, 0)), true;
  }
  return false;
}

/// The space that the instruction names; none of those that inline PTX can name otherwise.
std::optional<Space> Emitter::space() {
  if (has_any({"shared", "shared::cta"})) return Space::shared;
  if (has("shared::cluster")) return Space::cluster;
  has_any({"global", "const", "local"});
  for (const char* other : {"param", "param::entry", "param::func"})
    if (has(other)) {
      fail("\"" + now_->name + "\" is not emulated: not with ." + other);
      return std::nullopt;
    }
  return Space::generic;
}

/// Where an operand points to.
Emitter::Value* Emitter::address(const Operand& operand, Space space) {
  if (operand.kind != Operand::Kind::address || operand.parts.empty()) {
    fail("\"" + now_->text + "\" lacks an address in brackets");
    return PoisonValue::get(at_.getPtrTy());
  }
  const Operand& base = operand.parts.front();
  if (space == Space::generic && bits_of(base) < 64 && error_.empty())
    fail("\"" + now_->text + "\": an address that is not of shared memory has 64 bits");
  Value* value = read(base, 64U);
  for (std::size_t i = 1; i < operand.parts.size(); ++i) {
    const std::optional<std::uint64_t> offset = constant(operand.parts[i]);
    if (!offset) fail("\"" + now_->text + "\": what is added to an address is a constant");
    value = at_.CreateAdd(value, number(64, offset.value_or(0)));
  }
  if (space == Space::generic) return at_.CreateIntToPtr(value, at_.getPtrTy());
  // 32 bits wrap around as they do on a GPU.
  if (bits_of(base) == 32) value = at_.CreateAnd(value, 0xffffffffU);
  return runtime(space == Space::shared ? "shared_pointer" : "cluster_pointer", at_.getPtrTy(), {value},
                 space == Space::shared ? Effect::none : Effect::memory);
}

/// `ld` or `st`, of one value or of a vector.
void Emitter::load(bool is_load) {
  const std::optional<Space> where = space();
  if (!where) return;
  const bool around_l1 = has("cg");
  const bool read_only = has("nc");
  has_any({"weak",
           "cta",
           "gpu",
           "sys",
           "cluster",
           "ca",

           "cs",
           "lu",
           "wb",
           "wt",
           "uniform",
           "L1::evict_normal",
           "L1::evict_unchanged",
           "L1::evict_first",
           "L1::evict_last",
           "L1::no_allocate",
           "L2::64B",
           "L2::128B",
           "L2::256B",
           "L2::evict_first",
           "L2::evict_last",
           "L2::evict_normal"});
  const bool acquires = has("acquire");
  const bool releases = has("release");
  bool is_volatile = has_any({"volatile", "relaxed", "cv"}) || acquires || releases;
  const bool policy = has("L2::cache_hint");
  const unsigned lanes = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
  const Type type = need_type();
  // Flags between blocks are stored so, and loops wait for them.
  is_volatile |= around_l1 && lanes == 1 && type.bits >= 32 && (may_repeat_ || !is_load);
  if (lanes * type.bits > 128) return fail("\"" + now_->name + "\" is not emulated: more than 16 bytes");
  if (operands() != (policy ? 3 : 2)) return fail("\"" + now_->text + "\": a load or a store has two operands");
  const Operand& values = operand(is_load ? 0 : 1);
  if (lanes > 1 && (values.kind != Operand::Kind::list || values.parts.size() != lanes))
    return fail("\"" + now_->text + "\": the registers of a vector are " + Twine(lanes) + ", in braces");
  Value* pointer = address(operand(is_load ? 1 : 0), *where);
  if (!error_.empty()) return;
  llvm::Type* element = integer(type.bits);
  llvm::Type* whole = lanes == 1 ? element : static_cast<llvm::Type*>(FixedVectorType::get(element, lanes));
  const Align alignment(std::uint64_t{lanes} * type.bits / 8);
  const auto part = [&](unsigned lane) -> const Operand& { return lanes == 1 ? values : values.parts[lane]; };
  if (is_load) {
    if (read_only)
      call("__warpbook_read_only", at_.getVoidTy(), {pointer, number(64, lanes * type.bits / 8)}, Effect::memory);
    Value* loaded = at_.CreateAlignedLoad(whole, pointer, alignment, is_volatile);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Value* value = lanes == 1 ? loaded : at_.CreateExtractElement(loaded, lane);
      // A register that is wider than the type gets the sign as well.
      const unsigned bits = std::max(bits_of(part(lane)), type.bits);
      write(part(lane), type.is_signed() ? at_.CreateSExt(value, integer(bits)) : value);
    }
    if (acquires) library("memory_fence", "v", at_.getVoidTy(), {}, Effect::memory);
    return;
  }
  if (releases) library("memory_fence", "v", at_.getVoidTy(), {}, Effect::memory);
  Value* stored = lanes == 1 ? read(values, type.bits) : PoisonValue::get(whole);
  for (unsigned lane = 0; lanes > 1 && lane < lanes; ++lane)
    stored = at_.CreateInsertElement(stored, read(part(lane), type.bits), lane);
  at_.CreateAlignedStore(stored, pointer, alignment, is_volatile);
}

/// `atom` and `red`: the functions that CUDA's atomics call.
bool Emitter::atomic(bool has_result) {
  const std::optional<Space> where = space();
  if (!where) return true;
  const bool releases = has_any({"release", "acq_rel"});
  const bool acquires = std::count(now_->parts.begin(), now_->parts.end(), "acquire") +
                            std::count(now_->parts.begin(), now_->parts.end(), "acq_rel") !=
                        0;
  const bool of_block = has("cta");
  has_any({"relaxed", "acquire", "gpu", "sys", "cluster", "noftz"});
  const Type type = need_type();
  Value* pointer = address(operand(has_result ? 1 : 0), *where);
  const std::size_t first = has_result ? 2 : 1;
  if (!error_.empty()) return true;
  llvm::Type* own = type.is_real() ? as_type(UndefValue::get(integer(type.bits)), type)->getType() : integer(type.bits);
  const bool wide = type.bits == 64;
  if (modifiers_.empty() || (type.bits != 32 && !wide && !(type.bits == 16))) return false;
  const std::string operation = modifiers_.front();
  modifiers_.erase(modifiers_.begin());
  if (!modifiers_.empty()) return true;
  if (of_block) call("__warpbook_block_scope", at_.getVoidTy(), {}, Effect::memory);
  if (releases) library("memory_fence", "v", at_.getVoidTy(), {}, Effect::memory);
  const int known = StringSwitch<int>(operation)
                        .Case("add", 0)
                        .Case("exch", 1)
                        .Case("min", 2)
                        .Case("max", 3)
                        .Case("and", 4)
                        .Case("or", 5)
                        .Case("xor", 6)
                        .Default(-1);
  Value* found = nullptr;
  if (type.is_real()) {
    if (operation != "add") return false;
    found = library(wide ? "atomic_add_double" : "atomic_add_float", wide ? "Pdd" : "Pff", own,
                    {pointer, read(first, type)}, Effect::memory);
  } else if (type.is_narrow()) {
    if (operation != "add" || type.bits != 32) return false;
    const StringRef sum = type.kind == Type::Kind::bfloat ? "__warpbook_ptx_sum_bfloat162" : "__warpbook_ptx_sum_half2";
    FunctionCallee update = module_.getOrInsertFunction(sum, FunctionType::get(own, {own, own}, false));
    found =
        library("atomic_update_32", "PvjPFjjjE", own, {pointer, read(first, 32U), update.getCallee()}, Effect::memory);
  } else if (operation == "cas") {
    const StringRef name = wide ? "atomic_cas_64" : type.bits == 32 ? "atomic_cas_32" : "atomic_cas_16";
    found = library(name,
                    wide              ? "Pvmm"
                    : type.bits == 32 ? "Pvjj"
                                      : "Pvtt",
                    own, {pointer, read(first, type.bits), read(first + 1, type.bits)}, Effect::memory);
  } else if ((operation == "inc" || operation == "dec") && type.bits == 32) {
    found = library(operation == "inc" ? "atomic_increment" : "atomic_decrement", "Pjj", own,
                    {pointer, read(first, 32U)}, Effect::memory);
  } else if (known >= 0 && type.bits >= 32) {
    const StringRef name =
        type.is_signed() ? (wide ? "atomic_i64" : "atomic_i32") : (wide ? "atomic_u64" : "atomic_u32");
    const char* signature = type.is_signed() ? (wide ? "NS0_15AtomicOperationEPvl" : "NS0_15AtomicOperationEPvi")
                                             : (wide ? "NS0_15AtomicOperationEPvm" : "NS0_15AtomicOperationEPvj");
    found = library(name, signature, own, {number(32, static_cast<unsigned>(known)), pointer, read(first, type.bits)},
                    Effect::memory);
  } else {
    return false;
  }
  if (has_result) write(0, found);
  if (acquires) library("memory_fence", "v", at_.getVoidTy(), {}, Effect::memory);
  return true;
}

void Emitter::fence() {
  const bool of_block = has("cta");
  has_any({"acq_rel", "sc", "acquire", "release", "gl", "gpu", "sys", "cluster"});
  library(of_block ? "memory_fence_block" : "memory_fence", "v", at_.getVoidTy(), {}, Effect::memory);
}

/// The `cp.async` family, but for bulk copies.
void Emitter::copy_asynchronously() {
  const auto wait = [&](Value* groups_left) {
    library("async_wait", "m", at_.getVoidTy(), {groups_left}, Effect::memory);
  };
  const auto commit = [&] { library("async_commit", "v", at_.getVoidTy(), {}, Effect::memory); };
  if (has("commit_group")) return commit();
  if (has("wait_group")) return wait(read(0, 64U));
  if (has("wait_all")) {
    commit();
    return wait(number(64, 0));
  }
  const bool global_alone = has("cg");
  if (!global_alone && !has("ca")) return fail("\"" + now_->name + "\" is not emulated");
  if (!has_any({"shared", "shared::cta"}) || !has("global"))
    return fail("\"" + now_->name + "\" is not emulated: it copies from .global to .shared");
  has_any({"L2::64B", "L2::128B", "L2::256B"});
  const bool policy = has("L2::cache_hint");
  const std::optional<std::uint64_t> bytes = constant(operand(2));
  if (!bytes || (*bytes != 16 && (global_alone || (*bytes != 4 && *bytes != 8))))
    return fail("\"" + now_->text + "\": the size is " + (global_alone ? "16" : "4, 8 or 16") + ", and a constant");
  Value* left_out = number(64, 0);
  if (operands() > (policy ? 4U : 3U)) {
    const Operand& last = operand(3);
    const Register* found = find(last);
    if (found != nullptr && found->bits == 1)
      left_out = at_.CreateSelect(read(last, 1U), number(64, *bytes), number(64, 0));
    else
      left_out = at_.CreateSub(number(64, *bytes), at_.CreateZExt(read(last, 32U), integer(64)));
  }
  Value* to = address(operand(0), Space::shared);
  Value* from = address(operand(1), Space::generic);
  library("async_copy", "PvPKvmm", at_.getVoidTy(), {to, from, number(64, *bytes), left_out}, Effect::memory);
}

}  // namespace warpbook::emulator::ptx
