"""A reader's desk: the exercises with what the reader did about them, kept in exercises/progress.json."""

import dataclasses
import fcntl
import json
import os
import tempfile

from book import ROOT, BookError, lay_out, only_chapters, read_book
from judge import DONE, NOT_BEGUN, Judge, Verdict, cache_key
from toolchain import Toolchain
from trial import BadCase

PROGRESS = "progress.json"


def write_file(path, text):
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".new")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


def read_text(path):
    """A reader's file; "" where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class Desk:
    """`root` holds exercises/, and is this tree where nothing else is said; `chapters` are all unless some are named."""

    def __init__(self, device, root=ROOT, chapters=()):
        self.root = root
        self.book = only_chapters(read_book(), chapters)
        self.chapters = {chapter.number: chapter for chapter in self.book}
        self.exercises = [e for chapter in self.book for e in chapter.exercises]
        self.toolchain = Toolchain(device)
        self.judge = Judge(self.toolchain)
        self.path = root / "exercises" / PROGRESS
        self.progress = {"solved": {}, "hints": {}, "current": "", "verdicts": {}}
        self._key = None
        self._built = set()  # Chapters.
        self.progress |= self.read()

    def read(self):
        """What is remembered of earlier: {} where there is nothing, or it is damaged. The files themselves are what counts."""
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            return {k: v for k, v in stored.items() if isinstance(v, type(self.progress.get(k)))}
        except (OSError, ValueError, AttributeError):
            return {}

    def remember(self, part, key, value):
        """Sets an entry of a part, None removes it; or with a key of None the part itself. What another workbook on this desk
        remembered meanwhile stays."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path.with_name(f".{PROGRESS}.lock"), "w", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self.progress |= self.read()
                self.set(part, key, value)
                write_file(self.path, json.dumps(self.progress, indent=1) + "\n")
        except OSError:
            self.set(part, key, value)  # Nothing but the memory of hints and of results is lost.

    def set(self, part, key, value):
        if key is None:
            self.progress[part] = value
        elif value is None:
            self.progress[part].pop(key, None)
        else:
            self.progress[part][key] = value

    def prepare(self, chapters, say=print):
        """Lays out what is not there, and builds the checks. \\raises BuildError"""
        written = lay_out([e for chapter in chapters for e in chapter.exercises], self.root)
        self.toolchain.prepare(chapters, say)
        self._key = None
        self._built |= {chapter.number for chapter in chapters}
        return written

    def key(self, exercise, text):
        if self._key is None:
            self._key = self.toolchain.key()
        for lower in self.chapters[exercise.chapter].foundations(exercise):
            text += "\0" + read_text(lower.path(self.root))
        return cache_key(self._key, exercise, text, self.judge.seed)

    def known(self, exercise):
        """The verdict on the file as it is now, where there is one already."""
        text = read_text(exercise.path(self.root))
        stored = self.progress["verdicts"].get(exercise.key)
        if not isinstance(stored, dict) or stored.get("key") != self.key(exercise, text):
            return None
        try:
            return Verdict(**{k: tuple(v) if isinstance(v, list) else v for k, v in stored["verdict"].items()})
        except (TypeError, KeyError):
            return None

    def check(self, exercise, anyway=False):
        """The verdict on the reader's file; `anyway`, on one that is as it was handed out, too. \\raises BuildError"""
        if not anyway and (verdict := self.known(exercise)) is not None:
            return verdict
        path = exercise.path(self.root)
        text = read_text(path)
        chapter = self.chapters[exercise.chapter]
        if exercise.is_code and chapter.number not in self._built:
            self.prepare([chapter])
        verdict = self.judge.check(chapter, exercise, path, say_not_begun=not anyway)
        lower = [e.name for e in chapter.foundations(exercise) if not self.solved(e)]
        if lower and verdict.status not in (DONE, NOT_BEGUN):
            verdict.details += (f"(it runs your {', '.join(lower)}, which is not solved yet: begin there)",)
        key = self.key(exercise, text)
        self.remember("verdicts", exercise.key, {"key": key, "verdict": vars(verdict)})
        self.remember("solved", exercise.key, True if verdict.status == DONE else None)
        return verdict

    def try_case(self, exercise, case):
        """The verdict on the reader's file on this case alone: right or wrong. \\raises BookError for what is no case"""
        asked = dataclasses.replace(exercise, kind="write", cases=(case,), far=(), bars=(), goals=(), ours=None, gpu=None)
        chapter = self.chapters[exercise.chapter]
        self.prepare([chapter])
        try:
            return self.judge.check(chapter, asked, exercise.path(self.root), say_not_begun=False)
        except BadCase as error:
            raise BookError(f"'{case}' is no case of chapter {chapter.number}: {error}") from None

    def solved(self, exercise):
        return exercise.key in self.progress["solved"]

    def hints_shown(self, exercise):
        count = self.progress["hints"].get(exercise.key, 0)
        return min(max(count, 0), len(exercise.hints)) if isinstance(count, int) else 0

    def next_hint(self, exercise):
        """Shows one hint more, up to the last. \\return how many are shown"""
        count = min(self.hints_shown(exercise) + 1, len(exercise.hints))
        self.remember("hints", exercise.key, count)
        return count

    def current(self):
        """The exercise that the reader was at; else the first that is not solved, else the last."""
        found = [e for e in self.exercises if e.key == self.progress["current"]]
        return found[0] if found else self.first_open()

    def first_open(self):
        return next((e for e in self.exercises if not self.solved(e)), self.exercises[-1])

    def next_open(self, after):
        """The next exercise behind `after` that is not solved, going round; None where all are."""
        at = self.exercises.index(after)
        order = self.exercises[at + 1 :] + self.exercises[:at]
        return next((e for e in order if not self.solved(e)), None)

    def set_current(self, exercise):
        self.remember("current", None, exercise.key)
