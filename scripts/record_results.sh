#!/bin/sh
# Records chapters on the GPU that is here: `make results` (which builds them first), or scripts/record_results.sh 3 5 for
# some that are built.
#
# For each chapter, into docs/results/<device>/: chapterN.json (run_all --full --all-steps, by scripts/record_times.py, which
# measures no case twice of the same sources), chapterN_sanitizers.txt (all four of compute-sanitizer's tools over the small
# cases), chapterN_counters.json (Nsight Compute), sass/chapterN_*.txt (machine code), chapterN_peers.json (PyTorch
# beside it) and chapterN_triton.json (versions in Triton beside both).
# Without numbers, all chapters, and behind them whether the exercises' bars of speed hold: exercises.json.
# What a machine lacks is skipped with a line. A step that fails stops nothing; the exit status is 1 then.
#
#   OUT=dir    where to (docs/results/<device>)      RANDOM_CASES=200   the peers' random problems
#   BUILD=dir  what is run (build/gpu)               SEED=n       of these (drawn anew, and recorded)
#   PEERS="--budget-seconds 60"  more of peers.py
#   TOOLS="memcheck racecheck"  (all four)           CASES=half   only the times of cases that match
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build/gpu}
chapters=${*:-$(ls chapters | sed -n 's/^chapter\([0-9]*\)_.*/\1/p')}
logs=$BUILD/results
failed=0
architecture=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -dc 0-9)

# Runs a command, its output in a file; tells how it ended.
record() {
  what=$1
  log=$2
  shift 2
  echo "$what"
  "$@" >"$log" 2>&1 || {
    echo "$what failed (status $?): see $log"
    failed=1
  }
}

for n in $chapters; do
  run_all=$BUILD/chapter$n/run_all
  if [ ! -x "$run_all" ]; then
    echo "chapter $n: $run_all is missing: run \`make chapter$n DEVICE=gpu\`"
    failed=1
    continue
  fi
  device=$("$run_all" --device-info | sed -n '1s/^device  *//p' | sed 's/ (emulated.*/ emulated/' | tr 'A-Z ' 'a-z-')
  if [ -z "$device" ]; then  # run_all has said why.
    failed=1
    continue
  fi
  out=${OUT:-docs/results/$device}
  mkdir -p "$out" "$logs"

  if [ "$n" = 7 ]; then  # It holds its comparison with PyTorch; its kernel is chapter 1's.
    record "chapter $n: times" "$logs/chapter$n.txt" "$run_all" --full --all-steps --json "$out/chapter$n.json"
    record "chapter $n: timeline" "$logs/chapter${n}_timeline.txt" "$run_all" --timeline "$out/chapter${n}_timeline.svg"
    continue
  fi
  record "chapter $n: times" "$logs/chapter$n.txt" \
    scripts/record_times.py "$n" --program "$run_all" --output "$out/chapter$n.json" --case "${CASES:-}"
  if command -v compute-sanitizer >/dev/null; then
    record "chapter $n: sanitizers" "$logs/chapter${n}_sanitizers.txt" scripts/record_sanitizers.py "$n" \
      --program "$run_all" ${TOOLS:+$(printf -- '--tool %s ' $TOOLS)} --output "$out/chapter${n}_sanitizers.txt"
  else
    echo "chapter $n: no compute-sanitizer here: skipped"
  fi
  if command -v ncu >/dev/null; then
    record "chapter $n: counters" "$logs/chapter${n}_counters.txt" \
      scripts/record_counters.py "$n" --program "$run_all" --output "$out/chapter${n}_counters.json"
  else
    echo "chapter $n: no ncu here: skipped"
  fi
  if command -v cuobjdump >/dev/null; then
    record "chapter $n: machine code" "$logs/chapter${n}_sass.txt" \
      scripts/record_sass.py "$n" --program "$run_all" --architecture "$architecture" --output "$out/sass"
  else
    echo "chapter $n: no cuobjdump here: skipped"
  fi
  if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    record "chapter $n: peers" "$logs/chapter${n}_peers.txt" python3 tests/chapters/peers/peers.py --chapter "$n" \
      --random "${RANDOM_CASES:-200}" ${SEED:+--seed "$SEED"} --workers "$(nproc)" ${PEERS:-} --output "$out/chapter${n}_peers.json"
    record "chapter $n: versions in Triton" "$logs/chapter${n}_triton.txt" python3 tests/chapters/peers/peers.py --chapter "$n" \
      --triton --output "$out/chapter${n}_triton.json"
  else
    echo "chapter $n: no PyTorch with a GPU here: skipped"
  fi
done
if [ -z "$*" ] && [ -n "${out:-}" ]; then
  record "exercises: bars of speed" "$logs/exercises.txt" scripts/record_exercises.py --output "$out/exercises.json"
fi
[ -z "${out:-}" ] || echo "written to $out"
exit $failed
