/// \file
/// The name of `nvtx3/nvToolsExt.h` before CUDA 13.
#pragma once

#include "nvtx3/nvToolsExt.h"
