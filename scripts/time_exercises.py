#!/usr/bin/env python3
"""How long does a reader wait? Runs ./workbook as a reader does, saves files under its eyes, and writes the seconds from each
save to its verdict: docs/results/exercises_time.json.

    scripts/time_exercises.py                                                  each exercise twice: a wrong attempt, the solution
    sudo chrt -r 1 scripts/time_exercises.py                                   before whatever else runs on the machine
    scripts/time_exercises.py --only chapter3 --output F

Exit status: 0 all solved; 1 not; 2 bad arguments.
"""

import argparse
import datetime
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "common" / "exercises"), str(ROOT / "scripts")]
sys.dont_write_bytecode = True

import book  # noqa: E402
import toolchain  # noqa: E402
from whole_file import write  # noqa: E402

PROJECTS = ROOT / "tests" / "exercises" / "projects"  # A project's own step is no solution of it: it calls finished ones.
PATIENCE = 300  # Seconds, for a verdict; the first one waits for the build.


class Reader:
    """./workbook with its output piped, and what it said."""

    def __init__(self, folder, device):
        self.folder = folder
        self.process = subprocess.Popen([ROOT / "workbook", "--device", device, "--folder", folder, "watch"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.unread = ""

    def wait_for(self, text):
        """What came up to the text; empty where it did not come."""
        end = time.monotonic() + PATIENCE
        while text not in self.unread:
            if time.monotonic() > end:
                return ""
            if select.select([self.process.stdout], [], [], 1)[0]:
                data = os.read(self.process.stdout.fileno(), 65536)
                if not data:
                    return ""
                self.unread += data.decode("utf-8", "replace")
        seen, _, self.unread = self.unread.partition(text)
        return seen + text

    def save(self, exercise, text):
        """Saves the exercise's file. (seconds to the verdict, the verdict's first line, all that was said)"""
        path = exercise.path(self.folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        path.write_text(text, encoding="utf-8")
        seen = self.wait_for(f"checked: exercises/chapter{exercise.chapter}/{exercise.name}.cuh")
        seconds = time.monotonic() - start
        said = [line for line in seen.splitlines() if line.startswith(exercise.name)]
        return seconds, said[-1] if said else "no verdict", seen

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def solution_of(exercise):
    if exercise.kind == "project":
        return (PROJECTS / f"chapter{exercise.chapter}.cuh").read_text(encoding="utf-8")
    return exercise.solution


def priority():
    """How the system served this script, in words."""
    real_time = os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)
    return "real-time priority (chrt -r 1)" if real_time else f"nice {os.nice(0)}"


def commit():
    named = os.environ.get("WARPBOOK_COMMIT")
    return named or subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                                   check=False).stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs" / "results" / "exercises_time.json")
    parser.add_argument("--device", choices=("emulator", "gpu"), default="emulator")
    parser.add_argument("--only", default="", help="exercises whose chapterN/name begins with this")
    options = parser.parse_args()
    chapters = [c for c in book.read_book(ROOT) if any(e.key.startswith(options.only) for e in c.exercises)]
    exercises = [e for c in chapters for e in c.exercises if e.is_code and e.key.startswith(options.only)]
    if not exercises:
        parser.error(f"--only {options.only}: no exercise begins with it")
    toolchain.Toolchain(options.device).prepare(chapters)  # Else the first save of a chapter waits for its build.
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(pathlib.Path(folder), options.device)
        try:
            reader.wait_for("it waits for you")
            for exercise in exercises:
                for attempt, text in (("wrong", exercise.handed_out + "// Tried.\n"), ("solved", solution_of(exercise))):
                    time.sleep(1)  # The one before is done with.
                    seconds, verdict, seen = reader.save(exercise, text)
                    rows.append({"exercise": exercise.key, "attempt": attempt, "seconds": round(seconds, 2), "verdict": verdict})
                    print(f"{seconds:6.2f} s  {verdict}", flush=True)
                    if attempt == "solved" and " is solved" not in verdict:
                        print(seen)
        finally:
            reader.close()
    now = datetime.datetime.now(datetime.timezone.utc)
    write(options.output, json.dumps({
        "run": {"date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": commit(), "priority": priority(),
                "method": "./workbook with its output piped; from before the file is written to the last line of the verdict"},
        "device": f"{len(os.sched_getaffinity(0))} CPU cores, {options.device}",
        "rows": rows}, separators=(",", ":")) + "\n")
    print(f"at most {max(row['seconds'] for row in rows):.2f} s of {len(rows)} saves")
    return 0 if all(" is solved" in row["verdict"] for row in rows if row["attempt"] == "solved") else 1


if __name__ == "__main__":
    sys.exit(main())
