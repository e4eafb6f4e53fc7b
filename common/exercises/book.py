"""The book's exercises as data: chapters/chapterN_*/exercises.toml and the marked regions of the steps.

A step's file holds regions between pairs of `//! [exercise NAME]`. An exercise is that file with some regions replaced
by what exercises.toml gives in their place, and all marks taken out. The file, its TODO form and its solution are made
from that one text: nothing is written twice.
"""

import dataclasses
import functools
import hashlib
import json
import pathlib
import re
import textwrap

from counters import COUNTERS

try:
    import tomllib
except ImportError:  # pragma: no cover
    raise SystemExit("error: the exercises need Python 3.11 or newer (tomllib)") from None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OURS = "exercises_ours.json"
PRISTINE = "handed_out"  # The folder in a handout's chapter that holds the files as they were handed out.
MARK = re.compile(r"^[ \t]*//! \[exercise (?P<name>\w+)\][ \t]*\n", re.MULTILINE)
OTHER_MARK = re.compile(r"^[ \t]*//! \[(?!exercise )[^\]\n]+\][ \t]*\n", re.MULTILINE)  # The book's snippets.
STORY = re.compile(r"(?:///[^\n]*\n)+")
KINDS = {"fill": "fill in", "lab": "one-line lab", "write": "write", "bug": "find the bug", "predict": "predict", "explain": "explain", "project": "project"}
QUESTIONS = ("predict", "explain")  # Those that ask for a number or a sentence, not for code.
RIGHT_POINTS, TIME_POINTS = 40, 20  # Of a project's 100: for right results, and for at most twice our time.
MARK_ROUNDS = 1_000_000  # Some ten minutes for the 2,800 numbers of three digits up to 100,000.
ANSWER = re.compile(r"^constexpr double kAnswer = ([^;]*);.*$", re.MULTILINE)
DIFFICULTIES = ("easy", "medium", "hard")


class BookError(Exception):
    """Something in exercises.toml or in a step's marks is not as it should be: one line."""


@dataclasses.dataclass(frozen=True)
class Bar:
    """What a counter must not exceed (or fall short of) on one of the exercise's cases."""

    counter: str
    at_most: float | None
    at_least: float | None
    case: str
    begins: float | None = None  # What the file has as it is handed out, where that is right already.

    def is_as_begun(self, value):
        """Whether a bar that is missed is missed by no less than at the begin."""
        return value is None or (value >= self.begins if self.at_most is not None else value <= self.begins)

    def met_by(self, value):
        return not (
            value is None
            or (self.at_most is not None and value > self.at_most)
            or (self.at_least is not None and value < self.at_least)
        )

    def limit(self):
        if self.at_most is not None:
            return "none" if self.at_most == 0 else f"at most {self.at_most:g}"
        return f"at least {self.at_least:g}"


@dataclasses.dataclass(frozen=True)
class Piece:
    """A stretch of an exercise's file: as handed out, and in the step. They differ where the reader has work to do."""

    handed_out: str
    step: str


@dataclasses.dataclass(frozen=True)
class Exercise:
    chapter: int
    folder: str  # "chapter3_permute"
    name: str
    title: str
    step: str  # "v4a"
    step_file: str  # "v4a_shared_tile.cuh"
    kind: str
    page: str  # The step's page that it belongs to, "v4b"; "README" is the chapter's own.
    minutes: int
    difficulty: int  # 1 to 3.
    learn: str  # What the reader knows afterwards: one sentence.
    task: str
    hints: tuple
    call: str  # The C++ expression that runs the step.
    entry: str  # The function of the file that the call runs: "run".
    helpers: str  # C++ that the call needs before it, in the chapter's namespace.
    cases: tuple  # As in exercises.toml: some are templates.
    bars: tuple
    real: str  # A case of real size, on which a solution is compared with ours.
    ours: dict | None  # What ours needs there: {"case", "seconds", "blocks", "threads", "counters"}; None: not measured yet.
    gpu: dict | None  # {"case": ..., "share": ...}
    allow: tuple  # Names that the file may call besides CUDA's, as regular expressions.
    yardstick: bool
    kernel_writes: bool  # The result must come from a kernel.
    far: tuple  # Cases of 2^32 elements or more: too large to be run, but for some blocks.
    captured: bool  # All work has to come to the stream that is given, which is captured.
    returns_errors: bool  # What a launch returns has to be returned: a launch is made to fail.
    builds_on: tuple  # Names of exercises whose steps this one runs. In a handout they are the reader's own.
    pieces: tuple
    goals: tuple = ()  # A project's, in order: (points, what is reached, bars).
    counter: str = ""  # What a question of the kind "predict" is about, on the first case.
    answer: str = ""  # A number, in a handout its mark; or our sentences.
    terms: tuple = ()  # What a sentence is about: it has to name one of them. Words or how they begin.
    forbid: tuple = ()  # Names of the chapter's headers that would be the solution by a call.
    judged_by: tuple = ()  # Functions of the chapter's library that the helpers call, and that no file may define.
    whole_numbers: bool = False  # The file turns no integer into a float: that would be right on small cases alone.
    rare: str = ""  # A regular expression of the functions, by their full names, that our solution calls on no case.

    @property
    def is_code(self):
        return self.kind not in QUESTIONS

    @property
    def is_graded(self):
        return self.kind != "explain"

    @property
    def handed_out(self):
        return "".join(piece.handed_out for piece in self.pieces)

    @property
    def solution(self):
        """The step's file, byte for byte but for what is `written`; None in a handout, which has no solutions."""
        if any(piece.step is None for piece in self.pieces):
            return None
        return "".join(piece.step for piece in self.pieces)

    @property
    def key(self):
        return f"chapter{self.chapter}/{self.name}"

    @property
    def effort(self):
        return f"{self.minutes} min, {DIFFICULTIES[self.difficulty - 1]}"

    def as_ours(self):
        """The same exercise, whose file as handed out is our solution: it may include and call what a reader's may not."""
        return dataclasses.replace(self, pieces=(Piece(self.solution, self.solution),), allow=(".*",), forbid=())

    def path(self, root=ROOT):
        """The reader's file."""
        return root / "exercises" / f"chapter{self.chapter}" / f"{self.name}.cuh"

    def put_back(self, text):
        """The step's file from an exercise's text in which everything is as handed out."""
        result, at = [], 0
        for piece in self.pieces:
            if not text.startswith(piece.handed_out, at):
                raise BookError(f"{self.key}: the text is not as handed out")
            result.append(piece.step)
            at += len(piece.handed_out)
        if at != len(text):
            raise BookError(f"{self.key}: the text goes on where the exercise ends")
        return "".join(result)

    def removed(self):
        """The texts that the reader has to write; of a project there is no one text."""
        if self.kind == "project":
            return []
        return [p.step for p in self.pieces if p.step and p.step != p.handed_out and not is_mark(p.step)]


@dataclasses.dataclass(frozen=True)
class Chapter:
    number: int
    folder: str
    title: str
    case: str  # The class of its cases.
    header: str  # Where that class is.
    exercises: tuple
    cheats: dict
    make: str  # The C++ expression that makes a case of `parameters`.
    definitions: str  # C++ that the case's own files call and a chapter's kernels would hold.
    inspect: str  # The C++ expression of what is wrong beside the output, as text; empty for nothing.

    @property
    def path(self):
        return f"chapters/{self.folder}"

    def cheats_for(self, exercise):
        """What the tests try on it: those for its entry where there are such, and those for all."""
        own = self.cheats.get(exercise.entry)
        return {k: v for k, v in self.cheats.items() if isinstance(v, str)} | (own if isinstance(own, dict) else {})

    def foundations(self, exercise):
        """The exercises whose files a check of this one takes from the reader: in a handout, which has no steps."""
        if exercise.solution is not None:
            return []
        return [e for e in self.exercises if e.name in exercise.builds_on]


def split_regions(text, where):
    """[(name or None, text)]: the marks' lines stand alone, under the name "mark"."""
    parts, at, open_name = [], 0, None
    for mark in MARK.finditer(text):
        parts.append((open_name, text[at : mark.start()]))
        parts.append(("mark", mark.group()))
        at = mark.end()
        if open_name is None:
            open_name = mark["name"]
        elif open_name == mark["name"]:
            open_name = None
        else:
            raise BookError(f"{where}: region {open_name} is still open where {mark['name']} begins")
    if open_name is not None:
        raise BookError(f"{where}: region {open_name} has no end")
    parts.append((None, text[at:]))
    return parts


def is_mark(text):
    return bool(MARK.fullmatch(text) or OTHER_MARK.fullmatch(text))


def indented(text, like):
    """`text` with the indentation of the first line of `like`."""
    margin = re.match(r"[ \t]*", like).group()
    return "".join(margin + line + "\n" if line else "\n" for line in text.splitlines())


def banner(chapter, exercise, task, about):
    """The comment at the head of an exercise's file."""
    lines = [f"// Exercise {exercise} of chapter {chapter} ({about})", "//"]
    lines += [f"// {line}" for line in textwrap.wrap(" ".join(task.split()), 117, break_long_words=False)]
    lines += ["//", f"// Check it: make exercise{chapter}, or ./workbook beside your editor. A hint: ./workbook hint {exercise}"]
    return "\n".join(lines) + "\n"


def mark_of(key, number):
    """What a handout holds of a number that is to be predicted: it tells whether three digits are right, and no more."""
    return slow_mark(key, f"{number:.3g}", MARK_ROUNDS)


def is_marked(mark, key, number):
    """Whether a handout's mark is of this number."""
    return slow_mark(key, f"{number:.3g}", int(mark.split()[1])) == mark


@functools.cache
def slow_mark(key, digits, rounds):
    return f"mark {rounds} {hashlib.pbkdf2_hmac('sha256', digits.encode(), key.encode(), rounds)[:8].hex()}"


def question_pieces(head, table, step):
    """A question's file, and with our answer."""
    if table["kind"] == "explain":
        text = f"{head}//\n// Your answer, in a sentence or two, below this line. It is not graded: the check shows ours beside it.\n//\n"
        return (Piece(text, text + "\n".join(f"// {line}" for line in table["answer"].strip().splitlines()) + "\n"),)
    text = (f"{head}\n// The counter: {table['counter']}, of {step}'s kernels on\n//     {table['cases'][0]}\n"
            "// Sums and products may stand as they are: 3 * 32.\nconstexpr double kAnswer = 0;  // TODO\n")  # fmt: skip
    if isinstance(table["answer"], str):  # In a handout.
        return (Piece(text, None),)
    return (Piece(text, ANSWER.sub(f"constexpr double kAnswer = {table['answer']};", text)),)


def project_pieces(head, table, number, folder, step_file):
    """An empty file: what it has to hold is declared, and no more. Our solution is the chapter's finished step."""
    text = head + table["empty"].lstrip("\n").rstrip() + "\n"
    if step_file is None:  # In a handout.
        return (Piece(text, None),)
    ours = f'#pragma once\n#include "chapters/{folder.name}/{step_file}"\nnamespace warpbook::chapter{number} {{\nnamespace project = {table["step"]};\n}}\n'
    return (Piece(text, ours),)


def read_goals(table, cases, where):
    """A project's goals: each has points, says what is reached, and has bars; it counts where all before it are reached."""
    goals = []
    for goal in require(table, "goals", list, where):
        if set(goal) != {"points", "what", "bars"} or not isinstance(goal["points"], int):
            raise BookError(f"{where}: a goal has points, what and bars")
        goals.append((goal["points"], goal["what"], tuple(read_bar(bar, cases, where) for bar in goal["bars"])))
    if RIGHT_POINTS + sum(points for points, _, _ in goals) + TIME_POINTS != 100:
        raise BookError(f"{where}: the goals' points have to make {100 - RIGHT_POINTS - TIME_POINTS}")
    return tuple(goals)


def make_pieces(head, step_text, given, where, story=True, written=None):
    """`story`: whether the comment that the file opens with stays; it may tell too much. `written`: what solves a region, where the
    step calls what the exercise forbids."""
    pieces = [Piece(head, "")]
    found = set()
    if not story:
        opening = STORY.match(step_text)
        if opening is None:
            raise BookError(f"{where}: does not open with a comment, so story = false has no meaning")
        pieces.append(Piece("", opening.group()))
        step_text = step_text[opening.end() :]
    for name, text in split_regions(step_text, where):
        if name == "mark":
            pieces.append(Piece("", text))
        elif name in given:
            found.add(name)
            solved = indented(written[name].strip("\n"), text) if written and name in written else text
            pieces.append(Piece(indented(given[name], text), solved))
        elif name is None:
            at = 0
            for other in OTHER_MARK.finditer(text):
                pieces += [Piece(text[at : other.start()], text[at : other.start()]), Piece("", other.group())]
                at = other.end()
            pieces.append(Piece(text[at:], text[at:]))
        else:
            pieces.append(Piece(text, text))
    if missing := set(given) - found:
        raise BookError(f"{where}: has no region [exercise {sorted(missing)[0]}]")
    return tuple(pieces)


def require(table, key, kind, where):
    value = table.get(key)
    if not isinstance(value, kind) or not value:
        raise BookError(f"{where}: {key} is missing or no {kind.__name__}")
    return value


def read_bar(table, cases, where):
    unknown = set(table) - {"counter", "at_most", "at_least", "case", "begins"}
    if unknown or ("at_most" in table) == ("at_least" in table):
        raise BookError(f"{where}: a bar has a counter, and at_most or at_least (and a case, and begins); not {sorted(table)}")
    check_types(table, {"counter": str, "case": str}, where)
    if not all(isinstance(table[key], int | float) for key in ("at_most", "at_least", "begins") if key in table):
        raise BookError(f"{where}: a bar's at_most, at_least or begins is no number")
    if table.get("counter") not in COUNTERS:
        raise BookError(f"{where}: counter {table.get('counter')!r} is unknown; known are {', '.join(COUNTERS)}")
    return Bar(table["counter"], table.get("at_most"), table.get("at_least"), table.get("case", cases[0]), table.get("begins"))


CHAPTER_TYPES = {
    "title": str, "case": str, "header": str, "call": str, "calls": {str: str}, "make": str, "definitions": str, "inspect": str, "allow": [str],
    "cheats": dict, "exercise": [dict],
}  # fmt: skip
EXERCISE_TYPES = {
    "name": str, "title": str, "step": str, "file": str, "kind": str, "task": str, "hints": [str], "call": str, "cases": [str],
    "far": [str], "bars": [dict], "gpu": dict, "allow": [str], "yardstick": bool, "kernel_writes": bool, "captured": bool, "returns_errors": bool, "given": {str: str}, "story": bool,
    "builds_on": [str], "helpers": str, "entry": str, "page": str, "minutes": int, "difficulty": int, "learn": str,
    "real": str, "counter": str, "answer": (str, int, float), "empty": str, "goals": [dict],
    "terms": [str], "forbid": [str], "judged_by": [str], "rare": str, "whole_numbers": bool, "written": {str: str},
}  # fmt: skip
EXERCISE_KEYS = set(EXERCISE_TYPES)
QUESTION_KEYS = {"name", "title", "kind", "page", "minutes", "difficulty", "learn", "task", "hints", "answer"}


def check_types(table, types, where):
    """Each key that is there holds what it should: a type, [type] a list of it, {str: type} a table of it."""
    for key, wanted in types.items():
        value = table.get(key)
        if value is None:
            continue
        if isinstance(wanted, list):
            right = isinstance(value, list) and all(isinstance(v, wanted[0]) for v in value)
        elif isinstance(wanted, dict):
            right = isinstance(value, dict) and all(isinstance(v, wanted[str]) for v in value.values())
        else:
            right = isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))
        if not right:
            kind = str if isinstance(wanted, tuple) else wanted if isinstance(wanted, type) else (wanted[0] if isinstance(wanted, list) else wanted[str])
            shape = "" if isinstance(wanted, type | tuple) else "a list of " if isinstance(wanted, list) else "a table of "
            raise BookError(f"{where}: {key} is not {shape}{kind.__name__}")


def read_fields(table, folder, where):
    """What a reader and a teacher are told of every exercise: (page, minutes, difficulty, learn)."""
    page, minutes = require(table, "page", str, where), require(table, "minutes", int, where)
    difficulty, learn = require(table, "difficulty", int, where), require(table, "learn", str, where).strip()
    if not 5 <= minutes <= 90:
        raise BookError(f"{where}: minutes are 5 to 90, not {minutes}")
    if difficulty not in (1, 2, 3):
        raise BookError(f"{where}: difficulty is 1, 2 or 3, not {difficulty}")
    if not re.fullmatch(r"[^.?!]*(?:\w\.\w[^.?!]*)*\.", learn):
        raise BookError(f"{where}: learn is one sentence, with a full stop")
    pages = folder / "pages"
    if not re.fullmatch(r"\w+", page) or page != "README" and pages.is_dir() and not (pages / f"{page}.md").is_file():
        raise BookError(f"{where}: there is no page pages/{page}.md; README is the chapter's own")
    return page, minutes, difficulty, learn


def read_exercise(table, number, folder, defaults, measured):
    """`measured`: what OURS holds, by exercise."""
    where = f"chapters/{folder.name}/exercises.toml: {table.get('name', 'an exercise without a name')}"
    check_types(table, EXERCISE_TYPES, where)
    if unknown := set(table) - EXERCISE_KEYS:
        raise BookError(f"{where}: unknown key {sorted(unknown)[0]}; accepted are {', '.join(sorted(EXERCISE_KEYS))}")
    name = require(table, "name", str, where)
    kind = require(table, "kind", str, where)
    step = require(table, "step", str, where) if kind != "explain" else table.get("page", "README")
    task = require(table, "task", str, where).strip()
    hints = tuple(hint.strip() for hint in require(table, "hints", list, where))
    cases = tuple(require(table, "cases", list, where)) if kind != "explain" else ()
    given = require(table, "given", dict, where) if kind not in (*QUESTIONS, "project") else {}
    if not re.fullmatch(r"\w+", name):
        raise BookError(f"{where}: a name is letters, digits and _")
    if not re.fullmatch(r"\w+", step) or not re.fullmatch(r"([\w]+/)*[\w.]*", table.get("file", "")):
        raise BookError(f"{where}: a step and a file are letters, digits and _ (and . and / in a file)")
    if kind not in KINDS:
        raise BookError(f"{where}: kind is one of {', '.join(KINDS)}")
    if len(hints) != 3 or not all(hints):
        raise BookError(f"{where}: an exercise has three hints, from a nudge to nearly told")
    page, minutes, difficulty, learn = read_fields(table, folder, where)
    if kind in QUESTIONS:
        wanted = QUESTION_KEYS | ({"step", "file", "call", "cases", "counter"} if kind == "predict" else {"terms"})
        if extra := set(table) - wanted:
            raise BookError(f"{where}: {kind} has no {sorted(extra)[0]}")
        answer = table.get("answer")
        if not isinstance(answer, str if kind == "explain" else (int, float, str)) or answer == "":
            raise BookError(f"{where}: answer is missing: {'our sentences' if kind == 'explain' else 'the number that the counter has'}")
        if kind == "explain" and not all(re.fullmatch(r"[a-z0-9]+", term) for term in require(table, "terms", list, where)):
            raise BookError(f"{where}: terms are words, or how words begin, in small letters")
        if kind == "predict" and table.get("counter") not in COUNTERS:
            raise BookError(f"{where}: counter {table.get('counter')!r} is unknown; known are {', '.join(COUNTERS)}")

    belongs = "" if page == "README" else f"; belongs to {page}"
    head = banner(number, name, task, f"{KINDS[kind]}, {minutes} min, {DIFFICULTIES[difficulty - 1]}{belongs}")
    goals = ()
    pristine = folder / PRISTINE / f"{name}.cuh"
    step_file = table.get("file", "")
    if kind in QUESTIONS:
        pieces = question_pieces(head, table, step)
    elif kind == "project":
        require(table, "empty", str, where)
        goals = read_goals(table, cases, where)
        finished = next((p.name for p in sorted(folder.glob(f"{step}_*.cuh"))), None)
        pieces = project_pieces(head, table, number, folder, finished)
    elif pristine.is_file():  # In a handout.
        pieces = (Piece(pristine.read_text(encoding="utf-8"), None),)
        step_file = step_file or next((p.name for p in sorted(folder.glob(f"{step}_*.cuh"))), "")
    else:
        candidates = [folder / step_file] if step_file else sorted(folder.glob(f"{step}_*.cuh"))
        if len(candidates) != 1 or not candidates[0].is_file():
            raise BookError(f"{where}: the step {step} has {len(candidates)} files; name one by file = ...")
        step_file = candidates[0].relative_to(folder).as_posix()
        pieces = make_pieces(head, candidates[0].read_text(encoding="utf-8"), given,
                             f"chapters/{folder.name}/{step_file}", table.get("story", True), table.get("written"))  # fmt: skip
        if unknown := set(table.get("written", {})) - set(given):
            raise BookError(f"{where}: written has {sorted(unknown)[0]}, which is no region that is given")

    bars = tuple(read_bar(bar, cases, where) for bar in table.get("bars", []))
    real = require(table, "real", str, where) if kind not in QUESTIONS else ""
    gpu = table.get("gpu")
    if gpu is not None and set(gpu) != {"case", "share"}:
        raise BookError(f"{where}: gpu = {{ case = ..., share = ... }}")
    call = table.get("call", defaults["call"])
    call = defaults.get("calls", {}).get(call, call).replace("{step}", "project" if kind == "project" else step).strip()
    return Exercise(
        chapter=number, folder=folder.name, name=name, title=table.get("title", name.replace("_", " ")), step=step,
        step_file=step_file, kind=kind, page=page, minutes=minutes, difficulty=difficulty, learn=learn, task=task, hints=hints,
        call=call, entry=table.get("entry", "run"),
        helpers=table.get("helpers", ""), cases=cases, bars=bars, real=real, ours=measured.get(name), gpu=gpu,
        allow=tuple(defaults.get("allow", ())) + tuple(table.get("allow", ())), yardstick=table.get("yardstick", False),
        kernel_writes=table.get("kernel_writes", True), captured=table.get("captured", False), far=tuple(table.get("far", ())),
        returns_errors=table.get("returns_errors", False),
        builds_on=tuple(table.get("builds_on", ())), pieces=pieces,
        goals=goals, counter=table.get("counter", ""), answer=str(table.get("answer", "")).strip(),
        terms=tuple(table.get("terms", ())), forbid=tuple(table.get("forbid", ())), judged_by=tuple(table.get("judged_by", ())),
        whole_numbers=table.get("whole_numbers", False), rare=table.get("rare", ""),
    )  # fmt: skip


def read_ours(path):
    """What our solutions need on their cases of real size, by exercise. scripts/measure_exercises.py writes it."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise BookError(f"chapters/{path.parent.name}/{path.name}: {error}") from None


def read_chapter(folder):
    number = int(re.match(r"chapter(\d+)_", folder.name)[1])
    path = folder / "exercises.toml"
    where = f"chapters/{folder.name}/exercises.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # No TOML, or no UTF-8.
        raise BookError(f"{where}: {error}") from None
    check_types(table, CHAPTER_TYPES, where)
    measured = read_ours(folder / OURS)
    defaults = {"call": require(table, "call", str, where), "calls": table.get("calls", {}), "allow": table.get("allow", [])}
    exercises = tuple(read_exercise(e, number, folder, defaults, measured) for e in require(table, "exercise", list, where))
    names = [e.name for e in exercises]
    if len(set(names)) != len(names):
        raise BookError(f"{where}: two exercises have the same name")
    for e in exercises:
        if missing := set(e.builds_on) - set(names[: names.index(e.name)]):
            raise BookError(f"{where}: {e.name} builds on {sorted(missing)[0]}, which is no exercise before it")
    return Chapter(number, folder.name, table.get("title", folder.name.split("_", 1)[1].replace("_", " ")),
                   require(table, "case", str, where), require(table, "header", str, where), exercises,
                   table.get("cheats", {}), table.get("make", f"std::make_unique<{table['case']}>(parameters)"),
                   table.get("definitions", ""), table.get("inspect", "std::string()"))  # fmt: skip


def read_book(root=ROOT):
    """All chapters that have exercises, in order."""
    folders = sorted(root.glob("chapters/chapter*_*/exercises.toml"), key=lambda p: int(re.search(r"chapter(\d+)_", str(p))[1]))
    return [read_chapter(path.parent) for path in folders]


def only_chapters(book, numbers):
    """Those of the chapters; all, where no number is given. \\raises BookError"""
    known = {c.number for c in book}
    for number in numbers:
        if number not in known:
            raise BookError(f"chapter {number} has no exercises (chapters with exercises: {', '.join(map(str, sorted(known)))})")
    return [c for c in book if not numbers or c.number in numbers]


def find_exercise(book, text):
    """The exercise that is called `text`: a name, a unique beginning of one, or chapterN/name. \\raises BookError"""
    exercises = [e for chapter in book for e in chapter.exercises]
    text = text.removesuffix(".cuh")
    exact = [e for e in exercises if text in (e.name, e.key)]
    fits = exact or [e for e in exercises if e.name.startswith(text) or e.key.startswith(text)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise BookError(f"'{text}' may be {', '.join(e.key for e in fits)}")
    raise BookError(f"there is no exercise '{text}' (there are {', '.join(e.name for e in exercises)})")


def lay_out(exercises, root=ROOT):
    """Writes the exercises' files that are not there. Never touches one that is. \\return the paths written"""
    written = []
    for exercise in exercises:
        path = exercise.path(root)
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(exercise.handed_out, encoding="utf-8")
        written.append(path)
    return written


def reset(exercise, root=ROOT):
    """Restores an exercise's file, and keeps the old one beside it. \\return where the old one is now, or None"""
    path = exercise.path(root)
    kept = None
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") != exercise.handed_out:
        number = 1
        while (kept := path.with_name(f"{exercise.name}.{number}.old")).exists():
            number += 1
        path.rename(kept)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(exercise.handed_out, encoding="utf-8")
    return kept
