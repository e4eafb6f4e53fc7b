/// \file
/// What the compiler driver compiles beforehand: a file of its own, so that what it includes is a system's header.
#include <warpbook_program.h>
