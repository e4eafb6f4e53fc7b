/// \file
/// The name that `cublas_v2.h` has in its own documentation.
#pragma once

#include "cublas_v2.h"
