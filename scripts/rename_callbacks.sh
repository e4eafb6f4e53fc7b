#!/bin/sh
# A compiler's launcher, of the preset tsan: scripts/rename_callbacks.sh COMPILER ARGUMENT...
#
# Kernel files are instrumented by the thread sanitizer's pass for the emulator, whose call-backs bear the names that
# clang gives them. A program that is itself under the thread sanitizer has those names already, in its own run-time
# library: in the object files of kernels, and in that of the call-backs, they get a prefix.
set -eu
"$@"
renamed='' object='' after=''
for argument; do
  case $argument in
    -fpass-plugin=* | */callbacks.cpp) renamed=yes ;;
  esac
  [ "$after" = -o ] && object=$argument
  after=$argument
done
case $renamed$object in
  yes*.o)
    # shellcheck disable=SC2046
    objcopy $(nm "$object" | sed -n 's/.* \(__tsan_[a-z_0-9]*\)$/--redefine-sym=\1=__warpbook\1/p') "$object"
    ;;
esac
