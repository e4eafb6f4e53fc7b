#!/usr/bin/env python3
"""Loops whose loads are looked at all at once: what is computed, counted and reported is what it is when each load is told
by itself."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
FOLDER = ROOT / "tests" / "emulator" / "counted_loads"
ALL = 1200000
# With the turns, and the bytes that are written before; what is said of it, if anything.
CASES = {
    ("product", 24, ALL): None,
    ("product", 64, ALL): None,
    ("different_turns", 7, ALL): None,
    ("different_turns", 200, ALL): None,
    ("downwards", 50, ALL): None,
    ("downwards", 50, 3000): "Uninitialized __global__ memory read",
    ("bytes", 33, ALL): None,
    ("wide", 20, ALL): None,
    ("nested", 19, ALL): None,
    ("nested", 190, ALL): None,
    ("long", 15000, ALL): None,
    ("shared", 32, ALL): None,
    ("between_barriers", 63, ALL): None,
    ("shared_race", 50, ALL): "Race reported between Write access",
    ("in_place", 50, ALL): "block (0,0,0), thread (15,0,0) and block (1,0,0), thread (0,0,0)",
    ("stores_first", 64, ALL): "Race reported between Write access",
    ("last_one_writes", 50, ALL): "block (14,0,0), thread (6,0,0) and block (19,0,0), thread (63,0,0)",
    ("by_itself_in_between", 50, ALL): "Race reported between Read access",
    ("atomics", 50, ALL): "Race reported between Read access",
    ("one_turn_too_many", 50, ALL): "by block (12,0,0), thread (9,0,0)",
    ("wraps", 40, ALL): "index -6 of 300000",
    ("misaligned", 40, ALL): "by block (1,0,0), thread (6,0,0)",
    ("host_meets", 40, ALL): "Write access of the host",
}


class CountedLoads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        made = subprocess.run([sys.executable, str(ROOT / "scripts" / "emulate.py"), "--build", str(BUILD), "--no-run",
                               "--output", str(cls.folder / "loops"), str(FOLDER / "loops.cu"), str(FOLDER / "told.cpp")],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise AssertionError(made.stderr)

    def run_case(self, case, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WARPBOOK_")}
        files = {name: self.folder / name.lower() for name in ("WARPBOOK_COUNTERS", "WARPBOOK_REPORTS", "COUNTED")}
        ran = subprocess.run([str(self.folder / "loops"), *map(str, case)], capture_output=True, text=True, check=False,
                             timeout=300, env=clean | {name: str(file) for name, file in files.items()} | environment)
        loops = int(files["COUNTED"].read_text())
        return (ran.returncode, ran.stdout, ran.stderr, json.loads(files["WARPBOOK_COUNTERS"].read_text()),
                json.loads(files["WARPBOOK_REPORTS"].read_text())), loops

    def test_nothing_differs(self):
        for case, said in CASES.items():
            for options in ({}, {"WARPBOOK_TRACE": "sample", "WARPBOOK_SCHEDULE": "random:7"}):
                with self.subTest(case, **options):
                    seen, loops = self.run_case(case, **options)
                    one_by_one, none = self.run_case(case, ONE_BY_ONE="1", **options)
                    self.assertEqual(seen, one_by_one)
                    self.assertEqual(none, 0)
                    if case[0] != "wraps":  # The index does, and so nothing is known of it.
                        self.assertGreater(loops, 0)
                    if not options:
                        self.assertIn(said or "ERROR SUMMARY: 0 errors", seen[2])

    def test_only_the_first_thread_tells_its_loads_one_by_one(self):
        self.assertEqual(self.run_case(("product", 24, ALL))[1], 2 * 20 * 64 - 1 - 1)


if __name__ == "__main__":
    unittest.main()
