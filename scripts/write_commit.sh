#!/bin/sh
# Writes a header that defines WARPBOOK_COMMIT to $1, for the JSON of a run; leaves the file alone where it is right.
# The commit is $WARPBOOK_COMMIT (for a copy of the sources without git), or what git says, or unknown.
set -eu
cd "$(dirname "$0")/.."
commit=${WARPBOOK_COMMIT:-$(git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || echo unknown)}
line="#define WARPBOOK_COMMIT \"$commit\""
if [ "$(cat "$1" 2>/dev/null)" != "$line" ]; then
  mkdir -p "$(dirname "$1")"
  echo "$line" >"$1"
fi
