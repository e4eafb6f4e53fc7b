#!/usr/bin/env python3
"""CUDA's libraries on the emulator: programs that call all of their functions and compare with loops of their own."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
NVCC = BUILD / "toolkit" / "bin" / "nvcc"
CCCL = BUILD / "toolkit" / "cccl"
NOTHING = "========= ERROR SUMMARY: 0 errors\n"


class Libraries(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, name, *options):
        self.program = Path(self.folder.name) / name
        made = subprocess.run([NVCC, ROOT / "tests/emulator/libraries" / f"{name}.cu", "-o", self.program, *options],
                              capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual((made.returncode, made.stderr), (0, ""))

    def run_program(self, *arguments):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WARPBOOK_")}
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False, timeout=300, env=clean)

    def lines(self, name, mark):
        """Those of the program that bear a mark."""
        text = (ROOT / "tests/emulator/libraries" / f"{name}.cu").read_text()
        return [str(i) for i, line in enumerate(text.splitlines(), 1) if line.endswith(f"// <- {mark}")]

    def check_right(self, name):
        """It gives what it should, and nothing is told but the calls that it makes to see them refused."""
        ran = self.run_program()
        self.assertEqual((ran.stdout, ran.returncode), ("0 wrong\n", 0), ran.stderr)
        told = re.findall(rf"^========= Program hit \w+ .*\n=========     at \S*{name}.cu:(\d+)\n"
                          r"=========     The library did nothing. .*\n", ran.stderr, re.MULTILINE)
        self.assertEqual(len(ran.stderr.splitlines()), 3 * len(told) + 1, ran.stderr)
        lines = (ROOT / "tests/emulator/libraries" / f"{name}.cu").read_text().splitlines()
        refusal = re.compile(r"_STATUS_(?!SUCCESS)|CUFFT_INVALID|refused")
        for line in map(int, told):
            self.assertRegex("\n".join(lines[line - 1:line + 4]), refusal, f"line {line}")
        return set(map(int, told))

    def test_cublas(self):
        self.build("cublas", "-lcublas", "-G")  # It has no kernels of its own that the optimiser could change.
        self.assertGreaterEqual(len(self.check_right("cublas")), 8)
        ran = self.run_program("host pointer")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("========= Invalid __global__ read by cublasSaxpy\n", ran.stderr)
        self.assertIn("The operand is x. The pointer does not lead to device memory.\n", ran.stderr)
        ran = self.run_program("too", "short")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("========= Invalid __global__ write by cublasSscal\n", ran.stderr)
        self.assertIn("The operand is x. It has 64 bytes; from the pointer on, 60 are allocated.\n", ran.stderr)

        ran = self.run_program("the", "host's", "result")
        self.assertIn("========= Invalid host write by cublasSasum\n", ran.stderr)
        self.assertIn("The operand is result. It lies in device memory,", ran.stderr)

    def test_cublas_lt(self):
        self.build("cublas_lt", "-lcublasLt")
        self.assertGreaterEqual(len(self.check_right("cublas_lt")), 1)

    def test_curand(self):
        self.build("curand", "-lcurand")
        self.assertGreaterEqual(len(self.check_right("curand")), 1)
        ran = self.run_program("host pointer")
        self.assertIn("========= Invalid __global__ write by curandGenerateUniform\n", ran.stderr)

    def test_cufft(self):
        self.build("cufft", "-lcufft")
        self.assertGreaterEqual(len(self.check_right("cufft")), 2)
        ran = self.run_program("too short")
        self.assertIn("========= Invalid __global__ read by cufftExecC2C\n", ran.stderr)

    def test_cusparse(self):
        self.build("cusparse", "-lcusparse", "-G")
        self.assertGreaterEqual(len(self.check_right("cusparse")), 5)
        ran = self.run_program("too short")
        self.assertIn("========= Invalid __global__ read by cusparseSpMV\n", ran.stderr)
        self.assertIn("The operand is x. It has 36 bytes; from the pointer on, 32 are allocated.\n", ran.stderr)

    def test_cusolver(self):
        self.build("cusolver", "-lcusolver", "-G")
        self.assertGreaterEqual(len(self.check_right("cusolver")), 5)
        ran = self.run_program("too short")
        self.assertIn("========= Invalid __global__ write by cusolverDnDgetrf\n", ran.stderr)
        self.assertIn("The operand is devIpiv. It has 12 bytes; from the pointer on, 8 are allocated.\n", ran.stderr)

    @unittest.skipUnless(CCCL.is_dir() or os.environ.get("CI"), "NVIDIA's CCCL is not installed: make deps")
    def test_thrust(self):
        self.build("thrust", "-rdc=true", "--extended-lambda")
        ran = self.run_program()
        self.assertEqual((ran.stdout, ran.returncode), ("0 wrong\n", 0), ran.stderr)
        self.assertTrue(ran.stderr.endswith(NOTHING), ran.stderr)
        ran = self.run_program("beyond")
        self.assertIn("========= Invalid __global__ read of size 4 bytes\n", ran.stderr)
        self.assertIn("index 100 of 100 elements of 4 bytes\n", ran.stderr)
        for word, said in (("sort", "Invalid host read of size 4 bytes"), ("copy", "Program hit cudaErrorInvalidValue .*")):
            ran = self.run_program("sort", *["copy"] * (word == "copy"))
            self.assertRegex(ran.stderr, rf"========= {said}\n=========     at \S*thrust.cu:{self.lines('thrust', word)[0]}\n")

    @unittest.skipUnless(CCCL.is_dir() or os.environ.get("CI"), "NVIDIA's CCCL is not installed: make deps")
    def test_cub(self):
        self.build("cub")
        ran = self.run_program()
        self.assertEqual((ran.stdout, ran.returncode), ("0 wrong\n", 0), ran.stderr)
        self.assertTrue(ran.stderr.endswith(NOTHING), ran.stderr)
        ran = self.run_program("twice")
        self.assertEqual(re.findall(r"access at \S*cub.cu:(\d+)", ran.stderr), self.lines("cub", "race"), ran.stderr)

    @unittest.skipUnless(CCCL.is_dir() or os.environ.get("CI"), "NVIDIA's CCCL is not installed: make deps")
    def test_libcudacxx(self):
        self.build("libcudacxx")
        ran = self.run_program()
        self.assertEqual((ran.stdout, ran.returncode), ("0 wrong\n", 0), ran.stderr)
        self.assertTrue(ran.stderr.endswith(NOTHING), ran.stderr)
        self.build("libcudacxx", "-DWITHOUT_BARRIER")
        ran = self.run_program()
        self.assertRegex(ran.stderr, r"Race reported between \w+ access at \S*libcudacxx.cu:\d+ and ")

    @unittest.skipUnless(CCCL.is_dir() or os.environ.get("CI"), "NVIDIA's CCCL is not installed: make deps")
    def test_misused_barriers_of_libcudacxx(self):
        source = Path(self.folder.name) / "barriers.cu"
        source.write_text("""#include <cooperative_groups.h>
#include <cuda/barrier>
__global__ void meet(int* out, const int* in, bool begins, bool waits_for_it, bool waits_for_copy) {
  __shared__ cuda::barrier<cuda::thread_scope_block> all; __shared__ int s[64];
  if (begins && threadIdx.x == 0)
    init(&all, blockDim.x);
  if (waits_for_it) __syncthreads();
  cuda::memcpy_async(cooperative_groups::this_thread_block(), s, in, sizeof s,
                     all);
  if (waits_for_copy) all.arrive_and_wait();
  out[threadIdx.x] = s[63 - threadIdx.x];
  if (!waits_for_copy) all.arrive_and_wait();
}
int main(int n, char**) {
  int* p; cudaMalloc(&p, 512); cudaMemset(p, 0, 512);
  meet<<<1, 64>>>(p, p + 64, n != 2, n != 3, n != 4);
  cudaDeviceSynchronize(); cudaFree(p);
}
""")
        self.program = source.with_suffix("")
        subprocess.run([NVCC, source, "-o", self.program], check=True, timeout=300)
        said = [self.run_program(*["more"] * more).stderr.replace(f"{source.parent}/", "") for more in range(4)]
        self.assertEqual(said[0], NOTHING)
        self.assertIn("========= Uninitialized __shared__ memory read of size 8 bytes\n", said[1])
        self.assertIn("The first of them waits at barriers.cu:10\n", said[1])
        self.assertIn("========= Race reported between Write access at barriers.cu:6 and Atomic access at ", said[2])
        self.assertIn("========= Race reported between Write access at barriers.cu:8 and Read access at barriers.cu:11\n", said[3])

    @unittest.skipUnless(CCCL.is_dir() or os.environ.get("CI"), "NVIDIA's CCCL is not installed: make deps")
    def test_a_deadlock_in_libcudacxx_is_told_where_the_program_waits(self):
        source = Path(self.folder.name) / "waits.cu"
        source.write_text("""#include <cuda/barrier>
__global__ void waits() {
  __shared__ cuda::barrier<cuda::thread_scope_block> all;
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  if (threadIdx.x < 32)
    all.arrive_and_wait();
}
int main() {
  waits<<<1, 64>>>();
  cudaDeviceSynchronize();
}
""")
        self.program = source.with_suffix("")
        subprocess.run([NVCC, source, "-o", self.program], check=True, timeout=300)
        self.assertIn("The first of them waits at waits.cu:7\n", self.run_program().stderr.replace(f"{source.parent}/", ""))


if __name__ == "__main__":
    unittest.main()
