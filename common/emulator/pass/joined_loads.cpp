#include "common/emulator/pass/joined_loads.hpp"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <map>
#include <vector>

#include "common/emulator/pass/memory_objects.hpp"
#include "common/emulator/pass/unset_values.hpp"

namespace warpbook::emulator {
namespace {

using namespace llvm;

/// A load, and where it lies from the first load of its row.
struct Neighbour {
  const LoadInst* load;
  const SCEV* address;
};

/// Loads of one width whose addresses differ by constants: by their distances.
using Row = std::map<std::int64_t, const LoadInst*>;

}  // namespace

JoinedLoads::JoinedLoads(Function& function, ScalarEvolution& evolution) {
  const DataLayout& layout = function.getDataLayout();
  std::vector<Neighbour> first;  // of each row
  std::vector<Row> rows;
  // Joins what can be joined of the rows so far.
  const auto join = [&] {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto bytes = static_cast<std::int64_t>(layout.getTypeStoreSize(first[i].load->getType()).getFixedValue());
      const SCEV* base = evolution.removePointerBase(first[i].address);
      for (const auto& [distance, load] : rows[i]) {
        if (joined_.contains(load)) continue;
        std::int64_t width = 16;
        for (; width > bytes; width /= 2) {
          const SCEV* begin = evolution.getAddExpr(base, evolution.getConstant(base->getType(), distance, true));
          bool whole = (std::int64_t{1} << std::min(4U, evolution.getMinTrailingZeros(begin))) >= width;
          for (std::int64_t more = bytes; more < width; more += bytes) whole &= rows[i].contains(distance + more);
          if (whole) break;
        }
        joined_[load] = static_cast<unsigned>(width / bytes);
        for (std::int64_t more = bytes; more < width; more += bytes) joined_[rows[i].at(distance + more)] = 0;
      }
    }
    first.clear();
    rows.clear();
  };
  for (const BasicBlock& block : function) {
    for (const Instruction& instruction : block) {
      const auto* load = dyn_cast<LoadInst>(&instruction);
      if (load == nullptr && instruction.mayWriteToMemory() && !is_value_check(instruction)) join();
      if (load == nullptr || load->isVolatile() || !is_shared(*load)) continue;
      if (layout.getTypeStoreSize(load->getType()).getFixedValue() >= 16) continue;
      const SCEV* address = evolution.getSCEV(const_cast<Value*>(load->getPointerOperand()));
      std::size_t row = 0;
      std::int64_t distance = 0;
      for (; row < rows.size(); ++row) {
        if (first[row].load->getType() != load->getType()) continue;
        const auto* difference = dyn_cast<SCEVConstant>(evolution.getMinusSCEV(address, first[row].address));
        if (difference == nullptr) continue;
        distance = difference->getAPInt().getSExtValue();
        break;
      }
      if (row == rows.size()) {
        first.push_back({load, address});
        rows.emplace_back();
      }
      rows[row].emplace(distance, load);
    }
    join();
  }
}

}  // namespace warpbook::emulator
