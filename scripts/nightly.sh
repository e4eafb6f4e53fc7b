#!/bin/sh
# What takes longer than `make test` does: `make nightly`. All tests, host code under sanitizers, parsers under libFuzzer
# (a test of the emulator's build), every mutant, clang-tidy and the format. Each part is run, whatever came of those
# before; the exit status is 1 where one failed.
set -u
cd "$(dirname "$0")/.."
device=$1
jobs=$(nproc 2>/dev/null || echo 2)
failed=

part() {
  what=$1
  shift
  echo "nightly: $what"
  "$@" || failed="$failed, $what"
}
# emulator_faults_test has an operator new of its own, and the sanitizer another one for arrays and for nothrow.
sanitized() {
  cmake --preset "$1" >/dev/null && cmake --build "build/$1" --parallel "$jobs" --target harness_run_test \
    harness_verify_test emulator_faults_test emulator_core_test emulator_runtime_test &&
    for test in harness_run_test harness_verify_test emulator_faults_test emulator_core_test emulator_runtime_test; do
      ASAN_OPTIONS=alloc_dealloc_mismatch=0 WARPBOOK_WORKERS=4 "build/$1/tests/$test" || return 1
    done
}

if [ "$device" = emulator ] && scripts/configure.sh emulator; then
  part "the parsers' fuzzer" cmake --build build/emulator --parallel "$jobs" --target parsers_fuzz
fi
part "all tests" scripts/test.sh "$device"
part "the address sanitizer" sanitized asan
part "the undefined-behaviour sanitizer" sanitized ubsan
part "the thread sanitizer" sanitized tsan
part "mutants" make --no-print-directory mutants
part "clang-tidy" scripts/tidy.sh
part "the format" scripts/format.sh --check
[ -z "$failed" ] || echo "nightly: failed: ${failed#, }"
[ -z "$failed" ]
