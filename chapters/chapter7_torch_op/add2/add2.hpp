/// \file
/// The line between the kernel's file and the binding's: plain C++, so that neither needs the other's headers.
#pragma once

#include <cstdint>

/// c = a + b: `n` floats each, in device memory, on a cudaStream_t. Returns a cudaError_t: what CUDA says of the
/// launch.
extern "C" int add2_launch(float* c, const float* a, const float* b, std::int64_t n, void* stream);
/// What CUDA says of an error.
extern "C" const char* add2_error_text(int error);
