#!/usr/bin/env python3
"""The Makefile and the scripts behind it, as a person on a fresh machine meets them."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE_BY_THE_BUILD = re.compile(r"^(build|chapter\d+|exercises|\.venv|\.git)$")


def call(*command, cwd=ROOT, **environment):
    """Runs a command as from a terminal: what an outer make would hand down is taken out."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("DEVICE", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CXX")}
    return subprocess.run(
        command, cwd=cwd, env=inherited | environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def copy_of_the_tree(parent):
    """The project without what was built, in a folder whose name has spaces."""
    copy = pathlib.Path(parent) / "a path with spaces"

    def leave_out(folder, names):
        return [n for n in names if n == "__pycache__" or (folder == str(ROOT) and MADE_BY_THE_BUILD.match(n))]

    shutil.copytree(ROOT, copy, ignore=leave_out)
    return copy


def files_of(tree):
    """All files but those that the build makes, with their times."""
    return {
        str(p.relative_to(tree)): p.stat().st_mtime_ns
        for p in tree.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts and not MADE_BY_THE_BUILD.match(p.relative_to(tree).parts[0])
    }


class Make(unittest.TestCase):
    def test_help_is_the_default_and_lists_every_chapter(self):
        result = call("make", "DEVICE=emulator")
        self.assertEqual(result.returncode, 0, result.stderr)
        for chapter in ROOT.glob("chapters/chapter*_*"):
            self.assertIn("make " + chapter.name.split("_")[0], result.stdout)
        for target in ("deps", "test", "nightly", "headers", "clean", "DEVICE=gpu|emulator"):
            self.assertIn(target, result.stdout)

    def test_unknown_device_is_one_line(self):
        for device in ("tpu", "", "gpu emulator x"):
            result = call("make", "chapter3", f"DEVICE={device}")
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stdout, "")
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn("accepted are gpu and emulator", result.stderr)

    def test_results_of_an_unknown_chapter_is_one_line(self):
        result = call("make", "results", "ONLY=1 99")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "")
        self.assertIn("error: ONLY=1 99: accepted are 1 2", result.stderr.splitlines()[0])

    def test_a_toolkit_that_is_none_is_one_line(self):
        result = call("make", "chapter1", "CUDA_HOME=/nonexistent")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("CUDA_HOME=/nonexistent: there is no bin/nvcc in it", result.stderr)

    def test_problems_of_an_unknown_chapter_are_not_none_wrong(self):
        result = call("scripts/fuzz.sh", "build/emulator", "10", "1", "99")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("chapter99_steps_test is missing", result.stderr)

    def test_a_handout_that_cannot_be_written_is_one_line(self):
        result = call("./workbook", "handout", "/dev/null/class")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, "workbook: /dev/null/class: Not a directory\n")

    @unittest.skipUnless((ROOT / "build/emulator/chapter1/run_all").exists(), "chapter 1 is not built for the emulator")
    @unittest.skipIf(any(shutil.which(tool, path="/usr/bin:/bin") for tool in ("ncu", "compute-sanitizer")), "the profiler is among the system's programs")
    def test_results_are_recorded_and_what_is_missing_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder) / "build"
            (tree / "chapter1").mkdir(parents=True)
            shutil.copy(ROOT / "build/emulator/chapter1/run_all", tree / "chapter1")
            out = pathlib.Path(folder) / "results"
            result = call("scripts/record_results.sh", "1", OUT=str(out), BUILD=str(tree), CASES="n=65536 op=mul dtype=float", PATH="/usr/bin:/bin")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertEqual(len(json.loads((out / "chapter1.json").read_text(encoding="utf-8"))["cases"]), 1)
            self.assertIn("no ncu here: skipped", result.stdout)
            self.assertIn(f"written to {out}", result.stdout)
            again = call("scripts/record_results.sh", "1", "9", BUILD=str(tree), OUT=str(out), CASES="nothing", PATH="/usr/bin:/bin")
            self.assertEqual(again.returncode, 1)
            self.assertIn("chapter 1: times failed", again.stdout)
            self.assertIn("build/chapter9/run_all is missing", again.stdout)

    @unittest.skipUnless(shutil.which("dpkg-query"), "make deps installs Debian's packages only")
    def test_deps_has_nothing_to_do_within_a_second(self):
        start = time.monotonic()
        result = call("make", "deps", "DEVICE=emulator")
        seconds = time.monotonic() - start
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nothing is missing", result.stdout)
        self.assertLess(seconds, 1.0)

    def test_device_is_gpu_where_compiler_and_device_are_there(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("nvcc", "exit 0"), ("nvidia-smi", "echo 'GPU 0: a device'")):
                tool = pathlib.Path(folder) / name
                tool.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
                tool.chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            unset = {"CUDACXX": "", "CUDA_HOME": "", "CUDA_PATH": ""}
            self.assertEqual(call("scripts/pick_device.sh", PATH=path).stdout, "gpu\n")
            self.assertEqual(call("scripts/find_nvcc.sh", PATH=path, **unset).stdout, f"{folder}/nvcc\n")

    @unittest.skipIf(os.path.exists("/dev/nvidia0"), "a device is here")
    def test_device_is_emulator_without_a_device(self):
        self.assertEqual(call("scripts/pick_device.sh").stdout, "emulator\n")


class Sources(unittest.TestCase):
    def test_every_source_of_common_is_built(self):
        build = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        sources = [*ROOT.glob("common/**/*.cpp"), *ROOT.glob("common/**/*.cu")]
        self.assertEqual([str(s.relative_to(ROOT)) for s in sources if str(s.relative_to(ROOT)) not in build], [])


class Readme(unittest.TestCase):
    def test_what_pages_show_of_a_gpu_is_recorded(self):
        recorded = (ROOT / "docs/results/nvidia-h200/chapter3_default.txt").read_text(encoding="utf-8").splitlines()
        for page, before in (("README.md", "# on an H200; the first of three cases\n"), ("docs/pages/memory.md", "## 7. How to read our table\n\n"),
                             ("docs/pages/index.md", "v2b and v8, which prepare others:\n\n")):
            shown = (ROOT / page).read_text(encoding="utf-8").split(before)[1].split("\n\n")[0].splitlines()
            self.assertGreater(len(shown), 4)
            self.assertEqual([line for line in shown if line.removeprefix("    ") not in recorded], [])


class Configure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = copy_of_the_tree(folder.name)

    def test_a_compiler_that_will_not_do_is_one_line(self):
        result = call("make", "chapter3", "DEVICE=emulator", cwd=self.copy, CXX="g++")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(
            [line for line in result.stderr.splitlines() if not line.startswith("make:")],
            ["error: clang 19 or newer was not found: run `make deps DEVICE=emulator`"],
        )

    def test_a_missing_library_names_make_deps(self):
        for library in ("fmt", "CLI11", "nlohmann_json", "benchmark", "Catch2", "Boost"):
            result = call(
                "cmake", "--fresh", "--preset", "emulator", f"-DCMAKE_DISABLE_FIND_PACKAGE_{library}=ON", cwd=self.copy
            )
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(f"error: The library {library} was not found: run `make deps DEVICE=emulator`\n", result.stderr)

    def test_a_moved_tree_is_configured_anew(self):
        self.assertEqual(call("scripts/configure.sh", "emulator", cwd=self.copy).returncode, 0)
        moved = self.copy.rename(self.copy.with_name("moved"))
        self.assertEqual(call("scripts/configure.sh", "emulator", cwd=moved).returncode, 0)
        self.assertIn(f"CMAKE_HOME_DIRECTORY:INTERNAL={moved}\n", (moved / "build/emulator/CMakeCache.txt").read_text())


class NoPlaceForTheBuild(unittest.TestCase):
    """As in a checkout that may not be written."""

    def test_each_says_so_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_of_the_tree(folder)
            (copy / "build").write_text("")
            for target in ("docs", "headers", "chapter1"):
                result = call("make", target, "DEVICE=emulator", cwd=copy)
                lines = [line for line in result.stderr.splitlines() if not line.startswith("make:")]
                self.assertEqual((result.returncode, len(lines)), (2, 1), result.stderr)
                self.assertIn("build", lines[0])


class OneBuildAtATime(unittest.TestCase):
    def test_two_makes_in_one_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_of_the_tree(folder)
            tools, log = pathlib.Path(folder) / "tools", pathlib.Path(folder) / "log"
            tools.mkdir()
            cmake = tools / "cmake"  # What two at once would do to each other.
            cmake.write_text(f'#!/bin/sh\necho begin >>"{log}"\nsleep 0.3\necho end >>"{log}"\n')
            cmake.chmod(0o755)
            environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
            environment["PATH"] = f"{tools}:{environment['PATH']}"
            makes = [
                subprocess.Popen(["make", chapter, f"DEVICE={device}"], cwd=copy, env=environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
                for chapter, device in (("chapter1", "emulator"), ("chapter1", "emulator"), ("chapter2", "gpu"))
            ]  # fmt: skip
            errors = [make.communicate()[1] for make in makes]
            self.assertEqual([make.returncode for make in makes], [0, 0, 0], errors)
            lines = log.read_text().split()
            self.assertEqual(lines, ["begin", "end"] * (len(lines) // 2))
            self.assertGreaterEqual(len(lines), 6)
            self.assertEqual(sorted(errors)[0], "")
            self.assertEqual(sorted(errors)[1:], ["waiting for another build in this tree\n"] * 2)


@unittest.skipUnless(os.environ.get("WARPBOOK_NIGHTLY"), "builds the whole project: make nightly")
class FreshTree(unittest.TestCase):
    def test_a_chapter_builds_and_runs_in_a_path_with_spaces(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_of_the_tree(folder)
            before = files_of(copy)
            built = call("make", "deps", "chapter3", "DEVICE=emulator", cwd=copy)
            self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
            ran = call("./chapter3/run_all", "--quick", cwd=copy)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertEqual(before, files_of(copy), "something was written where nothing should be")


if __name__ == "__main__":
    sys.exit(unittest.main())
