#!/bin/sh
# Builds and runs the test suite of build/$1: `make test`. On the emulator, where there is a CUDA compiler, what people
# use is compiled for a GPU, too, in build/gpu_check. Further arguments go to ctest.
set -eu
cd "$(dirname "$0")/.."
device=$1
shift
jobs=$(nproc 2>/dev/null || echo 2)

build() {
  echo "building for DEVICE=${1%_check}"
  scripts/build.sh "$@" --parallel "$jobs"
}

build "$device"
if [ "$device" = emulator ]; then
  if scripts/find_nvcc.sh >/dev/null; then
    build gpu_check --target warpbook_products
  else
    echo "no CUDA compiler here: the GPU build was not tried"
  fi
fi
# Three at once on the emulator, where most programs keep one core busy, and some wait; a GPU is one test's at a time.
at_once=1
[ "$device" = gpu ] || at_once=3
ctest --test-dir "build/$device" --output-on-failure --parallel "$at_once" "$@"
