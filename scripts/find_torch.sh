#!/bin/sh
# Prints the Python that has PyTorch; prints nothing and fails where none has.
# In this order: the active virtual environment's, the project's own (.venv, see scripts/deps_torch.sh), the system's.
# WARPBOOK_NO_TORCH=1 is as if there were none.
[ -z "${WARPBOOK_NO_TORCH:-}" ] || exit 1
root=$(cd "$(dirname "$0")/.." && pwd)

for candidate in ${VIRTUAL_ENV:+"$VIRTUAL_ENV/bin/python3"} "$root/.venv/bin/python3" "$(command -v python3)"; do
  if [ -x "$candidate" ] &&
    "$candidate" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then
    printf '%s\n' "$candidate"
    exit 0
  fi
done
exit 1
