"""Checks a class's submissions: make grade DIR=submissions OUT=grades.csv.

Of each student's tree only the exercise files are taken. They are copied, checked by this tree's checker with data and
sizes that are drawn for this grading, each in a sandbox of its own; whatever one of them does is that student's result.
"""

import concurrent.futures
import csv
import dataclasses
import datetime
import hashlib
import io
import json
import os
import pathlib
import secrets
import stat
import subprocess
import sys
import tempfile

from book import ROOT, BookError, read_book
from desk import write_file
from judge import MISSING, REFUSED, Judge, Verdict
from sandbox import Limits, Sandbox
from toolchain import Toolchain

MOST_BYTES = 256 * 1024  # Of a submitted file.
MOST_DEPTH = 3  # Folders between a student's folder and its exercises/.
COLUMNS = ("student", "exercise", "verdict", "points", "reason", "seconds")


@dataclasses.dataclass
class Row:
    student: str
    exercise: str
    verdict: Verdict
    sha256: str = ""
    submitted: str = ""  # The file, from the submissions' folder.


def students_in(folder):
    """The students' folders, by name."""
    return sorted((p for p in folder.iterdir() if p.is_dir() and not p.is_symlink() and not p.name.startswith(".")), key=lambda p: p.name)


def exercise_roots(student):
    """The folders in a student's tree that hold exercises/chapterN, the nearest first."""
    level = [student]
    found = []
    for _ in range(MOST_DEPTH + 1):
        following = []
        for folder in level:
            try:
                entries = sorted(os.scandir(folder), key=lambda e: e.name)
            except OSError:
                continue
            for entry in entries[:1000]:
                if not entry.is_dir(follow_symlinks=False):
                    continue
                if entry.name == "exercises":
                    found.append(pathlib.Path(folder))
                elif entry.name not in ("build", ".git", "chapters", "common"):
                    following.append(entry.path)
        level = following
    return found


def take(student, exercise):
    """(the submitted file's bytes, its path, why it is not taken)"""
    for root in exercise_roots(student):
        path = root / "exercises" / f"chapter{exercise.chapter}" / f"{exercise.name}.cuh"
        try:
            # No link is followed, in no part of the way: it might lead to another student's file.
            if path.parent.is_symlink() or path.is_symlink():
                return None, path, "it is a link, not a file"
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None, path, "it is no ordinary file"
            if status.st_size > MOST_BYTES:
                return None, path, f"it has {status.st_size} bytes; at most {MOST_BYTES} are taken"
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(MOST_BYTES), path, ""
        finally:
            os.close(descriptor)
    return None, None, ""


def check_one(judge, chapter, exercise, student, submissions, scratch):
    name = student.name
    content, path, problem = take(student, exercise)
    where = str(path.relative_to(submissions)) if path else ""
    if content is None:
        verdict = Verdict(REFUSED, problem) if problem else Verdict(MISSING, "the file was not handed in")
        return Row(name, exercise.key, verdict, submitted=where)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        # A name of its own: nothing tells one student's run from another's.
        file = pathlib.Path(folder) / f"{exercise.name}.cuh"
        file.write_bytes(content)
        try:
            verdict = judge.check(chapter, exercise, file)
        except Exception as error:  # noqa: BLE001  Whatever it is, the others' results must come.
            verdict = Verdict("not checked", f"the checker failed: {type(error).__name__}: {error}")
    verdict.reason = verdict.reason.replace(str(folder), "").strip()
    return Row(name, exercise.key, verdict, hashlib.sha256(content).hexdigest(), where)


def cell(text):
    """A text that a spreadsheet shows and does not run, on one line."""
    text = " ".join(str(text).split())
    return "'" + text if text[:1] in ("=", "+", "-", "@") else text


def as_csv(rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        v = row.verdict
        writer.writerow([cell(row.student), row.exercise, v.status, int(v.done), cell(v.reason), f"{v.seconds:.1f}"])
    return text.getvalue()


def as_json(rows, about):
    results = [
        {"student": r.student, "exercise": r.exercise, "verdict": r.verdict.status, "points": int(r.verdict.done),
         "reason": r.verdict.reason, "details": list(r.verdict.details), "counters": r.verdict.measured,
         "seconds": round(r.verdict.seconds, 2), "file": r.submitted, "sha256": r.sha256}
        for r in rows
    ]  # fmt: skip
    return json.dumps(about | {"results": results}, indent=1, ensure_ascii=False) + "\n"


def commit_of(root):
    shown = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"], cwd=root,
                           capture_output=True, text=True, check=False)  # fmt: skip
    return shown.stdout.strip() or "unknown"


def grade(submissions, out, seed=None, jobs=None, seconds=20, root=ROOT):
    """\\return the exit status. \\raises BookError, BuildError"""
    submissions = submissions.resolve()
    if not submissions.is_dir():
        raise BookError(f"{submissions} is no folder: it holds one folder a student, each with its exercises/")
    json_path = out.with_suffix(".json")
    if out.suffix == ".json":
        raise BookError("OUT is the CSV file's name; the JSON is written beside it")
    students = students_in(submissions)
    if not students:
        raise BookError(f"{submissions} holds no folders: one for each student is expected")
    if not out.parent.is_dir():
        raise BookError(f"there is no folder {out.parent} for {out.name}")

    book = read_book(root)
    jobs = jobs or os.cpu_count() or 2
    toolchain = Toolchain("emulator", root)
    toolchain.prepare(book)
    readable = [root / "common", root / "chapters", root / "build"]
    for chapter in book:
        compiler = pathlib.Path(toolchain.compile_command(chapter.number, "", "")[0]).resolve()
        readable.append(compiler.parent.parent)  # Where it is installed, if that is an unusual place.
    toolchain.library_symbols()
    seed = secrets.randbits(32) if seed is None else seed
    sandbox = Sandbox(Limits(seconds=seconds, readable=tuple(readable)))
    judge = Judge(toolchain, sandbox, seed, seconds)
    tasks = [(student, chapter, exercise) for student in students for chapter in book for exercise in chapter.exercises if exercise.is_graded]
    print(f"{len(students)} student{'s' * (len(students) > 1)}, {len(tasks)} files to check, seed {seed}; "
          + describe(sandbox.isolation))  # fmt: skip

    rows = []
    start = datetime.datetime.now(datetime.timezone.utc)
    with tempfile.TemporaryDirectory(prefix="warpbook-grade-") as scratch, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(check_one, judge, c, e, s, submissions, scratch) for s, c, e in tasks]
        for count, future in enumerate(futures, 1):
            rows.append(future.result())
            if sys.stdout.isatty():
                print(f"\r{count}/{len(tasks)} {rows[-1].student[:40]:<40}", end="", flush=True)
    if sys.stdout.isatty():
        print("\r" + " " * 60 + "\r", end="")

    about = {
        "date": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "seed": seed, "commit": commit_of(root), "device": "emulator",
        "seconds_a_check": seconds, "isolation": sandbox.isolation,
    }  # fmt: skip
    write_file(out, as_csv(rows))
    write_file(json_path, as_json(rows, about))
    print_sheet(rows, students, len(tasks) // len(students))
    print(f"written: {out} and {json_path}. The same again: SEED={seed}")
    return 0


def describe(isolation):
    network = "without a network" if isolation["network"] == "cut" else "WITH the network (this system does not let it be taken away)"
    files = "no file to write to but its own" if isolation["files"] == "landlock" else "NO protection of this user's files (no Landlock here)"
    return f"each check runs {network}, {files}"


def print_sheet(rows, students, count):
    width = max(len(s.name) for s in students)
    for student in students:
        mine = [r for r in rows if r.student == student.name]
        done = sum(r.verdict.done for r in mine)
        other = {}
        for r in mine:
            if not r.verdict.done:
                other[r.verdict.status] = other.get(r.verdict.status, 0) + 1
        text = ", ".join(f"{n} {status}" for status, n in other.items())
        print(f"  {student.name:<{min(width, 40)}}  {done:>2} of {count}  {text}")
