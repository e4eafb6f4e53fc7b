#!/usr/bin/env python3
"""Files that people and programs write, cut and changed at random: exercises.toml, the desk's memory, a check's results,
counters, runs of run_all. Each is read, or refused in the one way that is meant.

    tests/harness/fuzz_readers_test.py                         200 changes of each file; WARPBOOK_NIGHTLY=1: 5,000
    WARPBOOK_TEST_SEED=7 ...                           the changes come from a seed that is printed where one fails
    tests/harness/fuzz_readers_test.py --libfuzzer run.json    libFuzzer makes the changes, seeing the readers' branches; its own
                                                       options and a corpus folder may follow

libFuzzer comes to Python by the package atheris. Where that is installed, WARPBOOK_NIGHTLY=1 also runs each file under it,
for WARPBOOK_FUZZ_SECONDS (60).
"""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "common/exercises"), str(ROOT / "scripts"), str(ROOT / "tests/chapters/peers")]

UNDER_LIBFUZZER = __name__ == "__main__" and "--libfuzzer" in sys.argv
if UNDER_LIBFUZZER:
    import atheris

with atheris.instrument_imports() if UNDER_LIBFUZZER else contextlib.nullcontext():
    import book  # noqa: E402
    import compare_runs  # noqa: E402
    import judge  # noqa: E402
    import results  # noqa: E402

SEED = int(os.environ.get("WARPBOOK_TEST_SEED", "2026"), 0)
NIGHTLY = bool(os.environ.get("WARPBOOK_NIGHTLY"))
CHANGES = 5000 if NIGHTLY else 200
SECONDS = int(os.environ.get("WARPBOOK_FUZZ_SECONDS", "60"))
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


# A reader is made in a folder of its own: a whole file's bytes, a function that reads others, and the errors by which it
# may refuse them.
def exercises(folder):
    chapter = folder / "chapter3_permute"
    shutil.copytree(ROOT / "chapters/chapter3_permute", chapter)
    path = chapter / "exercises.toml"

    def read(data):
        path.write_bytes(data)
        book.read_chapter(chapter)

    return path.read_bytes(), read, (book.BookError,)


def runs(folder):
    run = json.loads((ROOT / "docs/results/nvidia-h200/chapter3.json").read_text())
    run["cases"] = run["cases"][:2]
    path = folder / "run.json"

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

    return json.dumps(run).encode(), read, (ValueError,)


def parts_of_the_peers(folder):
    part = json.loads((ROOT / "docs/results/nvidia-h200/chapter3_peers_random.json").read_text())
    part["cases"] = part["cases"][:2]
    path = folder / "part.json"

    def read(data):
        path.write_bytes(data)
        results.read_part(path)

    return json.dumps(part).encode(), read, (ValueError,)


def a_checks_results(folder):
    path = folder / "results.jsonl"
    lines = [{"device": "x", "emulated": True, "seed": 1}, {"begins": "n=1"}, {"case": "n=1", "status": "pass", "reason": ""}, {"complete": True}]

    def read(data):
        path.write_bytes(data)
        if len(judge.read_lines(path)) < len(lines):
            raise ValueError("fewer lines")

    return "".join(json.dumps(line) + "\n" for line in lines).encode(), read, (ValueError,)


READERS = {"exercises.toml": exercises, "run.json": runs, "part.json": parts_of_the_peers, "results.jsonl": a_checks_results}


class Readers(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def fuzz(self, name):
        """The reader may refuse with one line; nothing else."""
        whole, read, refusals = READERS[name](self.folder)
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
        self.fuzz("exercises.toml")

    def test_runs(self):
        self.fuzz("run.json")

    def test_parts_of_the_peers(self):
        self.fuzz("part.json")

    def test_a_checks_results(self):
        self.fuzz("results.jsonl")


@unittest.skipUnless(NIGHTLY and importlib.util.find_spec("atheris"), "nightly, with the package atheris")
class UnderLibFuzzer(unittest.TestCase):
    def test_each_reader(self):
        for name in READERS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "corpus").mkdir()
                done = subprocess.run([sys.executable, __file__, "--libfuzzer", name, f"-max_total_time={SECONDS}", "-timeout=10",
                                       f"-artifact_prefix={tempfile.gettempdir()}/warpbook-{name}-", f"{folder}/corpus"],
                                      env={**os.environ, "TMPDIR": folder}, capture_output=True, text=True, errors="replace",
                                      check=False)  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stdout[-1000:] + done.stderr[-2000:])
                runs_done = re.findall(r"^Done \d+ runs.*", done.stderr, re.MULTILINE)
                self.assertTrue(runs_done, done.stderr[-2000:])
                print(f"{name}: {runs_done[-1]}")


def under_libfuzzer(name, options):
    """libFuzzer's own loop over one reader; ends the process. It begins with the whole file, where a corpus is named."""
    with tempfile.TemporaryDirectory() as folder:
        whole, read, refusals = READERS[name](pathlib.Path(folder))
        for corpus in options:
            if os.path.isdir(corpus):
                (pathlib.Path(corpus) / "whole").write_bytes(whole)

        def one(data):
            try:
                read(data)
            except refusals as error:
                assert str(error), "refused without a word"

        atheris.Setup([sys.argv[0], f"-max_len={2 * len(whole)}", *options], one)
        atheris.Fuzz()


if __name__ == "__main__":
    if UNDER_LIBFUZZER:
        under_libfuzzer(sys.argv[2], sys.argv[3:])
    unittest.main()
