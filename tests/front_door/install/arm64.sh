#!/bin/sh
# Builds the emulator for arm64 with this machine's clang, and runs its test of inline PTX by qemu: programs with launches,
# barriers, shared memory, atomics, conversions, halves and matrices, whose results are known.
#   tests/front_door/install/arm64.sh [CTEST OPTION...]     other tests, that build/arm64 has what they need for
# Nightly: it downloads Debian's libraries for arm64. qemu keeps this machine's order of memory accesses, so nothing is
# learned of arm64's own.
#
# Exit status: 0 all went well; 1 something did not; 77 it cannot be tried here.
set -u
cd -P "$(dirname "$0")/../../.." || exit 1
if [ "${1:-}" = --inside ]; then
  # In a namespace of its own: here, and nowhere else, the kernel starts arm64's programs by qemu.
  shift
  ulimit -v 60000000  # Of each page that is reserved qemu keeps a record: those of the emulator's usual arena fill the memory.
  mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register &&
    exec ctest --test-dir build/arm64 --output-on-failure "$@"
  exit 1
fi
scripts/arm64_root.sh || exit $?
# A compiler cache would show CMake other paths than the compiler's.
CCACHE_DISABLE=1 cmake --preset arm64 >build/arm64.log 2>&1 || { tail -n 20 build/arm64.log; exit 1; }
jobs=$(nproc 2>/dev/null || echo 2)
cmake --build build/arm64 --parallel "$jobs" --target warpbook_emulate || exit 1
if ! unshare --user --map-root-user --mount mount -t binfmt_misc none /proc/sys/fs/binfmt_misc; then
  echo "not tried: this kernel (older than 6.7?) has no formats of programs in a namespace of its own"
  exit 77
fi
[ $# != 0 ] || set -- -R '^emulator_ptx_test$'
QEMU_LD_PREFIX=$PWD/build/root_arm64 unshare --user --map-root-user --mount "$PWD/tests/front_door/install/arm64.sh" --inside "$@"
