#!/usr/bin/env python3
"""Which host compiler CMake picks for nvcc: the first that nvcc takes, or one line that says what to install. Compilers
and nvcc are scripts here that say what the real ones say; nothing is compiled."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What nvcc says of a host compiler that is newer than it knows.
REFUSAL = "host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!"


class HostCompiler(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="host compiler ")  # The path has a space.
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def script(self, name, text):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def configure(self, compilers, refused, says=REFUSAL, **environment):
        """CMake's result and the compiler that it chose, where these compilers are all there are and nvcc refuses some."""
        for name in compilers:
            self.script(name, "exit 1")  # Asked for nothing but its name: CMake stops at the first use.
        refusals = [f'[ "$2" != "{self.bin}/{name}" ] || {{ echo "{says}" >&2; exit 1; }}' for name in refused]
        nvcc = self.script("nvcc", "\n".join([*refusals, '[ "$1 $3" = "-ccbin -E" ]']))
        done = subprocess.run([shutil.which("cmake"), "-S", ROOT, "-B", self.folder / "build", "-DDEVICE=gpu", f"-DCMAKE_CUDA_COMPILER={nvcc}"],
                              env={"PATH": str(self.bin), **environment}, capture_output=True, text=True, check=False)  # fmt: skip
        self.assertNotEqual(done.returncode, 0)  # None of these compiles.
        cache = (self.folder / "build/CMakeCache.txt").read_text(encoding="utf-8")
        chosen = [line.partition("=")[2] for line in cache.splitlines() if line.startswith("CMAKE_CXX_COMPILER:")]
        return done.stderr, pathlib.Path(chosen[0]).name if chosen else None

    def test_takes_the_usual_one_where_nvcc_does(self):
        self.assertEqual(self.configure(["g++", "g++-13"], [])[1], "g++")

    def test_goes_on_to_the_first_that_nvcc_takes(self):
        self.assertEqual(self.configure(["g++", "g++-14", "g++-13", "g++-12"], ["g++", "g++-14"])[1], "g++-13")

    def test_says_what_to_install_where_nvcc_takes_none(self):
        said, chosen = self.configure(["g++", "g++-14"], ["g++", "g++-14"])
        self.assertIsNone(chosen)
        self.assertIn(f"error: {self.bin}/nvcc does not take {self.bin}/g++: install g++-13 or g++-12\n", said)

    def test_leaves_other_failures_to_cmake(self):
        # Not a refusal of the version: nothing is to be installed for it.
        said, chosen = self.configure(["g++"], ["g++"], says="nvcc fatal: no space left")
        self.assertEqual(chosen, "g++")
        self.assertNotIn("install", said)

    def test_chooses_none_where_one_is_named(self):
        # It is CMake that reads CXX, once it has a program to build with; here is none.
        self.assertIsNone(self.configure(["g++", "mine"], [], CXX=f"{self.bin}/mine")[1])


if __name__ == "__main__":
    unittest.main()
