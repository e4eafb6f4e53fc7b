#!/bin/sh
# Installs PyTorch into the project's virtual environment, .venv, unless a Python that is here has it: `make deps-torch`.
#
# It is the wheel that pip finds. On Linux x86-64 that is the one for CUDA, which loads CUDA's libraries even where it
# only computes on the CPU, so they come along: 2.2 GB to download and 4.7 GB of disk. The whole took 111 s where this was
# tried, of them 66 s of computing.
set -eu
cd "$(dirname "$0")/.."
torch=torch==2.11.0  # What the recorded results were made with.

if python=$(scripts/find_torch.sh); then
  if "$python" -c 'import pytest' 2>/dev/null; then
    echo "make deps-torch: nothing is missing ($python has PyTorch)"
    exit 0
  fi
  echo "make deps-torch: $python has PyTorch, and no pytest: installing that"
  exec "$python" -m pip --quiet --disable-pip-version-check install pytest
fi

# Python's headers give add2 its short way (chapters/chapter7_torch_op/warpbook_ops/python.cpp); nothing fails without them.
if ! [ -f "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h" ] && command -v apt-get >/dev/null; then
  root=
  [ "$(id -u)" = 0 ] || root="sudo -n"
  $root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends python3-dev >/dev/null 2>&1 ||
    echo "make deps-torch: python3-dev was not installed; calls of add2 go PyTorch's general way"
fi
if [ ! -x .venv/bin/pip ]; then
  if ! python3 -c 'import ensurepip' 2>/dev/null && command -v apt-get >/dev/null; then
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    $root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends python3-venv >/dev/null || true
  fi
  python3 -m venv .venv || {
    echo "error: no virtual environment could be made: install python3-venv, or activate one that has PyTorch" >&2
    exit 1
  }
fi
echo "make deps-torch: installing $torch, numpy and pytest into .venv (2.2 GB to download, 4.7 GB of disk)"
# Not compiled beforehand: Python compiles what it imports, and that is a small part.
if ! .venv/bin/python3 -m pip --quiet --disable-pip-version-check install --no-compile "$torch" numpy pytest; then
  echo "error: PyTorch could not be installed; where another Python has it, activate that one's environment" >&2
  exit 1
fi
echo "make deps-torch: installed"
