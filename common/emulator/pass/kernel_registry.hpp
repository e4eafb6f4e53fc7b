/// \file
/// What a file tells the runtime of itself. Kernels that are launched by their address alone
/// (`cudaLaunchKernel((void*)kernel, ...)`): how to call them.
#pragma once

#include <llvm/IR/Module.h>

namespace warpbook::emulator {

/// Has a file tell the runtime, before main(), of the kernels whose addresses it takes, or another file may take: how
/// large the parameters are and how to call them.
void register_kernels(llvm::Module& module);

/// Has a file tell the runtime, before main(), of its `__managed__` variables and its kernels' `__launch_bounds__`
/// and `__cluster_dims__`.
void tell_runtime(llvm::Module& module);

}  // namespace warpbook::emulator
