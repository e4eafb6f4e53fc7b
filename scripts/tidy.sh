#!/bin/sh
# Runs clang-tidy over common/ as the emulator's build compiles it: part of `make nightly`.
set -eu
cd "$(dirname "$0")/.."

for name in clang-tidy-19 clang-tidy-20 clang-tidy-21 clang-tidy-22; do
  if command -v "$name" >/dev/null; then
    clang_tidy=$name
    break
  fi
done
if [ -z "${clang_tidy:-}" ]; then
  echo "error: clang-tidy was not found: install the package clang-tidy-19" >&2
  exit 1
fi

scripts/configure.sh emulator
find common -name '*.cpp' -print0 |
  xargs -0 -n 1 -P "$(nproc 2>/dev/null || echo 2)" "$clang_tidy" -p build/emulator --quiet --warnings-as-errors='*'
