#!/usr/bin/env python3
"""libFuzzer over what users type (tests/harness/fuzz/parsers_fuzz.cpp): nightly, since the program is built for it. Inputs that
once failed, in tests/harness/fuzz/found/, come first. WARPBOOK_FUZZ_SECONDS says how long it looks for others (60)."""

import itertools
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
PROGRAM = BUILD / "tests" / "parsers_fuzz"
FOUND = ROOT / "tests/harness/fuzz/found"
SECONDS = int(os.environ.get("WARPBOOK_FUZZ_SECONDS", "60"))
FIRST_LETTERS = "ABCDEF"  # Of the chapters' parsers.


def seeds(folder):
    """What the chapters' own cases look like, and some command lines."""
    number = 0
    for chapter in sorted((ROOT / "chapters").glob("chapter[1-6]_*/chapter.cu")):
        letter = FIRST_LETTERS[int(re.search(r"chapter(\d)", str(chapter))[1]) - 1]
        for text in re.findall(r'"((?:\w+=\S* ?)+)"', chapter.read_text()):
            for parts in itertools.product(*(part.split("|") for part in re.findall(r"\{(.*?)\}", text))):
                case = re.sub(r"\{.*?\}", "{}", text).format(*parts)
                (folder / f"case{number}").write_text(letter + case)
                number += 1
    for line in ("--case\nshape=2,3 perm=1,0 dtype=half\n--step\nv1,v2", "--quick\n--json\na.json", "--seed\n0x12\n--samples\n30",
                 "--benchmark_filter=a\n--benchmark_out=b", "--list", "--case\nhalf\n--full", "--all-steps\n--counters=all"):  # fmt: skip
        (folder / f"line{number}").write_text("Z" + line)
        number += 1
    return number


@unittest.skipUnless(PROGRAM.exists() and os.environ.get("WARPBOOK_NIGHTLY"), "nightly, with clang's libFuzzer")
class Fuzz(unittest.TestCase):
    def run_fuzzer(self, *words):
        return subprocess.run([PROGRAM, "-timeout=10", "-rss_limit_mb=2048", *words], capture_output=True, text=True, check=False)

    def test_what_was_found_before(self):
        for file in sorted(FOUND.glob("*")):
            with self.subTest(file.name):
                result = self.run_fuzzer(file)
                self.assertEqual(result.returncode, 0, result.stderr[-2000:])

    def test_for_a_while(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "corpus").mkdir()
            self.assertGreater(seeds(folder / "corpus"), 100)
            result = self.run_fuzzer(f"-max_total_time={SECONDS}", "-max_len=400", f"-dict={ROOT}/tests/harness/fuzz/words.dict",
                                     f"-artifact_prefix={folder}/", folder / "corpus")  # fmt: skip
            found = [p for p in folder.iterdir() if p.is_file()]
            texts = "".join(f"\n{p.name}: {p.read_bytes()!r}" for p in found)
            self.assertEqual(result.returncode, 0, result.stderr[-3000:] + texts)
            print(result.stderr.strip().splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
