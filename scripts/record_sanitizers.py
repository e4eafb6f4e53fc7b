#!/usr/bin/env python3
"""Runs a chapter's steps under compute-sanitizer's four tools and writes chapterN_sanitizers.txt.

    python3 scripts/record_sanitizers.py 3                                          the quick cases, every step
    python3 scripts/record_sanitizers.py 3 --step v7d,v7h --case 'shape=3,37,65 perm=0,2,1 dtype=half'
    python3 scripts/record_sanitizers.py 3 --program ./run_all --jobs 12 --limit 150

Each tool and step is a process of its own, several at a time: a tool slows a kernel by up to a hundred times. One that
has not ended after --limit seconds is stopped, and its line says so. Exit status: 0 when all ended without a finding,
1 otherwise, 2 for wrong arguments, 3 without a tool or a program.
"""

import argparse
import concurrent.futures
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys

import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FINDINGS = re.compile(r"^=+ ((?:ERROR|RACECHECK) SUMMARY: (\d+) .*)$", re.MULTILINE)


def first_line(*command):
    """What a command prints first, or unknown."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def steps_of(program):
    """The steps that the program lists, yardsticks left out."""
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\w+) ", listed.partition("\nCases")[0].partition("\nYardsticks")[0], re.MULTILINE)


def small_cases_of(program):
    """The cases that the program lists and that move 16 MiB or less: the tools make a kernel some hundred times slower."""
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    found = re.findall(r"moves ([\d.]+) (\w+)\n +--case '([^']*)'", listed)
    return [case for amount, unit, case in found if float(amount) * units[unit] <= 16 << 20]


def check(tool, step, program, cases, limit):
    """One line of the record, and whether it is clean."""
    command = ["timeout", "-s", "INT", "-k", "5", str(limit), "compute-sanitizer", "--tool", tool, program,
               "--step", step, "--samples", "1", *cases]
    output = subprocess.run(command, capture_output=True, text=True, errors="replace")
    text = output.stdout + output.stderr
    result = re.findall(r"^\d+ cases?: .*", text, re.MULTILINE)
    found = FINDINGS.search(text)
    clean = output.returncode == 0 and found is not None and found[2] == "0"
    if output.returncode in (124, 130, 137):
        said = f"did not end in {limit} s"
    else:
        said = f"{result[-1] if result else 'no result'}; {found[1] if found else 'no summary'}"
    if not clean and found and found[2] != "0":  # The first finding, as the tool words it.
        said += "".join(f"\n    {line}" for line in text.splitlines() if line.startswith("========= "))[:2000]
    return f"  {step:5} {said}", clean


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapter", type=int)
    parser.add_argument("--program", help="default: chapterN/run_all")
    parser.add_argument("--step", help="some steps, with commas between (all)")
    parser.add_argument("--case", action="append", help="a case instead of the small ones; may be repeated")
    parser.add_argument("--tool", action="append", choices=TOOLS, help="may be repeated (all four)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time (the number of cores)")
    parser.add_argument("--limit", type=int, default=600, help="seconds for each process (600)")
    parser.add_argument("--output", type=pathlib.Path, help="default: docs/results/<device>/chapterN_sanitizers.txt")
    arguments = parser.parse_args()

    program = arguments.program or str(ROOT / f"chapter{arguments.chapter}/run_all")
    if not os.access(program, os.X_OK):
        print(f"error: {program} is no program: make chapter{arguments.chapter} builds it", file=sys.stderr)
        return 3
    if not shutil.which("compute-sanitizer"):
        print("error: compute-sanitizer is not on the PATH: it comes with the CUDA Toolkit", file=sys.stderr)
        return 3
    steps = arguments.step.split(",") if arguments.step else steps_of(program)
    chosen = arguments.case or small_cases_of(program)
    cases = [part for case in chosen for part in ("--case", case)]
    tools = arguments.tool or TOOLS

    device = first_line("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    output = arguments.output or ROOT / f"docs/results/{slug}/chapter{arguments.chapter}_sanitizers.txt"
    driver = first_line("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    version = first_line("compute-sanitizer", "--version")
    commit = os.environ.get("WARPBOOK_COMMIT") or first_line("git", "describe", "--always", "--dirty")
    shown = "".join(f"\n  --case '{case}'" for case in chosen)
    head = (f"{version} over chapter {arguments.chapter}'s run_all, one step a process, on an {device}, driver {driver}, "
            f"commit {commit}, {datetime.date.today()}.\nCases: {shown}\n")

    lines = {}
    all_clean = True
    text = head
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = {pool.submit(check, tool, step, program, cases, arguments.limit): (tool, step)
                   for tool in tools for step in steps}
        for future in concurrent.futures.as_completed(futures):  # Whatever stops this script, what ended is there.
            lines[futures[future]], clean = future.result()
            all_clean &= clean
            text = head
            for tool in tools:
                said = [lines.get((tool, step), f"  {step:5} has not run") for step in steps]
                text += f"\n{tool}:\n" + "\n".join(said) + "\n"
            whole_file.write(output, text)
    print(text, end="")
    return 0 if all_clean else 1


if __name__ == "__main__":
    sys.exit(main())
