#!/bin/sh
# build.sh DEVICE [OPTION...]: configures build/DEVICE where it is not yet, and builds there with cmake's options. One build
# at a time in a tree: another one waits.
set -eu
cd -P "$(dirname "$0")/.."
device=$1
shift
mkdir -p build
exec 9>build/.lock
if ! flock -n 9; then
  echo "waiting for another build in this tree" >&2
  flock 9
fi
# Compilers take their memory in large pages where the system has them, and less time.
export GLIBC_TUNABLES="${GLIBC_TUNABLES:-glibc.malloc.hugetlb=1}"
# What is started does not keep the lock.
scripts/configure.sh "$device" 9>&-
cmake --build "build/$device" "$@" 9>&-
