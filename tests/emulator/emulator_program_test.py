#!/usr/bin/env python3
"""A reader's own program on the emulator: what scripts/emulate.py accepts, how it fails, what it leaves of the text."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
sys.path.insert(0, str(ROOT / "common" / "emulator" / "driver"))
from launch_rewriter import rewrite  # noqa: E402

EVERY_LAUNCH = r"""
#include <cstdio>
#include <vector>
#include "own.h"
__constant__ int table[4];
extern __shared__ int file_scope[];
namespace deep { template <class T, int N> __global__ void add(T* out, T by, int times = 2) {
  extern __shared__ T local[];
  local[threadIdx.x] = by;
  file_scope[threadIdx.x] += N;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] += local[threadIdx.x] * times + table[3];
} }
struct Big { int values[5]; double d; };
__global__ void by_value(int* out, Big big, char c) { out[0] = big.values[4] + static_cast<int>(big.d) + c; }
__global__ void overloaded(int* out, float) { out[0] = 1; }
__global__ void overloaded(int* out, int) { out[0] = 2; }
template <class T> __global__ void deduced(T* out, const T* in, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = in[0];
}
#define LAUNCH(kernel, ...) kernel<<<1, 1>>>(__VA_ARGS__)
int show(const char* name, const int* data) {
  int value = -1;
  cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost);
  return std::printf("%s %d\n", name, value);
}
int main(int argc, char** argv) {
  int host[4] = {0, 0, 0, 5};
  cudaMemcpyToSymbol(table, host, sizeof host);
  int* d; int* e;
  cudaMalloc(&d, 256 * sizeof(int)); cudaMalloc((void**)&e, 256 * sizeof(int));
  cudaMemset(d, 0, 256 * sizeof(int)); cudaMemset(e, 0, 256 * sizeof(int));
  deep::add<int, (4 > 3) ? 7 : 8><<<2, dim3(64, 1), 64 * sizeof(int)>>>(d, 10); show("default argument", d);
  ::deep::add<int, 1>
      <<<2,  // blocks
         64, 64 * sizeof(int), 0>>>  /* and a stream */
      (d, 10, 1);
  show("several lines", d);
  Big big = {{1, 2, 3, 4, 50}, 0.5};
  by_value<<<1, 1>>>(d, big, 'a'); show("by value", d);
  overloaded<<<1, 1>>>(d, 1.0f); show("float", d); overloaded<<<1, 1>>>(d, 1); show("int", d);
  void (*pointers[])(int*, const int*, int) = {deduced<int>, deduced<int>};
  if (argc > 1) pointers[1]<<<1, 32>>>(e, d, 3); else (*pointers)<<<1, 32>>>(e, d, 3);
  show("pointer", e);
  deduced<<<1, 32>>>(d + 8, e, 1); show("deduced", d + 8);
  LAUNCH(overloaded, d, 1.0f); show("macro", d);
  std::printf("%s %s\n", "k<<<1, 2>>>(x)", R"(k<<<1, 2>>>(x))");  // k<<<1, 2>>>(x)
  from_header(d); show("header", d);
  cudaStream_t stream; cudaGraph_t graph; cudaGraphExec_t executable;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  by_value<<<1, 1, 0, stream>>>(d, Big{{0, 0, 0, 0, 7}, 0}, 0);
  cudaStreamEndCapture(stream, &graph);
  show("before the graph", d);
  cudaGraphInstantiate(&executable, graph, 0); cudaGraphLaunch(executable, stream); show("graph", d);
  cudaGraphExecDestroy(executable); cudaGraphDestroy(graph); cudaStreamDestroy(stream);
  std::printf("arguments %d %s\n", argc, argc > 1 ? argv[1] : "");
  cudaFree(d); cudaFree(e);
  return argc > 2 ? 5 : 0;
}
"""
OWN_HEADER = """
__global__ void header_kernel(int* out) { out[0] = 77; }
inline void from_header(int* out) { header_kernel<<<1, 1>>>(out); }
"""
EXPECTED = """default argument 39
several lines 55
by value 147
float 1
int 2
pointer 2
deduced 2
macro 1
k<<<1, 2>>>(x) k<<<1, 2>>>(x)
header 77
before the graph 77
graph 7
"""


def emulate(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WARPBOOK_")}
    return subprocess.run([sys.executable, str(ROOT / "scripts" / "emulate.py"), "--build", str(BUILD), *arguments],
                          capture_output=True, text=True, check=False, timeout=120, env=clean | environment)


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.old = os.getcwd()
        os.chdir(self.folder.name)
        self.addCleanup(os.chdir, self.old)

    def run_text(self, text, *arguments, name="program.cu", **environment):
        Path(name).write_text(text)
        return emulate("--output", "here", name, *arguments, **environment)

    def test_every_form_of_launch(self):
        Path("own.h").write_text(OWN_HEADER)
        ran = self.run_text(EVERY_LAUNCH)
        self.assertEqual(ran.stdout, EXPECTED + "arguments 1 \n", ran.stderr)
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(ran.stderr, "========= ERROR SUMMARY: 0 errors\n")
        ran = emulate("--output", "here", "program.cu", "--", "a b", "c")
        self.assertIn("arguments 3 a b\n", ran.stdout)
        self.assertEqual(ran.returncode, 5)  # the program's own

    def test_unoptimised(self):
        Path("own.h").write_text(OWN_HEADER)
        Path("program.cu").write_text(EVERY_LAUNCH)
        ran = emulate("--debug", "--output", "here", "program.cu")
        self.assertEqual(ran.stdout, EXPECTED + "arguments 1 \n", ran.stderr)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_unoptimised_text_of_the_program_is_no_kernels_access(self):
        """The program then holds functions of std::string that tell of their accesses, and reports are made by these."""
        kernels = (("if (threadIdx.x < 40) __syncthreads(); else { __syncthreads(); p[0] = 1; }", "Divergent"),
                   ("__syncwarp(2);", "the mask does not name"), ("__trap();", "Trap in kernel"),
                   ("assert(p == nullptr);", "Assertion"),
                   ("p[1] = 1;", "of allocation 1 of 4 bytes, allocated at program.cu:13, "))
        Path("program.cu").write_text(
            "#include <cassert>\n#include <string>\n__global__ void k(int* p, int which) {\n  switch (which) {\n"
            + "".join(f"  case {i}: {kernel} break;\n" for i, (kernel, _) in enumerate(kernels))
            + "  }\n}\nint main(int, char** argv) {\n  int* p; cudaMalloc(&p, 4);\n  k<<<1, 64>>>(p, *argv[1] - '0');\n"
            "  std::string text(21, 'a');\n  text += text;\n"
            "  return cudaDeviceSynchronize() == cudaSuccess ? 0 : int(text.size());\n}\n")
        made = emulate("--debug", "--no-run", "--output", "here", "program.cu")
        self.assertEqual(made.returncode, 0, made.stderr)
        for i, (_, told) in enumerate(kernels):
            with self.subTest(told=told):
                ran = subprocess.run(["./here", str(i)], capture_output=True, text=True, check=False, timeout=120)
                self.assertEqual(ran.returncode, 42, ran.stderr)
                self.assertIn(told, ran.stderr)
                self.assertIn(f"program.cu:{5 + i}", ran.stderr)

    def test_a_thread_that_outgrows_its_stack_is_stopped(self):
        """What it writes lies in the stack of another thread that waits at the barrier."""
        ran = self.run_text("""
            __global__ void k(int* p, int n) {
              __syncthreads();
              if (threadIdx.x == 63) {
                volatile char local[800 << 10];
                for (int i = 0; i < n; ++i) local[i << 10] = 1;
                *p = local[0];
              }
              __syncthreads();
            }
            int main() {
              int* p; cudaMalloc(&p, 4);
              k<<<1, 64>>>(p, 1);
              return cudaDeviceSynchronize();
            }""")
        self.assertEqual(ran.returncode, 128 + signal.SIGSEGV, ran.stderr)
        self.assertRegex(ran.stderr, r"Kernel ended by signal 11 \(.*: the stack is used up\)\n=========     at program.cu:\d")
        self.assertIn("on its stack: 640 KiB here, 512 KiB at most on a GPU", ran.stderr)

    def test_of_one_kernels_races_some_are_printed(self):
        lines = "".join(f"if (t < 32) v[t] += v[t + {step}];\n" for step in (64, 32, 16, 8, 4, 2, 1))
        text = f"""
            __global__ void k(int* p) {{
              __shared__ volatile int v[128];
              int t = threadIdx.x;
              v[t] = v[t + 64] = t;
              __syncthreads();
              {lines}
              if (t == 0) *p = v[0];
            }}
            int main() {{
              int* p; cudaMalloc(&p, 4);
              k<<<1, 64>>>(p);
              cudaDeviceSynchronize(); cudaFree(p);
            }}"""
        ran = self.run_text(text, WARPBOOK_REPORTS="reports.json")
        found = len(json.loads(Path("reports.json").read_text())["mistakes"])
        self.assertGreater(found, 4)
        self.assertEqual(ran.stderr.count("Race reported"), 4, ran.stderr)
        self.assertIn(f"========= {found - 4} more race{'s' * (found > 5)} in k, between other lines", ran.stderr)
        self.assertIn(f"ERROR SUMMARY: {found} errors\n", ran.stderr)

    def test_mistakes_make_the_status(self):
        text = "__global__ void k(int* p) { p[threadIdx.x] = 1; }\nint main() {\n  k<<<1, 1>>>(nullptr);\n}\n"
        ran = self.run_text(text)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("Invalid __global__ write of size 4 bytes", ran.stderr)
        self.assertIn("program.cu:1\n", ran.stderr)
        self.assertIn("ERROR SUMMARY: 1 error\n", ran.stderr)
        ran = self.run_text(text, WARPBOOK_REPORTS="reports.json")
        self.assertEqual([m["kind"] for m in json.loads(Path("reports.json").read_text())["mistakes"]],
                         ["out_of_bounds"])
        ran = self.run_text(text, WARPBOOK_CHECK="bounds")
        self.assertEqual(ran.returncode, 2)
        self.assertIn('WARPBOOK_CHECK: "bounds" is no list of', ran.stderr)

    def test_counters(self):
        self.run_text("__global__ void k(int* p) { p[threadIdx.x] = 1; }\nint main() { int* p; cudaMalloc(&p, 128);\n"
                      "k<<<1, 32>>>(p); cudaFree(p); }\n", WARPBOOK_COUNTERS="counters.json")
        launches = json.loads(Path("counters.json").read_text())
        self.assertEqual([launch["kernel"] for launch in launches], ["k"])
        self.assertEqual(launches[0]["counters"]["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"], 4)

    def test_errors_name_the_readers_lines(self):
        ran = self.run_text("__global__ void k(int n) {}\n\nint main() {\n  k<<<1,\n      missing>>>(3);\n"
                            "  k<<<1, 1>>>(1, wrong); k<<<1, 1>>>(2, 3);\n}\n")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("program.cu:5:7: error: use of undeclared identifier 'missing'\n    5 |       missing>>>(3);\n"
                      "      |       ^\n", ran.stderr)
        self.assertIn("program.cu:6:18: error: use of undeclared identifier 'wrong'", ran.stderr)
        self.assertIn("program.cu:6:26: error: no matching function for call to 'k'", ran.stderr)
        self.assertIn("    6 |   k<<<1, 1>>>(1, wrong); k<<<1, 1>>>(2, 3);\n", ran.stderr)

    def test_what_is_not_there_is_named(self):
        for include in ("cudnn.h", "cuda/ptx", "cuda/memory_resource"):
            ran = self.run_text(f"#include <{include}>\nint main() {{}}\n")
            self.assertEqual(ran.returncode, 1)
            self.assertIn(f"error: the emulator has no <{include}>", ran.stderr)
        for body, name in [("cudaExternalMemory_t memory;", "cudaExternalMemory_t"),
                           ("cudaMallocMipmappedArray(nullptr);", "cudaMallocMipmappedArray")]:
            ran = self.run_text("int main() { " + body + " }\n")
            self.assertEqual(ran.returncode, 1)
            self.assertIn(f"'{name}'", ran.stderr)

    def test_kernels_that_are_guarded_for_the_device(self):
        ran = self.run_text("#include <cstdio>\n__global__ void k(int* p) {\n"
                            "#if __CUDA_ARCH__ >= 700\n  *p = 4;\n#endif\n}\n"
                            "int main() { int* p; int h = 0; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); k<<<1, 1>>>(p);\n"
                            "cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); std::printf(\"%d\", h); cudaFree(p); }\n")
        self.assertEqual((ran.stdout, ran.returncode), ("4", 0), ran.stderr)

    def test_what_means_something_else_in_kernels(self):
        ran = self.run_text("""#include <cstdio>
#include <ctime>
#include <vector>
struct List { int value; List* next; };
__device__ List* head;
__global__ void push(int* ok) {
  List* item = new List{static_cast<int>(threadIdx.x), nullptr};
  for (;;) {
    item->next = head;
    if (atomicCAS((unsigned long long*)&head, (unsigned long long)item->next, (unsigned long long)item) ==
        (unsigned long long)item->next) break;
  }
  const clock_t begin = clock();
  while (clock() - begin < 1000) {}
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  ok[threadIdx.x] = lane;
}
__global__ void sum(int* out) {
  int* copy = static_cast<int*>(malloc(64 * sizeof(int)));
  int n = 0;
  for (List* item = head; item != nullptr; ) {
    copy[n++] = item->value; List* next = item->next; delete item; item = next;
  }
  for (int i = 0; i < n; ++i) *out += copy[i];
  free(copy);
}
__global__ void beyond(int n) { int* own = static_cast<int*>(malloc(4 * sizeof(int))); own[n] = 1; free(own); }
int main() {
  std::vector<int> host(64);  // the host's own memory is as ever
  const std::clock_t begin = std::clock();
  int* d; cudaMalloc(&d, 65 * sizeof(int)); cudaMemset(d, 0, 65 * sizeof(int));
  push<<<1, 64>>>(d); sum<<<1, 1>>>(d + 64);
  int total = 0; cudaMemcpy(&total, d + 64, sizeof total, cudaMemcpyDeviceToHost);
  cudaMemcpy(host.data(), d, 64 * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d %d %d\\n", total, host[33], std::clock() - begin < 1000000000);
  cudaFree(d);
  beyond<<<1, 1>>>(4);
}
""")
        self.assertEqual(ran.stdout, "2016 1 1\n", ran.stderr)
        self.assertEqual(ran.stderr.count("Invalid __global__ write of size 4 bytes"), 1, ran.stderr)
        self.assertIn("at beyond in program.cu:28", ran.stderr)

    def test_bad_arguments(self):
        for arguments, says in [([], "FILE is missing"), (["no.cu"], "FILE=no.cu: there is no such file"),
                                (["."], "FILE=.: there is no such file"),
                                (["notes.txt"], "FILE=notes.txt: a CUDA source file is wanted, NAME.cu"),
                                (["host.cpp"], "FILE=host.cpp: a CUDA source file is wanted, NAME.cu")]:
            for name in ("notes.txt", "host.cpp"):
                Path(name).write_text("int main() {}\n")
            ran = emulate(*arguments)
            self.assertEqual(ran.returncode, 2)
            self.assertTrue(ran.stderr.startswith("error: " + says), ran.stderr)
            self.assertEqual(ran.stderr.count("\n"), 1)

    def test_through_make(self):
        Path("program.cu").write_text("#include <cstdio>\n"
                                      "__global__ void k() { printf(\"thread %u\\n\", threadIdx.x); }\n"
                                      "int main(int n, char** a) {\n"
                                      "k<<<1, 2>>>(); cudaDeviceSynchronize(); puts(a[n - 1]); }\n")
        ran = subprocess.run(["make", "-s", "emulate", f"FILE={os.path.abspath('program.cu')}", "ARGS=seven"], cwd=ROOT,
                             capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual(ran.stdout, "thread 0\nthread 1\nseven\n", ran.stderr)


class Rewriter(unittest.TestCase):
    def test_lines_stay(self):
        for text in [EVERY_LAUNCH, "k<<<1,\n2\n>>>(\nx)\n", "/* <<< \n */ 'a' \"<<<\\\"\" k<<<1, 2>>>()"]:
            self.assertEqual(rewrite(text).text.count("\n"), text.count("\n"))

    def test_what_is_no_launch_stays(self):
        for text in ["// k<<<1, 2>>>(x)", '"k<<<1, 2>>>(x)"', 'R"--(k<<<1, 2>>>(x))--"', "std::cout << a << b;",
                     "A<B<C<int>>> x;", "x >>= 1; y <<= 2;", "k<<<1, 2;", "k<<<1, 2>>>;", "<<<1, 2>>>(x)",
                     "__shared__ int tile[32]; extern int other;"]:
            result = rewrite(text)
            self.assertEqual((result.text, result.launches, result.arrays), (text, 0, 0))

    def test_callees(self):
        for callee in ["k", "::k", "a::b::k", "k<int>", "k<A<int>, (1 > 2)>", "A<int>::k<3>", "(*p)", "(c ? a : b)",
                       "kernels[i]", "kernels[i + f(1)]", "object.kernel", "object->kernel", "object->template k<1>",
                       "choose(1, 2)", "k<sizeof(int) * 2>", "k<f<3>()>", "k<T, N << 2>", "k<(a <= b), c>", "k_##type##_n",
                       "a::k_ ## type<n>"]:
            for before in ["", "if (x) ", "else ", "return ", "x, ", "a = b < c; ", "{ ", "for (;;) ", "label: "]:
                result = rewrite(f"{before}{callee}<<<g, b>>>(x, y);")
                self.assertEqual(result.text, f"{before}(::warpbook::emulator::configure(g, b), {callee}(x, y), "
                                              "::warpbook::emulator::launch());")

    def test_a_main_without_a_type(self):
        for before in ["", "#define N 3\n", "int n;\n", "void f() {}\n", "#include <cstdio>\n// main() {}\n"]:
            self.assertEqual(rewrite(before + "main(void) {}").text, before + "int main(void) {}")
        for text in ["int main() {}", "int\nmain() {}", "auto main() -> int {}", "void f() { return main(); }", "a.main() {}"]:
            self.assertEqual(rewrite(text).text, text)

    def test_origins(self):
        text = "int a;\n  k<<<g, b>>>(x);\n"
        result = rewrite(text)
        line = result.text.splitlines()[1]
        for name in ("g,", "b)", "k(", "x)"):
            self.assertEqual(result.origin(2, line.index(name) + 1), (2, text.splitlines()[1].index(name[0]) + 1))


if __name__ == "__main__":
    unittest.main()
