#!/usr/bin/env python3
"""What ends a run takes no result with it: signals at random times, readers that leave, limits. Of chapter 3's program on
the emulator, 10 times; with WARPBOOK_NIGHTLY 200 times."""

import csv
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
RUN_ALL = BUILD / "chapter3" / "run_all"
NIGHTLY = bool(os.environ.get("WARPBOOK_NIGHTLY"))
CASES = [word for case in ("shape=2,64,64 perm=0,2,1 dtype=float", "shape=31,17,63 perm=2,0,1 dtype=half",
                           "shape=3,100,100 perm=2,0,1 dtype=half") for word in ("--case", case)]  # fmt: skip
SECONDS = 120
INTERRUPTED = 130
ROW = re.compile(r"^(?:v\w+|copy) .*(?: us|FAIL)", re.MULTILINE)


def twice(number):
    def send(process):
        process.send_signal(number)
        time.sleep(0.01)  # Or the two would be one.
        process.send_signal(number)

    return send


def once(number):
    return lambda process: process.send_signal(number)


def later(number):
    def send(process):
        process.send_signal(number)
        time.sleep(1.1)
        process.send_signal(number)

    return send


ENDS = {
    "Ctrl-C": once(signal.SIGINT),
    "Ctrl-C twice": later(signal.SIGINT),
    "a time limit": once(signal.SIGTERM),
    "a time limit by timeout": twice(signal.SIGTERM),
    "timeout -s INT": twice(signal.SIGINT),
    "a terminal that is gone": once(signal.SIGHUP),
    "a limit of CPU time": once(signal.SIGXCPU),
    "a reader that is gone": lambda process: process.stdout.close(),
    "kill -9": once(signal.SIGKILL),
}


class AtRandomTimes(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def run_until(self, name, wait, after_the_first_line, old):
        """Ends a run by ENDS[name]; \\return its status."""
        files = {kind: self.folder / f"a.{kind}" for kind in ("json", "csv", "svg")}
        for file in self.folder.iterdir():
            file.unlink()
        if old:
            for file in files.values():
                file.write_text("old")
        shown = self.folder / "shown"
        reader_leaves = name == "a reader that is gone"
        with open(shown, "w", encoding="utf-8") as table:
            process = subprocess.Popen(
                [RUN_ALL, *CASES, "--all-steps", *(word for kind, file in files.items() for word in (f"--{kind}", file))],
                stdout=subprocess.PIPE if reader_leaves else table, stderr=subprocess.PIPE)  # fmt: skip
            if after_the_first_line and reader_leaves:
                process.stdout.readline()
            while after_the_first_line and not reader_leaves and shown.stat().st_size == 0 and process.poll() is None:
                time.sleep(0.005)
            time.sleep(wait)
            ENDS[name](process)
            status = process.wait(SECONDS)
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()
            if process.stdout and not process.stdout.closed:
                process.stdout.close()
        early = status < 0 and not after_the_first_line  # Signals are not yet caught, and there is nothing to lose.
        self.check(name, status, files, len(ROW.findall(shown.read_text(encoding="utf-8"))), old, early)
        return status

    def check(self, name, status, files, shown, old, early):
        killed = name == "kill -9" or (name == "Ctrl-C twice" and status == -signal.SIGINT)
        if not killed and not early:
            self.assertIn(status, (0, INTERRUPTED) + ((4,) if name == "a reader that is gone" else ()))
        names = {p.name for p in self.folder.iterdir()} - {"shown"}
        if not killed:
            self.assertLessEqual(names, {"a.json", "a.csv", "a.svg"})
        if shown == 0 and (early or killed):
            return
        data = json.loads(files["json"].read_text())
        rows = [step for case in data["cases"] for step in case["steps"]]
        self.assertGreaterEqual(sum(row["status"] != "skipped" for row in rows), shown)
        if not killed:
            self.assertEqual(data["partial"], status == INTERRUPTED)
        with open(files["csv"], newline="", encoding="utf-8") as file:
            listed = list(csv.DictReader(file))
        self.assertLessEqual(abs(len(listed) - len(rows)), 1 if killed else 0)
        self.assertTrue(xml.etree.ElementTree.parse(files["svg"]).getroot().tag.endswith("svg"))
        if old and killed and data["partial"]:  # What was there lies beside.
            self.assertTrue(any(n.startswith("a.json.before-") for n in names), names)

    def test_no_result_is_lost(self):
        until_the_first_line, rest = min(self.seconds_of_a_run() for _ in range(2))
        seed = int(os.environ.get("SEED", random.randrange(10**6)))
        dice = random.Random(seed)
        statuses = []
        for i in range(200 if NIGHTLY else 10):
            name = list(ENDS)[i % len(ENDS)]
            started = dice.random() < 0.8
            wait = dice.uniform(0, 1.1 * rest if started else until_the_first_line)
            with self.subTest(end=name, wait=wait, started=started, seed=seed):
                statuses.append(self.run_until(name, wait, started, old=i % 2 == 0))
        if NIGHTLY:
            self.assertGreater(statuses.count(INTERRUPTED), 50)

    def seconds_of_a_run(self):
        """Until the first line, and from there."""
        start = time.monotonic()
        process = subprocess.Popen([RUN_ALL, *CASES, "--all-steps"], stdout=subprocess.PIPE)
        process.stdout.readline()
        middle = time.monotonic()
        process.stdout.read()
        process.stdout.close()
        self.assertEqual(process.wait(SECONDS), 0)
        return middle - start, time.monotonic() - middle


class AtAKnownTime(unittest.TestCase):
    """While the second case runs."""

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.file = pathlib.Path(kept.name) / "a.json"

    def data(self):
        return json.loads(self.file.read_text())

    def test_timeout_says_124(self):
        result = subprocess.run(["timeout", "1", RUN_ALL, "--full", "--all-steps", "--json", self.file],
                                stdout=subprocess.DEVNULL, check=False, timeout=SECONDS)  # fmt: skip
        self.assertEqual(result.returncode, 124)
        self.assertTrue(self.data()["partial"])

    def test_a_closed_pipe(self):
        process = subprocess.Popen([RUN_ALL, "--full", "--json", self.file], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in process.stdout:
            if line.startswith(b"v1 "):
                break
        process.stdout.close()
        self.assertEqual((process.wait(SECONDS), process.stderr.read()), (INTERRUPTED, b""))
        process.stderr.close()
        self.assertTrue(self.data()["partial"])
        self.assertGreaterEqual(len(self.data()["cases"][0]["steps"]), 1)

    def test_a_limit_of_cpu_time(self):
        for limit in ((1, 100), (2, 2)):  # The soft one; both, as `ulimit -t 2` sets them.
            with self.subTest(limit):
                result = subprocess.run(
                    [RUN_ALL, "--full", "--all-steps", "--json", self.file], stdout=subprocess.DEVNULL, check=False, timeout=SECONDS,
                    preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_CPU, limit))  # fmt: skip
                self.assertIn(result.returncode, (INTERRUPTED,) if limit[1] > 2 else (INTERRUPTED, -signal.SIGKILL))
                self.assertTrue(self.data()["partial"])
                self.assertGreaterEqual(len(self.data()["cases"][0]["steps"]), 1)

    def test_nohup_is_respected(self):
        process = subprocess.Popen(["nohup", RUN_ALL, *CASES, "--json", self.file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        process.stdout.read()
        process.stdout.close()
        self.assertEqual(process.wait(SECONDS), 0)
        self.assertFalse(self.data()["partial"])


if __name__ == "__main__":
    if os.environ.get("WARPBOOK_DEVICE", "emulator") != "emulator":
        sys.exit(77)
    unittest.main()
