#!/usr/bin/env python3
"""Another project uses the take-away headers: installed, through find_package; and by copying a file. Its folder's name
has spaces, and nothing of this project's is on its paths but what was installed."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(warpbook VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
DEVICE = os.environ.get("WARPBOOK_DEVICE", "emulator")
BUILD = pathlib.Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / DEVICE))
HEADERS = {"elementwise.cuh", "strided_copy.cuh", "permute.cuh", "atomic_add.cuh", "index_add.cuh", "upsample_nearest.cuh"}

USE = """
#include {include}

struct Square {{
  __device__ float operator()(float x) const {{ return x * x; }}
}};

cudaError_t square(float* z, const float* x, std::int64_t count, cudaStream_t stream) {{
  return warpbook::elementwise(Square{{}}, z, x, count, stream);
}}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
{find}
add_library(outside OBJECT use.cu)
set_source_files_properties(use.cu PROPERTIES LANGUAGE CXX)
target_include_directories(outside PRIVATE "{toolkit}")
target_compile_definitions(outside PRIVATE WARPBOOK_EMULATED=1)
target_compile_options(outside PRIVATE -fdeclspec -std=c++20)
{target}
"""


def cached(name):
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split("=", 1)[1]
    return ""


def call(*words, cwd=None):
    return subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, check=False)


class Install(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name) / "a path with spaces"
        self.prefix = self.folder / "the prefix"
        self.folder.mkdir()
        done = call("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_only_headers_and_their_finder_are_installed(self):
        files = {str(p.relative_to(self.prefix)) for p in self.prefix.rglob("*") if p.is_file()}
        if DEVICE == "emulator":  # And the emulator's toolkit, which has tests of its own.
            files = {f for f in files if not f.startswith("lib/warpbook/") and f != "bin/warpbook-nvcc"}
        finders = {f"lib/cmake/warpbook/warpbook-config{which}.cmake" for which in ("", "-version")}
        self.assertLessEqual({f"include/warpbook/{h}" for h in HEADERS}, files)
        self.assertEqual({f for f in files if not f.startswith("include/warpbook/")}, finders)
        for file in files:
            self.assertNotIn(str(ROOT), (self.prefix / file).read_text(), f"{file} names this tree")

    def build(self, include, find, target):
        """The emulator stands in for the toolkit: no GPU and no nvcc are needed to see that a header is whole."""
        project = self.folder / "outside"
        project.mkdir()
        (project / "use.cu").write_text(USE.format(include=include))
        (project / "CMakeLists.txt").write_text(PROJECT.format(find=find, target=target, toolkit=ROOT / "common/emulator/include"))
        compiler = cached("CMAKE_CXX_COMPILER")
        done = call("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={compiler}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = call("cmake", "--build", project / "build")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(DEVICE == "emulator", "compiles against the emulator's headers")
    def test_found_by_cmake(self):
        self.build("<warpbook/elementwise.cuh>", f"find_package(warpbook {VERSION} REQUIRED)",
                   "target_link_libraries(outside PRIVATE warpbook::warpbook)")

    def test_headers_and_finder_have_one_version(self):
        major, minor, patch = map(int, VERSION.split("."))
        for header in HEADERS:
            text = (self.prefix / "include/warpbook" / header).read_text()
            self.assertIn(f"\n#define WARPBOOK_VERSION {10000 * major + 100 * minor + patch}  // {VERSION}\n", text)
        script = self.folder / "ask.cmake"
        for asked, found in ((VERSION, "TRUE"), (f"{major}.{minor}", "TRUE"), (f"{major}.{minor + 1}", "FALSE"), (f"{major + 1}.0", "FALSE"), ("0.1", "FALSE")):
            script.write_text(f'cmake_minimum_required(VERSION 3.25)\nset(PACKAGE_FIND_VERSION {asked})\nstring(REPLACE "." ";" parts {asked})\n'
                              "list(GET parts 0 PACKAGE_FIND_VERSION_MAJOR)\nlist(GET parts 1 PACKAGE_FIND_VERSION_MINOR)\n"
                              f'include("{self.prefix}/lib/cmake/warpbook/warpbook-config-version.cmake")\n'
                              'if(NOT PACKAGE_VERSION_COMPATIBLE)\n  set(PACKAGE_VERSION_COMPATIBLE FALSE)\nendif()\n'
                              'message("${PACKAGE_VERSION_COMPATIBLE}")\n')
            self.assertEqual(call("cmake", "-P", script).stderr.strip(), found, asked)

    @unittest.skipUnless(DEVICE == "emulator", "compiles against the emulator's headers")
    def test_copied_by_hand(self):
        (self.folder / "copied").mkdir()
        shutil.copy(self.prefix / "include/warpbook/elementwise.cuh", self.folder / "copied")
        shutil.rmtree(self.prefix)
        self.build('"../copied/elementwise.cuh"', "", "")


if __name__ == "__main__":
    unittest.main()
