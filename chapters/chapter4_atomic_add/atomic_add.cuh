/// \file
/// atomic_add: sums into chosen places. The take-away of chapter 4.
#pragma once

#include "chapters/chapter4_atomic_add/fast_atomic_add.cuh"
