/// \file
/// Marks what the emulator's shared library shows to programs; everything else in it is hidden.
#pragma once

#define WARPBOOK_EXPORT __attribute__((visibility("default")))

/// A parameter's or member's default value, which C has not.
#ifdef __cplusplus
#define WARPBOOK_DEFAULT(value) = value
#else
#define WARPBOOK_DEFAULT(value)
#endif
