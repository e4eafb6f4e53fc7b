/// \file
/// Marks what the emulator's shared library shows to programs; everything else in it is hidden.
#pragma once

#define WARPBOOK_EXPORT __attribute__((visibility("default")))
