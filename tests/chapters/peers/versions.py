#!/usr/bin/env python3
"""Times two builds of a chapter's take-away header in turn, in one process: is the new one as fast as the old one?

    python3 tests/chapters/peers/versions.py --chapter 3 --old old/permute_c.so --new build/gpu/libpermute_c.so

Both are NAME_c.cu of this folder, built against two versions of the header. On the chapter's cases, and on --random ones of
a --seed. A row is a case; below 1, the new one is slower. Exit status 1: a case is more than 5% slower beyond its spread, or
the median of all more than 1%.
"""

import argparse
import importlib
import pathlib
import statistics
import sys

import torch
from library import load, shared_names
from peers import chapters, make_inputs, part_of
from results import write_whole
from timing import Timer, in_turn

MOST_SLOWER, MEDIAN_SLOWER = 0.05, 0.01


def measure(case, libraries, timer):
    """{"old": seconds' spread, "new": ...}, of calls whose results agree."""
    expected = case.operation()(*make_inputs(case))
    stream = torch.cuda.current_stream().cuda_stream
    functions, alive = {}, []
    sets = timer.sets_of_inputs(make_inputs(case))
    for name, library in libraries.items():
        inputs = [make_inputs(case) for _ in range(sets)]
        bound = [case.bind(library, each, stream) for each in inputs]
        call, output = bound[0]
        call()
        if problem := case.compare(output, expected):
            raise RuntimeError(f"{name}: {problem}")
        functions[name] = in_turn([call for call, _ in bound])
        alive.append((inputs, bound))
    return timer.time(functions)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapter", type=int, choices=chapters(), required=True)
    parser.add_argument("--old", type=pathlib.Path, required=True, help="NAME_c.cu with the header as it was")
    parser.add_argument("--new", type=pathlib.Path, required=True, help="and as it is")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random cases besides the chapter's")
    parser.add_argument("--seed", type=int, default=1, help="of the random cases (1)")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="I/N", help="every Nth case, from the Ith on")
    parser.add_argument("--samples", type=int, default=31)
    parser.add_argument("--output", type=pathlib.Path, help="the times as JSON")
    options = parser.parse_args()
    chapter = importlib.import_module(f"chapter{options.chapter}")
    for path in (options.old, options.new):
        if names := shared_names(path):
            parser.error(f"{path}: {names[0]} would be one variable for both: build it with -Xcompiler=-fno-gnu-unique")
    libraries = {name: load(path.resolve(), chapter.FUNCTIONS) for name, path in (("old", options.old), ("new", options.new))}
    timer = Timer(options.samples)
    rows = []
    part, parts = options.part
    for case in [*chapter.fixed_cases(), *chapter.random_cases(options.random, options.seed)][part - 1 :: parts]:
        times = measure(case, libraries, timer)
        ratio = times["old"]["median"] / times["new"]["median"]
        apart = times["new"]["p25"] > times["old"]["p75"]
        rows.append({"case": case.name, "dtype": case.dtype, "old_over_new": ratio, "slower": apart and ratio < 1 - MOST_SLOWER} | times)
        print(f"{ratio:6.3f}  {times['old']['median'] * 1e6:9.2f} us  {times['new']['median'] * 1e6:9.2f} us  {case.name} {case.dtype}"
              + ("  SLOWER" if rows[-1]["slower"] else ""), flush=True)
        if options.output:
            write_whole(options.output, {"chapter": options.chapter, "cases": rows})
        torch.cuda.empty_cache()
    middle = statistics.median(row["old_over_new"] for row in rows)
    slower = sum(row["slower"] for row in rows)
    print(f"chapter {options.chapter}: {len(rows)} cases, median {middle:.3f}, worst {min(row['old_over_new'] for row in rows):.3f}, {slower} slower")
    return int(slower > 0 or middle < 1 - MEDIAN_SLOWER)


if __name__ == "__main__":
    sys.exit(main())
