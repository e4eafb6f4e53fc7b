#!/usr/bin/env python3
"""Chapter 7's run_all: the timing study, and what it says without PyTorch."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WARPBOOK_BUILD") or ROOT / "build/emulator")
RUN_ALL = ROOT / "chapters/chapter7_torch_op/run_all.py"
WAYS = ["v1", "v2", "v3", "v4", "v5a", "v5b", "v6", "v7a", "v7b"]


def run_all(*arguments, **environment):
    return subprocess.run([sys.executable, "-B", RUN_ALL, "--build", BUILD, *map(str, arguments)],
                          env=os.environ | {"WARPBOOK_NO_TORCH": "1"} | environment, capture_output=True, text=True,
                          check=False)


class Study(unittest.TestCase):
    def test_every_way_is_there_with_its_samples(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "out.json"
            done = run_all("--samples", 3, "--case", "n=4099 dtype=half", "--case", "n=1000 dtype=bfloat16", "--json", output)
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(output.read_text(encoding="utf-8"))
        self.assertEqual(document["chapter"], 7)
        self.assertIn("make deps-torch", document["pytorch"]["skipped"])
        for case in document["cases"]:
            self.assertEqual([s["version"] for s in case["steps"]], WAYS)
            for step in case["steps"]:
                self.assertEqual(step["status"], "pass")
                self.assertEqual(len(step["samples_seconds"]), 3)
                self.assertTrue(all(s > 0 for s in step["samples_seconds"]))
                # The emulator's own slowness is no reading of a GPU.
                emulated_clock = document["device"]["emulated"] and step["clock"] == "host"
                self.assertEqual(step["off"] is None, emulated_clock)

    def test_without_pytorch_one_line_says_what_is_missing(self):
        done = run_all("--samples", 1, "--case", "n=1000", "--step", "v7b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line for line in done.stdout.splitlines() if "PyTorch is not here" in line and "make deps-torch" in line],
                         done.stdout.splitlines()[-1:])
        for option in (["--ops"], ["--ops", "permute"], ["--timeline", "x.svg"]):
            done = run_all(*option)
            self.assertEqual(done.returncode, 3)
            self.assertEqual(done.stdout, "")
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn("make deps-torch", done.stderr)

    def test_bad_input_is_one_line(self):
        for arguments, part in (
            (["--case", "n=0"], "accepted is 1 to"), (["--case", "n=5 dtype=int8"], "accepted are float, half, bfloat16"),
            (["--step", "v9"], "unknown step 'v9'"), (["--counters"], "has no meaning in chapter 7"),
            (["--nonsense"], "unknown option"), (["--shape", "3,4"], "need an operator"),
            (["--ops", "permute", "--shape", "3,x"], "accepted are sizes between commas"),
            (["--ops", "all", "--list"], "has no meaning with --ops"), (["--samples", "0"], "accepted is 1 to"),
        ):
            done = run_all(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(part, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_file_that_cannot_be_written(self):
        done = run_all("--samples", 1, "--case", "n=1000", "--json", "/nonexistent/folder/x.json")
        self.assertEqual(done.returncode, 4)

    def test_list_and_help(self):
        self.assertIn("cold_graph", run_all("--list").stdout)
        self.assertIn("--ops permute", run_all("--help").stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
