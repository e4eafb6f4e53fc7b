#!/usr/bin/env python3
"""Files that people and programs write, cut and changed at random: exercises.toml, the desk's memory, a check's results,
counters, runs of run_all. Each is read, or refused in the one way that is meant.

    tests/fuzz_readers_test.py             # 200 changes of each file; WARPBOOK_NIGHTLY=1: 5,000
    WARPBOOK_TEST_SEED=7 ...               # the changes come from a seed that is printed where one fails
"""

import contextlib
import io
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "common/exercises"), str(ROOT / "scripts"), str(ROOT / "tests/peers")]

import book  # noqa: E402
import compare_runs  # noqa: E402
import judge  # noqa: E402
import results  # noqa: E402

SEED = int(os.environ.get("WARPBOOK_TEST_SEED", "2026"), 0)
CHANGES = 5000 if os.environ.get("WARPBOOK_NIGHTLY") else 200
PIECES = [b"", b"0", b"-1", b"1e999", b"null", b"[]", b"{}", b'""', b"\x00", b"\xff", b"true", b"[[", b"]]", b"=", b"'''", b'"""', b"\\u0000",
          b"NaN", b"99999999999999999999", b"name", b"\n", b"#", b"{", b"}"]  # fmt: skip


def changed(dice, whole):
    """A few bytes, words or lines of it replaced, doubled or cut."""
    data = bytearray(whole)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        length = min(len(data) - at, dice.choice([0, 1, 2, 5, 20, 100]))
        what = dice.randrange(5)
        if what == 0:
            data[at : at + length] = dice.choice(PIECES)
        elif what == 1:
            data[at : at + length] = bytes(dice.randrange(256) for _ in range(dice.randint(0, 4)))
        elif what == 2:
            data[at:at] = data[at : at + length]
        elif what == 3:
            del data[at : at + length]
        else:
            del data[at : len(data) if dice.randrange(4) == 0 else at + 1]
    return bytes(data)


class Readers(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def fuzz(self, name, whole, read, refusals):
        """`read` may raise what is in `refusals`, with one line; nothing else."""
        dice = random.Random(f"{SEED} {name}")
        refused = 0
        read(whole)
        for number in range(CHANGES):
            data = changed(dice, whole)
            try:
                read(data)
            except refusals as error:
                refused += 1
                self.assertTrue(str(error), f"{name} {number}: refused without a word")
            except Exception as error:
                found = pathlib.Path(tempfile.gettempdir()) / f"warpbook-{name}-{SEED}-{number}"
                found.write_bytes(data)
                self.fail(f"{name}, change {number} of WARPBOOK_TEST_SEED={SEED}: {repr(error)[:300]}; the file is {found}")
        self.assertGreater(refused, CHANGES // 20)

    def test_exercises(self):
        folder = self.folder / "chapter3_permute"
        shutil.copytree(ROOT / "chapters/chapter3_permute", folder)
        path = folder / "exercises.toml"

        def read(data):
            path.write_bytes(data)
            book.read_chapter(folder)

        self.fuzz("exercises.toml", path.read_bytes(), read, (book.BookError,))

    def test_runs(self):
        run = json.loads((ROOT / "docs/results/nvidia-h200/chapter3.json").read_text())
        run["cases"] = run["cases"][:2]
        path = self.folder / "run.json"
        whole = json.dumps(run).encode()

        def read(data):
            path.write_bytes(data)
            old, sys.argv = sys.argv, ["compare_runs", str(path), str(path)]
            said = io.StringIO()
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                    try:
                        status = compare_runs.main()
                    except SystemExit as end:
                        status = end.code
            finally:
                sys.argv = old
            if status == 2:
                raise ValueError(said.getvalue())

        self.fuzz("run.json", whole, read, (ValueError,))

    def test_parts_of_the_peers(self):
        part = json.loads((ROOT / "docs/results/nvidia-h200/chapter3_peers.json").read_text())
        part["cases"] = part["cases"][:2]
        path = self.folder / "part.json"

        def read(data):
            path.write_bytes(data)
            results.read_part(path)

        self.fuzz("part.json", json.dumps(part).encode(), read, (ValueError,))

    def test_a_checks_results(self):
        path = self.folder / "results.jsonl"
        lines = [{"device": "x", "emulated": True, "seed": 1}, {"begins": "n=1"}, {"case": "n=1", "status": "pass", "reason": ""}, {"complete": True}]
        whole = "".join(json.dumps(line) + "\n" for line in lines).encode()

        def read(data):
            path.write_bytes(data)
            lines = judge.read_lines(path)
            if len(lines) < 4:
                raise ValueError("fewer lines")

        self.fuzz("results.jsonl", whole, read, (ValueError,))

    def test_counters(self):
        path = self.folder / "counters.json"
        launches = [{"kernel": "a::case_begins", "counters": {}}] + [{"kernel": "k", "counters": {"sectors": 3, "requests": 4}}] * 3

        def read(data):
            path.write_bytes(data)
            if judge.counters_by_case(path, ["n=1"]) is None:
                raise ValueError("no counters")

        self.fuzz("counters.json", json.dumps(launches).encode(), read, (ValueError,))


if __name__ == "__main__":
    unittest.main()
