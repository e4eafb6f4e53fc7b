#!/bin/sh
# Prints the path of the CUDA compiler that the build uses; prints nothing and fails where there is none.
# In this order: $CUDACXX, $CUDA_HOME or $CUDA_PATH, nvcc on the PATH, /usr/local/cuda, the wheels in .venv.
root=$(cd "$(dirname "$0")/.." && pwd)

for candidate in "$CUDACXX" ${CUDA_HOME:+"$CUDA_HOME/bin/nvcc"} ${CUDA_PATH:+"$CUDA_PATH/bin/nvcc"} \
  "$(command -v nvcc)" /usr/local/cuda/bin/nvcc \
  "$root"/.venv/lib/python3*/site-packages/nvidia/cu*/bin/nvcc; do
  if [ -n "$candidate" ] && path=$(command -v "$candidate") && [ -x "$path" ]; then
    printf '%s\n' "$path"
    exit 0
  fi
done
exit 1
