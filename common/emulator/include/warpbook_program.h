/// \file
/// What the compiler driver includes into each file with kernels of a program: CUDA's header, and what the emulator adds.
#pragma once

#include "cuda_runtime.h"
#include "warpbook_chevrons.h"
#include "warpbook_emulator.h"
