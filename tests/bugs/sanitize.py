#!/usr/bin/env python3
"""Runs the corpus of planted bugs on a GPU under compute-sanitizer, and records what it says of each.

    python3 tests/bugs/sanitize.py --output docs/results/nvidia-h200/emulator_bugs.json

Needs nvcc, compute-sanitizer and a GPU. tests/bugs/table.py puts the result beside the emulator's own.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUGS = Path(__file__).resolve().parent
TOOLS = {
    "memcheck": ["--tool", "memcheck", "--leak-check", "full"],
    "racecheck": ["--tool", "racecheck", "--racecheck-report", "all"],
    "initcheck": ["--tool", "initcheck"],
    "synccheck": ["--tool", "synccheck"],
}
# These wait for ever on a GPU: they come last and get less time, so that they slow down nothing else.
MAY_HANG = {"divergent_barrier", "barrier_in_a_branch", "deadlock_warp_and_block", "deadlock_two_masks"}
HEADING = re.compile(r"^========= ((?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY|LEAK SUMMARY|Target|No |This|"
                     r"Error: process|\s).*)$", re.MULTILINE)


def captured(command, seconds):
    """What a program prints, and how it ends: its status, or "timeout"."""
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             timeout=seconds, check=False)
        return ran.stdout, ran.returncode
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), "timeout"
    except FileNotFoundError as missing:
        raise SystemExit(f"error: {missing.filename} was not found")


def build(source, folder, architecture):
    program = folder / source.stem
    text, status = captured(["nvcc", "-std=c++17", "-O1", "-lineinfo", "-w", f"-arch={architecture}", "-o",
                             str(program), str(source)], 120)
    if status != 0:
        raise SystemExit(f"error: {source.name} does not build:\n{text}")
    return program


def verdict(program, tool, seconds):
    """What one tool says of one program: its first findings' headings, the lines of the source that they name."""
    command = [str(program)]
    if tool != "none":
        command = ["compute-sanitizer", *TOOLS[tool], "--print-limit", "4", *command]
    text, status = captured(command, seconds)
    result = {"status": status}
    if tool == "none":
        return result
    findings = list(dict.fromkeys(re.sub(r"0x[0-9a-f]+", "0x..", heading) for heading in HEADING.findall(text)))
    lines = sorted({int(line) for line in re.findall(re.escape(program.name) + r"\.cu:(\d+)", text)})
    summary = re.findall(r"^========= (?:ERROR|RACECHECK) SUMMARY: (.*)$", text, re.MULTILINE)
    return result | {"findings": findings[:4], "lines": lines, "summary": summary[-1] if summary else ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--architecture", default="native")
    parser.add_argument("--seconds", type=float, default=3600, help="start nothing more after this time")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 12))
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.seconds
    sources = sorted(BUGS.glob("*.cu"))
    tools = ["none", *TOOLS]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        programs = list(pool.map(lambda source: build(source, Path(folder), arguments.architecture), sources))
        found = {}
        for hanging in (False, True):
            jobs = [(program, tool) for program in programs for tool in tools
                    if (program.name in MAY_HANG) == hanging]
            seconds = 8 if hanging else 40
            said = pool.map(lambda job: verdict(*job, seconds) if time.monotonic() < deadline else {"status": "not run"},
                            jobs)
            found.update({(program.name, tool): result for (program, tool), result in zip(jobs, said)})
    version = captured(["compute-sanitizer", "--version"], 20)[0].strip().splitlines()
    device = captured(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 20)[0].strip()
    record = {
        "device": device.splitlines()[0],
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": os.environ.get("WARPBOOK_COMMIT", "unknown"),
        "nvcc": captured(["nvcc", "--version"], 20)[0].strip().splitlines()[-1],
        "compute_sanitizer": version[-1] if version else "",
        "programs": {source.stem: {tool: found[source.stem, tool] for tool in tools} for source in sources},
    }
    arguments.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
