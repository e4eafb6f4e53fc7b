#!/bin/sh
# Cases beyond 2^31 elements and 4 GiB, run by each chapter's first and last step, the whole result compared on the CPU;
# and cases that fit no device: tests/chapters/size/large_cases.sh large|too-large [FOLDER of chapterN/run_all, the tree]
#
# A GPU of 40 GB and 40 GB of memory beside it do for the large ones. Exit status: 0 all right, or all refused as they
# should be; 1 otherwise; 2 bad arguments.
set -u
which=${1:-}
cd "${2:-$(dirname "$0")/../../..}" || exit 2
failed=0

# run STATUS CHAPTER CASE [OPTION...]: says what is run and what came of it, which has to be STATUS.
run() {
  wanted=$1
  chapter=$2
  example=$3
  shift 3
  echo "chapter$chapter/run_all --case '$example'${*:+ $*}"
  "./chapter$chapter/run_all" --case "$example" "$@" 2>&1
  status=$?
  echo "status $status"
  [ $status = "$wanted" ] || failed=1
}

case $which in
  large)
    run 0 1 'n=2149580800 op=mul dtype=half' --step v1,v6 --samples 10
    run 0 2 'shape=46349,46411 strides=1,46349 dtype=half' --step v1,v9 --samples 10
    run 0 3 'shape=3,26757,26761 perm=0,2,1 dtype=half' --step v1,v9 --samples 10
    run 0 4 'count=2149580800 places=65536 dtype=half index=int32' --step v1,v9 --samples 10
    run 0 5 'shape=524900,4096 dim=0 count=65536 dtype=half' --step v1,v10 --samples 10
    run 0 6 'shape=3,5,5990,5990 dtype=half dir=forward' --step v1,v7 --samples 10
    run 0 7 'n=2149580800 dtype=half' --samples 1
    ;;
  too-large)
    run 3 1 'n=60000000000 op=mul dtype=half'
    run 3 2 'shape=300000,300000 strides=1,300000 dtype=half'
    run 3 3 'shape=300000,300000 perm=1,0 dtype=half'
    run 3 4 'count=60000000000 places=65536 dtype=float'
    run 3 5 'shape=60000000,1024 dim=0 count=15 dtype=half'
    run 3 6 'shape=300,5,5990,5990 dtype=half dir=forward'
    ;;
  *)
    echo "usage: tests/chapters/size/large_cases.sh large|too-large [FOLDER]" >&2
    exit 2
    ;;
esac
exit $failed
