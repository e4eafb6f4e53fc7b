#!/bin/sh
# Draws many more random problems than the tests do, for every step of every chapter, and checks each against the
# reference: `make fuzz CASES=1000 SEED=7`, or scripts/fuzz.sh BUILD CASES SEED [CHAPTER...] beside programs that are built.
#
# What fails is printed as the words that run it again: ./chapterN/run_all --case '...' --seed N. The same seed draws the
# same problems on every machine. Cases are queued by tens (WARPBOOK_TEST_QUEUED=0: one after the other). Every 500 cases
# a line says how many are verified (WARPBOOK_TEST_PROGRESS=N: every N), so that a run which is stopped has said what it
# did. Exit status: 0 all right, 1 a step was wrong, 2 bad arguments, 3 a program is missing.
set -u
if [ $# -lt 3 ]; then
  echo "usage: scripts/fuzz.sh BUILD CASES SEED [CHAPTER...]" >&2
  exit 2
fi
build=$1
cases=$2
seed=$3
shift 3
case $cases$seed in
  *[!0-9]* | '') echo "fuzz: CASES=$cases SEED=$seed: both are whole numbers" >&2; exit 2 ;;
esac
for chapter in "$@"; do
  [ -x "$build/tests/chapter${chapter}_steps_test" ] && continue
  echo "fuzz: $build/tests/chapter${chapter}_steps_test is missing: make fuzz builds it" >&2
  exit 3
done
status=0
exec 3>&1
for program in "$build"/tests/chapter*_steps_test; do
  chapter=$(basename "$program" | sed 's/chapter\([0-9]*\)_.*/\1/')
  case " ${*:-$chapter} " in *" $chapter "*) ;; *) continue ;; esac
  if [ ! -x "$program" ]; then
    echo "fuzz: $program is missing: make fuzz builds it" >&2
    exit 3
  fi
  begin=$(date +%s)
  if out=$(WARPBOOK_TEST_PROGRESS=${WARPBOOK_TEST_PROGRESS:-500} WARPBOOK_TEST_QUEUED=${WARPBOOK_TEST_QUEUED:-1} \
    WARPBOOK_TEST_CASES=$cases WARPBOOK_TEST_SEED=$seed "$program" '*agrees with the reference*' 2>&3) &&
    printf '%s\n' "$out" | grep -q '^[0-9][0-9]* cases'; then
    result=right
  else
    printf '%s\n' "$out"
    result=FAILED
    status=1
  fi
  checked=$(printf '%s\n' "$out" | sed -n 's/^\([0-9]*\) cases.*/\1/p')
  echo "chapter $chapter: seed $seed, $cases random cases, ${checked:-0} tried: $result, $(($(date +%s) - begin)) s"
done
exit $status
