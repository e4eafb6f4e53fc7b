#!/usr/bin/env python3
"""The compiler driver with nvcc's options: from the build tree, from where it was installed, under make and CMake."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
NVCC = BUILD / "toolkit" / "bin" / "nvcc"
NOTHING = "========= ERROR SUMMARY: 0 errors\n"

SCALE = """#include "scale.h"
__constant__ float factor;
__global__ void scale_kernel(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
void scale(float* x, int n, float by) {
  cudaMemcpyToSymbol(factor, &by, sizeof by);
  scale_kernel<<<(n + 63) / 64, 64>>>(x, n);
}
"""
SCALE_H = """#pragma once
void scale(float* x, int n, float by);
#ifdef __cplusplus
extern "C"
#endif
int from_c(int x);
"""
MAIN = """#include <cuda_runtime.h>
#include <cstdio>
#include "scale.h"
int main() {
  float host[100] = {0, 1.5f}; float* x;
  if (cudaMalloc(&x, sizeof host) != cudaSuccess) return 3;
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  scale(x, 100, 2);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%g %d\\n", host[1], from_c(20));
  cudaFree(x);
}
"""
FROM_C = "#include \"scale.h\"\nint from_c(int x) { int class = x; return class + OFFSET; }\n"  # No C++.
EXPECTED = "3 21\n"

MAKEFILE = """CUDA_PATH ?= /usr/local/cuda
NVCC ?= $(CUDA_PATH)/bin/nvcc
ARCH = -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=compute_90
NVCCFLAGS = -m64 -O3 -std=c++14 $(ARCH) --ptxas-options=-v -lineinfo -Xcompiler -Wall,-Wextra --threads 0
all: program
%.o: %.cu
\t$(NVCC) $(NVCCFLAGS) -I$(CUDA_PATH)/include -I. -MD -o $@ -c $<
%.o: %.cpp
\t$(CXX) -O2 -I$(TOOLKIT)/include -I. -o $@ -c $<
libc_part.a: from_c.c
\t$(NVCC) -DOFFSET=1 -Iinclude -c $< -o from_c.o
\t$(NVCC) -lib from_c.o -o $@
program: scale.o main.o libc_part.a
\t$(NVCC) $(NVCCFLAGS) -o $@ scale.o main.o -L. -lc_part -L$(CUDA_PATH)/lib64 -lcudart -lcublas
"""

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C CXX CUDA)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
add_library(scale STATIC scale.cu)
set_target_properties(scale PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
target_compile_options(scale PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo --use_fast_math>)
add_executable(program main.cpp from_c.c)
target_compile_definitions(program PRIVATE OFFSET=1)
target_link_libraries(program PRIVATE scale CUDA::cudart)
"""

# A stand-in for a toolkit of NVIDIA's: what the compiler must not find.
FALSE_TOOLKIT = "#error a header of another toolkit\n"


def call(*words, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WARPBOOK_")}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=300,
                          env=clean | environment)


class Driver(unittest.TestCase):
    nvcc = NVCC

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)

    def write_project(self):
        for name, text in (("scale.cu", SCALE), ("scale.h", SCALE_H), ("main.cpp", MAIN), ("from_c.c", FROM_C),
                           ("Makefile", MAKEFILE), ("CMakeLists.txt", CMAKE)):
            Path(name).write_text(text)

    def compiles(self, *words, **environment):
        made = call(self.nvcc, *words, **environment)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made

    def runs(self, program="./program", expected=EXPECTED, errors=NOTHING):
        ran = call(program)
        self.assertEqual((ran.stdout, ran.stderr, ran.returncode), (expected, errors, 0))


class Commands(Driver):
    def test_what_stands_in_front_is_compiled_once(self):
        self.write_project()
        words = ("-c", "-o", "scale.o", "-Iown", "-Xcompiler", f"-DTEST_{os.getpid()}", "scale.cu")
        # A macro of the program's own is no reason to compile it again; one that the headers ask for is.
        macros = ([], [], ["-DMINE=1"], ["-DNDEBUG"], ["-DNDEBUG", "-UMINE"])
        used = ["-include-pch" in self.compiles("-v", *words, *more).stderr for more in macros]
        self.assertEqual(used, [False, True, True, False, True])
        # A file by the name of a header that stands there would be read in its place.
        Path("own").mkdir()
        Path("own/assert.h").write_text("#error the program's own\n")
        made = call(self.nvcc, *words)
        self.assertIn("assert.h:1:2: error: the program's own", made.stderr)

    def test_what_was_compiled_before_a_header_changed_is_not_used(self):
        self.write_project()
        shutil.copytree(BUILD / "toolkit", "toolkit", ignore=shutil.ignore_patterns("precompiled", "cccl", "lib*"))
        Path("toolkit/lib").symlink_to(BUILD / "toolkit" / "lib")
        nvcc, header = Path("toolkit/bin/nvcc").resolve(), Path("toolkit/include/cuda_runtime.h")
        for number in range(3):
            if number == 2:
                header.write_text(header.read_text() + "inline int added_later() { return 1; }\n")
                Path("scale.cu").write_text(SCALE + "int later() { return added_later(); }\n")
            made = call(nvcc, "-c", "scale.cu")
            self.assertEqual((made.returncode, made.stderr), (0, ""))
        # Of as many bytes as before, in a header that another one includes.
        text = header.read_text() + "constexpr int changed() { return 1; }\n"
        for later, value in enumerate((1, 1, 1, 2)):
            header.write_text(text.replace("changed() { return 1", f"changed() {{ return {value}"))
            os.utime(header, (time.time(), time.time() + later))  # clang tells times apart by whole seconds.
            Path("late.cu").write_text(f"#include <cooperative_groups.h>\nstatic_assert(changed() == {value});\n")
            made = call(nvcc, "-c", "late.cu")
            self.assertEqual((made.returncode, made.stderr), (0, ""))

    def test_sources_of_all_kinds_at_once(self):
        self.write_project()
        self.compiles("-DOFFSET=1", "scale.cu", "main.cpp", "from_c.c", "-o", "program")
        self.runs()

    def test_files_without_kernels_go_to_another_compiler(self):
        Path("sum.cu").write_text("#include <cuda_fp16.h>\n__global__ void k(__half* x) { x[threadIdx.x] = x[threadIdx.x] + __float2half(0.5f); }\n"
                                  "void add(__half* x, int n) { k<<<1, n>>>(x); }\n")
        headers = ("cuda_runtime_api builtin_types cublasLt cublas_v2 cuComplex cuda cuda_bf16 cuda_fp16 cuda_profiler_api cuda_runtime "
                   "cooperative_groups cufft curand curand_kernel cusolverDn cusparse device_launch_parameters driver_types library_types math_constants mma "
                   "nvToolsExt vector_functions vector_types")
        Path("main.cpp").write_text("".join(f"#include <{name}.h>\n" for name in headers.split()) + """#include <cstdio>
            void add(__half* x, int n);
            int main() {
              __half host[4], *x;
              for (int i = 0; i < 4; ++i) host[i] = __float2half(i * 65504.f / 4);
              cudaMalloc(&x, sizeof host);
              cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
              add(x, 4);
              cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
              cudaFree(x);
              cublasHandle_t handle;
              cublasCreate(&handle);
              cublasDestroy(handle);
              std::printf("%g %g %g\\n", __half2float(host[0]), float(host[3]), float(__half(1.0 + 1.0 / 2048 + 1e-12)));
              std::printf("%d %g\\n", __half(1) < host[1], float(__nv_bfloat16(3.14159f)));
            }""")
        self.compiles("-c", "sum.cu")
        for standard in ("c++11", "c++14", "c++17", "gnu++20"):
            made = call("g++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", f"-I{BUILD}/toolkit/include", "main.cpp", "sum.o", "-o", "program",
                        f"-L{BUILD}/toolkit/lib64", f"-Wl,-rpath,{BUILD}/toolkit/lib64", "-lcublas", "-lcudart")
            self.assertEqual((made.returncode, made.stderr), (0, ""), standard)
            self.runs(expected="0.5 49120 1.00098\n1 3.14062\n")

    def test_c_files_call_the_runtime_and_libraries(self):
        Path("add.cu").write_text("__global__ void k(float4* x, float4 y) { x->x += y.x; x->w += y.w; }\n"
                                  "extern \"C\" const void* kernel() { return (const void*)k; }\n")
        Path("main.c").write_text("""#include <cublasLt.h>
            #include <cublas_v2.h>
            #include <cuda_runtime.h>
            #include <cufft.h>
            #include <curand.h>
            #include <cusolverDn.h>
            #include <cusparse.h>
            #include <stdio.h>
            const void* kernel(void);
            int main(void) {
              struct cudaDeviceProp properties;
              struct cudaFuncAttributes attributes;
              enum cudaMemcpyKind back = cudaMemcpyDeviceToHost;
              float4 host = {1, 2, 3, 4}, y = make_float4(0.5f, 0, 0, 0.25f), *x;
              void* arguments[] = {&x, &y};
              float sum = 0;
              cublasHandle_t cublas;
              dim3 grid = {1, 1, 1};
              cudaEvent_t event;
              cudaStream_t stream;
              if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess || cudaMalloc((void**)&x, sizeof host) != cudaSuccess) return 1;
              if (cudaFuncGetAttributes(&attributes, kernel()) != cudaSuccess) return 2;
              cudaEventCreate(&event);
              cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
              cudaMemcpy(x, &host, sizeof host, cudaMemcpyHostToDevice);
              cudaLaunchKernel(kernel(), grid, grid, arguments, 0, 0);
              cudaMemcpy(&host, x, sizeof host, back);
              cublasCreate(&cublas);
              cublasSasum(cublas, 4, (float*)x, 1, &sum);
              cublasDestroy(cublas);
              printf("%g %g %g %s\\n", host.x, host.w, sum, cudaGetErrorString(cudaGetLastError()));
              cudaFree(x);
              cudaEventDestroy(event);
              cudaStreamDestroy(stream);
              return properties.warpSize != 32 || attributes.maxThreadsPerBlock != 1024 || grid.z != 1;
            }""")
        self.compiles("-c", "add.cu")
        for compiler in ("gcc", "clang", self.nvcc):
            for standard in ("c99", "c11") if compiler != self.nvcc else ("c++17",):
                words = (f"-std={standard}", "-lcublas") if compiler == self.nvcc else (
                    f"-std={standard}", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror", f"-I{BUILD}/toolkit/include", f"-L{BUILD}/toolkit/lib64",
                    f"-Wl,-rpath,{BUILD}/toolkit/lib64", "-lcublas", "-lcudart", "-lstdc++", "-lm")
                made = call(compiler, "main.c", "add.o", "-o", "program", *words)
                self.assertEqual((made.returncode, made.stderr), (0, ""), (compiler, standard))
                self.runs(expected="1.5 4.25 10.75 no error\n")

    def test_programs_without_kernels_are_checked_in_full(self):
        body = """#include <cuda_runtime.h>
            int main(void) {
              int host[8] = {0}, *x;
              cudaMalloc((void**)&x, 16);
              cudaMemcpy(x, host, 32, cudaMemcpyHostToDevice);
              return 0;
            }"""
        for name in ("copies.cpp", "copies.c"):
            Path(name).write_text(body)
            self.compiles(name, "-o", "program")
            said = call("./program").stderr
            self.assertIn("The copy is of 32 bytes; from its destination on, 16 are allocated.\n", said)
            self.assertIn(f"Warning: leaked 16 bytes in 1 allocation at {name}:4: ", said)

    def test_in_steps(self):
        self.write_project()
        self.compiles("-dc", "scale.cu", "-o", "scale.o")
        self.compiles("-c", "main.cpp", "from_c.c", "-D", "OFFSET=1")
        self.compiles("-lib", "from_c.o", "-o", "libc_part.a")
        self.compiles("-dlink", "scale.o", "-o", "device.o")
        self.compiles("scale.o", "main.o", "device.o", "-L.", "-l", "c_part")
        self.runs("./a.out")

    def test_constants_of_one_name_are_each_files_own(self):
        Path("c.cuh").write_text("#include <cstdio>\nextern __constant__ int value[2];\n__constant__ int value[2];\nstatic __global__ void k() { printf(\"%d\\n\", value[1]); }\n"
                                 "static void run(int of) { int host[2] = {0, of}; cudaMemcpyToSymbol(value, host, sizeof host); }\n")
        Path("a.cu").write_text("#include \"c.cuh\"\nvoid other();\nint main() { run(1); other(); k<<<1, 1>>>(); return cudaDeviceSynchronize(); }\n")
        Path("b.cu").write_text("#include \"c.cuh\"\nvoid other() { run(2); k<<<1, 1>>>(); }\n")
        self.assertEqual(self.compiles("a.cu", "b.cu", "-o", "program").stderr, "")
        self.runs(expected="2\n1\n")
        Path("a.cu").write_text("extern __constant__ int n;\n__global__ void k(int* p) { *p = n; }\nint main() { int *p, h = 0; cudaMalloc(&p, 4);\n"
                                "k<<<1, 1>>>(p); cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); cudaFree(p); return h != 5; }\n")
        Path("b.cu").write_text("__constant__ int n = 5;\n")
        self.compiles("-rdc=true", "a.cu", "b.cu", "-o", "program")
        self.runs(expected="")

    def test_kernels_in_headers_that_are_found_by_options(self):
        Path("inside").mkdir()
        Path("inside/k.cuh").write_text("__global__ void k() { printf(\"k\\n\"); }\ninline void run() { k << <1, 1 >> > (); }\n")
        Path("m.cu").write_text("#include <cstdio>\n#include <k.cuh>\nint main() { run(); cudaDeviceSynchronize(); }\n")
        for option in (["-I", "inside"], ["-Iinside"], ["--include-path=inside"], ["-isystem=inside"]):
            self.compiles("m.cu", *option, "-run", "-o", "program")
            self.runs(expected="k\n")

    def test_options_that_only_say_how_code_is_made(self):
        Path("m.cu").write_text("int main() { int unused; return VALUE - 4; }\n")
        Path("more").write_text("-D VALUE=4 'm.cu'\n")
        self.compiles("--options-file", "more", *"""-O3 -g -lineinfo -arch=sm_80 -gencode arch=compute_80,code=[sm_80,compute_80]
            --generate-code=arch=compute_90a,code=sm_90a -std=c++17 -m64 -rdc=true --relocatable-device-code false
            --use_fast_math --expt-relaxed-constexpr --extended-lambda -Xptxas -v,-O3 -Xptxas=-dlcm=ca -maxrregcount 32
            -ccbin g++ -allow-unsupported-compiler -Xcompiler -fno-strict-aliasing,-O2 -Xcompiler=-Wall,-Werror -Xlinker --as-needed
            --cudart static -ftz=true -prec-div=false -Xcudafe --diag_suppress=177 -diag-suppress 20012 -w -t 4 -keep-dir .
            -Wno-deprecated-gpu-targets -res-usage --default-stream per-thread -cudart=shared -o program""".split())
        self.runs(expected="")
        self.compiles("@more", "-c", "-o", "m.o", NVCC_APPEND_FLAGS="-DOTHER -G")
        self.assertTrue(Path("m.o").is_file())

    def test_qualifiers_where_cpp_has_no_place_for_them(self):
        Path("each.cuh").write_text("template <class F> __host__ __device__ int twice(F f, int x) { return f(f(x)); }\n"
                                    "inline int plus_2(int x) { return twice([] __host__ __device__(int y) { return y + 1; }, x); }\n")
        Path("macro.cuh").write_text("#define ON_DEVICE __host__ __device__\ninline int less(int x) { return [] ON_DEVICE(int y) { return y - 1; }(x); }\n")
        Path("m.cu").write_text("""#include "each.cuh"
            #include "macro.cuh"
            template <class F> __global__ void each(F f) { f(threadIdx.x); }
            __global__ void turn(int* p) {
              __shared__ alignas(16) int a[32]; extern __shared__ alignas(sizeof(double)) char b[];
              a[threadIdx.x] = p[threadIdx.x]; b[threadIdx.x] = 1; __syncthreads();
              p[threadIdx.x] = a[31 - threadIdx.x] + b[31 - threadIdx.x];
            }
            int main() {
              int *p, h[32], \\ // a comment
                k = 3; cudaMalloc(&p, 128);
              each<<<1, 32>>>([=] ON_DEVICE (int i) { p[i] = k * i; });
              each<<<1, 1>>>([p] __device__ (auto) mutable -> void { p[0] = 7; });
              turn<<<1, 32, 32>>>(p);
              cudaMemcpy(h, p, 128, cudaMemcpyDeviceToHost); cudaFree(p);
              return h[0] == 94 && h[31] == 8 && plus_2(1) == 3 && less(1) == 0 ? 0 : 1;
            }""")
        self.compiles("--extended-lambda", "m.cu", "-o", "program")
        self.runs(expected="")

    def test_what_nvcc_defines(self):
        Path("m.cu").write_text(
            "#if !defined(__NVCC__) || !defined(__CUDACC__) || __CUDACC_VER_MAJOR__ < 12 || __cplusplus != WANTED\n"
            "#error\n#endif\n#if __CUDA_ARCH__ != ARCHITECTURE\n#error\n#endif\n")
        for words, standard, architecture in ((["-std=c++11"], 201703, 900), (["-std=c++20"], 202002, 900), ([], 201703, 900),
                                              (["-arch=sm_80"], 201703, 800), (["-arch=native"], 201703, 900),
                                              (["-gencode=arch=compute_50,code=sm_50"], 201703, 750)):
            self.compiles("-c", "m.cu", *words, f"-DWANTED={standard}L", f"-DARCHITECTURE={architecture}")
        Path("m.cpp").write_text("#ifdef __CUDACC__\n#error\n#endif\n")
        self.compiles("-c", "m.cpp")
        self.assertNotEqual(call(self.nvcc, "-x", "cu", "-c", "m.cpp").returncode, 0)

    def test_names_that_a_newer_standard_has_too(self):
        Path("m.cu").write_text("""#include <cmath>
            #include <crt/math_functions.h>
            #include <curand_uniform.h>
            #include <sm_61_intrinsics.h>
            #include "device_functions.h"
            #include <driver_functions.h>
            using namespace std;
            const int warpSize = 32;
            template <class T> struct Constants { static const T two = 2; };
            __device__ float lerp(float a, float b, float t) { return a + t * (b - a); }
            __global__ void k(float* x) { register float a = lerp(0.f, 2 * Constants<float>::two, 0.5f); x[0] = a; atomicAdd(x, 1); }
            int main() { float* x; float h; cudaMalloc(&x, 4); k<<<1, 1>>>(x);
              if (x == nullptr) return;  // nvcc takes it
              int n = 3; double list[n][2] = {{1}, {2, 3}}; int none[n] = {};  // this, too
              if (list[1][1] != 3 || list[2][0] != 0 || none[2] != 0) return 1;
              cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost); cudaFree(x); return h != 3; }
            """)
        Path("h.cpp").write_text("#include <cuda_runtime.h>\nint unused(int n) { int list[n] = {1}; return list[0] + cudaDeviceSynchronize(); }\n")
        for words in ([], ["-std=c++11"], ["-std=c++17"]):
            self.compiles("m.cu", "h.cpp", "-o", "program", *words)
            self.runs(expected="")

    def test_dependencies_name_the_readers_files(self):
        self.write_project()
        self.compiles("-MD", "-c", "scale.cu", "-o", "out.o")
        self.assertRegex(Path("out.d").read_text(), r"^out\.o: ")
        self.compiles("-MMD", "-MF", "listed", "-MT", "target", "-c", "scale.cu", "-o", "out.o")
        self.assertRegex(Path("listed").read_text().replace("\\\n", ""), r"^target: +\S*/scale\.cu +\S*scale\.h\s*$")
        self.assertIn("scale.h", self.compiles("-M", "scale.cu").stdout)

    def test_a_library_to_load(self):
        self.write_project()
        self.compiles("-shared", "-Xcompiler", "-fPIC", "scale.cu", "-o", "libscale.so")
        self.compiles("main.cpp", "from_c.c", "-DOFFSET=1", "-L.", "-lscale", "-Xlinker", "-rpath", "-Xlinker", "$ORIGIN",
                      "-o", "program")
        self.runs()

    def test_another_toolkit_on_the_paths(self):
        self.write_project()
        for name in ("cuda_runtime.h", "driver_types.h", "cuda.h"):
            Path("other/include/crt").mkdir(parents=True, exist_ok=True)
            (Path("other/include") / name).write_text(FALSE_TOOLKIT)
        Path("other/lib64").mkdir()
        Path("other/lib64/libcudart.so").write_text("INPUT(nowhere)\n")
        self.compiles("-Iother/include", "-isystem", "other/include", "-Lother/lib64", "-lcudart", "-lcuda", "-DOFFSET=1",
                      "scale.cu", "main.cpp", "from_c.c", "-o", "program")
        self.runs()

    def test_programs_are_checked_in_full(self):
        Path("m.cu").write_text("__global__ void k(int* p) { p[0] = p[1]; }\nint main() { int* p; cudaMalloc(&p, 8);\n"
                                "k<<<1, 1>>>(p); cudaDeviceSynchronize(); cudaFree(p); }\n")
        self.compiles("m.cu", "-o", "program")
        self.assertIn("Uninitialized __global__ memory read of size 4 bytes\n", call("./program").stderr)
        self.assertEqual(call("./program", WARPBOOK_CHECK="none").stderr, "")

    def test_version(self):
        said = self.compiles("--version").stdout
        self.assertRegex(said, r"^nvcc: NVIDIA \(R\) Cuda compiler driver")
        self.assertRegex(said, r"release \d+\.\d+, V\d+\.\d+\.\d+")


    def test_openmp(self):
        Path("m.cu").write_text("""#include <omp.h>
            #include <cstdio>
            __global__ void k(int* p) { *p = 1; }
            int main() {
              int sum = 0;
            #pragma omp parallel num_threads(3) reduction(+ : sum)
              {
                int *p, h = 0; cudaStream_t s;
                cudaStreamCreate(&s); cudaMalloc(&p, 4); k<<<1, 1, 0, s>>>(p);
                cudaMemcpyAsync(&h, p, 4, cudaMemcpyDeviceToHost, s); cudaStreamSynchronize(s);
                sum += h * omp_get_num_threads(); cudaFree(p); cudaStreamDestroy(s);
              }
            #pragma omp parallel for schedule(dynamic) reduction(- : sum)
              for (int i = 0; i < 5; ++i) sum -= i;
              std::printf("%d\\n", sum + 10);
            }
            """)
        made = call(self.nvcc, "m.cu", "-o", "program", "-Xcompiler", "-fopenmp")
        if made.returncode == 1:
            self.assertRegex(made.stderr, r"^nvcc: error: -fopenmp: the compiler's OpenMP is missing: install libomp-\d+-dev\n$")
            return
        ran = call("./program")
        self.assertEqual((ran.stdout, ran.returncode), ("9\n", 0), ran.stderr)
        self.assertIn(NOTHING, ran.stderr)
        Path("n.cu").write_text("#include <omp.h>\nint main() { return omp_get_thread_num(); }\n")
        self.compiles("n.cu", "-lgomp", "-o", "program")  # As GCC has it: the header is there, whatever is asked for.
        self.runs(expected="", errors=NOTHING)

    def test_device_variables_of_one_name_are_each_files_own(self):
        for name, other in (("a", "int main() { run_b(); run_a(); return cudaDeviceSynchronize(); }"), ("b", "")):
            Path(name + ".cu").write_text(f"""#include <cstdio>
                void run_b();
                __device__ int count;
                __global__ void of_{name}() {{ count += 1; printf("{name} %d\\n", count); }}
                void run_{name}() {{ of_{name}<<<1, 1>>>(); }}
                {other}""")
        self.compiles("a.cu", "b.cu", "-o", "program")
        ran = call("./program")
        self.assertEqual((ran.stdout, ran.returncode), ("b 1\na 1\n", 0), ran.stderr)


class Refusals(Driver):
    def test_in_one_line(self):
        for name in ("m.cu", "n.cu"):
            Path(name).write_text("int main() {}\n")
        Path("m.txt").write_text("")
        for words, says in ((["m.cu", "-Wall"], "unknown option -Wall (for the host's compiler: -Xcompiler -Wall)"),
                            (["--no-such-thing", "m.cu"], "unknown option --no-such-thing"),
                            ([], "no input files"), (["-c"], "no input files"), (["none.cu"], "none.cu: there is no such file"),
                            (["m.txt"], "m.txt: not known by its name"), (["m.cu", "-o"], "-o wants a value"),
                            (["-ptx", "m.cu"], "-ptx: the emulator runs kernels as host code"),
                            (["--cubin", "m.cu"], "-cubin: the emulator runs kernels as host code"),
                            (["-x", "fortran", "m.cu"], "-x fortran: accepted are cu, c++ and c"),
                            (["-c", "m.cu", "n.cu", "-o", "both.o"], "-o names one file"),
                            (["@nothing"], "nothing: No such file or directory"), (["-lib", "m.cu"], "-lib wants the archive's name")):
            with self.subTest(words):
                made = call(self.nvcc, *words)
                self.assertEqual((made.returncode, made.stdout, made.stderr.count("\n")), (1, "", 1), made.stderr)
                self.assertTrue(made.stderr.startswith("nvcc: error: " + says), made.stderr)
        self.compiles("-forward-unknown-to-host-compiler", "-Wall", "m.cu")

    def test_the_compilers_status_and_the_readers_lines(self):
        Path("m.cu").write_text("__global__ void k() {}\nint main() {\n  k<<<1, missing>>>();\n}\n")
        made = call(self.nvcc, "m.cu", "-o", "program")
        self.assertEqual(made.returncode, 1)
        self.assertIn("m.cu:3:10: error: use of undeclared identifier 'missing'\n    3 |   k<<<1, missing>>>();\n", made.stderr)
        self.assertFalse(Path("program").exists())
        Path("n.cu").write_text("void nowhere();\nint main() { nowhere(); }\n")
        made = call(self.nvcc, "n.cu", "-o", "program")
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("nowhere", made.stderr)

    def test_what_is_not_there_is_named(self):
        Path("m.cu").write_text("#include <cudnn.h>\nint main() {}\n")
        made = call(self.nvcc, "m.cu")
        self.assertEqual(made.returncode, 1)
        self.assertIn("error: the emulator has no <cudnn.h>", made.stderr)


class Projects(Driver):
    """A project of others, with the driver where `cmake --install` put it."""

    @classmethod
    def setUpClass(cls):
        cls.installed = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.installed.cleanup)
        prefix = Path(cls.installed.name) / "a prefix"
        done = call("cmake", "--install", BUILD, "--prefix", prefix)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.nvcc = prefix / "bin" / "warpbook-nvcc"
        cls.toolkit = prefix / "lib" / "warpbook"

    def test_make(self):
        self.write_project()
        # A path with a space is too much for most makefiles.
        os.symlink(self.toolkit, "toolkit")
        for words in ([f"NVCC={os.path.abspath('toolkit/bin/nvcc')}"], [f"CUDA_PATH={os.path.abspath('toolkit')}"]):
            made = call("make", "TOOLKIT=toolkit", *words)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.runs()
            self.assertIn("up to date", call("make", *words, "scale.o").stdout)
            for made in ("program", *Path(".").glob("*.o")):
                os.remove(made)

    def test_cmake(self):
        self.write_project()
        done = call("cmake", "-S", ".", "-B", "out", f"-DCMAKE_CUDA_COMPILER={self.toolkit / 'bin' / 'nvcc'}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("The CUDA compiler identification is NVIDIA", done.stdout)
        done = call("cmake", "--build", "out")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.runs("out/program")

    def test_nothing_of_this_tree_is_needed(self):
        self.write_project()
        made = self.compiles("-v", "-DOFFSET=1", "scale.cu", "main.cpp", "from_c.c", "-o", "program")
        self.assertNotIn(str(ROOT), made.stderr)
        self.assertNotIn(str(BUILD), made.stderr)
        self.assertNotIn(str(BUILD), call("ldd", "program").stdout)
        self.runs()


if __name__ == "__main__":
    unittest.main()
