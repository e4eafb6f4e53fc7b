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

# Each kernel has a mistake, at the line that says its name, where WRONG is 1.
CLUSTER = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(4, 1, 1) first(int* out) {
  __shared__ int value[32];
  auto cluster = cg::this_cluster();
  value[threadIdx.x] = blockIdx.x;  // other first
  if (!WRONG) cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(value, cluster.block_rank() ^ 1)[threadIdx.x];  // first
  cluster.sync();
}
__global__ void __cluster_dims__(4, 1, 1) last(int* out) {
  __shared__ int value[32];
  auto cluster = cg::this_cluster();
  value[threadIdx.x] = blockIdx.x;
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(value, cluster.block_rank() ^ 1)[threadIdx.x];  // last
  if (!WRONG) cluster.sync();
}
__global__ void __cluster_dims__(4, 1, 1) turns(int* out) {
  __shared__ int value[32];
  auto cluster = cg::this_cluster();
  value[threadIdx.x] = blockIdx.x;
  cluster.sync();
  const int next = cluster.map_shared_rank(value, (cluster.block_rank() + 1) % 4)[threadIdx.x];  // other turns
  if (!WRONG) cluster.sync();
  value[threadIdx.x] = next;  // turns
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = value[threadIdx.x];
}
__global__ void __cluster_dims__(4, 1, 1) counter(int* out) {
  __shared__ int value;
  auto cluster = cg::this_cluster();
  value = 0;
  cluster.sync();
  int* shared = cluster.map_shared_rank(&value, 0);
  if (threadIdx.x == 0 && WRONG) *shared += 1;  // counter
  if (threadIdx.x == 0 && !WRONG) atomicAdd(shared, 1);
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = value;
}
__global__ void __cluster_dims__(4, 1, 1) hidden(int* out) {
  __shared__ int value;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) value = 0;  // hidden
  if (WRONG) __syncthreads();
  else cluster.sync();
  atomicAdd(cluster.map_shared_rank(&value, 0), 1);
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = value;
}
__global__ void __cluster_dims__(4, 1, 1) unwritten(int* out) {
  __shared__ int value[32];
  auto cluster = cg::this_cluster();
  if (cluster.block_rank() != 2 || !WRONG) value[threadIdx.x] = 1;
  cluster.sync();
  if (cluster.block_rank() == 0) out[threadIdx.x] = cluster.map_shared_rank(value, 2)[threadIdx.x];  // unwritten
  cluster.sync();
}
__global__ void __cluster_dims__(4, 1, 1) beyond(int* out) {
  __shared__ int value[32];
  auto cluster = cg::this_cluster();
  cluster.sync();
  cluster.map_shared_rank(value, cluster.block_rank() ^ 1)[threadIdx.x + WRONG] = 1;  // beyond
  cluster.sync();
  out[threadIdx.x] = value[threadIdx.x];
}
__global__ void __cluster_dims__(4, 1, 1) dynamic(int* out) {
  extern __shared__ int own[];
  auto cluster = cg::this_cluster();
  cluster.sync();
  cluster.map_shared_rank(own, cluster.block_rank() ^ 1)[threadIdx.x + WRONG] = 1;  // dynamic
  cluster.sync();
  out[threadIdx.x] = own[threadIdx.x];
}
__global__ void __cluster_dims__(4, 1, 1) rank(int* out) {
  __shared__ int value[32];
  auto cluster = cg::this_cluster();
  cluster.sync();
  cluster.map_shared_rank(value, WRONG ? 4 : (cluster.block_rank() + 1) % 4)[threadIdx.x] = 1;  // rank
  cluster.sync();
  out[threadIdx.x] = value[threadIdx.x];
}
int main() {
  int* out;
  cudaMalloc(&out, 256 * sizeof(int));
  KERNEL<<<8, 32, 128>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
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

    def test_mistakes_of_clusters(self):
        for kernel, words in (
            ("first", "Race reported between"), ("turns", "cluster.sync() orders what its blocks do"),
            ("counter", "Race reported between"), ("hidden", "Race reported between Write"),
            ("last", "in shared memory of the cluster's block"),
            ("unwritten", "Uninitialized __shared__ memory read"),
            ("beyond", "0 bytes after the end of shared array 'value' of 128 bytes of the cluster's block"),
            ("dynamic", "0 bytes after the end of 128 bytes of dynamic shared memory of the cluster's block"),
            ("rank", "Block 4 asked for, of a cluster of 4"),
        ):
            for wrong in (True, False):
                with self.subTest(kernel=kernel, wrong=wrong):
                    text = CLUSTER.replace("KERNEL", kernel)
                    ran = self.run_text(text, "-arch=sm_90", f"-DWRONG={wrong:d}")
                    if not wrong:
                        self.assertEqual((ran.stderr, ran.returncode), (NOTHING, 0))
                        continue
                    self.assertIn(words, ran.stderr)
                    self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)
                    lines = text.splitlines()
                    line = next(i for i, one in enumerate(lines, 1) if one.endswith(f"// {kernel}"))
                    self.assertRegex(ran.stderr, rf"p\.cu:{line}( and |\n)")


if __name__ == "__main__":
    unittest.main()
