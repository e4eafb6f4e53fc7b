#!/usr/bin/env python3
"""Programs of tests/emulator/runtime/ that use more of CUDA's runtime. Their comments say how they are compiled (`flags:`), what
they print and which words their reports hold; without `reports:`, nothing may be reported."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
NVCC = BUILD / "toolkit" / "bin" / "nvcc"
PROGRAMS = ROOT / "tests" / "emulator" / "runtime"
NOTHING = "========= ERROR SUMMARY: 0 errors\n"

CHILD = """#include <cstdio>
__global__ void child(const int* x) { printf("%d\\n", *x); }
__global__ void direct() { __shared__ int tile[2]; tile[0] = 1; CALL; }
int main() { direct<<<1, 1>>>(); return cudaDeviceSynchronize() == 0; }
"""


def call(*words):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WARPBOOK_")}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=120, env=clean)


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = Path(self.folder.name) / "program"

    def run_text(self, text, *flags):
        source = Path(self.folder.name) / "p.cu"
        source.write_text(text)
        made = call(NVCC, "-w", *flags, "-o", self.program, source)
        return call(self.program) if made.returncode == 0 else made

    def test_programs(self):
        sources = sorted(PROGRAMS.glob("*.cu"))
        self.assertGreater(len(sources), 0)
        for source in sources:
            with self.subTest(program=source.stem):
                said = {key: re.findall(rf"^// {key}: (.*)$", source.read_text(), re.MULTILINE)
                        for key in ("flags", "prints", "reports")}
                made = call(NVCC, "-w", *" ".join(said["flags"]).split(), "-o", self.program, source)
                self.assertEqual(made.returncode, 0, made.stderr)
                ran = call(self.program)
                self.assertEqual(ran.stdout.splitlines(), said["prints"], ran.stderr)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                for words in said["reports"]:
                    self.assertIn(words, ran.stderr)
                errors = re.search(r"ERROR SUMMARY: (\d+)", ran.stderr)[1]
                self.assertEqual(int(errors), len(said["reports"]), ran.stderr)

    def test_what_nvcc_refuses_of_nested_launches(self):
        for flags, code, reason in (
            ([], "child<<<1, 1>>>(nullptr)", "requires separate compilation mode"),
            (["-rdc=true"], "child(nullptr)", "a __global__ function call must be configured"),
            (["-rdc=true"], "cudaDeviceSynchronize()", 'calling a __host__ function("cudaDeviceSynchronize")'),
            (["-rdc=true"], "cudaMemset(nullptr, 0, 0)", 'calling a __host__ function("cudaMemset")'),
        ):
            with self.subTest(code=code):
                made = self.run_text(CHILD.replace("CALL", code), *flags)
                self.assertEqual(made.returncode, 1)
                self.assertRegex(made.stderr, rf"p\.cu:3:\d+: error: .*{re.escape(reason)}")

    def test_a_child_gets_no_pointer_to_its_parents_own_memory(self):
        for code, memory in (("child<<<1, 1>>>(tile)", "shared"), ("int x = 3; child<<<1, 1>>>(&x)", "local")):
            with self.subTest(memory=memory):
                ran = self.run_text(CHILD.replace("CALL", code), "-rdc=true")
                self.assertEqual((ran.stdout, ran.returncode), ("", 0))
                self.assertIn(f"launched with a pointer to {memory} memory of its parent\n=========     at p.cu:3",
                              ran.stderr.replace(self.folder.name + "/", ""))

    def test_behind_an_error_the_host_is_not_said_to_race(self):
        ran = self.run_text("""#include <cstdio>
            __global__ void k(float* x) { x[1 << 20] = 1; }
            int main() {
              float *d, *h; cudaStream_t s; cudaStreamCreate(&s);
              cudaMalloc(&d, 4); cudaMallocHost(&h, 4);
              cudaMemcpyAsync(d, h, 4, cudaMemcpyHostToDevice, s);
              k<<<1, 1, 0, s>>>(d);
              cudaStreamSynchronize(s);
              h[0] = 1;
              printf("%g\\n", h[0]);
            }""")
        self.assertIn("Invalid __global__ write", ran.stderr)
        self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)


if __name__ == "__main__":
    unittest.main()
