#!/bin/sh
# Installs by package name what the build needs and is missing, and says what it installed: `make deps`.
#   scripts/deps.sh emulator   clang, LLVM's headers, the libraries, and NVIDIA's headers of Thrust and CUB into .venv
#   scripts/deps.sh docs       what the book is made of, and the browser that tests it; also behind either device
#   scripts/deps.sh gpu        a C++ compiler, the libraries and, where no CUDA Toolkit is found, nvcc's wheels into .venv
set -eu
cd "$(dirname "$0")/.."
device=${1:-emulator}
docs=${2:-}
[ "$device" = docs ] && docs=docs

# The newest clang that the emulator was tried with comes first; any newer one that is installed already does as well.
clang_major() {
  for major in 19 20 21 22; do
    command -v "clang++-$major" >/dev/null && echo "$major" && return
  done
  for major in 19 20 21 22; do
    apt-cache show "clang-$major" >/dev/null 2>&1 && echo "$major" && return
  done
  echo 19
}

# Of the packages named, those that are not installed.
missing_packages() {
  dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    awk -v wanted="$*" '
      $2 == "installed" { installed[$1] = 1 }
      END { n = split(wanted, names, " "); for (i = 1; i <= n; i++) if (!(names[i] in installed)) print names[i] }'
}

common="g++ make cmake ninja-build git python3 libfmt-dev libcli11-dev nlohmann-json3-dev catch2 libbenchmark-dev"
needed() {
  [ -z "$docs" ] || echo "make python3 python3-venv doxygen doxygen-awesome-css chromium codespell"
  if [ "$device" = docs ]; then
    return
  elif [ "$device" = emulator ]; then
    major=$(clang_major)
    echo "$common clang-$major llvm-$major-dev libboost-context-dev libopenblas-dev python3-venv"
    # Programs with OpenMP: any clang's runtime does, and only one can be installed.
    ls /usr/lib/llvm-*/lib/libomp.so >/dev/null 2>&1 || echo "libomp-$major-dev"
  elif scripts/find_nvcc.sh >/dev/null; then
    echo "$common"
  else
    echo "$common python3-venv"
  fi
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "make deps installs Debian's and Ubuntu's packages. On this system, please install what they are called here:"
  echo "  g++ make cmake (3.25 or newer) ninja git python3 fmt CLI11 nlohmann-json Catch2 google-benchmark"
  [ -z "$docs" ] || echo "  doxygen (1.9.4) doxygen-awesome-css (2.1) chromium codespell"
  if [ "$device" = emulator ]; then
    echo "  clang (19 or newer) with LLVM's development headers, boost-context, a BLAS (openblas)"
  else
    echo "  the CUDA Toolkit (12.0 or newer)"
  fi
  exit 1
fi

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    # shellcheck disable=SC2086
    echo "error: packages are missing, and this is neither root nor is sudo there; as root: apt-get install" $missing >&2
    exit 1
  fi
}

installed_any=false
# shellcheck disable=SC2046  # The lists are words without spaces.
missing=$(missing_packages $(needed))
if [ -n "$missing" ]; then
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
  missing=$(missing_packages $(needed))  # Which clang there is, the new package lists tell.
  # shellcheck disable=SC2086
  {
    echo "make deps: installing" $missing
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $missing >/dev/null
    echo "make deps: installed" $missing
  }
  installed_any=true
fi

# Installs wheels into .venv.
install_wheels() {
  { .venv/bin/python3 -m pip --version >/dev/null 2>&1 || python3 -m venv .venv; } &&
    .venv/bin/python3 -m pip --quiet --disable-pip-version-check install "$@"
}

if [ "$device" = gpu ] && ! scripts/find_nvcc.sh >/dev/null; then
  # The wheels of the toolkit's 13.0 releases bring nvcc itself; those before 13 do not. 13.0 runs on every driver that
  # any 13 runs on.
  version=13.0
  set -- "nvidia-cuda-nvcc==$version.*" "nvidia-cuda-runtime==$version.*" "nvidia-cuda-crt==$version.*" \
    "nvidia-nvvm==$version.*" "nvidia-cuda-cccl==$version.*"
  if install_wheels "$@" && nvcc=$(scripts/find_nvcc.sh); then
    toolkit=$(dirname "$(dirname "$nvcc")")
    [ -e "$toolkit/lib64" ] || ln -s lib "$toolkit/lib64"  # The wheels' nvcc looks in lib64 for what they put in lib.
    echo "make deps: installed into .venv:" "$@"
    installed_any=true
  else
    echo "error: no CUDA Toolkit was found and its wheels could not be installed;" \
      "point to one: make DEVICE=gpu CUDA_HOME=/path/to/toolkit" >&2
    exit 1
  fi
fi

# NVIDIA's headers of Thrust and CUB, for programs that the emulator runs. Everything else does without.
cccl="nvidia-cuda-cccl==13.0.85"
if [ "$device" = emulator ] &&
  ! ls .venv/lib/python3*/site-packages/nvidia/cu13/include/cccl/cub/version.cuh >/dev/null 2>&1; then
  if install_wheels --no-deps "$cccl"; then
    echo "make deps: installed into .venv: $cccl"
    installed_any=true
  else
    echo "make deps: $cccl could not be installed; programs with Thrust or CUB do not compile for the emulator" >&2
  fi
fi

# The checker of accessibility that the book's test runs in the browser. The book itself does without.
axe="axe-core-python==0.1.0"
if [ -n "$docs" ] && ! ls .venv/lib/python3*/site-packages/axe_core_python/axe.min.js >/dev/null 2>&1; then
  if install_wheels --no-deps "$axe"; then
    echo "make deps: installed into .venv: $axe"
    installed_any=true
  else
    echo "make deps: $axe could not be installed; the book's test of accessibility is skipped" >&2
  fi
fi

if [ "$installed_any" = false ]; then
  echo "make deps: nothing is missing (DEVICE=$device)"
fi
