"""Checks a class's submissions: make grade DIR=submissions OUT=grades.csv.

Of each student's tree only the exercise files are taken. They are copied, checked by this tree's checker with data and
sizes that are drawn for this grading, each in a sandbox of its own; whatever one of them does is that student's result.
What ends the grading early, a signal or a full disk, leaves the results that are there.
"""

import concurrent.futures
import csv
import dataclasses
import datetime
import errno
import hashlib
import io
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

import feedback
import sandbox
from book import ROOT, BookError, find_exercise, only_chapters, read_book
from desk import write_file
from feedback import shown
from judge import MISSING, REFUSED, Judge, Verdict
from sandbox import Limits, Sandbox
from toolchain import NO_ROOM, BuildError, Toolchain

MOST_BYTES = 256 * 1024  # Of a submitted file.
MOST_DEPTH = 3  # Folders between a student's folder and its exercises/.
MOST_FOLDERS = 1000  # Of one folder, that are looked through.
LEAST_SPACE = 256 << 20  # On the disk for temporary files.
NOT_CHECKED = "not checked"  # No fault of the student's: no points, and none lost.
COLUMNS = ("student", "exercise", "verdict", "points", "of", "reason", "seconds")
FORMULA = re.compile(r"(^|[;,|]\s*)([=+\-@\uff1d\uff0b\uff0d\uff20])")


@dataclasses.dataclass
class Row:
    student: str
    exercise: str
    verdict: Verdict
    weight: float = 1.0
    sha256: str = ""
    submitted: str = ""  # The file, from the submissions' folder.
    content: bytes = b""

    @property
    def points(self):
        return self.weight * self.verdict.points

    @property
    def counts(self):
        return self.verdict.status != NOT_CHECKED


def students_in(folder):
    """(the students' folders, by name; [(name, why not)] of what else is there)"""
    students, others = [], []
    for path in sorted(folder.iterdir(), key=lambda p: os.fsencode(p.name)):
        if path.is_symlink():
            others.append((shown(path.name), "a link is not followed"))
        elif path.is_dir() and path.name.startswith("."):
            others.append((shown(path.name), "its name begins with a dot"))
        elif path.is_dir():
            students.append(path)
        else:
            others.append((shown(path.name), "it is no folder"))
    return students, others


def exercise_roots(student):
    """The folders in a student's tree that hold exercises/chapterN, the nearest first. What cannot be read is told behind the last.
    \\raises OSError"""
    level = [student]
    unread = None
    for _ in range(MOST_DEPTH + 1):
        following = []
        for folder in level:
            try:
                with os.scandir(folder) as scanned:
                    entries = sorted(scanned, key=lambda e: os.fsencode(e.name))
            except OSError as error:
                unread = unread or error
                continue
            inside = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
            if any(entry.name == "exercises" for entry in inside):
                yield pathlib.Path(folder)
            if len(inside) > MOST_FOLDERS:
                told = f"it holds {len(inside):,} folders, and {MOST_FOLDERS:,} are looked through: hand in exercises/ at the top"
                unread = unread or OSError(errno.E2BIG, told, folder)
            following += [entry.path for entry in inside[:MOST_FOLDERS] if entry.name not in ("exercises", "build", ".git", "chapters", "common")]
        level = following
    if unread:
        raise unread


def take(student, exercise):
    """(the submitted file's bytes, its path, why it is not taken). \\raises OSError where it cannot be read"""
    for root in exercise_roots(student):
        path = exercise.path(root)
        # No link is followed, in no part of the way: it might lead to another student's file.
        if (root / "exercises").is_symlink() or path.parent.is_symlink() or path.is_symlink():
            return None, path, "it is a link, not a file"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno == errno.ENXIO:  # A socket.
                return None, path, "it is no ordinary file"
            raise
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
    name = shown(student.name.replace("\\", r"\\"))  # Or a byte that is no text and its escape would be one name.
    try:
        content, path, problem = take(student, exercise)
    except OSError as error:
        where = shown(os.path.relpath(error.filename or student, submissions))
        return Row(name, exercise.key, Verdict(NOT_CHECKED, f"{where} cannot be read: {error.strerror}"))
    where = shown(path.relative_to(submissions)) if path else ""
    if content is None:
        verdict = Verdict(REFUSED, problem) if problem else Verdict(MISSING, "the file was not handed in")
        return Row(name, exercise.key, verdict, submitted=where)
    folder = ""
    try:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            # A name of its own: nothing tells one student's run from another's.
            file = pathlib.Path(folder) / exercise.path().name
            file.write_bytes(content)
            verdict = judge.check(chapter, exercise, file)
    except BuildError as error:
        verdict = Verdict(NOT_CHECKED, str(error))
    except OSError as error:
        verdict = Verdict(NOT_CHECKED, NO_ROOM if error.errno == errno.ENOSPC else f"the checker failed: {error}")
    except Exception as error:  # noqa: BLE001  Whatever it is, the others' results must come.
        verdict = Verdict(NOT_CHECKED, f"the checker failed: {type(error).__name__}: {error}")
    if sandbox.ended.is_set():  # It was cut short, and looks like a file that does not compile.
        verdict = Verdict(NOT_CHECKED, "the grading was interrupted")
    verdict.reason = verdict.reason.replace(str(folder), "").strip()
    return Row(name, exercise.key, verdict, 1.0, hashlib.sha256(content).hexdigest(), where, content)


def cell(text):
    """A text that a spreadsheet shows and does not run, on one line, whatever it takes for the end of a cell."""
    text = shown(" ".join(str(text).split()))
    return FORMULA.sub(r"\1'\2", text)


def number(value):
    return f"{value:.10g}"


def as_csv(columns, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()


def grades(rows):
    """Rows of the grades' table; who was not checked has an empty cell for points."""
    for row in rows:
        v = row.verdict
        points = number(row.points) if row.counts else ""
        yield row.student, row.exercise, v.status, points, number(row.weight), v.reason, f"{v.seconds:.1f}"


def as_json(rows, about):
    results = [
        {"student": r.student, "exercise": r.exercise, "verdict": r.verdict.status, "points": r.points if r.counts else None,
         "of": r.weight, "reason": r.verdict.reason, "details": list(r.verdict.details), "counters": r.verdict.measured,
         "seconds": round(r.verdict.seconds, 2), "file": r.submitted, "sha256": r.sha256}
        for r in rows
    ]  # fmt: skip
    return json.dumps(about | {"results": results}, indent=1, ensure_ascii=False, default=str) + "\n"


def commit_of(root):
    described = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"], cwd=root,
                               capture_output=True, text=True, check=False)  # fmt: skip
    return described.stdout.strip() or "unknown"


def read_weights(text, book):
    """{exercise's key: points} from "swizzle=3 chapter4=2 chapter1/packs=0.5": the last that names an exercise counts.
    \\raises BookError"""
    weights = {e.key: 1.0 for c in book for e in c.exercises if e.is_graded}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not name or not equals or not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", value):
            raise BookError(f"WEIGHTS: '{word}' is not NAME=POINTS, with a name of an exercise or chapterN")
        chapter = re.fullmatch(r"chapter(\d+)", name)
        keys = [k for k in weights if (k.startswith(f"{name}/") if chapter else k == find_exercise(book, name).key)]
        if not keys:
            raise BookError(f"WEIGHTS: {name} is not graded")
        weights |= dict.fromkeys(keys, float(value))
    return weights


def check_places(submissions, outputs, example):
    """What can be said before hours of grading; `outputs` are the files that will be written, the one that OUT names first.
    \\raises BookError"""
    if not submissions.is_dir():
        raise BookError(f"{shown(submissions)} is no folder: it holds one folder per student, each with its exercises/")
    out, ending = outputs[0], pathlib.Path(example).suffix
    if out.suffix != ending:
        raise BookError(f"OUT={shown(out)}: it is the {ending[1:].upper()} file's name, {example}; the rest is written beside it")
    for path in outputs:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise BookError(f"{shown(path)} is no ordinary file, and is not replaced")
    try:
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise BookError(f"nothing can be written to {shown(out.parent)}: {error.strerror}") from None
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < LEAST_SPACE:
        raise BookError(f"{tempfile.gettempdir()} has {free >> 20} MiB left, and checks need {LEAST_SPACE >> 20} (TMPDIR names another place)")


def similar_path(out):
    return out.with_name(f"{out.stem}_similar.csv")


def feedback_path(out):
    return out.with_name(f"{out.stem}_feedback")


class Interruption:
    """While it lasts, Ctrl-C, SIGTERM and SIGHUP end what runs instead of this program. A context manager."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self):
        self.signal = None

    def come(self, number, _):
        self.signal = number
        sandbox.end_all()

    def __enter__(self):
        sandbox.ended.clear()
        self.before = [signal.signal(number, self.come) for number in self.SIGNALS]
        return self

    def __exit__(self, *_):
        for number, handler in zip(self.SIGNALS, self.before):
            signal.signal(number, handler)
        sandbox.ended.clear()


def check_class(submissions, outputs, example, report, seed=None, jobs=None, seconds=20, root=ROOT, chapters=(), weights=""):
    """Checks what a class handed in. `report(rows, about, book)` writes the outputs and returns what is said of them; `seed` is a
    number, a function of what is to be checked, or drawn. \\return the exit status: 0; 3 where something could not be checked;
    130 interrupted. \\raises BookError, BuildError"""
    submissions = submissions.resolve()
    check_places(submissions, outputs, example)
    students, others = students_in(submissions)
    for name, why in others:
        print(f"not graded: {name}: {why}")
    if not students:
        raise BookError(f"{shown(submissions)} holds no folders: one for each student is expected")

    book = only_chapters(read_book(root), chapters)
    weight = read_weights(weights, book)
    jobs = jobs or os.cpu_count() or 2
    toolchain = Toolchain("emulator", root)
    toolchain.prepare(book)
    readable = [root / "common", root / "chapters", root / "build"]
    for chapter in book:
        compiler = pathlib.Path(toolchain.compile_command(chapter.number, "", "")[0]).resolve()
        readable.append(compiler.parent.parent)  # Where it is installed, if that is an unusual place.
    tasks = [(student, chapter, exercise) for student in students for chapter in book for exercise in chapter.exercises if exercise.is_graded]
    seed = secrets.randbits(32) if seed is None else seed(tasks) if callable(seed) else seed
    box = Sandbox(Limits(seconds=seconds, readable=tuple(readable)))
    judge = Judge(toolchain, box, seed, seconds)
    print(f"{len(students)} student{'s' * (len(students) > 1)}, {len(tasks)} files to check, seed {seed}; "
          + describe(box.isolation))  # fmt: skip

    rows = []
    start = datetime.datetime.now(datetime.timezone.utc)
    with Interruption() as interruption:
        with tempfile.TemporaryDirectory(prefix="warpbook-grade-") as scratch, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(check_one, judge, c, e, s, submissions, scratch) for s, c, e in tasks]
            for count, future in enumerate(futures, 1):
                rows.append(future.result())
                rows[-1].weight = weight[rows[-1].exercise]
                if sys.stdout.isatty():
                    print(f"\r{count}/{len(tasks)} {rows[-1].student[:40]:<40}", end="", flush=True)
        if sys.stdout.isatty():
            print("\r" + " " * 60 + "\r", end="")

        about = {
            "date": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "seed": seed, "commit": commit_of(root), "device": "emulator",
            "seconds_a_check": seconds, "isolation": box.isolation, "interrupted": interruption.signal is not None,
        }  # fmt: skip
        said = report(rows, about, book)
    print(f"{said}. The same again: SEED={seed}")
    unchecked = [r for r in rows if not r.counts]
    for reason in sorted({r.verdict.reason for r in unchecked})[:5]:
        print(f"not checked: {sum(r.verdict.reason == reason for r in unchecked)} files: {reason}", file=sys.stderr)
    return 130 if interruption.signal else 3 if unchecked else 0


def grade(submissions, out, **options):
    """The grades, as CSV and JSON, a page for each student, and who is like whom. \\return as check_class"""

    def report(rows, about, book):
        write_file(out, as_csv(COLUMNS, grades(rows)))
        write_file(out.with_suffix(".json"), as_json(rows, about))
        pairs = feedback.similar(rows, book)
        write_file(similar_path(out), as_csv(feedback.PAIR_COLUMNS, pairs))
        feedback.write(feedback_path(out), rows, book)
        print_sheet(rows)
        return (f"written: {shown(out)}, {shown(out.with_suffix('.json').name)}, {shown(similar_path(out).name)} ({len(pairs)} "
                f"pair{'s' * (len(pairs) != 1)}), {shown(feedback_path(out).name)}/")  # fmt: skip

    outputs = (out, out.with_suffix(".json"), similar_path(out))
    return check_class(submissions, outputs, "grades.csv", report, **options)


def describe(isolation):
    network = "without a network" if isolation["network"] == "cut" else "WITH the network (this system does not let it be taken away)"
    files = "no file to write to but its own" if isolation["files"] == "landlock" else "NO protection of this user's files (no Landlock here)"
    return f"each check runs {network}, {files}"


def print_sheet(rows):
    students = list(dict.fromkeys(r.student for r in rows))
    width = max(len(s) for s in students)
    for student in students:
        mine = [r for r in rows if r.student == student]
        other = {}
        for r in mine:
            if not r.verdict.done:
                other[r.verdict.status] = other.get(r.verdict.status, 0) + 1
        text = ", ".join(f"{n} {status}" for status, n in other.items())
        points = f"{number(sum(r.points for r in mine))} of {number(sum(r.weight for r in mine))}"
        print(f"  {student:<{min(width, 40)}}  {points:>12}  {text}")
