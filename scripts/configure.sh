#!/bin/sh
# Configures build/$1 when it is not yet. What CMake says goes to build/$1/configure.log; of a failure, only the line
# that tells what is missing is shown, or everything where there is no such line.
set -u
cd -P "$(dirname "$0")/.." || exit 1
device=$1
directory=build/$device

if ! command -v cmake >/dev/null || ! command -v ninja >/dev/null; then
  echo "error: cmake and ninja are needed: run \`make deps\`" >&2
  exit 1
fi
# A tree that was moved or copied with its build starts again.
if [ -f "$directory/CMakeCache.txt" ] &&
  ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$directory/CMakeCache.txt"; then
  rm -rf "$directory"
fi
# So does one of another toolkit than the one that is named.
if [ "${device#gpu}" != "$device" ] && [ -n "${CUDACXX:-}${CUDA_HOME:-}" ] && nvcc=$(scripts/find_nvcc.sh) &&
  ! grep -qx "CMAKE_CUDA_COMPILER:[A-Z]*=$nvcc" "$directory/CMakeCache.txt" 2>/dev/null; then
  rm -rf "$directory"
fi
[ -f "$directory/build.ninja" ] && exit 0

mkdir -p "$directory"
log=$directory/configure.log
cmake --preset "$device" >"$log" 2>&1 && exit 0
rm -f "$directory/CMakeCache.txt"
grep '^error: ' "$log" >&2 || cat "$log" >&2
exit 1
