/// \file
/// Of what cuFFT has for several GPUs and for callbacks, nothing: programs include it for what `cufft.h` has.
#pragma once

#include "cufft.h"
