#!/bin/sh
# Formats every C++ and CUDA file: `make format`. With --check it changes nothing and fails where a file would change.
set -eu
cd "$(dirname "$0")/.."

for name in clang-format-19 clang-format-20 clang-format-21 clang-format-22 clang-format; do
  if command -v "$name" >/dev/null; then
    clang_format=$name
    break
  fi
done
if [ -z "${clang_format:-}" ]; then
  echo "error: clang-format was not found: install the package clang-format-19" >&2
  exit 1
fi

mode=-i
[ "${1:-}" = --check ] && mode="--dry-run --Werror"
# shellcheck disable=SC2086
find chapters common tests \( -name '*.?pp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -type f -print0 |
  xargs -0 "$clang_format" --style=file $mode
