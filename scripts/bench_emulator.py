#!/usr/bin/env python3
"""Measures what the emulator costs, on one core and on all, and records it.

    scripts/bench_emulator.py             # prints a table
    scripts/bench_emulator.py --write     # also writes docs/results/emulated-h200/bench.json and ../emulator_cost.md
    scripts/bench_emulator.py --one F... --all F... --side F... --machine TEXT --commit C
                                          # from runs of emulator_bench --benchmark_format=json elsewhere

Runs build/emulator/tests/emulator_bench (WARPBOOK_BUILD names another build) on one core, on all, and as many times side
by side as there are cores, each row three times: the fastest counts, since other programs can only slow it down.
Nanoseconds are of processor time on one core; the gain is of real time, one core over all. Programs side by side, each
on one core, share nothing but the machine: their gain is the sum of their speeds over that of one alone. The row "the
machine" is arithmetic that waits for itself. What a row may take is the sum of what its accesses (20 ns traced, 5
untraced), its threads (15 ns untraced) and its barriers (20 ns a thread) may.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess

import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs/results/emulated-h200/bench.json"
TABLE = ROOT / "docs/results/emulator_cost.md"
WANTED_GAIN = 12
ACCESS, THREAD, BARRIER, TRACED = 5, 15, 20, 20  # nanoseconds
TURNS = 16  # accesses of a thread
MACHINE = "the machine/arithmetic"
TARGETS = {
    "untraced access/copy": ACCESS + THREAD / TURNS,
    "untraced access/scattered": ACCESS + THREAD / TURNS,
    "untraced access/tile": ACCESS + (THREAD + BARRIER) / TURNS,
    "untraced thread/no access": THREAD,
    "untraced thread/one load, one store": THREAD + 2 * ACCESS,
}


def target_of(name):
    if name == MACHINE:
        return None
    return TARGETS.get(name, BARRIER if name.startswith("barrier") else TRACED)


def run(workers, programs=1):
    """Runs of so many programs at the same time."""
    program = pathlib.Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build/emulator")) / "tests/emulator_bench"
    environment = dict(os.environ, **({"WARPBOOK_WORKERS": str(workers)} if workers else {}))
    command = [program, "--benchmark_format=json", "--benchmark_repetitions=3"]
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
               for _ in range(programs)]
    with concurrent.futures.ThreadPoolExecutor(programs) as readers:
        texts = [text for text, _ in readers.map(subprocess.Popen.communicate, started)]
    if any(process.returncode != 0 for process in started):
        raise SystemExit(f"{command[0]} failed")
    return [json.loads(text) for text in texts]


def fastest(runs):
    """The fastest time of each row, by name."""
    rows = {}
    for benchmark in (benchmark for run in runs for benchmark in run["benchmarks"]):
        if benchmark.get("run_type") == "aggregate":
            continue
        name = benchmark["name"].split("/process_time")[0]
        if name not in rows or benchmark["real_time"] < rows[name]["real_time"]:
            rows[name] = benchmark
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", type=pathlib.Path, nargs="+", help="runs on one core")
    parser.add_argument("--all", type=pathlib.Path, nargs="+", help="runs on all cores")
    parser.add_argument("--side", type=pathlib.Path, nargs="+", help="runs side by side, each on a core of its own")
    parser.add_argument("--machine", default="this machine", help="what they ran on, in words")
    parser.add_argument("--commit", default="unknown", help="of the emulator that ran")
    parser.add_argument("--write", action="store_true", help="write the record and its table")
    arguments = parser.parse_args()
    def read(paths, *otherwise):
        return [whole_file.read_json(path) for path in paths] if paths else run(*otherwise)

    one = read(arguments.one, 1)
    context = one[0]["context"]
    others = fastest(read(arguments.all, 0))
    beside = [fastest([run]) for run in read(arguments.side, 1, context["num_cpus"])]
    rows = []
    for name, benchmark in fastest(one).items():
        # "ns" is real time an item, in seconds: scaled to the processor's time.
        nanoseconds = benchmark["ns"] * 1e9 * benchmark["cpu_time"] / benchmark["real_time"]
        rows.append({"name": name, "nanoseconds": nanoseconds, "target": target_of(name),
                     "gain_on_all_cores": benchmark["real_time"] / others[name]["real_time"],
                     "gain_side_by_side": sum(benchmark["real_time"] / rows_of[name]["real_time"] for rows_of in beside)})
        print(f"{name:40} {nanoseconds:6.1f} ns   {rows[-1]['gain_on_all_cores']:5.1f}x on {context['num_cpus']} cores, "
              f"{rows[-1]['gain_side_by_side']:5.1f}x by programs that share nothing")
    if arguments.write:
        run_of = {"date": context["date"], "machine": arguments.machine, "commit": arguments.commit,
                  "cores": context["num_cpus"]}
        whole_file.write(OUTPUT, json.dumps({"run": run_of, "rows": rows}, indent=1) + "\n")
        whole_file.write(TABLE, table(run_of, rows))


def table(run_of, rows):
    """The rows as a page."""
    of_emulator = [row for row in rows if row["name"] != MACHINE]
    missed = [row["name"] for row in of_emulator if row["nanoseconds"] > row["target"]]
    slower = [row for row in of_emulator if row["gain_on_all_cores"] < WANTED_GAIN]
    lines = ["# What the emulator costs", "",
             "Generated by `scripts/bench_emulator.py --write` from runs of `emulator_bench`, on one core, on all, and as many "
             f"times side by side as there are cores: {run_of['machine']}, {run_of['cores']} cores, {run_of['date'][:10]}, "
             f"commit {run_of['commit']}. Nanoseconds are of processor time, for each access, thread, or barrier of a thread; "
             "each row is the fastest of several. An access may take 20 ns traced, 5 untraced; a thread 15 more, a barrier 20 "
             f"a thread; all cores should give {WANTED_GAIN} times one core's speed.", "",
             "| | ns | may take | times one core | programs that share nothing |", "|---|--:|--:|--:|--:|"]
    lines += [f"| {row['name']} | {row['nanoseconds']:.1f} | {'-' if row['target'] is None else format(row['target'], '.1f')} | "
              f"{row['gain_on_all_cores']:.1f} | {row['gain_side_by_side']:.1f} |" for row in rows]
    below = ", ".join(f"{row['name']} ({row['gain_on_all_cores']:.1f}; {row['gain_side_by_side']:.1f} by programs that share "
                      "nothing)" for row in slower)
    lines += ["", f"Over what they may take: {', '.join(missed) or 'none'}. Below {WANTED_GAIN} times: {below or 'none'}.", "",
              "The last column is what the machine gives where the emulator shares nothing: the same rows in as many programs "
              "as there are cores, at the same time, each on one core. They share caches, memory, power and the host's other "
              "guests; each has memory of its own, sixteen times as much in all, so where memory matters they gain less than "
              "one program's workers. Arithmetic that waits for itself, the first row, gains most of all there: "
              "it leaves most of a core unused. What the emulator shares is the kernels' own memory, and, of traced blocks, the "
              "simulated L2: workers hand over their blocks' traffic in pieces, and each slice of the L2 takes them in the "
              "blocks' order, mostly on one core, in whose cache it stays.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
