#!/usr/bin/env python3
"""run_all as a person meets it: what bad input is answered with, and what ends a run. Uses chapter 3's program."""

import csv
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = os.environ.get("WARPBOOK_DEVICE", "emulator")
RUN_ALL = pathlib.Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / DEVICE)) / "chapter3" / "run_all"
SMALL = "shape=31,17,63 perm=2,0,1 dtype=half"
SMALL_MATRIX = "shape=2,64,64 perm=0,2,1 dtype=float"
SECONDS = 120


def run(*arguments, stdin="", **environment):
    return subprocess.run(
        [RUN_ALL, *arguments],
        input=stdin,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def has_device():
    return run("--device-info").returncode == 0


class Default(unittest.TestCase):
    def test_a_run_without_options_fits_a_reader(self):
        """At most 60 lines: of chapter 3, and by night of all chapters."""
        found = sorted(RUN_ALL.parents[1].glob("chapter*/run_all")) if os.environ.get("WARPBOOK_NIGHTLY") else [RUN_ALL]
        if not has_device():
            self.skipTest("no device")
        for program in found:
            with self.subTest(program.parent.name):
                done = subprocess.run([program], capture_output=True, text=True, timeout=SECONDS, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertLessEqual(len(done.stdout.splitlines()), 60, done.stdout)


class BadInput(unittest.TestCase):
    """Each is one line on the error output, status 2, and nothing else."""

    def check(self, arguments, *parts):
        result = run(*arguments)
        self.assertEqual(result.returncode, 2, f"{arguments}: {result.stdout}{result.stderr}")
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("run_all: "), result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_options(self):
        self.check(["--frobnicate"], "--frobnicate", "--list")
        self.check(["-x"], "-x", "accepted")
        self.check(["stray"], "stray", "accepted")
        self.check(["--quick", "--full"], "--quick", "--full")
        self.check(["--json"], "accepted: --json FILE")
        self.check(["--json", ""], "--json")
        self.check(["--json", "results", "--csv", "./results"], "--json and --csv name the same file")
        for link in ("results", "./results"):
            self.check(["--json", "results", f"--benchmark_out={link}"], "--json and --benchmark_out name the same file")
        for other in ("--list", "--device-info", "--profile", "--benchmark_list_tests"):
            self.check([other, "--json", "results"], f"{other} and --json exclude each other")
        self.check(["--profile", "--benchmark_out=results"], "--profile and --benchmark_out")
        self.check(["--access-map", "v1", "--csv", "results"], "--access-map and --csv")
        self.check(["--samples", "0"], "--samples", "1 to")
        self.check(["--samples", "many"], "--samples many: accepted is 1 to")
        self.check(["--quick=3"], "--quick")
        self.check(["--seed", "0xg"], "--seed", "hexadecimal")
        self.check(["--seed", ""], "--seed", "hexadecimal")
        self.check(["--seed", "99999999999999999999"], "--seed")

    def test_google_benchmark_flags(self):
        self.check(["--benchmark_nonsense=1"], "--benchmark_nonsense", "--benchmark_filter")
        self.check(["--benchmark_min_time=1"], "no meaning")
        self.check(["--benchmark_repetitions=x"], "--benchmark_repetitions=N")
        self.check(["--benchmark_filter"], "--benchmark_filter=REGEX")

    def test_steps(self):
        self.check(["--step", "v99"], "v99", "v1")
        self.check(["--step", "v1,,v2a"], "--step")
        self.check(["--step", ""], "--step")

    def test_cases(self):
        self.check(["--case", "no such case"], "no such case", "--list")
        self.check(["--case", "["], "[")
        self.check(["--case", " "], "accepted")
        self.check(["--case", "(.*.*.*)*x(.*)*~"], "fits no case")  # Kept a backtracking search busy for good.
        self.check(["--case", "\033[31mred\a"], r"\x1b[31mred\x07")  # A terminal would obey.
        self.check(["--case", "caf\u00e9 \udcff"], "caf\u00e9 \\xff")
        self.check(["--case", "(" * 100000], "1000 characters")  # Was a crash: a stack that grew with each bracket.
        self.check(["--case", "shape=2,3"], "perm")
        self.check(["--case", "shape=2,3 perm=0,0 dtype=half"], "perm")
        self.check(["--case", "shape=2,3 perm=0,2 dtype=half"], "perm")
        self.check(["--case", "shape=2,3 perm=0 dtype=half"], "perm")
        self.check(["--case", "shape=2,-3 perm=1,0 dtype=half"], "shape")
        self.check(["--case", "shape=2,x perm=1,0 dtype=half"], "shape", "'x'")
        self.check(["--case", "shape=2,3 perm=1,0 dtype=quaternion"], "dtype", "half")
        self.check(["--case", "shape=2,3 perm=1,0 dtype=half colour=blue"], "colour")
        self.check(["--case", "shape=2,3 shape=2,3 perm=1,0 dtype=half"], "shape")
        self.check(["--case", "shape=9223372036854775807,9223372036854775807 perm=1,0 dtype=half"], "shape")
        self.check(["--case", "shape=99999999999999999999 perm=0 dtype=half"], "shape")


class WithoutADevice(unittest.TestCase):
    def test_help_and_list_need_none(self):
        for option in ("--help", "--list"):
            result = run(option, CUDA_VISIBLE_DEVICES="")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, "")
            self.assertIn("Chapter 3", result.stdout)
        self.assertIn("dtype", run("--help").stdout)

    @unittest.skipIf(DEVICE == "emulator", "the emulator always has one")
    def test_a_run_says_the_way_out(self):
        result = run("--quick", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("DEVICE=emulator", result.stderr)


@unittest.skipUnless(has_device(), "no device here")
class Runs(unittest.TestCase):
    def test_the_device_is_told_with_the_books_version(self):
        version = re.search(r"^project\(warpbook VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
        self.assertRegex(run("--device-info").stdout, rf"(?s)^device +\S.*\nwarpbook +{re.escape(version)}\n$")

    def test_a_case_of_the_users_own_and_all_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {kind: os.path.join(folder, f"a b.{kind}") for kind in ("json", "csv", "svg")}
            options = [word for kind, file in files.items() for word in (f"--{kind}", file)]
            result = run("--case", SMALL, "--seed", "0x1234", "--samples", "30", "--all-steps", *options)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertEqual(result.stderr, "")
            self.assertNotIn("\033", result.stdout)
            self.assertEqual(sorted(os.listdir(folder)), ["a b.csv", "a b.json", "a b.svg"])

            data = json.loads(pathlib.Path(files["json"]).read_text())
            self.assertEqual(data["chapter"], 3)
            self.assertEqual(data["run"]["seed"], 0x1234)
            self.assertEqual(set(data["run"]), {"date", "driver", "toolkit", "commit", "seed"})
            self.assertFalse(data["partial"])
            self.assertEqual(len(data["cases"]), 1)
            case = data["cases"][0]
            self.assertEqual(case["bytes_moved"], 2 * 2 * 31 * 17 * 63)
            statuses = {step["version"]: step["status"] for step in case["steps"]}
            self.assertEqual(statuses["v1"], "pass")
            self.assertNotIn("fail", statuses.values())
            for step in case["steps"]:
                if step["status"] == "pass":
                    self.assertEqual(step["modelled"], DEVICE == "emulator")
                    self.assertGreater(step["seconds"]["median"], 0)
                    self.assertLessEqual(step["seconds"]["min"], step["seconds"]["median"])
                elif step["status"] == "skipped":  # Who it is, and why.
                    self.assertTrue(step["reason"])
                    self.assertLessEqual(set(step), {"version", "name", "kind", "base", "status", "reason"})

            with open(files["csv"], newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([row["version"] for row in rows], [step["version"] for step in case["steps"]])
            svg = xml.etree.ElementTree.parse(files["svg"]).getroot()
            self.assertTrue(svg.tag.endswith("svg"))
            self.assertIn("Chapter 3", svg.find("{http://www.w3.org/2000/svg}title").text)

    def test_without_options_the_ladder_on_the_headline_cases(self):
        result = run("--samples", "5")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(re.findall(r" ([123]/3)$", result.stdout, re.MULTILINE), ["1/3", "2/3", "3/3"])
        self.assertNotIn("yardsticks", result.stdout)
        climbs = re.findall(r"  v1 naive to v\w+ \w+: ([\d.]+)x, \d+% of a copy$", result.stdout, re.MULTILINE)
        self.assertEqual(len(climbs), 3)
        self.assertTrue(all(float(gain) > 1 for gain in climbs), climbs)

    def test_all_steps(self):
        result = run("--case", SMALL_MATRIX, "--step", "copy,v1")  # Of any kind by name, the ladder first.
        self.assertEqual(re.findall(r"^(v1|copy) ", result.stdout, re.MULTILINE), ["v1", "copy"])
        self.assertIn("\nyardsticks\ncopy ", result.stdout)
        every = run("--case", SMALL_MATRIX, "--all-steps").stdout
        self.assertIn("\ncopy ", every)
        for output in (every, run("--list").stdout):  # What has no number is named once.
            self.assertIsNone(re.search(r"^ *(\w+) +\1\b", output, re.MULTILINE))
        self.assertNotIn("\ncopy ", run("--case", SMALL_MATRIX).stdout)

    def test_steps_that_refuse_a_case_share_a_line(self):
        result = run("--case", "shape=16,32,64 perm=1,0,2 dtype=half", "--step", "v1,v4,v5")
        refused = [line for line in result.stdout.splitlines() if line.startswith("not here: ")]
        self.assertEqual(refused, ["not here: v4a, v4b, v4c, v5: not a batch of matrices to transpose"])

    def test_google_benchmark_reports_the_tables_medians(self):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = os.path.join(folder, "a.json"), os.path.join(folder, "b.json")
            result = run("--case", SMALL_MATRIX, "--step", "v1,v4a", "--samples", "9", "--json", ours,
                         f"--benchmark_out={theirs}")
            self.assertEqual(result.returncode, 0, result.stderr)
            steps = json.loads(pathlib.Path(ours).read_text())["cases"][0]["steps"]
            rows = json.loads(pathlib.Path(theirs).read_text())["benchmarks"]
            for step in steps:
                [median] = [row["real_time"] for row in rows if f"/{step['version']}_" in row["name"]
                            and (DEVICE == "emulator" or row.get("aggregate_name") == "median")]
                self.assertAlmostEqual(step["seconds"]["median"] * 1e9 / median, 1, places=4)

    def test_empty_and_scalar_cases(self):
        for case in ("shape=0,5 perm=1,0 dtype=float", "shape= perm= dtype=float", "shape=1,1 perm=1,0 dtype=int8"):
            result = run("--case", case)
            self.assertEqual(result.returncode, 0, f"{case}: {result.stdout}{result.stderr}")

    def test_only_the_steps_asked_for(self):
        result = run("--case", SMALL, "--step", "v2,v1")
        self.assertEqual(result.returncode, 0, result.stderr)
        versions = re.findall(r"^(v\w+) ", result.stdout, re.MULTILINE)
        self.assertEqual(versions, ["v1", "v2a", "v2b"])

    def test_a_case_beyond_the_memory(self):
        result = run("--case", "shape=4000000,1000000 perm=1,0 dtype=float")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"^run_all: .*needs .* is free\n$")

    def test_files_that_cannot_be_written(self):
        result = run("--case", SMALL, "--json", "/nonexistent/a.json")
        self.assertEqual(result.returncode, 4)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr, "run_all: cannot write /nonexistent/a.json: No such file or directory\n")
        full = run("--case", SMALL, "--step", "v1", "--json", "/dev/full")
        self.assertEqual(full.returncode, 4)
        self.assertIn("/dev/full", full.stderr)

    def test_a_full_standard_output_is_noticed(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([RUN_ALL, "--list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 4, result.stderr)

    def test_guesses(self):
        result = run("--case", SMALL, "--step", "v1,v2a", "--predict", stdin="40\nnonsense\n1.5\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("What share of a copy's speed will v1", result.stdout)
        self.assertIn("How many times as fast as v1 will v2a", result.stdout)
        self.assertIn("A number above 0, please.", result.stdout)
        self.assertIn("you said 1.50x", result.stdout)
        self.assertRegex(result.stdout, r"[012] of 2 guesses")
        self.assertEqual(run("--case", SMALL, "--step", "v1,v2a", "--predict").returncode, 0)  # No input at all.

    def test_counters(self):
        result = run("--case", SMALL_MATRIX, "--step", "v1,v4a", "--counters=all")
        if DEVICE == "emulator":
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", result.stdout)
            story = run("--case", SMALL_MATRIX, "--step", "v1,v4a", "--counters").stdout
            self.assertRegex(story, r"\n +sectors/request +4 +v1 +32 +better\n")
            self.assertNotIn("l1tex__", story)
        else:
            self.assertEqual(result.returncode, 2)
            self.assertIn("ncu", result.stderr)

    def test_access_maps(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "a.svg")
            result = run("--access-map", "v4a", "--case", SMALL_MATRIX, "--svg", file)
            if DEVICE != "emulator":
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr, r"^run_all: --access-map: .*DEVICE=emulator.*\n$")
                return
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(file, result.stdout)
            svg = xml.etree.ElementTree.parse(file).getroot()
            text = svg.find("{http://www.w3.org/2000/svg}desc").text
            # A tile's columns lie in one bank; its rows are 128 bytes.
            self.assertIn("32 lanes are served in 32 passes; without bank conflicts 1 would do.", text)
            self.assertIn("32 lanes touch 4 sectors in 1 line of 128 bytes; 128 of the 128 bytes moved are used.", text)
            self.assertIn("v4a_shared_tile.cuh:", text)
            self.assertIn("prefers-color-scheme: dark", pathlib.Path(file).read_text())

            several = run("--access-map", "v4", "--case", SMALL_MATRIX, "--svg", file)
            self.assertEqual(several.returncode, 2)
            self.assertIn("3 steps", several.stderr)
            self.assertEqual(run("--access-map", "v99").returncode, 2)
            self.assertEqual(run("--access-map", "v1", "--step", "v1").returncode, 2)
            self.assertEqual(run("--access-map", "v1", "--svg", "/nonexistent/a.svg").returncode, 4)
            # Files of their own in the current folder.
            subprocess.run([RUN_ALL, "--access-map", "v4", "--case", SMALL_MATRIX], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL, timeout=SECONDS)
            self.assertEqual(sorted(os.listdir(folder)), ["a.svg"] + [f"access_map_v4{c}.svg" for c in "abc"])

    @unittest.skipUnless(DEVICE == "emulator", "the emulator's")
    def test_an_access_map_of_any_program(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "a.svg")
            run("--case", SMALL_MATRIX, "--step", "v1", WARPBOOK_ACCESS_MAP=file)
            text = xml.etree.ElementTree.parse(file).getroot().find("{http://www.w3.org/2000/svg}desc").text
            self.assertIn("32 lanes touch 32 sectors in 32 lines of 128 bytes; 128 of the 1024 bytes moved", text)

    def test_a_run_for_profilers(self):
        result = run("--case", SMALL, "--step", "v1,v5,v2a", "--profile")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line.split("\t") for line in result.stdout.splitlines()]
        # v5 cannot do this case.
        self.assertEqual(lines, [["marker", "1", "1", SMALL, "v1"], ["marker", "1", "2", SMALL, "v2a"]])

    def test_an_interrupt_leaves_a_partial_file(self):
        for stop in (signal.SIGINT, signal.SIGTERM):  # Ctrl-C, and what `timeout` sends.
            with self.subTest(stop):
                self.interrupt_by(stop)

    def interrupt_by(self, stop):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "a.json")
            # On a terminal, so that each row is there when it is printed.
            process = subprocess.Popen([RUN_ALL, "--json", file], stdout=subprocess.PIPE, text=True)
            for line in process.stdout:  # The second step's row: some are done, more are to come.
                if line.startswith("v1 "):
                    break
            process.send_signal(stop)
            rest = process.stdout.read()
            process.stdout.close()
            self.assertEqual(process.wait(SECONDS), 130)
            self.assertIn("interrupted", rest)
            self.assertEqual(os.listdir(folder), ["a.json"])
            data = json.loads(pathlib.Path(file).read_text())
            self.assertTrue(data["partial"])
            self.assertGreaterEqual(len(data["cases"]), 1)

    def on_a_terminal(self, **environment):
        """The program's whole output to a terminal."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [RUN_ALL, "--case", SMALL, "--step", "v1"], stdout=slave, stderr=slave, env=os.environ | environment
        )
        os.close(slave)
        output = b""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                part = os.read(master, 65536)
            except OSError:  # The other end was closed.
                break
            if not part:
                break
            output += part
        os.close(master)
        self.assertEqual(process.wait(SECONDS), 0)
        return output.decode()

    def test_colour_only_where_it_is_wanted(self):
        colour = "\033[1m"
        self.assertIn(colour, self.on_a_terminal(TERM="xterm", NO_COLOR=""))
        self.assertNotIn(colour, self.on_a_terminal(TERM="xterm", NO_COLOR="1"))
        self.assertNotIn(colour, self.on_a_terminal(TERM="dumb", NO_COLOR=""))

    def test_progress_is_shown_on_a_terminal(self):
        self.assertIn("verifying v1", self.on_a_terminal(TERM="xterm"))

    def test_locale_and_folder_do_not_matter(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run(
                [RUN_ALL, "--case", SMALL, "--step", "v1", "--json", "here.json"],
                cwd=folder,
                env=os.environ | {"LC_ALL": "de_DE.UTF-8"},
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(os.listdir(folder), ["here.json"])


if __name__ == "__main__":
    unittest.main()
