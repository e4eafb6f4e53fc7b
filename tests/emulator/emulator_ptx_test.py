#!/usr/bin/env python3
"""Inline PTX and <mma.h>: what instructions give, what is seen of their accesses, and what is refused."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
PROGRAMS = ROOT / "tests" / "emulator" / "ptx"
NOTHING = "========= ERROR SUMMARY: 0 errors\n"

# Each mistake is on the line that says so; with a second argument it is not made.
MISTAKES = """
#include <cstdlib>
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void k(char mistake, float* g, float* o, int n) {
  __shared__ __align__(16) float tile[64];
  int i = threadIdx.x;
  float x = 0, y;
  for (int k = i; k < 64; k += blockDim.x) tile[k] = k;
  __syncthreads();
  if (mistake == 'b') asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(g + n));  // b
  if (mistake == 's') asm volatile("st.shared.f32 [%0], %1;" :: "r"(at(tile + n)), "f"(x) : "memory");  // s
  if (mistake == 'a') asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "l"(g + n + 1));  // a
  if (mistake == 'u') asm volatile("ld.global.cs.f32 %0, [%1 + 4];" : "=f"(x) : "l"(g + n));  // u
  if (mistake == 'g') asm volatile("st.global.f32 [%0], %1;" :: "l"(g + i * n), "f"((float)i) : "memory");  // g
  if (mistake == 'r') {
    asm volatile("st.shared.f32 [%0], %1;" :: "r"(at(tile + i)), "f"(x) : "memory");
    if (n) asm volatile("bar.sync 0;");
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at(tile + (i + 40) % 64)));  // r
    o[63 - i] = x;
    return;
  }
  if (mistake == 'c') {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" :: "r"(at(tile + i)), "l"(g + i / 2));
    if (n) asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    x = tile[63 - i];  // c
    asm volatile("cp.async.wait_all;");
  }
  if (mistake == 'm') {
    tile[i % 32] = i;
    if (n) __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=f"(x) : "r"(at(tile + i % 8 * 4)));  // m
  }
  if (mistake == 'l' && (n || i < 16))
    asm volatile("{ .reg .f64 x, y; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {x, y}, {%0}, {%0}, {%0, %0}; }" :: "d"(1.0));  // l
  if (mistake == 'z') asm volatile("ld.shared.f32 %0, [%1 + 4];" : "=f"(x) : "l"(n ? (size_t)at(tile) : (size_t)tile));  // z
  o[i] = x;
}
int main(int, char** arguments) {
  char mistake = arguments[1][0];
  int fixed = arguments[2] != nullptr, n = 0;
  if (mistake == 'b') n = fixed ? 0 : 64;
  if (mistake == 's') n = fixed ? 63 : 64;
  if (mistake == 'a') n = fixed ? 1 : 0;
  if (mistake == 'u') n = fixed ? 61 : 62;
  if (mistake == 'g' || mistake == 'r' || mistake == 'c' || mistake == 'm' || mistake == 'l' || mistake == 'z') n = fixed;
  float *g, *o;
  cudaMalloc(&g, 256); cudaMalloc(&o, 256); cudaMemset(g, 0, 252); cudaMemset(o, 0, 128);
  k<<<1, mistake == 'r' || mistake == 'c' ? 64 : 32>>>(mistake, g, o, n);
  cudaDeviceSynchronize(); cudaFree(g); cudaFree(o);
}
"""
TOLD = {"b": "Invalid __global__ read of size 4 bytes", "s": "Invalid __shared__ write of size 4 bytes",
        "a": "Address is misaligned", "u": "Uninitialized __global__ memory read", "g": "Race reported", "r": "Race reported",
        "c": "Race reported", "m": "Race reported", "l": "A matrix operation of 16 threads of a warp", "z": "Invalid"}

# By PTX and by C++: the same counters.
COUNTED = """
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void by_ptx(float4* o, const float4* in, int* sum) {
  __shared__ float4 tile[32];
  float4 v; int i = threadIdx.x;
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(in + 2 * i));
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" :: "r"(at(tile + i)), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v.x) : "r"(at(&tile[i].x)));  // a conflict
  asm volatile("red.global.add.s32 [%0], 1;" :: "l"(sum) : "memory");
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(o + i), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}
__global__ void by_cpp(float4* o, const float4* in, int* sum) {
  __shared__ float4 tile[32];
  int i = threadIdx.x;
  float4 v = in[2 * i];
  tile[i] = v;
  __syncthreads();
  v.x = tile[i].x;
  atomicAdd(sum, 1);
  o[i] = v;
}
__global__ void matrices(float* o) {
  __shared__ __align__(16) short padded[8][72], plain[8][64];
  int i = threadIdx.x;
  for (int k = i; k < 8 * 72; k += 32) padded[0][k] = 0;
  for (int k = i; k < 8 * 64; k += 32) plain[0][k] = 0;
  __syncthreads();
#ifdef PADDED
  unsigned row = at(&padded[i % 8][i / 8 * 8]);
#else
  unsigned row = at(&plain[i % 8][i / 8 * 8]);
#endif
  float a, b, c, d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(row));
  o[i] = a + b + c + d;
}
int main() {
  float4 *o, *in; int* sum;
  cudaMalloc(&o, 512); cudaMalloc(&in, 1024); cudaMalloc(&sum, 4);
  cudaMemset(in, 0, 1024); cudaMemset(sum, 0, 4);
  by_ptx<<<1, 32>>>(o, in, sum); by_cpp<<<1, 32>>>(o, in, sum); matrices<<<1, 32>>>((float*)o);
  cudaDeviceSynchronize(); cudaFree(o); cudaFree(in); cudaFree(sum);
}
"""
# Each on its own line; what is said of it.
REFUSED = [
    ('asm volatile("mov.u32 %0, %1;\\n wgmma.fence.sync.aligned;" : "=r"(i) : "r"(i));', '"wgmma.fence.sync.aligned" is not emulated'),
    ('asm volatile("mov.u32 %0, %%foo;" : "=r"(i));', '"%foo" is no operand that is known'),
    ('asm volatile("mov.u32 %0, 1" : "=r"(i));', "';' is missing"),
    ('asm volatile("add.rz.s32 %0, %0, %0;" : "+r"(i));', '"add.rz.s32" is not emulated: not with .rz'),
    ('asm volatile("ld.param.u32 %0, [%1];" : "=r"(i) : "l"(o));', '"ld.param.u32" is not emulated: not with .param'),
    ('asm volatile("ld.global.u32 %0, [%1];" : "=r"(i) : "r"(i));', "an address that is not of shared memory has 64 bits"),
    ('asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%0}, {%0}, {%0};" : "+f"(x));',
     '"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" wants 4 registers where 1 are given'),
    ('asm volatile("cp.async.bulk.commit_group;");', '"cp.async.bulk.commit_group" is not emulated: not with .bulk'),
    ('asm volatile("bra NOWHERE;");', "label NOWHERE is missing"),
    ('asm volatile("@p mov.u32 %0, 1;" : "=r"(i));', '"p" is no operand that is known'),
    ('asm volatile("{ mov.u32 %0, 1;" : "=r"(i));', "a brace is not closed"),
]


class Ptx(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def build(self, source, *options):
        return subprocess.run([BUILD / "toolkit/bin/nvcc", "-std=c++20", *options, "-o", "program", source], capture_output=True,
                              text=True, check=False)

    def build_text(self, text, *options):
        Path("p.cu").write_text(text)
        return self.build("p.cu", *options)

    def run_program(self, *arguments, **environment):
        return subprocess.run(["./program", *arguments], capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, **environment})

    def test_programs(self):
        for name in ("instructions", "matrices"):
            made = self.build(PROGRAMS / f"{name}.cu")
            self.assertEqual(made.returncode, 0, made.stderr)
            for schedule in ("forward", "reverse", "random:3"):
                with self.subTest(name, schedule=schedule):
                    ran = self.run_program(WARPBOOK_SCHEDULE=schedule)
                    self.assertEqual((ran.stdout, ran.returncode, ran.stderr), ("0 wrong\n", 0, NOTHING))

    def test_mistakes_are_found(self):
        made = self.build_text(MISTAKES)
        self.assertEqual(made.returncode, 0, made.stderr)
        for mistake, words in TOLD.items():
            line = next(i for i, text in enumerate(MISTAKES.splitlines(), 1) if text.endswith(f"  // {mistake}"))
            with self.subTest(mistake):
                ran = self.run_program(mistake)
                self.assertIn(words, ran.stderr)
                self.assertRegex(ran.stderr, rf"p\.cu:{line}\b")
                self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)
                self.assertEqual(self.run_program(mistake, "fixed").stderr, NOTHING)

    def test_accesses_count_as_those_of_cpp(self):
        made = self.build_text(COUNTED)
        self.assertEqual(made.returncode, 0, made.stderr)
        ran = self.run_program(WARPBOOK_COUNTERS="counters.json")
        self.assertEqual(ran.stderr, NOTHING)
        ptx, cpp, plain = (launch["counters"] for launch in json.loads(Path("counters.json").read_text()))
        memory = [name for name in cpp if name.startswith(("l1tex", "lts", "dram"))]
        self.assertGreater(len(memory), 8)
        self.assertEqual({name: ptx[name] for name in memory}, {name: cpp[name] for name in memory})
        self.assertEqual(self.build_text(COUNTED, "-DPADDED").returncode, 0)
        self.run_program(WARPBOOK_COUNTERS="counters.json")
        padded = json.loads(Path("counters.json").read_text())[2]["counters"]
        wavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
        self.assertEqual((padded[wavefronts], plain[wavefronts]), (4, 32))  # 4 matrices, their rows in one bank or in 8

    def test_what_is_not_emulated_is_refused(self):
        lines = ["__global__ void k(int* o, float x) {", "int i = threadIdx.x;", *(line for line, _ in REFUSED),
                 "asm volatile(\"\"); o[0] = i + x; }", "int main() { k<<<1, 1>>>(nullptr, 0); }"]
        made = self.build_text("\n".join(lines) + "\n")
        self.assertEqual(made.returncode, 1)
        errors = [line for line in made.stderr.splitlines() if " error: " in line]
        self.assertEqual(len(errors), len(REFUSED), made.stderr)
        for number, (error, (_, said)) in enumerate(zip(errors, REFUSED), 3):
            self.assertTrue(error.startswith(f"p.cu:{number}:"), error)
            self.assertIn("inline PTX: ", error)
            self.assertIn(said, error)


if __name__ == "__main__":
    unittest.main()
