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
# sanitized PRESET TEST...: emulator_faults_test has an operator new of its own, and the address sanitizer another one for
# arrays and for nothrow; with the thread sanitizer's it cannot be linked.
sanitized() {
  preset=$1
  shift
  cmake --preset "$preset" >/dev/null && cmake --build "build/$preset" --parallel "$jobs" --target "$@" || return 1
  for test; do
    ASAN_OPTIONS=alloc_dealloc_mismatch=0 WARPBOOK_WORKERS=4 "build/$preset/tests/$test" || return 1
  done
}

[ "$device" != emulator ] || part "the parsers' fuzzer" scripts/build.sh emulator --parallel "$jobs" --target parsers_fuzz
part "all tests" scripts/test.sh "$device"
[ "$device" = gpu ] || ! scripts/find_nvcc.sh >/dev/null || part "the GPU build" scripts/build.sh gpu --parallel "$jobs"
tests="harness_run_test harness_verify_test emulator_core_test emulator_runtime_test"
# shellcheck disable=SC2086
{
  part "the address sanitizer" sanitized asan $tests emulator_faults_test
  part "the undefined-behaviour sanitizer" sanitized ubsan $tests emulator_faults_test
  part "the thread sanitizer" sanitized tsan $tests
}
part "mutants" make --no-print-directory mutants
part "clang-tidy" scripts/tidy.sh
part "the format" scripts/format.sh --check
[ -z "$failed" ] || echo "nightly: failed: ${failed#, }"
[ -z "$failed" ]
