#!/usr/bin/env python3
"""Do the exercises' bars of speed hold on this GPU? Checks each exercise as it is handed out, which must not pass, and with
our step put back, which must; writes what came of both as JSON: docs/results/<device>/exercises.json.

    scripts/record_exercises.py --output F                        builds the checks by build/gpu, and runs them
    scripts/record_exercises.py --programs DIR --compile-only     only builds them, where there is no GPU
    scripts/record_exercises.py --programs DIR --output F         runs those, where there is no compiler
    scripts/record_exercises.py --output F --resume F             times what an earlier run (of the same texts) had no time for

Exit status: 0 all as it should be; 1 not; 2 bad arguments; 3 nothing can be built or run here.
"""

import argparse
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "common" / "exercises"), str(ROOT / "scripts")]
sys.dont_write_bytecode = True

import book  # noqa: E402
from judge import DONE, UNPROVEN, Judge, Verdict, draw_cases  # noqa: E402
from toolchain import BuildError, Compiled, Toolchain, scratch_folder  # noqa: E402
from whole_file import write  # noqa: E402

HANDED_OUT, SOLUTION = "handed_out", "solution"
NOT_TIMED = "not timed"


class Programs:
    """A toolchain that keeps the checks it builds in a folder, by exercise and text, and takes from there what it holds."""

    def __init__(self, folder, build):
        self.folder = folder
        self.toolchain = Toolchain("gpu", ROOT) if build else None
        self.root = ROOT

    def compile(self, chapter, exercise, file, scratch, sandbox=None, seconds=60):
        text = pathlib.Path(file).read_text(encoding="utf-8")
        kept = self.folder / hashlib.sha256((exercise.key + text).encode()).hexdigest()[:16]
        if kept.exists():
            return Compiled(program=kept)
        if self.toolchain is None:
            return Compiled(error=f"{exercise.key}: {self.folder} has no program of it as it is now")
        found = self.toolchain.compile(chapter, exercise, file, scratch, sandbox, max(seconds, 600))
        if not found.error:
            subprocess.run(["strip", "-o", kept, found.program], check=True)
            found.program = kept
        return found

    def keep_referee(self, number):
        shutil.copy(self.toolchain.referee(number), self.referee(number))

    def referee(self, number):
        return self.folder / f"chapter{number}_referee"


class OursOnce(Judge):
    """Our own step is timed once an exercise, and not again for the second text."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.timed = {}
        self.device = ""

    def execute(self, exercise, program, scratch, cases, results, arrays=None, **options):
        ours = arrays is None and scratch.name == "ours"
        if ours and exercise.key in self.timed:
            results.write_text(self.timed[exercise.key], encoding="utf-8")
            return None
        done = super().execute(exercise, program, scratch, cases, results, arrays, **options)
        if ours and results.exists():
            self.timed[exercise.key] = results.read_text(encoding="utf-8")
        return done


def texts(exercises):
    """(chapter, exercise, which, text), the solutions first."""
    return [(c, e, which, text) for which in (SOLUTION, HANDED_OUT) for c, e in exercises
            for text in (e.solution if which == SOLUTION else e.handed_out,)]


def in_a_file(scratch, exercise, text):
    path = scratch / f"{exercise.name}.cuh"
    path.write_text(text, encoding="utf-8")
    return path


def is_right(judge, chapter, exercise, text):
    """The verdict on the results, without speed."""
    with scratch_folder() as scratch:
        file = in_a_file(scratch, exercise, text)
        compiled = judge.toolchain.compile(chapter, exercise, file, scratch)
        if compiled.error:
            return Verdict("not built", compiled.error.splitlines()[0])
        with judge.referee(exercise, draw_cases(exercise.cases, judge.seed)) as referee:
            verdict = judge.run(exercise, compiled.program, scratch, file, referee, None)  # No case of real size: time is what counts here.
    if verdict.done and exercise.kind == "bug":
        verdict.status, verdict.reason = UNPROVEN, "a GPU does not show the bug that was to be found"
    elif verdict.done and exercise.gpu:
        verdict.status, verdict.reason = NOT_TIMED, "right, and the time was over before it was timed"
    return verdict


def is_fast(judge, chapter, exercise, text):
    with scratch_folder() as scratch:
        file = in_a_file(scratch, exercise, text)
        program = judge.toolchain.compile(chapter, exercise, file, scratch).program
        return judge.judge_speed(chapter, exercise, program, scratch, Verdict(DONE, device=judge.device))


def as_it_should_be(row):
    return row[SOLUTION]["status"] in (DONE, UNPROVEN) and row[HANDED_OUT]["status"] not in (DONE, "not built", NOT_TIMED)


def entry(verdict, text):
    """A verdict as it is recorded."""
    share = verdict.measured.get("share of our step's speed")
    return {"status": verdict.status, "reason": verdict.reason, "text": text_key(text)} | ({} if share is None else {"share": share})


def text_key(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def earlier_entries(path):
    """(device, {(exercise, its case, which, text's key): entry}, when and of what commit) of an earlier run."""
    if path is None or not path.exists():
        return "", {}, None
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["device"], {(row["exercise"], row.get("case"), which, row[which]["text"]): row[which]
                             for row in found["exercises"] for which in (SOLUTION, HANDED_OUT) if "text" in row.get(which, {})}, found["run"]


def record(judge, exercises, jobs, deadline, earlier, keep):
    """Rows, one an exercise. Results are compared several at a time; times are taken one after another, and `keep` is
    called with the rows as they are after each."""
    rows = {e.key: {"exercise": e.key, "kind": e.kind} | ({"case": e.gpu["case"], "bar": e.gpu["share"]} if e.gpu else {})
            for _, e in exercises}
    todo = texts(exercises)
    for _, e, which, text in todo:
        rows[e.key][which] = earlier.get((e.key, rows[e.key].get("case"), which, text_key(text)))
    fresh = [t for t in todo if rows[t[1].key][t[2]] is None]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        verdicts = list(pool.map(lambda t: is_right(judge, t[0], t[1], t[3]), fresh))
    judge.device = next((v.device for v in verdicts if v.device), judge.device)
    for (_, e, which, text), verdict in zip(fresh, verdicts):
        rows[e.key][which] = entry(verdict, text)
    keep(list(rows.values()))
    for chapter, e, which, text in todo:
        if rows[e.key][which]["status"] == NOT_TIMED and time.monotonic() < deadline:
            rows[e.key][which] = entry(is_fast(judge, chapter, e, text), text)
            keep(list(rows.values()))
    return list(rows.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, help="a folder for the checks that are built (left out: build/gpu/exercises/bars)")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), help="compilers, or results compared, at once")
    parser.add_argument("--budget-seconds", type=float, default=float("inf"), help="time no exercise after this time")
    parser.add_argument("--resume", type=pathlib.Path, help="keep this earlier run's verdicts on texts that have not changed")
    parser.add_argument("--only", default="", help="exercises whose chapterN/name begins with this")
    options = parser.parse_args()
    if not options.compile_only and options.output is None:
        parser.error("--output is needed, or --compile-only")
    start = time.monotonic()
    chapters = book.read_book(ROOT)
    # A project's file is the student's own from the first line: there is no step of ours to put back.
    exercises = [(c, e) for c in chapters for e in c.exercises if e.is_code and e.kind != "project" and e.key.startswith(options.only)]
    builds = options.compile_only or options.programs is None
    folder = (options.programs or ROOT / "build" / "gpu" / "exercises" / "bars").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    programs = Programs(folder, builds)
    try:
        if builds:
            wanted = {c.number: c for c, _ in exercises}
            programs.toolchain.prepare(list(wanted.values()))
            for number in wanted:
                programs.toolchain.commands(number)
                programs.keep_referee(number)

            def build(task):
                chapter, e, which, text = task
                with scratch_folder() as scratch:
                    found = programs.compile(chapter, e, in_a_file(scratch, e, text), scratch)
                return f"{e.key}, {which}: {found.error}" if found.error else ""

            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                failed = [error for error in pool.map(build, texts(exercises)) if error]
            if failed:
                raise BuildError("\n".join(failed))
        if options.compile_only:
            print(f"{len(texts(exercises))} checks in {folder}")
            return 0
        judge = OursOnce(programs, seed=4711, seconds=60)
        commit = os.environ.get("WARPBOOK_COMMIT") or subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

        def keep(rows):
            now = datetime.datetime.now(datetime.timezone.utc)
            run = {"date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": commit or "unknown", "seed": judge.seed} | ({"before": before} if before else {})
            write(options.output, json.dumps({"run": run, "device": judge.device, "exercises": rows}, separators=(",", ":")) + "\n")

        judge.device, earlier, before = earlier_entries(options.resume)
        rows = record(judge, exercises, options.jobs, start + options.budget_seconds, earlier, keep)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    bad = [row for row in rows if not as_it_should_be(row)]
    for row in bad:
        print(f"{row['exercise']}: as handed out {row[HANDED_OUT]['status']}, solved {row[SOLUTION]['status']}: {row[SOLUTION]['reason']}")
    print(f"{len(rows) - len(bad)} of {len(rows)} exercises as they should be, on {judge.device or 'no device'}; {time.monotonic() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
