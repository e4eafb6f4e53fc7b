#include "common/emulator/pass/ptx_pass.hpp"

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "common/emulator/pass/device_code.hpp"
#include "common/emulator/pass/ptx_emitter.hpp"

namespace warpbook::emulator {

using namespace llvm;

namespace {

/// Whether a call is of assembly with instructions. An empty statement says something to the optimiser alone, and says
/// it as it stands.
bool is_ptx(const CallInst& call) {
  const auto* assembly = dyn_cast<InlineAsm>(call.getCalledOperand());
  return assembly != nullptr && !StringRef(assembly->getAsmString()).trim().empty();
}

}  // namespace

PreservedAnalyses PtxPass::run(Module& module, ModuleAnalysisManager& /*manager*/) {
  const SmallPtrSet<const Function*, 32> device = device_functions(module);
  std::vector<CallInst*> statements;
  for (Function& function : module) {
    // One for host and device may be called by the host alone, and holds PTX all the same.
    if (!device.contains(&function) && !function.hasFnAttribute("warpbook-device")) continue;
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallInst>(&instruction); call != nullptr && is_ptx(*call)) statements.push_back(call);
  }
  for (CallInst* statement : statements) {
    Function& function = *statement->getFunction();
    const DebugLoc place = statement->getDebugLoc();
    ptx::Emitter emitter(*statement);
    if (!emitter.run())
      function.getContext().diagnose(DiagnosticInfoUnsupported(function, "inline PTX: " + emitter.error(), place));
  }
  return statements.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace warpbook::emulator
