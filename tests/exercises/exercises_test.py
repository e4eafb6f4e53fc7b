#!/usr/bin/env python3
"""The contract of every exercise, and the tools around them: laying out, checking, handing out, grading, watching."""

import concurrent.futures
import csv
import dataclasses
import datetime
import hashlib
import io
import json
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("common/exercises", "scripts", "tests/exercises", "tests/exercises/variants", "tests/front_door/install")]
sys.dont_write_bytecode = True

import attacks  # noqa: E402
import book  # noqa: E402
import classroom_commands  # noqa: E402
import desk  # noqa: E402
import feedback  # noqa: E402
import grade  # noqa: E402
import handout  # noqa: E402
import handout_pages  # noqa: E402
import judge  # noqa: E402
import leaderboard  # noqa: E402
import record_exercises  # noqa: E402
import sandbox  # noqa: E402
import show  # noqa: E402
import toolchain  # noqa: E402
import variants  # noqa: E402

DEVICE = os.environ.get("WARPBOOK_DEVICE", "emulator")
NIGHTLY = bool(os.environ.get("WARPBOOK_NIGHTLY"))
SEED = int(os.environ.get("WARPBOOK_TEST_SEED") or (random.SystemRandom().randint(1, 10**6) if NIGHTLY else 2026))
MARK_ROUNDS, book.MARK_ROUNDS = book.MARK_ROUNDS, 1000  # A handout's marks take seconds each.
BOOK = book.read_book()
EXERCISES = [(chapter, exercise) for chapter in BOOK for exercise in chapter.exercises]
CODE = [(chapter, exercise) for chapter, exercise in EXERCISES if exercise.is_code and exercise.kind != "project"]
PROJECTS = [(chapter, exercise) for chapter, exercise in EXERCISES if exercise.kind == "project"]


def project_of(chapter):
    """A solution of our own of the chapter's project, written from the empty file."""
    return (ROOT / "tests" / "exercises" / "projects" / f"chapter{chapter.number}.cuh").read_text(encoding="utf-8")


def temporary_folder(test):
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    return pathlib.Path(folder.name)


def corners(template):
    """Cases with every range at its low end, with every one at its high end, and with one low while the others are high."""
    ranges = range(len(judge.RANGE.findall(template)))
    for low in [(), tuple(ranges), *((i,) for i in ranges if len(ranges) > 1)] if ranges else ():
        at = iter(ranges)
        yield judge.fill_ranges(template, lambda a, b: a if next(at) in low else b)


def with_cheat(exercise, cheat, text=None):
    """The exercise as handed out, or another text, with a cheat in front of the body of its entry; an include goes to the top."""
    text = text or exercise.handed_out
    if cheat.startswith("#include"):
        return text.replace("#pragma once\n", f"#pragma once\n{cheat}\n", 1)
    at = list(re.finditer(rf"\b{exercise.entry}\([^;{{]*\)\s*\{{", text))[-1].end()
    return text[:at] + "\n  " + cheat + text[at:]


class Keeping(toolchain.Toolchain):
    """Compiles no text twice for one call."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.folder = tempfile.TemporaryDirectory()
        self.kept = {}
        self.in_full = []  # The exercises whose files needed what had been left out.

    def compile(self, chapter, exercise, file, scratch, sandbox=None, seconds=60, lean=False):
        if exercise.rare and not lean:
            self.in_full.append(exercise.key)
        key = (toolchain.step_source(chapter, exercise, "x.cuh"), file.read_text(encoding="utf-8"), exercise.rare if lean else "")
        if key in self.kept:
            return toolchain.Compiled(pathlib.Path(shutil.copy(self.kept[key], scratch / "check")))
        compiled = super().compile(chapter, exercise, file, scratch, sandbox, seconds, lean)
        if compiled.program and not compiled.notes and not compiled.local and not exercise.builds_on:
            name = hashlib.sha256(repr(key).encode()).hexdigest()  # Two compile at a time, so no number is one's own.
            self.kept[key] = shutil.copy(compiled.program, pathlib.Path(self.folder.name) / name)
        return compiled


class Regions(unittest.TestCase):
    def pieces(self, text, given):
        return book.make_pieces("// head\n", text, given, "x.cuh")

    def test_a_region_becomes_what_is_given_and_comes_back(self):
        step = "a\n  //! [exercise r]\n  b\n    c\n  //! [exercise r]\n//! [kernel]\nd\n//! [kernel]\n"
        pieces = self.pieces(step, {"r": "// TODO\nint x;"})
        handed_out = "".join(p.handed_out for p in pieces)
        self.assertEqual(handed_out, "// head\na\n  // TODO\n  int x;\nd\n")
        self.assertEqual("".join(p.step for p in pieces), step)

    def test_regions_of_other_exercises_stay(self):
        pieces = self.pieces("//! [exercise r]\nb\n//! [exercise r]\n//! [exercise s]\nc\n//! [exercise s]\n", {"s": "d"})
        self.assertEqual("".join(p.handed_out for p in pieces), "// head\nb\nd\n")

    def test_what_is_wrong_is_said(self):
        for text, given, part in (
            ("//! [exercise r]\nb\n", {"r": ""}, "no end"),
            ("//! [exercise r]\n//! [exercise s]\n//! [exercise r]\n", {"r": ""}, "still open"),
            ("a\n", {"r": ""}, "no region [exercise r]"),
        ):
            with self.assertRaisesRegex(book.BookError, re.escape(part)):
                self.pieces(text, given)

    def test_work_is_never_overwritten(self):
        folder = temporary_folder(self)
        exercise = EXERCISES[0][1]
        self.assertEqual(len(book.lay_out([exercise], folder)), 1)
        exercise.path(folder).write_text("mine", encoding="utf-8")
        self.assertEqual(book.lay_out([exercise], folder), [])
        self.assertEqual(exercise.path(folder).read_text(encoding="utf-8"), "mine")
        kept = book.reset(exercise, folder)
        self.assertEqual(kept.read_text(encoding="utf-8"), "mine")
        self.assertEqual(exercise.path(folder).read_text(encoding="utf-8"), exercise.handed_out)
        self.assertIsNone(book.reset(exercise, folder))  # Nothing of the reader's is lost, so nothing is kept.
        exercise.path(folder).write_text("mine again", encoding="utf-8")
        self.assertNotEqual(book.reset(exercise, folder), kept)
        self.assertEqual(kept.read_text(encoding="utf-8"), "mine")

    def test_drawn_cases(self):
        drawn = judge.draw_cases(["shape={2..5},{1..64/16} perm=1,0"] * 50, 7)
        numbers = [tuple(map(int, re.findall(r"\d+", case)[:2])) for case in drawn]
        self.assertEqual({a for a, _ in numbers}, {2, 3, 4, 5})
        self.assertEqual({b for _, b in numbers}, {16, 32, 48, 64})
        self.assertEqual(drawn, judge.draw_cases(["shape={2..5},{1..64/16} perm=1,0"] * 50, 7))

    def test_what_is_told_of_each_is_checked(self):
        folder = ROOT / BOOK[0].path
        right = book.tomllib.loads((folder / "exercises.toml").read_text(encoding="utf-8"))["exercise"][0]
        for key, value, part in (
            ("minutes", None, "minutes is missing"), ("minutes", 3, "5 to 90"), ("minutes", True, "minutes is not int"),
            ("difficulty", None, "difficulty is missing"), ("difficulty", 4, "1, 2 or 3"),
            ("learn", None, "learn is missing"), ("learn", "One. Two.", "one sentence"), ("learn", "None", "one sentence"),
            ("page", None, "page is missing"), ("page", "v99", "no page pages/v99.md"), ("hints", ["a"], "three hints"),
        ):  # fmt: skip
            table = right | {key: value}
            if value is None:
                del table[key]
            with self.subTest(key), self.assertRaisesRegex(book.BookError, re.escape(part)) as raised:
                book.read_exercise(table, 1, folder, {"call": "x"}, {})
            self.assertNotIn("\n", str(raised.exception))

    def test_a_race_gets_the_advice_that_its_lines_ask_for(self):
        for lines, atomic in (
            (["sum[place] += x;"], True),
            (["sum[place] = sum[place] + x;"], True),
            (["*total += x;"], True),
            (["const float old = sum[place];", "sum[place] = old + x;"], True),
            (["tile[y][x] = from[i];"], False),
            (["tile[y][x] = from[i];", "to[i] = tile[x][y];"], False),
            (["if (a[i] == 0) return;"], False),
        ):
            with self.subTest(lines):
                self.assertEqual(judge.updates_in_place(list(enumerate(lines, 1))), atomic)
        source = ["s[i] = a;", "if (i < n) __syncthreads();", "b = s[j];", "b = s[j];"]
        report = ["Race reported", "No barrier lies between the two: __syncwarp() orders the lanes of a warp."]
        self.assertIn("reach the __syncthreads() of line 2", judge.race_advice(report, source, [1, 3])[-1])
        self.assertIn("A barrier is missing", judge.race_advice(report, source, [3, 4])[-1])
        for gone in (["s[i] = a;", "// __syncthreads();", "b = s[j];"], ["s[i] = a;", "/* here,", "__syncthreads(); */ b = s[j];"]):
            self.assertIn("A barrier is missing", judge.race_advice(report, gone, [1, 3])[-1])
        for lines in ([1, 3], [3, 4]):  # Lanes of one warp: the barrier of a warp may do.
            self.assertEqual(judge.race_advice(report, source, lines)[:2], report)
        wide = ["Race reported", "No barrier lies between the two: __syncthreads() orders the threads of a block."]
        self.assertEqual([judge.race_advice(r, text, [1, 2])[1].split(":")[0] for r, text in ((wide, source[2:]), (report, ["old = s[i];", "s[i] = old + a;"]))],
                         ["A barrier is missing between the two", "Threads change one place at the same time, and no barrier helps"])
        report = ["Race reported", "Threads write one place in one statement: use an atomic, or give each a place of its own."]
        for line, sums in (("to[y * rows] = tile[x][y];", False), ("sum[i] += x;", True), ("sum[i] = sum[i] + x;", True), ("put(to, x);", True)):
            told = judge.race_advice(report, [line], [1])[-1]
            self.assertEqual(told == report[-1], sums, line)
            self.assertEqual("store to one place" in told, not sums, line)

    def test_what_was_found_is_told_of_its_case(self):
        wrong = [{"title": "first", "case": "n=9", "reason": "first wrong at [1]"},
                 {"title": "second", "case": "n=1", "reason": "it failed; Race reported between Write access at /tmp/x/k.cuh:3 and more, by block 0"}]  # fmt: skip
        stray = ["Race reported between Write access at k.cuh:3 and more", "by block 0"]
        verdict = judge.judge_wrong(judge.Verdict(judge.DONE), EXERCISES[0][1], wrong, 2, 2, [stray])
        self.assertEqual(verdict.reason, "first: first wrong at [1]")
        self.assertIn(("on second", "  Race reported between Write access at k.cuh:3 and more"), list(zip(verdict.details, verdict.details[1:])))
        verdict = judge.judge_wrong(judge.Verdict(judge.DONE), EXERCISES[0][1], wrong[1:], 2, 2, [stray])
        self.assertEqual(verdict.reason, "second: it failed; Race reported between Write access at k.cuh:3 and more")
        self.assertEqual([line for line in verdict.details if line.startswith("on ")], ["on second  (n=1)"])

    def test_an_array_that_nobody_shares_is_asked_about(self):
        for text, asked in (
            ("W tile[kTile][kTile + 1];\n  __syncthreads();", "tile"),
            ("float part [256];\n__syncthreads();", "part"),
            ("__shared__ W tile[kTile][kTile];\nW word[4];\n__syncthreads();", ""),
            ("W word[4];\n", ""),
            ("// __shared__ W tile[2];\n__syncthreads();", ""),
            ("return a[i];\n__syncthreads();", ""),
        ):
            with self.subTest(text):
                told = "".join(judge.own_arrays(text))
                self.assertEqual(told.partition(" is each thread's own")[0], asked)

    def test_the_compilers_words_are_few(self):
        warning = "{}k.cuh:7:3: warning: comparison of different signs [-Wsign-compare]\n    7 |   if (i < n)\n      |       ~ ^ ~\n"
        error = "k.cuh:9:8: error: expected expression\n    9 |   kernel<<<1, 32>>>(x);\n      |         ^\n"
        file, source = pathlib.Path("k.cuh"), pathlib.Path("step.cu")
        twice = toolchain.shorten(warning.format("") + "note\n" + warning.format(""), file, source, ROOT)
        self.assertEqual(twice.count("warning"), 1, twice)
        told = toolchain.shorten(error, file, source, ROOT)
        self.assertIn("k.cuh:9: error: expected expression", told)
        self.assertIn("launch(kernel, {", told)
        self.assertNotIn("launch(kernel", twice)
        called = 'k.cuh:{}:8: error: calling a __device__ function("f()") from a __host__ function("void k<{}>()") is not allowed\n'
        told = toolchain.shorten("".join(called.format(line, of) for of in ("int", "char") for line in (3, 5)), file, source, ROOT)
        self.assertEqual((told.count("error"), told.count("declared __global__")), (2, 1), told)
        for missing, part in (("mine.cuh", "handed in alone"), ("cuda/std/array", "neither libcu++")):
            told = toolchain.shorten(f"k.cuh:2:10: fatal error: '{missing}' file not found\n", file, source, ROOT)
            self.assertEqual([p in told for p in ("handed in alone", "neither libcu++")], [p == part for p in ("handed in alone", "neither libcu++")], told)

    def test_numbers_are_written_one_way(self):
        self.assertEqual([judge.shown(n) for n in (16384.0, 12288, 1.05263, 0, None)], ["16,384", "12,288", "1.053", "0", "no such access"])
        e = next(e for _, e in EXERCISES if e.kind == "predict")
        verdict = judge.judge_question(e, "constexpr double kAnswer = 8 * 64 * 28 * 28 * 3;\n", "x")
        self.assertIn("is not 1,204,224:", verdict.reason)

    def test_a_wasteful_kernel_is_told_why(self):
        ours = {"seconds": 1e-5, "blocks": 4096, "threads": 256, "counters": {"load requests": 1000, "store requests": 10}}
        e = dataclasses.replace(EXERCISES[0][1], ours=ours)
        loads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
        sums = {"seconds": 1.9e-5, "blocks": 4096, "threads": 256, "launches": 1, "limited_by": "latency", loads: 1700}
        for change, part in (
            ({}, ""),
            ({loads: 1800}, "load requests: 1,800, 1.8 times ours"),
            ({"warpbook__integer_divisions_64bit.sum": 320}, ""),  # One per lane that writes may be how a good one goes.
            ({"warpbook__integer_divisions_64bit.sum": 640}, "divisions: 640, more than one for each lane that writes"),
            ({"seconds": 2e-5}, "2 times ours (10 us): too few loads are under way"),
            ({"seconds": 2e-5, "blocks": 1}, "1 block of 256 threads where ours has 4,096 of 256: most of the device idles"),
        ):
            verdict = judge.Verdict(judge.DONE)
            judge.judge_need(verdict, e, sums | change)
            self.assertEqual(verdict.status, judge.SLOW if part else judge.DONE)
            self.assertEqual(verdict.points, 0.5 if part else 1)
            self.assertIn(part, "\n".join(verdict.details))

    def test_a_project_on_a_gpu_gets_no_points_for_what_nobody_measured(self):
        for _, e in PROJECTS:
            pieces = tuple(dataclasses.replace(piece, step=None) for piece in e.pieces)  # As in a handout.
            right = judge.Verdict(judge.DONE, emulated=False)
            verdict = judge.Judge(None).judge_speed(None, dataclasses.replace(e, pieces=pieces), "", None, right)
            self.assertEqual((verdict.done, verdict.points), (False, 0.4), e.key)
            self.assertIn("40 of 100 points", verdict.reason)
            told = "\n".join(verdict.details)
            self.assertEqual([f"not judged: within {most} times our time" in told for most in (2, 1.2, 1.05)], [True] * 3, told)

    def test_what_a_check_prints_is_the_reason(self):
        e = next(e for _, e in CODE if e.key == "chapter7/clocks")
        wrong = {"title": "add2", "case": "n=1", "reason": "launch failed: operation not permitted (cudaErrorNotPermitted)"}
        verdict = judge.judge_wrong(judge.Verdict(judge.DONE, printed=("time_of_call reads nothing",)), e, [wrong], 1, 1, [])
        self.assertEqual(verdict.reason, "add2: time_of_call reads nothing")

    def test_what_is_right_on_some_cases_earns_a_part(self):
        e = dataclasses.replace(CODE[0][1], cases=("n=5", "n=6", "n=7", "n=8", "n=0"), ours={"wrong_at_first": [0, 2, 3, 4]})
        for right, reported, points in (([True, True, False, True, True], False, 0.25), ([False, True, False, False, True], False, 0),
                                        ([True, False, True, False, True], False, 0), ([True, True, True, True, True], False, 0.375),
                                        ([True, True, True, True, False], False, 0.375), ([True, True, False, True, True], True, 0)):  # fmt: skip
            finished = [{"status": "pass" if r else "fail", "reported": reported and not r} for r in right]
            verdict = judge.Verdict(judge.WRONG)
            judge.judge_some_right(verdict, e, finished)
            self.assertEqual(verdict.points, points, right)
            self.assertEqual(f"{points:.2g} of a point" in "\n".join(verdict.details), points > 0)
        for _, e in CODE:
            self.assertTrue(set(e.ours["wrong_at_first"]) <= set(range(len(e.cases))), e.key)

    def test_a_course_has_every_project(self):
        text = (ROOT / "docs" / "pages" / "teaching.md").read_text(encoding="utf-8")
        self.assertEqual([e.key for _, e in PROJECTS if f"`{e.name}`" not in text], [])

    def test_labs_change_one_line_and_move_a_counter(self):
        labs = [(c, e) for c, e in EXERCISES if e.kind == "lab"]
        self.assertLessEqual({1, 2, 3, 4}, {c.number for c, _ in labs})
        for _, e in labs:
            [piece] = [p for p in e.pieces if p.handed_out != p.step and p.handed_out and p.step and not book.is_mark(p.step)]
            self.assertEqual((piece.handed_out.count("\n"), piece.step.count("\n")), (1, 1), e.key)
            self.assertTrue(any(bar.begins is not None for bar in e.bars), e.key)
            solved = judge.Verdict(judge.DONE, measured={bar.counter: bar.at_most for bar in e.bars})
            told = show.verdict_lines(e, solved, show.Style(False), ROOT)[0]
            bar = next(bar for bar in e.bars if bar.begins is not None)
            self.assertIn(f"{bar.counter}: {judge.shown(bar.at_most)} ({judge.shown(bar.begins)} before)", told)

    def test_names(self):
        name = EXERCISES[0][1].name
        self.assertIs(book.find_exercise(BOOK, name), EXERCISES[0][1])
        self.assertIs(book.find_exercise(BOOK, f"{name}.cuh"), EXERCISES[0][1])
        with self.assertRaisesRegex(book.BookError, "there is no exercise 'nonsense'"):
            book.find_exercise(BOOK, "nonsense")


class Contract(unittest.TestCase):
    """What holds for every exercise."""

    @classmethod
    def setUpClass(cls):
        cls.toolchain = Keeping("emulator")
        cls.addClassCleanup(cls.toolchain.folder.cleanup)
        cls.seed = SEED
        print(f"WARPBOOK_TEST_SEED={SEED}", flush=True)
        if DEVICE == "emulator":
            cls.toolchain.prepare(BOOK)
            for chapter in BOOK:
                cls.toolchain.commands(chapter.number)

    def verdicts(self, texts, box=None, seconds=120):
        """[(chapter, exercise, text)] -> verdicts, two at a time."""
        judge_of = judge.Judge(self.toolchain, box, self.seed, seconds)
        self.toolchain.in_full.clear()
        folder = temporary_folder(self)

        def check(numbered):
            number, (chapter, exercise, text) = numbered
            file = folder / str(number) / f"{exercise.name}.cuh"
            file.parent.mkdir()
            file.write_text(text, encoding="utf-8")
            return judge_of.check(chapter, exercise, file, say_not_begun=False)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(check, enumerate(texts)))

    def test_text(self):
        self.assertGreaterEqual(len(CODE), 4)
        for chapter, e in CODE:
            with self.subTest(e.key):
                step = (ROOT / chapter.path / e.step_file).read_text(encoding="utf-8")
                self.assertEqual(e.put_back(e.handed_out), e.solution)
                self.assertEqual(e.solution == step, not e.forbid or e.step_file.startswith("practice/"))
                self.assertEqual(len(set(e.hints)), 3)
                self.assertTrue(e.removed())
                self.assertRegex(e.handed_out.splitlines()[0], rf"\d min, (easy|medium|hard)(; belongs to {e.page})?\)$")
                self.assertEqual("belongs to" in e.handed_out.splitlines()[0], e.page != "README")
                # A bug is not marked; everything else is.
                self.assertEqual("TODO" in e.handed_out, e.kind != "bug")
                self.assertEqual(judge.draw_cases(e.cases, 1), judge.draw_cases(e.cases, 1))
                for bar in e.bars:
                    self.assertIn(bar.case, e.cases)
                self.assertTrue(all(len(line) <= 120 for line in e.handed_out.splitlines()))

    def test_questions(self):
        """Nothing is compiled for them, and what is not begun or not answered is not solved."""
        for chapter, e in EXERCISES:
            if e.is_code:
                continue
            with self.subTest(e.key):
                self.assertIn("TODO" if e.kind == "predict" else "below this line", e.handed_out)
                self.assertTrue(all(len(line) <= 120 for line in e.handed_out.splitlines()))
                self.assertEqual(len(set(e.hints)), 3)
                answers = {e.handed_out: judge.NOT_BEGUN, e.solution: judge.DONE}
                if e.kind == "explain":
                    answers |= {e.handed_out + "ok": judge.NOT_BEGUN}
                    answers |= {e.handed_out + said: judge.WRONG for said in ("I do not know.", "asdf qwer yxcv jklo", "See what is said above.")}
                    answers |= {e.handed_out + f"It is the {term.upper()}s": judge.DONE for term in e.terms}
                else:
                    number = float(e.answer)
                    answers |= {book.ANSWER.sub(f"constexpr double kAnswer = {text};", e.handed_out): status for text, status in (
                        (f"{number:g}", judge.DONE), (f"({number:g} - 2) + 2 * 1", judge.DONE), (f"{number * 1.1:g}", judge.WRONG),
                        ("0", judge.WRONG), ("", judge.NO_COMPILE), ("__import__('os')", judge.NO_COMPILE), ("9**9**9", judge.NO_COMPILE))}
                    marked = dataclasses.replace(e, answer=book.mark_of(e.key, number))  # As in a handout.
                    self.assertNotIn(f"{number:g}", marked.answer.split())
                for text, status in answers.items():
                    for exercise in (e, marked) if e.kind == "predict" else (e,):
                        file = temporary_folder(self) / f"{e.name}.cuh"
                        file.write_text(text, encoding="utf-8")
                        self.assertEqual(judge.Judge(None).check(chapter, exercise, file).status, status, text)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_what_is_to_be_predicted_is_what_the_emulator_counts(self):
        for chapter, e in EXERCISES:
            if e.kind != "predict":
                continue
            folder = ROOT / chapter.path
            step = (ROOT / chapter.path / e.step_file if e.step_file else next(folder.glob(f"{e.step}_*.cuh"))).read_text(encoding="utf-8")
            rare = next((other.rare for other in chapter.exercises if other.is_code and other.step == e.step), "")
            asked = dataclasses.replace(e, pieces=(book.Piece(step, step),), rare=rare)
            with self.subTest(e.key), toolchain.scratch_folder() as scratch:
                file = scratch / f"{e.name}.cuh"
                file.write_text(step, encoding="utf-8")
                compiled = self.toolchain.compile(chapter, asked, file, scratch, lean=True)
                self.assertEqual(compiled.error, "")
                judging = judge.Judge(self.toolchain)
                with judging.referee(asked, [e.cases[0]]) as referee:
                    _, _, finished = judging.hold(asked, compiled.program, scratch, referee)
                self.assertEqual([line["status"] for line in finished], ["pass"])
                self.assertEqual(f"{judge.value_of(e.counter, finished[0]['counters']):.3g}", f"{float(e.answer):.3g}")

    def test_there_are_bugs_to_find(self):
        for chapter in BOOK:
            self.assertGreaterEqual(len(chapter.exercises), 4, chapter.folder)
            self.assertEqual(sum(e.kind == "project" for e in chapter.exercises), 1, chapter.folder)
        self.assertGreaterEqual(sum(e.kind == "bug" for _, e in CODE), 2)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_as_handed_out_it_compiles_and_is_not_solved(self):
        found = self.verdicts([(c, e, e.handed_out) for c, e in CODE])
        self.assertEqual(self.toolchain.in_full, [])
        for (_, e), verdict in zip(CODE, found):
            with self.subTest(e.key):
                self.assertIn(verdict.status, (judge.WRONG, judge.SLOW), verdict.reason)
                self.assertEqual(verdict.points, 0, "bars of what is right already need `begins`")
                begins = [bar for bar in e.bars if bar.begins is not None]
                self.assertEqual(bool(begins), verdict.status == judge.SLOW)
                self.assertEqual([bar for bar in begins if bar.met_by(bar.begins)], [])
                told = "\n".join(verdict.details)
                self.assertEqual([bar for bar in begins if f"{bar.counter}: {judge.shown(bar.begins)};" not in told], [])

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_the_solution_passes(self):
        """On what can be drawn at the ends of every range, too: a reader's right kernel is never refused by chance."""
        cornered = [
            (c, dataclasses.replace(e, cases=e.cases + tuple(case for t in e.cases for case in corners(t))))
            for c, e in CODE
        ]
        found = self.verdicts([(c, e, e.solution) for c, e in cornered])
        self.assertEqual(self.toolchain.in_full, [])
        for (_, e), verdict in zip(CODE, found):
            with self.subTest(e.key):
                self.assertEqual(verdict.status, judge.DONE, verdict.details or verdict.reason)
                self.assertTrue(verdict.file.endswith(f"{e.name}.cuh"))
                self.assertEqual((verdict.points, verdict.printed), (1, ()))
                # What it is compared with is what it needs: else scripts/measure_exercises.py has to be run.
                self.assertAlmostEqual(verdict.measured["modelled time by ours"], 1, delta=0.2)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_cheats_are_rejected(self):
        """All cheats on every exercise at night; by day those that cost no compiler on every, all on each chapter's first."""
        tried = []
        for chapter in BOOK:
            plain = [e for e in chapter.exercises if e.is_code and not e.yardstick]
            for e in plain:
                self.assertGreaterEqual(len(chapter.cheats_for(e)), 3, e.key)
                for name, cheat in chapter.cheats_for(e).items():
                    if NIGHTLY or e is plain[0] or cheat.startswith("#include"):
                        tried.append((chapter, e, name, with_cheat(e, cheat)))
        found = self.verdicts([(c, e, text) for c, e, _, text in tried])
        for (_, e, name, _), verdict in zip(tried, found):
            with self.subTest(f"{e.key}: {name}"):
                self.assertIn(verdict.status, (judge.WRONG, judge.REFUSED), verdict.reason)
                if name != "copies_the_input":
                    self.assertEqual(verdict.status, judge.REFUSED, verdict.reason)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_cheats_and_near_misses(self):
        """Wrong kernels, wasteful ones, and good ones that are not ours: each gets the verdict that it deserves. By day
        those marked so, and the eighth of the others whose turn the date says it is."""
        tried = variants.read(BOOK)
        for _, e in CODE + PROJECTS:
            verdicts = [variant["verdict"] for _, mine, variant in tried if mine is e]
            for verdict, least in (("wrong", 2), ("slow", 1), ("done", 1)):
                self.assertGreaterEqual(verdicts.count(verdict), least, f"{e.key}: {verdict}")
        turn = datetime.date.today().toordinal() % 8
        tried = [one for i, one in enumerate(tried) if NIGHTLY or one[2].get("daily") or i % 8 == turn]
        found = self.verdicts([(c, e, variants.text_of(e, variant)) for c, e, variant in tried])
        for (_, e, variant), verdict in zip(tried, found):
            with self.subTest(f"{e.key}: {variant['what']}"):
                told = "\n".join((verdict.reason, *verdict.details, *verdict.printed))
                self.assertEqual(verdict.status, variant["verdict"], told)
                self.assertIn(variant.get("says", ""), told)
                if e.kind == "project" and variant["verdict"] == "wrong":  # What is right by chance depends on what is drawn.
                    self.assertLess(verdict.points, book.RIGHT_POINTS / 100, told)
                elif variant["verdict"] == "wrong" and "points" not in variant:
                    self.assertLess(verdict.points, 0.5, told)
                    self.assertTrue(verdict.points == 0 or "line" not in told and "reported" not in told, told)
                else:
                    self.assertAlmostEqual(verdict.points, variant.get("points", {"done": 1, "slow": 0.5}.get(variant["verdict"], 0)), 3, told)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_projects(self):
        """A solution of our own, from the empty file, gets all points; each of its stages gets what it reaches."""
        stages = {
            1: [("% 16 == 0;", "% 16 == 1;", 60, "load requests"), ("if (i < count)", "if (i < 0)", 40 * 7 / 9, "7 of the 9 cases")],
            2: [("if (p.count() == 0)", "if (p.view.dims > 5 || p.count() == 0)", 40 * 9 / 10, "9 of the 10 cases"),
                ("const Prepared q =", "if (p.alignment < 16) return cudaErrorMisalignedAddress;\n  const Prepared q =", 40 * 9 / 10, "misaligned")],
            4: [("p.places <= kMostBins", "p.places < 0", 60, "atomic requests"),
                ("if (place >= 0 && place < places)", "if (place >= 0)", 40 * 5 / 7, "5 of the 7 cases"),
                ("const std::int64_t place = index[i];", "const std::int64_t place = int(index[i]);", 40 * 6 / 7, "6 of the 7 cases"),
                ("p.count == 0 || ", "", 40 * 6 / 7, "invalid configuration"),
                (".stream = stream", ".stream = cudaStreamPerThread", 40 * 1 / 7, "nothing was launched to the stream")],
            5: [("alpha_of<T>(p)", "1.0F", 40 * 5 / 7, "5 of the 7 cases"),
                ("if (p.empty())", "if (p.src.dims > 3 || p.empty())", 40 * 6 / 7, "6 of the 7 cases"),
                ("dims.src_stride[d] = Number(p.src.strides[d]);",
                 "dims.src_stride[d] = 1;\n    for (int e = d + 1; e < p.src.dims; ++e) dims.src_stride[d] *= Number(p.src.sizes[e]);", 40 * 6 / 7, "6 of the 7 cases"),
                ("if (p.empty()) return cudaSuccess;", "", 40 * 6 / 7, "divided by zero")],
            6: [("is_two_by_two(images) &&", "images.batch < 0 &&", 60, "64-bit divisions"),
                ("images.in_alignment >= 8 && images.out_alignment == 16 &&", "", 40 * 8 / 11, "misaligned"),
                ("height.source(row)", "int(std::int64_t(row) * height.in / height.out)", 40 * 10 / 11, "10 of the 11 cases"),
                ("const std::int64_t packs =", "if (images.height.out < images.height.in) return cudaErrorInvalidValue;\n  const std::int64_t packs =", 40 * 10 / 11, "10 of the 11 cases")],
            3: [("if (as_batch_transpose(q, m) == nullptr", "if (q.rank < 0", 40, "load sectors"),
                ("[kTile + 1]", "[kTile]", 50, "bank conflicts"),
                ("#pragma unroll\n  for (int k = 0; k < kTile; k += kThreadRows) {\n    if (row0", "#pragma unroll 1\n  for (int k = 0; k < kTile; k += kThreadRows) {\n    if (row0", 60, "load requests per wait"),
                ("simplified(p)", "p", 65, "load requests"),
                ("m.columns % 2 == 0 &&", "m.columns < 0 &&", 75, "load requests"),
                ("tile[x][y + k];", "tile[y + k][x];", 40 * 10 / 15, "belongs"),
                (".block = {kTile, kThreadRows}", ".block = {kTile, 0}", 40 * 9 / 15, "9 of the 15 cases"),
                (".stream = stream", ".stream = nullptr", 40 * 1 / 15, "1 of the 15 cases"),
                ("if (p.count() == 0)", "if (p.rank > 6 || p.rank == 0 || p.count() == 0)", 40 * 12 / 15, "12 of the 15 cases"),
                ("m.batch < 65536 &&", "", 40 * 15 / 16, "65,535 in y and z"),
                ("kTile = 32", "kTile = 64", 40 * 14 / 15, "too much shared data")],
            7: [("% 16 == 0;", "% 16 == 1;", 60, "load requests"), ("if (n == 0) return cudaSuccess;", "", 40 * 9 / 10, "invalid configuration"),
                (".stream = stream", ".stream = nullptr", 40 * 1 / 10, "1 of the 10 cases"),
                ("% 16 == 0;", "% 16 >= 0;", 40 * 5 / 10, "misaligned"),
                ("return launch(", "struct { cudaError_t operator=(cudaError_t) { return cudaSuccess; } } drop;\n  return drop = launch(", 40 * 10 / 11, "its error is not returned")],
        }  # fmt: skip
        tried = []
        for chapter, e in PROJECTS:
            text = project_of(chapter)
            tried += [(chapter, e, e.handed_out, 0, "0 of 100"), (chapter, e, text, 100, "100 of 100")]
            for old, new, points, part in stages.get(chapter.number, []):
                self.assertIn(old, text)
                tried.append((chapter, e, text.replace(old, new), points, part))
        found = self.verdicts([(c, e, text) for c, e, text, _, _ in tried])
        for (_, e, _, points, part), verdict in zip(tried, found):
            with self.subTest(f"{e.key}: {points}"):
                told = "\n".join(verdict.details)
                self.assertAlmostEqual(verdict.points * 100, points, 3, told)
                self.assertIn(part, told)
                self.assertNotIn("the launcher threw", told)
                self.assertEqual(verdict.done, points == 100, told)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_what_a_kernel_prints_is_shown(self):
        chapter, e = next((c, e) for c, e in CODE if e.key == "chapter1/one_element")
        printing = e.solution.replace("if (i < count)", 'if (i < 10) printf("element %d\\n", int(i));\n  if (i < count)')
        verdict = self.verdicts([(chapter, e, printing)])[0]
        self.assertEqual(verdict.status, judge.DONE, verdict.details)
        self.assertEqual(verdict.printed[0], "element 0")
        self.assertEqual(len(verdict.printed), judge.MOST_PRINTED + 1)
        self.assertRegex(verdict.printed[-1], r"and \d+ lines more")

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_what_is_no_kernel_is_found_out(self):
        chapter, e = next((c, e) for c, e in CODE if e.key == "chapter3/copy_guard")
        loop = "std::copy_n(static_cast<const char*>(src), p.count() * p.element_bytes, static_cast<char*>(dst)); return cudaSuccess;"
        texts = {
            "the host copies": with_cheat(e, loop),
            "it ends the program": with_cheat(e, "std::quick_exit(0);"),
            "another's file": with_cheat(e, '#include "../other/copy_guard.cuh"'),
        }
        found = dict(zip(texts, self.verdicts([(chapter, e, text) for text in texts.values()])))
        self.assertIn("Host code reads device memory", found["the host copies"].reason)
        self.assertIn("quick_exit", found["it ends the program"].reason)
        self.assertIn("../other/copy_guard.cuh", found["another's file"].reason)
        self.assertFalse([name for name, verdict in found.items() if verdict.done])

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_the_case_of_real_size_is_judged_as_the_others(self):
        chapter, e = next((c, e) for c, e in CODE if e.key == "chapter3/copy_guard")
        third, project = next((c, e) for c, e in PROJECTS if c.number == 3)
        ours = project_of(next(chapter for chapter in BOOK if chapter.number == 3))
        leave = "if (p.count() > 500000) return cudaSuccess;"
        read = "if (p.count() > 500000 && *static_cast<const volatile char*>(src) == 77) return cudaSuccess;"
        tried = [(chapter, e, with_cheat(e, leave, e.solution), judge.WRONG, round(0.5 * 5 / 6, 3)), (chapter, e, with_cheat(e, read, e.solution), judge.REFUSED, 0),
                 (third, project, with_cheat(project, leave, ours), judge.WRONG, 0.375), (third, project, with_cheat(project, read, ours), judge.REFUSED, 0)]
        for (*_, status, points), verdict in zip(tried, self.verdicts([t[:3] for t in tried])):
            with self.subTest(f"{verdict.file}: {status}"):
                self.assertEqual((verdict.status, verdict.points), (status, points), verdict.details)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_attacks_get_nothing(self):
        """Under the sandbox, as in a grading; those that do not end only at night."""
        of = {e.key: (c, e) for c, e in EXERCISES}
        readable = tuple(ROOT / name for name in ("common", "chapters", "build"))
        tried = [a for a in attacks.ATTACKS if NIGHTLY or a.daily]
        found = self.verdicts([(*of[a.of], a.text(of[a.of][1])) for a in tried], sandbox.Sandbox(sandbox.Limits(readable=readable)), 8)
        for attack, verdict in zip(tried, found):
            with self.subTest(f"{attack.kind}: {attack.name}"):
                self.assertIn(verdict.status, (judge.WRONG, judge.REFUSED, judge.NO_COMPILE, judge.CRASHED, judge.TIMED_OUT), verdict.reason)
                self.assertEqual(verdict.points, 0, verdict.details)
                self.assertIn(attack.told, verdict.reason)

    def test_attacks_are_counted_as_they_are(self):
        """The page's table: how many of each kind, and that their verdicts make as many."""
        text = (ROOT / "docs" / "pages" / "exercises.md").read_text(encoding="utf-8")
        rows = {name: [int(n) for n in numbers.split("|")] for name, numbers in re.findall(r"^\| ([^|]+) \| (\d+(?: \| \d+){4}) \|$", text, re.M)}
        kinds = [a.kind for a in attacks.ATTACKS]
        self.assertEqual({name: numbers[0] for name, numbers in rows.items()}, {kind: kinds.count(kind) for kind in kinds} | {"all": len(kinds)})
        for name, (tried, *verdicts) in rows.items():
            self.assertEqual((sum(verdicts), verdicts[-1]), (tried, 0), name)
        *parts, total = rows.values()
        self.assertEqual([sum(column) for column in zip(*parts)], total)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_what_helpers_and_printf_do_is_no_attack(self):
        chapter, e = next((c, e) for c, e in EXERCISES if e.key == attacks.EXERCISE)
        readable = tuple(ROOT / name for name in ("common", "chapters", "build"))
        found = self.verdicts([(chapter, e, a.text(e)) for a in attacks.HONEST], sandbox.Sandbox(sandbox.Limits(readable=readable)), 20)
        for attempt, verdict in zip(attacks.HONEST, found):
            with self.subTest(attempt.name):
                self.assertEqual(verdict.status, judge.DONE, verdict.reason)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_bars_of_a_gpu_are_recorded(self):
        """By the emulator in a GPU's place: what it says of speed is no bar's, but all the ways are gone."""
        folder = temporary_folder(self)
        programs = record_exercises.Programs(folder, False)
        programs.toolchain = self.toolchain
        programs.keep_referee(7)
        small = {"case": "n=65536 dtype=float", "share": 0.9}
        chosen = [(c, dataclasses.replace(e, gpu=small)) for c, e in CODE if e.key in ("chapter7/launcher", "chapter7/any_grid")]
        kept = []
        rows = record_exercises.record(record_exercises.OursOnce(programs, seed=4711, seconds=60), chosen, 2, float("inf"), {}, kept.append)
        self.assertEqual([row["exercise"] for row in rows], [e.key for _, e in chosen])
        self.assertEqual([record_exercises.as_it_should_be(row) for row in rows], [True, True], rows)
        self.assertTrue(all(row["solution"]["share"] > 0.5 for row in rows) and kept)

    @unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
    def test_an_error_is_told_by_the_readers_line(self):
        chapter, e = CODE[0]
        text = e.solution.replace("#pragma once\n", "#pragma once\nint here = missing;\n", 1)
        line = text.splitlines().index("int here = missing;") + 1
        verdict = self.verdicts([(chapter, e, text)])[0]
        self.assertEqual(verdict.status, judge.NO_COMPILE)
        self.assertRegex(verdict.reason, rf"{e.name}\.cuh:{line}: error: use of undeclared identifier 'missing'")
        self.assertLess(len(verdict.details), 6, verdict.details)
        open_brace = self.verdicts([(chapter, e, e.solution.rstrip()[: e.solution.rstrip().rindex("}")])])[0]
        self.assertEqual(open_brace.status, judge.NO_COMPILE)
        self.assertIn(f"{e.name}.cuh", open_brace.reason)


class Sandboxed(unittest.TestCase):
    def run_python(self, code, **limits):
        self.scratch = temporary_folder(self)
        python = {str(pathlib.Path(p).resolve()) for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
        box = sandbox.Sandbox(sandbox.Limits(readable=tuple(python), **limits))
        return box, box([sys.executable, "-I", "-c", code], cwd=self.scratch, scratch=self.scratch)

    def test_an_endless_loop_ends(self):
        start = time.monotonic()
        _, done = self.run_python("while True: pass", seconds=1)
        self.assertTrue(done.timed_out)
        self.assertLess(time.monotonic() - start, 20)

    def test_a_busy_machine_gives_more_time(self):
        for waited, ends in ((0, True), (5, False)):
            with mock.patch.object(sandbox, "waited_seconds", lambda process, waited=waited: waited):
                done = sandbox.run_limited(["sleep", "0.5"], seconds=0.2)
            self.assertEqual((done.timed_out, done.returncode == 0), (ends, not ends))
        self.assertGreaterEqual(sandbox.waited_seconds(os.getpid()), 0)

    def test_what_it_started_ends_with_it(self):
        _, done = self.run_python("import os, time\nif os.fork() == 0: time.sleep(60)\nprint('x')", seconds=20)
        self.assertEqual(done.stdout, "x\n")
        self.assertLess(done.seconds, 15)

    def test_endless_output_fills_no_memory(self):
        _, done = self.run_python("while True: print('spam' * 1000)", seconds=1)
        self.assertTrue(done.timed_out)
        self.assertLessEqual(len(done.stdout), sandbox.MOST_OUTPUT)

    def test_memory_is_limited(self):
        _, done = self.run_python("x = bytearray(1 << 30)", memory_bytes=256 << 20)
        self.assertIn("MemoryError", done.stderr)

    def test_a_file_does_not_fill_the_disk(self):
        _, done = self.run_python("open('f', 'wb').write(bytes(8 << 20))", file_bytes=1 << 20)
        self.assertRegex(done.stderr + str(done.returncode), "File too large|-25")  # SIGXFSZ, where nobody ignores it.
        self.assertLessEqual((self.scratch / "f").stat().st_size, 1 << 20)

    def test_many_files_do_not_fill_the_disk(self):
        code = "import time\nfor i in range(1000):\n  open(f'f{i}', 'wb').write(bytes(1 << 19))\n  time.sleep(0.02)"
        _, done = self.run_python(code, file_bytes=1 << 20)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("wrote more than 4 MiB", done.stderr)
        self.assertLess(sandbox.bytes_below(self.scratch), 200 << 20)

    def test_a_fork_bomb_stops(self):
        """As nobody: the system counts no processes of root's."""
        python = "/usr/bin/python3"
        if os.getuid() != 0 or not os.path.exists(python):
            self.skipTest("another user's rights are needed")
        folder = temporary_folder(self)
        folder.chmod(0o777)
        shutil.copy(sandbox.__file__, folder / "sandbox.py")
        code = "import os, time\nmade = 0\ntry:\n  while made < 400:\n    if os.fork() == 0: time.sleep(20); os._exit(0)\n    made += 1\nexcept BlockingIOError: print('stopped at', made)"
        policy = {"cpu_seconds": 20, "memory_bytes": 1 << 30, "file_bytes": 1 << 20, "processes": 20, "scratch": str(folder), "readable": [],
                  "network": True, "landlock": False}  # fmt: skip
        words = [python, "-I", str(folder / "sandbox.py"), json.dumps(policy), python, "-I", "-c", code]
        done = subprocess.Popen(words, cwd=folder, user=65534, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            self.assertRegex(done.stdout.readline(), r"stopped at 1?\d\b|stopped at 20\b")
        finally:
            os.killpg(done.pid, signal.SIGKILL)
            done.wait()
            done.stdout.close()

    def test_the_network_is_cut_where_it_can_be(self):
        box, done = self.run_python("import socket; s = socket.socket(); s.settimeout(3); s.connect(('192.0.2.1', 80))")
        if box.isolation["network"] != "cut":
            self.skipTest("this system does not let the network be taken away")
        self.assertIn("Network is unreachable", done.stderr)

    def test_other_files_stay_as_they_are(self):
        outside = temporary_folder(self) / "outside"
        outside.write_text("as it was", encoding="utf-8")
        code = f"open('inside', 'w').write('x')\ntry: open({str(outside)!r}).read()\nexcept OSError: print('unread')\nopen({str(outside)!r}, 'w')"
        box, done = self.run_python(code)
        if box.isolation["files"] != "landlock":
            self.skipTest("no Landlock here")
        self.assertEqual((self.scratch / "inside").read_text(encoding="utf-8"), "x")
        self.assertIn("unread", done.stdout)
        self.assertIn("PermissionError", done.stderr)
        self.assertEqual(outside.read_text(encoding="utf-8"), "as it was")


class Grading(unittest.TestCase):
    def setUp(self):
        self.folder = temporary_folder(self)
        self.chapter, self.exercise = next((c, e) for c, e in EXERCISES if e.key == "chapter3/copy_guard")

    def submit(self, student, text, inside="exercises"):
        path = self.folder / student / inside / "chapter3" / "copy_guard.cuh"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        return path

    def test_only_ordinary_files_are_taken(self):
        honest = self.submit("honest", "mine")
        self.submit("nested", "nested", "homework/warpbook/exercises")
        self.submit("large", "x" * (grade.MOST_BYTES + 1))
        for student in ("linked", "piped", "plugged", "folder", "nothing"):
            (self.folder / student / "exercises" / "chapter3").mkdir(parents=True)
        (self.folder / "linked/exercises/chapter3/copy_guard.cuh").symlink_to(honest)
        os.mkfifo(self.folder / "piped/exercises/chapter3/copy_guard.cuh")
        with socket.socket(socket.AF_UNIX) as plug:
            plug.bind(str(self.folder / "plugged/exercises/chapter3/copy_guard.cuh"))
        (self.folder / "folder/exercises/chapter3/copy_guard.cuh").mkdir()
        (self.folder / "linked2" / "exercises").mkdir(parents=True)
        (self.folder / "linked2/exercises/chapter3").symlink_to(honest.parent)
        taken = {s.name: grade.take(s, self.exercise) for s in grade.students_in(self.folder)[0]}
        self.assertEqual(taken["honest"][0], b"mine")
        self.assertEqual(taken["nested"][0], b"nested")
        self.assertEqual({n for n, t in taken.items() if t[0] is not None}, {"honest", "nested"})
        for student, part in (("large", "bytes"), ("linked", "link"), ("linked2", "link"), ("piped", "ordinary"), ("plugged", "ordinary")):
            self.assertIn(part, taken[student][2])

    def test_a_spreadsheet_runs_nothing(self):
        for text, safe in (("=HYPERLINK()", "'=HYPERLINK()"), ("a\nb", "a b"), ("  @x", "'@x"), ("\t-1+2", "'-1+2"), ("a;=1+1", "a;'=1+1"),
                           ("x, +y", "x, '+y"), ("\uff1d1", "'\uff1d1"), ("a-b = c", "a-b = c"), ("\x1b[31m", "\\x1b[31m")):  # fmt: skip
            self.assertEqual(grade.cell(text), safe)

    def test_nobody_vanishes(self):
        (self.folder / "ada").mkdir()
        (self.folder / "linked").symlink_to("ada")
        (self.folder / ".bob").mkdir()
        (self.folder / "carl.zip").touch()
        os.mkdir(os.fsencode(self.folder) + b"/\xff")
        students, others = grade.students_in(self.folder)
        self.assertEqual([grade.shown(s.name) for s in students], ["ada", "\\xff"])
        self.assertEqual([name for name, _ in others], [".bob", "carl.zip", "linked"])

    def test_no_two_folders_have_one_name(self):
        for name in (b"\xff", rb"\xff", rb"\\xff"):
            os.makedirs(os.fsencode(self.folder) + b"/" + name)
        rows = [grade.check_one(None, self.chapter, self.exercise, s, self.folder, self.folder) for s in grade.students_in(self.folder)[0]]
        self.assertEqual(len({row.student for row in rows}), 3)

    def test_a_folder_of_very_many_is_told(self):
        (self.folder / "ada").mkdir()
        for i in range(grade.MOST_FOLDERS + 1):
            (self.folder / "ada" / f"{i:05}").mkdir()
        for i in range(grade.MOST_FOLDERS + 1):
            (self.folder / "ada" / f"0{i:05}.txt").touch()
        row = grade.check_one(None, self.chapter, self.exercise, self.folder / "ada", self.folder, self.folder)
        self.assertEqual((row.verdict.status, row.verdict.reason),
                         ("not checked", "ada cannot be read: it holds 1,001 folders, and 1,000 are looked through: hand in exercises/ at the top"))
        self.submit("ada", "mine", "exercises")
        self.assertEqual(grade.take(self.folder / "ada", self.exercise)[0], b"mine")

    def test_what_cannot_be_read_is_not_checked(self):
        self.submit("ada", "mine")
        row = mock.Mock()
        with mock.patch.object(os, "scandir", side_effect=PermissionError(13, "Permission denied", str(self.folder / "ada"))):
            row = grade.check_one(None, self.chapter, self.exercise, self.folder / "ada", self.folder, self.folder)
        self.assertEqual((row.verdict.status, row.verdict.reason), ("not checked", "ada cannot be read: Permission denied"))

    def test_a_folder_that_cannot_be_read_hides_nothing_beside_it(self):
        self.submit("ada", "mine", "homework/exercises")
        (self.folder / "ada" / "locked").mkdir()
        scan = os.scandir

        def locked(folder):
            if str(folder).endswith("locked"):
                raise PermissionError(13, "Permission denied", str(folder))
            return scan(folder)

        with mock.patch.object(os, "scandir", side_effect=locked):
            self.assertEqual(grade.take(self.folder / "ada", self.exercise)[0], b"mine")
            (self.folder / "ada/homework/exercises/chapter3/copy_guard.cuh").unlink()
            with self.assertRaises(PermissionError):  # It may be in there.
                grade.take(self.folder / "ada", self.exercise)

    def test_a_full_disk_is_nobodys_fault(self):
        self.submit("ada", "mine")
        done = sandbox.Finished(1, "", "clang: error: unable to open output file: 'No space left on device'")
        toolchain.no_room(done, self.folder)  # A file may say so, too.
        with mock.patch.object(shutil, "disk_usage", return_value=mock.Mock(free=0)), self.assertRaisesRegex(toolchain.BuildError, "no space is left"):
            toolchain.no_room(done, self.folder)
        checker = mock.Mock()
        checker.check.side_effect = toolchain.BuildError("no space is left")
        row = grade.check_one(checker, self.chapter, self.exercise, self.folder / "ada", self.folder, self.folder)
        self.assertEqual((row.verdict.status, row.counts, row.content), ("not checked", False, b"mine"))

    def test_places_are_looked_at_first(self):
        os.mkfifo(self.folder / "pipe.csv")
        (self.folder / "link.csv").symlink_to("/dev/null")
        for name, part in (("pipe.csv", "no ordinary file"), ("link.csv", "no ordinary file"), ("g.txt", "CSV"), ("none/g.csv", "nothing can be written")):
            with self.assertRaisesRegex(book.BookError, part):
                grade.check_places(self.folder, [self.folder / name], "grades.csv")

    def test_weights(self):
        weights = grade.read_weights("chapter3=2 copy_guard=0.5", BOOK)
        self.assertEqual((weights["chapter3/swizzle"], weights["chapter3/copy_guard"], weights["chapter1/packs"]), (2, 0.5, 1))
        for text in ("swizzle", "=3", "swizzle=-1", "swizzle=1e9", "chapter99=1", "nonsense=1", "which_loop_outside=1"):
            with self.assertRaises(book.BookError):
                grade.read_weights(text, BOOK)

    def row(self, student, text, status=judge.DONE, details=()):
        verdict = judge.Verdict(status, "why", details)
        return grade.Row(student, self.exercise.key, verdict, 2.0, content=text.encode())

    def test_who_is_like_whom(self):
        odd = "int odd(int a, int b) { int r = a; for (int k = 0; k < 3; ++k) { r = r * b + a % 7; if (r > 100) r -= b / 3; } return r; }"
        other = "float mean(const float* v, int n) { float s = 0; while (n-- > 0) s += *v++ * 0.5f; return s > 1 ? s : -s; }"
        own = self.exercise.solution
        renamed = odd.replace("odd", "strange").replace(" r ", " total ").replace("// ", "")
        rows = [self.row("ada", own + odd), self.row("bob", own + "// mine\n" + renamed), self.row("carl", own + other), self.row("dora", own),
                self.row("emil", own)]  # fmt: skip
        pairs = feedback.similar(rows, [book.Chapter(**{**vars(self.chapter), "exercises": (self.exercise,)})])
        self.assertEqual([(p[1], p[2]) for p in pairs], [("ada", "bob")])

    def test_feedback_shows_and_runs_nothing(self):
        rows = [self.row("<b>`a`</b>|x", "", judge.WRONG, ("```\n<script>", "\x1b[31mred"))]
        text = feedback.page(rows[0].student, rows, {self.exercise.key: self.exercise})
        self.assertIn("0 of 2 points", text)
        self.assertIn("    ```\n    <script>\n     [31mred", text)
        self.assertNotIn("<b>", text)
        text = feedback.page("ada", [self.row("ada", "", judge.MISSING, ("not handed in",))], {self.exercise.key: self.exercise})
        self.assertEqual((text.count("missing"), "##" in text), (1, False))  # The table has said it.
        taken = set()
        names = [feedback.file_name(name, taken) for name in ("../../x", "a b", "a_b", "A B", "\\xff", "", "." * 300)]
        self.assertEqual(len({n.lower() for n in names}), len(names))
        self.assertFalse([n for n in names if "/" in n or n.startswith(".") or len(n) > 120])

    def ranked(self, *told):
        """Entries of (student, points, counters, time) or of those who were not checked."""
        rows = []
        for student, points, counters, time in told:
            status = grade.NOT_CHECKED if points is None else judge.DONE
            measured = {name: v for name, v in ((judge.COUNTERS_BY_OURS, counters), (judge.TIME_BY_OURS, time)) if v is not None}
            rows.append(grade.Row(student, self.exercise.key, judge.Verdict(status, score=points, measured=measured)))
        return leaderboard.ranked(rows)

    def test_points_come_first_then_counters_then_time(self):
        entries = self.ranked(("ada", 0.5, 0.1, 0.1), ("bob", 1, 1.2, 1), ("carl", 1, 1.2, 0.9), ("dora", 1, 1.1, 3), ("emil", 1, 1.2, 0.9004),
                              ("fred", None, None, None), ("gil", 1, None, None))  # fmt: skip
        self.assertEqual([(e["rank"], e["student"]) for e in entries],
                         [(1, "dora"), (2, "carl"), (2, "emil"), (4, "bob"), (5, "gil"), (6, "ada"), (7, "fred")])
        self.assertEqual(leaderboard.notes(entries), ["Not complete: 1 file could not be checked."])
        self.assertEqual(leaderboard.notes(entries[:6]), [])

    def test_a_leaderboard_runs_and_fetches_nothing(self):
        page = leaderboard.as_page(self.ranked(("<script>x</script>\"'", 1, 1, 1), ("b", 0.25, None, None)), 4)
        self.assertIn('<th scope="row">&lt;script&gt;x&lt;/script&gt;&quot;&#x27;</th>', page)
        self.assertIn("--share: 25.0%", page)
        self.assertNotRegex(page, r"<script|<link|<img|url\(|https?:")
        self.assertIn("--primary-color: #", page)

    @unittest.skipIf(DEVICE != "emulator", "grading is the emulator's")
    def test_a_leaderboard_is_the_same_for_the_same_submissions(self):
        self.submit("ada", self.exercise.solution)
        self.submit("bob", self.exercise.handed_out)
        one = book.Chapter(**{**vars(self.chapter), "exercises": (self.exercise,)})
        tasks = [(s, self.chapter, self.exercise) for s in grade.students_in(self.folder)[0]]
        seed, made = leaderboard.seed_of(tasks), []
        for _ in range(2):
            out = temporary_folder(self) / "l.html"
            with mock.patch.object(grade, "read_book", lambda root: [one]), mock.patch("builtins.print"):
                self.assertEqual(leaderboard.leaderboard(self.folder, out, jobs=2), 0)
            made.append([out.with_suffix(ending).read_bytes() for ending in (".html", ".json", ".txt")])
        self.assertEqual(made[0], made[1])
        told = json.loads(made[0][1])
        self.assertEqual((told["seed"], [(e["student"], e["points"]) for e in told["students"]]), (seed, [("ada", 1), ("bob", 0)]))
        self.assertEqual((told["students"][0]["counters"], told["students"][0]["time"]), (1, 1))
        self.exercise.path(self.folder / "bob").write_text("mine", encoding="utf-8")
        self.assertNotEqual(leaderboard.seed_of(tasks), seed)

    @unittest.skipIf(DEVICE != "emulator", "grading is the emulator's")
    def test_a_class(self):
        solution, handed_out = self.exercise.solution, self.exercise.handed_out
        self.submit("ada", solution)
        self.submit("bob", handed_out)
        self.submit("carl", with_cheat(self.exercise, "for (;;) {}"))
        self.submit("dora", with_cheat(self.exercise, "*static_cast<volatile int*>(nullptr) = 1;"))
        self.submit("emil", "this is no C++")
        (self.folder / "fred").mkdir()
        out = temporary_folder(self) / "grades.csv"
        one = book.Chapter(**{**vars(self.chapter), "exercises": (self.exercise,)})
        with mock.patch.object(grade, "read_book", lambda root: [one]), mock.patch("builtins.print"):
            self.assertEqual(grade.grade(self.folder, out, seed=5, jobs=2, seconds=4), 0)
        rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
        verdicts = {row["student"]: row["verdict"] for row in rows}
        self.assertEqual(verdicts, {"ada": "done", "bob": "not begun", "carl": "timed out", "dora": "refused",
                                    "emil": "does not compile", "fred": "missing"})  # fmt: skip
        self.assertEqual([row["points"] for row in rows], ["1", "0", "0", "0", "0", "0"])
        pages = out.with_name("grades_feedback")
        self.assertIn("timed out", (pages / "carl.md").read_text(encoding="utf-8"))
        self.assertEqual(len(list(pages.iterdir())), 6)
        self.assertTrue(all(row["reason"] for row in rows if row["verdict"] != "done"))
        data = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
        self.assertEqual(data["seed"], 5)
        self.assertEqual([r["student"] for r in data["results"]], sorted(verdicts))

    @unittest.skipIf(DEVICE != "emulator", "grading is the emulator's")
    def test_a_signal_leaves_what_is_there(self):
        self.submit("ada", self.exercise.solution)
        self.submit("bob", with_cheat(self.exercise, "for (volatile int i = 0;; i = i + 1) {}"))
        here = temporary_folder(self)
        out = here / "grades.csv"
        command = [ROOT / "workbook", "--chapters", "3", "grade", self.folder, out, "--jobs", "1", "--seconds", "600"]
        process = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(here)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 120
        while not list(here.glob("warpbook-*/arrays/0.out")) and time.monotonic() < end:  # The first case of ada's is judged ...
            time.sleep(0.01)
        while not list(here.glob("warpbook-grade-*/*")) and time.monotonic() < end:  # ... and another file is under way.
            time.sleep(0.01)
        time.sleep(5)
        process.terminate()
        said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, said)
        rows = {(r["student"], r["exercise"]): r for r in csv.DictReader(io.StringIO(out.read_text(encoding="utf-8")))}
        self.assertEqual(rows["ada", self.exercise.key]["points"], "1")
        self.assertEqual(rows["bob", self.exercise.key]["verdict"], "not checked")
        self.assertEqual(rows["bob", self.exercise.key]["points"], "")
        self.assertIn("interrupted", said[1])
        self.assertEqual([p.name for p in here.glob("warpbook-*")], [])

    def test_odd_words_to_make_are_one_line(self):
        self.submit("ada", "mine")
        here = f"DIR={self.folder}", f"OUT={self.folder}/g.csv"
        for words, part in ((["handout", "OUT=x", "CHAPTERS=9"], "chapter 9 has no exercises"), (["handout", "OUT=x", "CHAPTERS=1 x"], "numbers of chapters"),
                            (["watch", "CHAPTERS=-1"], "numbers of chapters"), (["handout", 'CHAPTERS=1"; touch "a', "OUT=x"], "numbers of chapters"),
                            (["grade", *here, "WEIGHTS=nonsense=1"], "no exercise 'nonsense'"), (["grade", *here, "WEIGHTS=swizzle=-1"], "NAME=POINTS"),
                            (["grade", *here, 'WEIGHTS="'], "NAME=POINTS"), (["leaderboard", *here], "leaderboard.html"), (["grade", here[0]], "OUT=grades.csv"),
                            (["leaderboard", f'DIR={self.folder}"; touch "a', "OUT=l.html"], "is no folder")):  # fmt: skip
            done = subprocess.run(["make", "-s", "-C", ROOT, "DEVICE=emulator", *words], capture_output=True, text=True, check=False)
            lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
            self.assertEqual((done.returncode, len(lines)), (2, 1), done.stderr)
            self.assertIn(part, lines[0])
            self.assertFalse((ROOT / "a").exists() or (ROOT / "x").exists(), words)

    def test_bad_folders_are_one_line(self):
        for arguments in (["grade", str(self.folder), ""], ["grade", str(self.folder), "g.csv", "--jobs", "-1"],
                          ["grade", str(self.folder), "g.csv", "--seconds", "0"], ["--chapters", "99", "list"], ["grade", str(self.folder / "none"), "g.csv"], ["grade", str(self.folder), "g.csv"],
                          ["leaderboard", str(self.folder), "l.csv"], ["leaderboard", str(self.folder / "none"), "l.html"],
                          ["leaderboard", str(self.folder), "l.html", "--weights", "nonsense=1"], ["leaderboard", str(self.folder), ""],
                          ["handout", str(ROOT)], ["hint", "nonsense"], ["chapter", "99"], ["frobnicate"]):  # fmt: skip
            done = subprocess.run([ROOT / "workbook", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("workbook: "), done.stderr)


class Handout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.tree = pathlib.Path(cls.temporary.name) / "a class"
        with mock.patch("builtins.print"):
            handout.write_handout(cls.tree)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_nothing_gives_a_solution_away(self):
        files = [p for p in self.tree.rglob("*") if p.is_file()]
        texts = {str(p.relative_to(self.tree)): p.read_text(encoding="utf-8", errors="replace") for p in files}
        self.assertEqual([(e.key, name, line) for e, name, line in handout.leaks(BOOK, texts)], [])
        for chapter in BOOK:
            self.assertFalse((self.tree / chapter.path / "chapter.cu").exists())
        self.assertFalse(any("[exercise" in text for name, text in texts.items() if name.endswith(".cuh")))
        self.assertFalse(any("[cheats]" in text or "[exercise.written]" in text for name, text in texts.items() if name.endswith(".toml")))
        self.assertFalse(set(handout.TEACHERS) & set(texts))
        said = subprocess.run([self.tree / "workbook", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertIn("hint", said)
        self.assertNotRegex(said, "grade|leaderboard|solution|handout")

    def test_of_one_chapter(self):
        tree = temporary_folder(self) / "one"
        with mock.patch("builtins.print"):
            handout.write_handout(tree, chapters=(3,))
        self.assertEqual([c.number for c in book.read_book(tree)], [3])
        self.assertEqual([p.name for p in (tree / "exercises").iterdir()], ["chapter3"])
        if DEVICE == "emulator":
            done = subprocess.run([tree / "scripts/configure.sh", DEVICE], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_github_runs_is_ours(self):
        """The commands themselves are run in a fresh Debian: tests/front_door/install/fresh_root.sh emulator user class."""
        graded = [e.name for _, e in EXERCISES if e.is_graded]
        expected = ["make deps"] * 2 + [f"make exercise{c.number}" for c in BOOK] + [f"./workbook check {name}" for name in graded]
        self.assertEqual(classroom_commands.commands(self.tree), expected)
        for command in expected[: -len(graded)]:
            tried = subprocess.run([*command.split(), "-n"], cwd=self.tree, capture_output=True, text=True, check=False)
            self.assertEqual(tried.returncode, 0, tried.stderr)
        for name in graded:
            self.assertEqual(book.find_exercise(BOOK, name).name, name)
        workflow = (self.tree / handout.WORKFLOW).read_text(encoding="utf-8")
        told = [re.findall(pattern, workflow) for pattern in (r" id: (\w+)\n", r"runners: (.*)\n", r" (\w+)_RESULTS: \$\{\{ steps\.(\w+)\.outputs\.result \}\}\n")]
        self.assertEqual(told, [graded, [",".join(graded)], [(name.upper(), name) for name in graded]])
        container = json.loads((self.tree / handout.DEVCONTAINER).read_text(encoding="utf-8"))
        self.assertIn(f"    container: {container['image']}\n", workflow)

    def test_answers_of_predictions_are_found(self):
        for name, text, told in (
            ("chapters/chapter3_permute/v4a.cuh", "/// so it is served in 32\n  /// turns.", "32 turns"),
            ("exercises/chapter3/a.cuh", "802,816 32-bit divisions", "802,816 32-bit divisions"),
            ("chapters/chapter3_permute/v4a.cuh", "132 turns, 1.32 turns, 32 lanes", ""),
            ("exercises/chapter4/a.cuh", "32 turns", ""),
        ):
            self.assertEqual([line for _, _, line in handout.leaks(BOOK, {name: text})], [told] if told else [], text)

    def test_a_mark_is_slow_to_count_through(self):
        self.assertGreaterEqual(MARK_ROUNDS, 1_000_000)
        mark = book.mark_of("chapter3/asked", 321)
        self.assertEqual(mark.split()[:2], ["mark", str(book.MARK_ROUNDS)])
        self.assertEqual([book.is_marked(mark, "chapter3/asked", number) for number in (321.4, 322)], [True, False])
        self.assertFalse(book.is_marked(mark, "chapter4/asked", 321))
        self.assertNotEqual(mark.split()[2], book.slow_mark("chapter3/asked", "321", book.MARK_ROUNDS + 1).split()[2])

    def test_leaks_are_found(self):
        _, exercise = EXERCISES[0]
        line = max((line for region in exercise.removed() for line in region.splitlines()), key=len)
        self.assertTrue(handout.leaks(BOOK, {"README.md": f"here: {line}"}))
        renamed = re.sub(r"\b[a-z_]+\b", lambda m: m[0] if m[0] in feedback.KEYWORDS else f"{m[0]}_2", "".join(exercise.removed()))
        name = f"exercises/chapter{exercise.chapter}/other.cuh"
        self.assertEqual([(e.key, told) for e, _, told in handout.leaks(BOOK, {name: renamed})], [(exercise.key, "under other names")])

    def test_the_one_line_of_an_exercise_stands_nowhere(self):
        for chapter, words in ((4, "__match_any_sync("), (6, ".divide(i)")):
            here = [path for path in self.tree.rglob("*.cuh") if f"chapter{chapter}" in str(path.relative_to(self.tree))]
            self.assertEqual([path for path in here if words in path.read_text(encoding="utf-8")], [])
            self.assertGreater(len(here), 5)

    def test_it_reads_its_own_exercises(self):
        there = book.read_book(self.tree)
        self.assertEqual([e.key for c in there for e in c.exercises], [e.key for _, e in EXERCISES])
        for (_, ours), theirs in zip(EXERCISES, (e for c in there for e in c.exercises)):
            self.assertEqual(ours.handed_out, theirs.handed_out)
            self.assertIs(theirs.solution is None, ours.is_graded)
            self.assertEqual(theirs.path(self.tree).read_text(encoding="utf-8"), ours.handed_out)
            self.assertEqual((ours.cases, ours.bars, ours.hints, ours.ours, ours.forbid, ours.terms),
                             (theirs.cases, theirs.bars, theirs.hints, theirs.ours, theirs.forbid, theirs.terms))

    def test_all_that_is_included_is_there(self):
        for path in [*self.tree.glob("chapters/*/*"), *self.tree.glob("exercises/*/*.cuh")]:
            if path.suffix in (".cuh", ".hpp", ".cpp"):
                for name in handout.INCLUDE.findall(path.read_text(encoding="utf-8")):
                    self.assertTrue((self.tree / name).is_file() or "/" not in name, f"{path.name} includes {name}")

        build = (self.tree / "CMakeLists.txt").read_text(encoding="utf-8")
        for chapter in BOOK:
            self.assertIn(f"\nwarpbook_add_chapter({chapter.number} ", build)

    def test_links_to_what_is_not_handed_out_become_words(self):
        text = "[a](pages/v1.md#x) [b](../chapter2/README.md) [c](exercises.toml) [d](https://example.org/e.md)"
        self.assertEqual(handout_pages.with_links_within(text, "chapters/chapter1/README.md", ["chapters/chapter1/exercises.toml", "chapters/chapter2/README.md"]),
                         "a [b](../chapter2/README.md) [c](exercises.toml) [d](https://example.org/e.md)")

    def test_links_lead_to_files(self):
        pages = [path for path in self.tree.rglob("*.md") if path.is_relative_to(self.tree / "docs") or path.name == "README.md"]
        self.assertGreater(len(pages), len(BOOK))
        for path in pages:
            for target in re.findall(r"\]\(([\w./-]+)\)", path.read_text(encoding="utf-8")):
                self.assertTrue((path.parent / target).exists(), f"{path.relative_to(self.tree)}: {target}")

    def test_pages_name_what_is_there(self):
        targets = re.findall(r"^([a-z]\w*):", (self.tree / "Makefile").read_text(encoding="utf-8"), re.MULTILINE) + [f"exercise{c.number}" for c in BOOK]
        pages = [*self.tree.glob("*.md"), *self.tree.glob("docs/pages/*.md"), *self.tree.glob("chapters/*/README.md"), *self.tree.glob("exercises/*/*.cuh")]
        self.assertGreater(len(pages), len(EXERCISES) + len(BOOK) + 5)
        for path in pages:
            text = path.read_text(encoding="utf-8")
            self.assertNotIn("run_all", text, path)
            self.assertNotRegex(text, r"<!--|\[\[book|\(a figure\)|▸|(?:[Tt]heir|[Ii]ts|steps?'s?) pages? ", path)
            for code in re.findall(r"`([^`\n]+)`|^    (.*)$", text, re.MULTILINE) if path.suffix == ".md" else ():
                for word in re.findall(r"(?<![\w./-])make ([a-z]\w*)", "".join(code)):
                    self.assertIn(word, targets, f"{path.name}: make {word}")
                for name in re.findall(r"(?<![\w./-])(?:\./)?((?:scripts|tests|docs|common)/[\w./-]*\w)", "".join(code)):
                    self.assertTrue((self.tree / name).exists(), f"{path.name}: {name}")

    def test_chapters_pages_say_which_files_are_not_here(self):
        for page in self.tree.glob("chapters/*/README.md"):
            text = page.read_text(encoding="utf-8")
            told = re.search(r"^\*In the whole book, and not here: (.*?)\.\*$", text, re.MULTILINE | re.DOTALL)
            absent = {file for file in handout_pages.FILE.findall(text) if not any(self.tree.rglob(file))}
            self.assertEqual(set(handout_pages.FILE.findall(told[1])) if told else set(), absent, page)
            self.assertEqual("`add2.cu`" in (told[1] if told else ""), "chapter7" in str(page.parent))

    def test_chapter_0_brings_its_figures(self):
        text = (self.tree / handout.DRAWN_PAGE).read_text(encoding="utf-8")
        linked = re.findall(r"^!\[[^\]]+\]\(([\w.]+)\)$", text, re.MULTILINE)
        folder = (self.tree / handout.DRAWN_PAGE).parent
        self.assertEqual(sorted(linked), sorted(path.name for path in folder.glob("*.svg")))
        self.assertGreaterEqual(len(linked), 5)
        for name in linked:
            self.assertIn("--bar-color:", ElementTree.parse(folder / name).getroot()[0].text)
        self.assertIn("One block of 128 threads.", text)

    def test_no_page_is_for_teachers(self):
        for path in [p for p in self.tree.rglob("*.md") if p.is_file()]:
            for name in re.findall(r"`((?:common|scripts|tests)/[\w./]*\w|\w+\.py)`", path.read_text(encoding="utf-8")):
                self.assertTrue((self.tree / name).exists() or (path.parent / name).exists(), f"{path.relative_to(self.tree)}: {name}")

    def test_sentences_about_what_is_not_handed_out_go(self):
        text = """# A

Run this:

    make chapter3 && ./chapter3/run_all
    make deps exercise3    # and this stays

## Gone

    ./chapter3/run_all

`--counters` shows it. So does this.

## B

First. `tests/x.py` tries it. See `common/cuda/a.cuh`, it is there. Look:

(a figure)

- [Evidence](evidence.md): all.
- [v1](pages/v1.md): a step.
- `make headers` writes it. Gone.
- Stays. `make test` does not.
- Laid out by `make deps exercise3`. The pages of v1 and v2 name theirs.

Some did not pay. Their pages say why. Read [on](#questions), or [here](#b).

1. What is 2 * 3? ▸ *6, since *two* threes
   make it.*
"""
        self.assertEqual(handout_pages.page(text, "chapters/c/README.md", {"common/cuda/a.cuh", "chapters/c/README.md"}, {}), """# A

Run this:

    make deps exercise3    # and this stays

## B

First. See `common/cuda/a.cuh`, it is there.

- v1: a step.
- Stays.
- Laid out by `make deps exercise3`.

Some did not pay. Read on (in the whole book), or [here](#b).

1. What is 2 * 3? (The answer is number 1 at the end.)

## Answers

1. 6, since *two* threes make it.
""")

    @unittest.skipUnless(NIGHTLY and DEVICE == "emulator", "builds a whole handout: make nightly")
    def test_it_builds_and_checks_by_itself(self):
        tree = temporary_folder(self) / "a copy"
        shutil.copytree(self.tree, tree)

        def make(chapter):
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "WARPBOOK"))}
            command = ["make", f"exercise{chapter.number}", "DEVICE=emulator"]
            return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)

        for chapter in BOOK:
            done = make(chapter)
            self.assertIn(f"0 of {len(chapter.exercises)} done", done.stdout, done.stderr)
        for chapter, e in EXERCISES:
            e.path(tree).write_text(project_of(chapter) if e.kind == "project" else e.solution, encoding="utf-8")
        for chapter in BOOK:
            done = make(chapter)
            self.assertIn(f"{len(chapter.exercises)} of {len(chapter.exercises)} done", done.stdout, done.stderr)


@unittest.skipIf(DEVICE != "emulator", "the emulator's build checks them")
class Watching(unittest.TestCase):
    """./workbook on a terminal and without one."""

    SECONDS = 120

    def setUp(self):
        self.unread = ""
        self.folder = temporary_folder(self)
        self.exercise = next(e for _, e in EXERCISES if e.key == "chapter3/copy_guard")
        self.command = [ROOT / "workbook", "--device", "emulator", "--folder", self.folder, "watch", "copy_guard"]

    def wait_for(self, descriptor, text):
        """What came up to and with the text; what came behind it is kept for the next time."""
        end = time.monotonic() + self.SECONDS
        while text not in self.unread:
            self.assertLess(time.monotonic(), end, f"{text!r} did not come; there is: {self.unread}")
            if select.select([descriptor], [], [], 1)[0]:
                self.unread += os.read(descriptor, 65536).decode("utf-8", "replace")
        seen, _, self.unread = self.unread.partition(text)
        return seen + text

    def test_on_a_terminal(self):
        terminal, inner = pty.openpty()
        self.addCleanup(os.close, terminal)
        process = subprocess.Popen(self.command, stdin=inner, stdout=inner, stderr=inner, env=os.environ | {"TERM": "xterm"})
        os.close(inner)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for(terminal, "q quit")
        os.write(terminal, b"h")
        self.assertIn(self.exercise.hints[0].split()[0], self.wait_for(terminal, "q quit"))
        os.write(terminal, b"hh")
        self.wait_for(terminal, "Hint 2 of 3")
        os.write(terminal, b"s")
        self.assertNotIn("+++", self.wait_for(terminal, "Press s again"))
        self.exercise.path(self.folder).write_text(self.exercise.solution, encoding="utf-8")
        self.wait_for(terminal, "copy_guard is solved")
        os.write(terminal, b"s")
        self.wait_for(terminal, "+++ chapters")
        os.write(terminal, b"r")
        self.wait_for(terminal, "Press r again")
        os.write(terminal, b"r")
        self.wait_for(terminal, "copy_guard.1.old")
        os.write(terminal, b"q")
        self.wait_for(terminal, "solved. ./workbook goes on at")
        self.assertEqual(process.wait(self.SECONDS), 0)

        # What was done survives: hints are still known, and the file that was kept is the solution.
        progress = json.loads((self.folder / "exercises" / "progress.json").read_text(encoding="utf-8"))
        self.assertGreaterEqual(progress["hints"][self.exercise.key], 2)
        self.assertEqual((self.folder / "exercises/chapter3/copy_guard.1.old").read_text(encoding="utf-8"), self.exercise.solution)

    def test_piped_it_is_plain_lines(self):
        process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        out = process.stdout.fileno()
        seen = self.wait_for(out, "edit exercises/chapter3/copy_guard.cuh")
        self.exercise.path(self.folder).write_text(self.exercise.solution, encoding="utf-8")
        seen += self.wait_for(out, "offset_to_index is as it was handed out")
        self.assertIn("copy_guard is solved", seen)
        self.assertNotIn("\033", seen)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(self.SECONDS), 130)

    def test_two_workbooks_forget_nothing_of_each_other(self):
        one, other = (desk.Desk("emulator", self.folder) for _ in range(2))
        first, second = one.exercises[:2]
        self.assertEqual((one.next_hint(first), one.next_hint(first), other.next_hint(second)), (1, 2, 1))
        other.remember("solved", second.key, True)
        one.set_current(first)
        one.remember("solved", first.key, True)
        other.remember("solved", second.key, None)
        stored = json.loads((self.folder / "exercises" / "progress.json").read_text(encoding="utf-8"))
        self.assertEqual(stored["hints"], {first.key: 2, second.key: 1})
        self.assertEqual((stored["solved"], stored["current"]), ({first.key: True}, first.key))

    def test_a_case_of_ones_own(self):
        def attempt(*words):
            done = subprocess.run([ROOT / "workbook", "--device", "emulator", "--folder", self.folder, "try", *words], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout or done.stderr

        self.exercise.path(self.folder).parent.mkdir(parents=True)
        case = "shape=3,1000 perm=0,1 dtype=half"
        for text, status, told in ((self.exercise.solution, 0, f"copy_guard is right on {case}\n"), (self.exercise.handed_out, 1, "nothing was written")):
            self.exercise.path(self.folder).write_text(text, encoding="utf-8")
            returned, said = attempt("copy_guard", case)
            self.assertEqual(returned, status, said)
            self.assertIn(told, said)
        for words in (["copy_guard", "perm=0"], ["copy_guard", "nonsense"], ["copy_guard", ""], ["copy_guard"], ["why_one_more", case]):
            returned, said = attempt(*words)
            self.assertEqual((returned, said.count("\n")), (2, 1), said)

    def test_a_damaged_progress_file_is_no_matter(self):
        (self.folder / "exercises").mkdir()
        (self.folder / "exercises" / "progress.json").write_text('{"hints": 3, "solved": [', encoding="utf-8")
        done = subprocess.run([ROOT / "workbook", "--folder", self.folder, "list"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
