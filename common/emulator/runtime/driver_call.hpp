/// \file
/// How the driver's functions are made of the runtime's.
#pragma once

#include "common/emulator/include/cuda.h"
#include "common/emulator/include/cuda_runtime_api.h"
#include "common/emulator/runtime/api_call.hpp"

namespace warpbook::emulator {

/// Makes a driver's call of the runtime's. Its error is not the one that `cudaGetLastError` tells.
template <class Call> CUresult driver_call(const char* name, const void* pc, Call call) {
  const ApiCall api_call(name, pc);
  const bool clean = cudaPeekAtLastError() == cudaSuccess;
  const cudaError_t error = call();
  if (clean) cudaGetLastError();
  return static_cast<CUresult>(error);
}

/// The function that this stands in, and where the program called it.
#define WARPBOOK_CALLER __func__, __builtin_return_address(0)

}  // namespace warpbook::emulator
