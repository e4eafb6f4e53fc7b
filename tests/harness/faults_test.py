#!/usr/bin/env python3
"""What goes wrong around a program: a disk that is full, files cut short, a device that fails. Each ends with a status
and a line, and leaves no half-written file. (Faults within a run are tests/emulator/emulator_faults_test.cu's.)"""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = os.environ.get("WARPBOOK_DEVICE", "emulator")
BUILD = pathlib.Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / DEVICE))
RUN_ALL = BUILD / "chapter3" / "run_all"
CASE = ("--case", "shape=31,17,63 perm=2,0,1 dtype=half", "--step", "v1,v2a")
SECONDS = 120
EMULATED = DEVICE == "emulator"


def run(*words, limit=None, **environment):
    """`limit`: bytes that a file may have."""

    def before():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run([str(w) for w in words], env=os.environ | environment, capture_output=True, text=True, timeout=SECONDS,
                          check=False, preexec_fn=before)  # fmt: skip


class InAFolder(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def names(self):
        return sorted(p.name for p in self.folder.iterdir())


@unittest.skipUnless(EMULATED or run(RUN_ALL, "--device-info").returncode == 0, "no device here")
class FullDisk(InAFolder):
    def test_what_was_there_stays_and_nothing_half_written(self):
        file = self.folder / "a.json"
        file.write_text("old")
        result = run(RUN_ALL, *CASE, "--json", file, limit=100)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertEqual(result.stderr, f"run_all: cannot write {file}: File too large\n")
        self.assertEqual(self.names(), ["a.json"])
        self.assertEqual(file.read_text(), "old")

    def test_the_other_files_are_written(self):
        result = run(RUN_ALL, *CASE, "--json", "/dev/full", "--csv", self.folder / "a.csv")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertEqual(result.stderr, "run_all: cannot write /dev/full: No space left on device\n")
        self.assertEqual(self.names(), ["a.csv"])

    def test_google_benchmarks_file(self):
        file = self.folder / "b.json"
        file.write_text("old")
        result = run(RUN_ALL, *CASE, f"--benchmark_out={file}", limit=100)
        self.assertEqual((result.returncode, result.stderr), (4, f"run_all: cannot write {file}: File too large\n"))
        self.assertEqual((self.names(), file.read_text()), (["b.json"], "old"))
        result = run(RUN_ALL, *CASE, "--benchmark_out=/dev/full")
        self.assertEqual((result.returncode, result.stderr), (4, "run_all: cannot write /dev/full: No space left on device\n"))
        for form, begin in (("json", "{"), ("csv", "name,"), ("console", "---")):
            run(RUN_ALL, *CASE, f"--benchmark_out={file}", f"--benchmark_out_format={form}")
            self.assertIn("\n" + begin, "\n" + file.read_text())

    def test_a_folder_that_may_not_be_written(self):
        if os.getuid() == 0:
            self.skipTest("root may write everywhere")
        self.folder.chmod(0o500)
        result = run(RUN_ALL, *CASE, "--json", self.folder / "a.json")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("Permission denied", result.stderr)

    @unittest.skipUnless(EMULATED, "the emulator's")
    def test_the_emulators_files(self):
        for variable in ("WARPBOOK_COUNTERS", "WARPBOOK_REPORTS", "WARPBOOK_ACCESS_MAP"):
            file = self.folder / "f"
            file.write_text("old")
            result = run(RUN_ALL, *CASE, limit=10, **{variable: str(file)})
            self.assertEqual((result.returncode, result.stderr), (4, f'{variable}: cannot write "{file}": File too large\n'))
            self.assertEqual((self.names(), file.read_text()), (["f"], "old"))
            result = run(RUN_ALL, *CASE, **{variable: str(file)})
            self.assertEqual((result.stderr, self.names()), ("", ["f"]))
            self.assertNotEqual(file.read_text(), "old")


@unittest.skipUnless(EMULATED, "faults on demand are the emulator's")
class Device(InAFolder):
    def test_a_lost_device_is_told_and_ends_the_run(self):
        file = self.folder / "a.json"
        result = run(RUN_ALL, *CASE, "--json", file, WARPBOOK_FAULT="launch:1")
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertIn("cudaErrorDevicesUnavailable", result.stdout)
        self.assertEqual([s["status"] for s in json.loads(file.read_text())["cases"][0]["steps"]], ["fail", "skipped"])

    def test_no_memory_at_the_first_allocation(self):
        result = run(RUN_ALL, *CASE, "--json", self.folder / "a.json", WARPBOOK_FAULT="malloc:1")
        self.assertEqual((result.returncode, result.stdout, self.names()), (3, "", []))
        self.assertRegex(result.stderr, r"^run_all: .*out of memory.*\n$")

    def test_an_unknown_fault(self):
        result = run(RUN_ALL, *CASE, WARPBOOK_FAULT="disk")
        self.assertEqual((result.returncode, result.stderr), (2, 'WARPBOOK_FAULT: "disk" is neither malloc:N nor launch:N\n'))


@unittest.skipUnless(EMULATED, "a GPU's driver needs more than these")
class Limits(InAFolder):
    """Each is status 3; what is said is one line."""

    def check(self, number, limit):
        def before():
            if os.getuid() == 0:  # Root may start as many threads as it likes.
                os.setgid(65534)
                os.setuid(65534)
            resource.setrlimit(number, (limit, limit))

        result = subprocess.run([RUN_ALL, *CASE], capture_output=True, text=True, timeout=SECONDS, check=False, preexec_fn=before)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertLessEqual(result.stderr.count("\n"), 1, result.stderr)
        return result

    def test_addresses(self):
        for megabytes in (50, 400, 3000, 4100, 4500):
            with self.subTest(megabytes):
                result = self.check(resource.RLIMIT_AS, megabytes << 20)
                self.assertTrue(result.stderr or "too little host memory" in result.stdout, result.stdout)

    def test_data(self):
        for megabytes in (10, 50, 400):
            with self.subTest(megabytes):
                self.assertTrue(self.check(resource.RLIMIT_DATA, megabytes << 20).stderr)

    def test_threads(self):
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("one core needs one thread")
        if not os.access(RUN_ALL, os.X_OK) or any(p.stat().st_mode & 0o005 != 0o005 for p in [RUN_ALL, *RUN_ALL.parents]):
            self.skipTest("another user may not run the program")
        self.assertIn("no more threads", self.check(resource.RLIMIT_NPROC, 1).stderr)


class CutShort(InAFolder):
    """What reads results says that one is cut short, in one line."""

    def setUp(self):
        super().setUp()
        whole = (ROOT / "docs/results/nvidia-h200/chapter3.json").read_text()
        self.whole, self.cut = self.folder / "chapter3.json", self.folder / "cut" / "chapter3.json"
        self.cut.parent.mkdir()
        self.whole.write_text(whole)
        self.cut.write_text(whole[: len(whole) // 2])

    def check(self, *words):
        result = run(sys.executable, *words)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(str(self.cut), result.stderr)
        self.assertIn("cut short", result.stderr)

    def test_compare_runs(self):
        script = ROOT / "scripts/compare_runs.py"
        self.check(script, self.whole, self.cut)
        self.assertEqual(run(sys.executable, script, self.whole, self.whole).returncode, 0)
        for text in ("[]", "{}", '{"cases": 1, "partial": false}', '{"cases": [1], "partial": false}', ""):
            self.cut.write_text(text)
            result = run(sys.executable, script, self.whole, self.cut)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), f"{text}: {result.stderr}")
        self.cut.write_text(json.dumps(json.loads(self.whole.read_text()) | {"partial": True}))
        result = run(sys.executable, script, self.whole, self.cut)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)
        self.assertIn("interrupted", result.stderr)

    def test_compare_model(self):
        self.check(ROOT / "scripts/compare_model.py", "--emulated", self.cut.parent)

    def test_peers(self):
        result = run(sys.executable, ROOT / "tests/chapters/peers/peers.py", "--merge", self.folder / "merged.json", self.cut)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(str(self.cut), result.stderr)
        self.assertFalse((self.folder / "merged.json").exists())

    def test_medians_that_differ_are_told(self):
        other = json.loads(self.whole.read_text())
        case = max(other["cases"], key=lambda c: c["bytes_moved"])
        case["steps"][2]["seconds"]["median"] *= 1.05
        self.cut.write_text(json.dumps(other))
        result = run(sys.executable, ROOT / "scripts/compare_runs.py", self.whole, self.cut)
        self.assertEqual(result.returncode, 1)
        self.assertIn("5.00% apart", result.stdout)

    def test_scripts_write_whole_files(self):
        code = "import sys; sys.path.insert(0, sys.argv[1]); import whole_file; whole_file.write(sys.argv[2], 'x' * 1000)"
        file = self.folder / "f"
        file.write_text("old")
        # Python ignores SIGXFSZ.
        result = run(sys.executable, "-c", code, ROOT / "scripts", file, limit=100)
        self.assertEqual((result.returncode, file.read_text()), (4, "old"), result.stderr)
        self.assertNotIn("f.partial", " ".join(self.names()))
        self.assertEqual(run(sys.executable, "-c", code, ROOT / "scripts", file).returncode, 0)
        self.assertEqual(file.read_text(), "x" * 1000)


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # What programs get from this one.
    unittest.main()
