#!/usr/bin/env python3
"""A kernel under gdb, as the README shows it: breakpoints by thread, steps across a barrier, shared arrays."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))

KERNEL = """#include <cuda_runtime.h>

__global__ void reverse(int* out, int n) {
  __shared__ int tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i;
  __syncthreads();
  const int mirrored = tile[blockDim.x - 1 - threadIdx.x];
  if (i < n) out[i] = mirrored;
}

int main() {
  int* out;
  cudaMalloc(&out, 256 * sizeof(int));
  reverse<<<4, 64>>>(out, 256);
  cudaDeviceSynchronize();
  cudaFree(out);
}
"""


class Debugger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="warpbook_debugger_")
        folder = Path(cls.folder.name)
        (folder / "reverse.cu").write_text(KERNEL)
        cls.program = folder / "reverse"
        subprocess.run([sys.executable, ROOT / "scripts" / "emulate.py", "--build", BUILD, "--debug", "--no-run",
                        "--output", cls.program, folder / "reverse.cu"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def session(self, *commands):
        """What gdb prints for the commands, one after the other."""
        command = ["gdb", "-q", "-nx", "-batch", "-ex", "set pagination off", "-ex", "set debuginfod enabled off"]
        for each in commands:
            command += ["-ex", each]
        ran = subprocess.run([*command, self.program], capture_output=True, text=True, timeout=120,
                             env=dict(os.environ, WARPBOOK_WORKERS="1"), check=False)
        return ran.stdout + ran.stderr

    def test_a_step_across_a_barrier_stays_with_the_thread(self):
        text = self.session("break reverse.cu:6 if i == 70", "run", "next", "next", "print i", "print mirrored", "next",
                            "print mirrored", "kill")
        self.assertRegex(text, r"Breakpoint 1, reverse .* at .*/reverse\.cu:6\n")
        self.assertRegex(text, r"\n7\t  __syncthreads\(\);\n8\t  const int mirrored")
        self.assertRegex(text, r"\$1 = 70\n")
        self.assertRegex(text, r"\$3 = 121\n")  # thread 6 of block 1 reads what thread 57 wrote

    def test_shared_arrays_and_built_in_variables_can_be_printed(self):
        text = self.session("break reverse.cu:8 if i == 130", "run", "print tile[2]", "print sizeof(tile)",
                            "print (unsigned)'warpbook::emulator::block_index_x'()", "kill")
        self.assertRegex(text, r"\$1 = 130\n")
        self.assertRegex(text, r"\$2 = 256\n")
        if "Couldn't write extended state status" in text:
            self.skipTest("this gdb can't call functions on this processor, so it can't ask for built-in variables")
        self.assertRegex(text, r"\$3 = 2\n")

    def test_a_backtrace_ends_where_the_fiber_begins(self):
        text = self.session("break reverse.cu:8 if i == 9", "run", "backtrace", "kill")
        frames = re.findall(r"^#\d+ .*", text, re.MULTILINE)
        self.assertGreaterEqual(len(frames), 3, text)
        self.assertIn("reverse (out=", frames[0])
        self.assertLess(len(frames), 8, text)
        self.assertNotIn("??", text)


if __name__ == "__main__":
    if not shutil.which("gdb"):
        print("gdb was not found: skipped")
        sys.exit(77)
    unittest.main()
