#!/usr/bin/env python3
"""Runs the corpus of planted bugs on a GPU under compute-sanitizer, and records what it says of each.

    python3 tests/emulator/bugs/sanitize.py --output docs/results/nvidia-h200/emulator_bugs.json

The tool that a bug is meant for comes first, so that a run which --seconds ends has the most of it; --resume FILE goes on
where such a run, written to FILE, ended.

Needs nvcc, compute-sanitizer and a GPU. tests/emulator/bugs/table.py puts the result beside the emulator's own.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
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
# The tool that looks for a bug, by how its file's name begins; memcheck, where it is none of these.
MEANT_FOR = [("race", "racecheck"), ("warp_race", "racecheck"), ("uninitialised", "initcheck"), ("barrier", "synccheck"),
             ("divergent", "synccheck"), ("deadlock", "synccheck"), ("mask", "synccheck"), ("shuffle", "synccheck")]
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


def is_first(program, tool):
    """Whether this is the tool that the program is meant for."""
    return tool == next((meant for begin, meant in MEANT_FOR if program.startswith(begin)), "memcheck")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--architecture", default="native")
    parser.add_argument("--resume", type=Path, help="the record of an earlier run, whose verdicts are kept")
    parser.add_argument("--seconds", type=float, default=3600, help="start nothing more after this time")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 12))
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.seconds
    sources = sorted(BUGS.glob("*.cu"))
    tools = ["none", *TOOLS]
    known = json.loads(arguments.resume.read_text())["programs"] if arguments.resume else {}
    found = {(program, tool): result for program, results in known.items() for tool, result in results.items()
             if result["status"] != "not run" and (result["status"] != "timeout" or program in MAY_HANG)}
    missing = [(source, tool) for source in sources for tool in tools if (source.stem, tool) not in found]
    missing.sort(key=lambda job: (job[0].stem in MAY_HANG, not is_first(job[0].stem, job[1]), job[1] == "none"))

    def run(job):
        program, tool = job
        if time.monotonic() > deadline:
            return {"status": "not run"}
        return verdict(program, tool, 8 if program.name in MAY_HANG else 40)

    version = captured(["compute-sanitizer", "--version"], 20)[0].strip().splitlines()
    device = captured(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 20)[0].strip()
    record = {
        "device": device.splitlines()[0],
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": os.environ.get("WARPBOOK_COMMIT", "unknown"),
        "nvcc": captured(["nvcc", "--version"], 20)[0].strip().splitlines()[-1],
        "compute_sanitizer": version[-1] if version else "",
    }

    def write():
        """What is known so far: a run may be ended at any time."""
        not_run = {"status": "not run"}
        record["programs"] = {source.stem: {tool: found.get((source.stem, tool), not_run) for tool in tools}
                              for source in sources}
        part = arguments.output.with_suffix(".part")
        part.write_text(json.dumps(record, separators=(",", ":")) + "\n")
        part.replace(arguments.output)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        needed = dict.fromkeys(source for source, _ in missing)
        programs = dict(zip(needed, pool.map(lambda source: build(source, Path(folder), arguments.architecture), needed)))
        running = {pool.submit(run, (programs[source], tool)): (source.stem, tool) for source, tool in missing}
        for done in as_completed(running):
            found[running[done]] = done.result()
            write()
    write()

if __name__ == "__main__":
    main()
