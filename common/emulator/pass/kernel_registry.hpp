/// \file
/// What a file tells the runtime of itself. Kernels that are launched by their address alone
/// (`cudaLaunchKernel((void*)kernel, ...)`): how to call them.
#pragma once

#include <llvm/IR/Module.h>

namespace warpbook::emulator {

/// Where a file uses functions that launch by address, has it tell the runtime, before main(), of each of its kernels:
/// how large the parameters are and how to call it with them. True where anything changed.
bool register_kernels(llvm::Module& module);

/// Has a file tell the runtime, before main(), of its `__managed__` variables and its kernels' `__launch_bounds__`
/// and `__cluster_dims__`.
void tell_runtime(llvm::Module& module);

}  // namespace warpbook::emulator
