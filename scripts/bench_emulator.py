#!/usr/bin/env python3
"""Measures what the emulator costs, on one core and on all, and records it.

    scripts/bench_emulator.py                      # prints a table
    scripts/bench_emulator.py --output FILE.json   # also writes it (docs/results/emulated-h200/bench.json)
    scripts/bench_emulator.py --one F --all F      # from two runs of emulator_bench --benchmark_format=json elsewhere

Runs build/emulator/tests/emulator_bench (WARPBOOK_BUILD names another build) twice. Nanoseconds are of processor time on
one core; the gain is of real time, one core over all.
"""

import argparse
import json
import os
import pathlib
import subprocess

import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = {"traced access": 20, "untraced access": 5, "untraced thread": 15, "barrier of a thread": 20}


def run(workers):
    program = pathlib.Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build/emulator")) / "tests/emulator_bench"
    environment = dict(os.environ, **({"WARPBOOK_WORKERS": str(workers)} if workers else {}))
    return json.loads(subprocess.run([program, "--benchmark_format=json"], env=environment, check=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)


def name_of(benchmark):
    return benchmark["name"].removesuffix("/process_time/real_time")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", type=pathlib.Path, help="the run on one core")
    parser.add_argument("--all", type=pathlib.Path, help="the run on all cores")
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    one = whole_file.read_json(arguments.one) if arguments.one else run(1)
    every = whole_file.read_json(arguments.all) if arguments.all else run(0)
    others = {name_of(b): b for b in every["benchmarks"]}
    rows = []
    for benchmark in one["benchmarks"]:
        name = name_of(benchmark)
        # "ns" is real time an item, in seconds: scaled to the processor's time.
        nanoseconds = benchmark["ns"] * 1e9 * benchmark["cpu_time"] / benchmark["real_time"]
        rows.append({"name": name, "nanoseconds": nanoseconds, "target": TARGETS.get(name.split("/")[0]),
                     "gain_on_all_cores": benchmark["real_time"] / others[name]["real_time"]})
        print(f"{name:40} {nanoseconds:6.1f} ns   {rows[-1]['gain_on_all_cores']:5.1f}x on {every['context']['num_cpus']} cores")
    if arguments.output:
        context = {key: one["context"][key] for key in ("date", "num_cpus", "mhz_per_cpu")}
        whole_file.write(arguments.output, json.dumps({"context": context, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
