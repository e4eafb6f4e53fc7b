"""Hostile submissions: each tries to be graded as done without being a solution. All are of one exercise, a copy, so that
what they would have to fake is small. exercises_test.py tries those marked `daily` each day, and all of them at night."""

import dataclasses
import re

EXERCISE = "chapter3/copy_guard"

HEAD = """#include <cstdlib>
#include <cstdio>
#include <cstring>
#include <cmath>
#include <utility>
#include "common/cuda/launch.cuh"
"""
# Writes as many bytes as the output has, and none of them right.
JUNK = """namespace warpbook::chapter3 {
__global__ void junk(char* p, std::int64_t n) {
  for (std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < n; i += 256) p[i] = 1;
}
}
"""
COPY = "for (std::int64_t i = 0; i < n; ++i) d[i] = s[i];"
ARRAYS = "auto* d = static_cast<char*>(dst); auto* s = static_cast<const char*>(src); const std::int64_t n = p.count() * p.element_bytes; (void)d, (void)s, (void)n; "
LAUNCH_JUNK = "(void)launch(junk, {.grid = 1, .block = 256, .stream = stream}, d, n); "


@dataclasses.dataclass(frozen=True)
class Attack:
    kind: str
    name: str
    top: str = ""  # Goes behind `#pragma once`.
    body: str = ""  # Goes in front of the step's body.
    swap: tuple = ()  # (what, by what) in the solution, which is taken in place of the file as handed out.
    daily: bool = False
    told: str = ""  # Part of the reason.

    def text(self, exercise):
        text = exercise.solution if self.swap else exercise.handed_out
        if self.swap:
            assert self.swap[0] in text, self.name
            text = text.replace(*self.swap)
        if self.body:
            at = list(re.finditer(rf"\b{exercise.entry}\([^;{{]*\)\s*\{{", text))[-1].end()
            text = text[:at] + "\n  " + ARRAYS + self.body + text[at:]
        return text.replace("#pragma once\n", "#pragma once\n" + self.top + "\n", 1)


def host(name, body, top="", **options):
    return Attack("host code", name, HEAD + JUNK + top, LAUNCH_JUNK + body + " return cudaSuccess;", **options)


def symbol(name, top, body="", **options):
    return Attack("symbols", name, HEAD + top, body, **options)


def attribute(name, attributes, end="", **options):
    before, after = (attributes, "") if end else ("", attributes)
    helper = f"{before}template <class V> {after} __device__ void put(V* to, V value) {{ *to = value; }}\n{end}"
    return Attack("hiding", name, "#include <cstdint>\n#include <cuda_runtime.h>\n" + helper,
                  swap=("dst[first + i * kThreads] = word[i]", "put(dst + first + i * kThreads, word[i])"), **options)  # fmt: skip


# A store of the kernel, and what takes its place.
STORE = "if (first + i * kThreads < count) dst[first + i * kThreads] = word[i];"
LOAD = "if (first + i * kThreads < count) word[i] = src[first + i * kThreads];"

ATTACKS = [
    # ---- names of the checker's
    symbol("takes the place of a weak function of the harness",
           'extern "C" __attribute__((weak)) void* steal(void* a, void*) asm("_ZN8warpbook10DifferenceaSEOS0_");\n'
           'extern "C" void* steal(void* a, void*) { return a; }', daily=True),
    symbol("takes the place of a call-back", 'extern "C" void __tsan_write4(void*) {}\nextern "C" void __tsan_write2(void*) {}'),
    symbol("takes the place of the C library's write", 'extern "C" long write(int, const void*, unsigned long n) { return (long)n; }'),
    symbol("is the program", "int main() { return 0; }"),
    symbol("switches the checks off", "namespace warpbook::emulator { bool set_checks(const char*); void release(); }", "emulator::release();", daily=True, told="calls the emulator's release"),
    symbol("counts backwards", 'extern "C" thread_local unsigned long __warpbook_tally[7];', "__warpbook_tally[0] = 0;"),
    symbol("calls the end by another name", 'void leave(int) asm("exit");', "leave(0);"),
    symbol("ends the program well", "", "std::quick_exit(0);"),
    symbol("calls the reference", "", "permute_on_host(p, static_cast<const std::byte*>(src), static_cast<std::byte*>(dst)); return cudaSuccess;"),
    symbol("opens the results", "#include <fstream>", 'std::ofstream("results.jsonl") << "{}"; return cudaSuccess;'),
    symbol("says that memory is short, which is nobody's fault", "#include <new>", "std::__throw_bad_alloc();", daily=True, told="calls std::__throw_bad_alloc"),
    symbol("asks the system", "#include <unistd.h>\n#include <sys/syscall.h>", "syscall(SYS_exit_group, 0);"),
    symbol("looks for a function by its name", "#include <dlfcn.h>", 'if (auto* f = dlsym(nullptr, "exit")) reinterpret_cast<void (*)(int)>(f)(0);'),
    # ---- code beside the step
    Attack("code beside the step", "constructor", "#include <cstdlib>\n__attribute__((constructor)) static void early() { }", daily=True),
    Attack("code beside the step", "destructor", "__attribute__((destructor)) static void late() { }"),
    Attack("code beside the step", "initializer", "int early();\nint value = early();\nint early() { return 1; }"),
    Attack("code beside the step", "list of initializers", 'static void early() {}\n__attribute__((section(".init_array"), used)) static void (*list)() = early;'),
    Attack("code beside the step", "a section by pragma", '#pragma clang section data=".init_array"\nstatic void early() {}\nvoid (*list)() = early;\n#pragma clang section data=""'),
    Attack("code beside the step", "resolver", 'extern "C" { void a() {}\nvoid (*pick())() { return a; }\nvoid late() __attribute__((ifunc("pick"))); }', daily=True),
    Attack("code beside the step", "alias", 'extern "C" { void real() {}\nvoid other() __attribute__((alias("real"))); }'),
    Attack("code beside the step", "at the end", HEAD, "static struct Late { ~Late() { std::puts(\"late\"); } } late; return cudaSuccess;"),
    # ---- assembly
    Attack("assembly", "in a function", "", 'asm("nop");'),
    Attack("assembly", "by token pasting", "#define JOIN(a, b) a##b", 'JOIN(a, sm)("nop");', daily=True, told="inline assembly"),
    Attack("assembly", "outside of functions", 'asm(".globl stolen\\nstolen: ret");'),
    Attack("assembly", "in a kernel", swap=(STORE, STORE + ' asm volatile("nop");')),
    # ---- hiding accesses from the checks
    attribute("disable_sanitizer_instrumentation", "__attribute__((disable_sanitizer_instrumentation, noinline))", daily=True, told="hides it"),
    attribute("no_sanitize", '__attribute__((no_sanitize("thread"), noinline))'),
    attribute("optnone", "__attribute__((optnone, noinline))"),
    attribute("attribute by pragma", '\n#pragma clang attribute push(__attribute__((disable_sanitizer_instrumentation)), apply_to = function)\n', "\n#pragma clang attribute pop\n"),
    Attack("hiding", "another address space", swap=(STORE, "if (first + i * kThreads < count) *(char __attribute__((address_space(257)))*)(unsigned long)(dst + first + i * kThreads) = 1;"), daily=True),
    Attack("hiding", "a name that the sanitizer skips", "inline char __llvm_gcov_base[8];"),
    Attack("hiding", "the argument pack's place", HEAD + "namespace warpbook::emulator { template <> void ArgumentPack<std::index_sequence<0>, int>::invoke(const void*, const void* a) { *(int*)*(void**)a = 1; } }"),
    # ---- host code in place of a kernel
    host("writes the output after a junk kernel", COPY, daily=True, told="Host code reads device memory"),
    host("writes the output by memcpy", "std::memcpy(d, s, (std::size_t)n);"),
    host("writes the output by memcpy without its builtin", "put(d, &n, (std::size_t)n);",
         "__attribute__((no_builtin, noinline)) static void put(void* to, const void* from, std::size_t n) { std::memcpy(to, from, n); }"),
    host("writes the output by a pointer to memcpy", "void* (*volatile copy)(void*, const void*, std::size_t) = std::memcpy; copy(d, s, (std::size_t)n);", daily=True),
    host("copies on the device", "(void)cudaMemcpyAsync(dst, src, (std::size_t)n, cudaMemcpyDeviceToDevice, stream);", daily=True),
    host("brings the input to the host", "char t[4096]; (void)cudaMemcpy(t, src, 1, cudaMemcpyDeviceToHost); (void)cudaMemcpy(dst, t, 1, cudaMemcpyHostToDevice);"),
    host("leaves a function for later", "(void)cudaLaunchHostFunc(stream, [](void*) {}, nullptr);"),
    host("reads the input only", "char sum = 0; for (std::int64_t i = 0; i < n; ++i) sum = (char)(sum + s[i]); if (sum == 77) return cudaErrorUnknown;"),
    host("leaves an array of the stack", "int near[1] = {1}; for (std::int64_t i = 0; i < n / 4; ++i) near[(reinterpret_cast<std::intptr_t>(d) - reinterpret_cast<std::intptr_t>(near)) / 4 + i] = 7;"),
    host("writes to its caller's frame", "volatile char* up = reinterpret_cast<char*>(__builtin_frame_address(0)); for (int i = 0; i < 1 << 14; ++i) up[i] = 0;"),
    host("writes behind its own variable", "static volatile char here[16]; for (long i = -4096; i < 4096; ++i) here[i] = 0;", daily=True),
    host("writes to the emulator's memory", "auto* at = reinterpret_cast<volatile char*>(reinterpret_cast<std::intptr_t>(&cudaGetLastError) | 7); *at = 0;"),
    host("printf that writes", 'std::printf("%n", reinterpret_cast<int*>(d));', daily=True),
    host("printf with a format of its own", "std::printf(s, d);"),
    host("mathematics that writes", "(void)std::frexp(1.5, reinterpret_cast<int*>(d));"),
    host("an attribute into the output", "(void)cudaDeviceGetAttribute(reinterpret_cast<int*>(d), cudaDevAttrMultiProcessorCount, 0);"),
    host("a guard into the output", "__cxa_guard_acquire(reinterpret_cast<long*>(d));", 'extern "C" int __cxa_guard_acquire(long*);'),
    host("calls into the middle of a function", "reinterpret_cast<void (*)()>(reinterpret_cast<char*>(&cudaGetLastError) + 1)();", daily=True),
    host("launches what is no kernel", "(void)launch(reinterpret_cast<void (*)(char*, std::int64_t)>(reinterpret_cast<char*>(&cudaGetLastError) + 5), {.stream = stream}, d, n);"),
    host("launches with its own hands", "int a = 0; const emulator::KernelCall call{reinterpret_cast<const void*>(&junk), nullptr, &a, reinterpret_cast<std::shared_ptr<const void> (*)(const void*)>(&cudaGetLastError), 4}; (void)emulator::launch_kernel({}, call);"),
    host("reads the input by atomic loads", "unsigned char sum = 0; for (std::int64_t i = 0; i < n; ++i) sum = (unsigned char)(sum + __atomic_load_n((unsigned char*)s + i, __ATOMIC_RELAXED)); if (sum == 77) return cudaErrorUnknown;", daily=True, told="atomically"),
    host("copies in words that the sanitizer does not know", "for (std::int64_t i = 0; i < (n + 31) / 32; ++i) ((Wide*)d)[i] = ((const Wide*)s)[i];",
         "typedef int Wide __attribute__((vector_size(32), aligned(1)));", daily=True, told="device memory"),
    host("reads the input beside a constant", "const std::intptr_t away = reinterpret_cast<std::intptr_t>(s) - reinterpret_cast<std::intptr_t>(table); char sum = 0; for (std::int64_t i = 0; i < n; ++i) sum = (char)(sum + table[away + i]); if (sum == 77) return cudaErrorUnknown;",
         "static constexpr char table[4] = {1, 2, 3, 4};", daily=True, told="beside a constant"),
    host("reads the input by value", "if (first(*reinterpret_cast<const Large*>(s)) == 77) return cudaErrorUnknown;",
         "struct Large { char c[64]; };\n__attribute__((noinline)) static int first(Large l) { volatile int i = 3; return l.c[i]; }", told="device memory"),
    host("reads what a kernel left in a variable", "(void)launch(keep, {.block = 256, .stream = stream}, s, n); char sum = 0; for (int i = 0; i < 64; ++i) sum = (char)(sum + kept[i]); if (sum == 77) return cudaErrorUnknown;",
         "static __device__ char kept[1 << 16];\n__global__ void keep(const char* s, std::int64_t n) { for (std::int64_t i = threadIdx.x; i < n; i += 256) kept[i] = s[i]; }", daily=True, told="a variable that a kernel touched"),
    host("reads what a kernel left in shared memory", "(void)launch(keep, {.block = 256, .stream = stream}, s, n); char sum = 0; for (int i = 0; i < 64; ++i) sum = (char)(sum + tile()[i]); if (sum == 77) return cudaErrorUnknown;",
         "__device__ inline char* tile() { __shared__ char t[4096]; return t; }\n__global__ void keep(const char* s, std::int64_t n) { for (std::int64_t i = threadIdx.x; i < n && i < 4096; i += 256) tile()[i] = s[i]; }"),
    host("reads a type from the input", "if (&typeid(*fake(s)) == nullptr) return cudaErrorUnknown;",
         "#include <typeinfo>\nstruct Base { virtual int f() { return 1; } };\n__attribute__((noinline)) static Base* fake(const char* s) { static const void* table[1]; table[0] = s + 8; return reinterpret_cast<Base*>(table); }"),
    host("jumps back", "void* frame[5]; if (__builtin_setjmp(frame) == 0) __builtin_longjmp(frame, 1);"),
    host("an array as large as it likes", "volatile char* a = static_cast<char*>(__builtin_alloca((std::size_t)(-n))); a[0] = 1;"),
    host("reads the input by atomics that change nothing", "unsigned sum = 0; for (std::int64_t i = 0; i < n / 4; ++i) sum += __atomic_fetch_or((unsigned*)s + i, 0u, __ATOMIC_RELAXED); if (sum == 77) return cudaErrorUnknown;", told="device memory"),
    host("reads the input by a failing compare and swap", "unsigned sum = 0; for (std::int64_t i = 0; i < n / 4; ++i) { unsigned was = 1; __atomic_compare_exchange_n((unsigned*)s + i, &was, 1u, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); sum += was; } if (sum == 77) return cudaErrorUnknown;", told="device memory"),
    host("reads the input by loads with a mask", "int on[64] = {1, 1}; int t[64] = {}; fetch(t, (const int*)s, on, (int)(n / 4 % 64)); if (t[0] + t[1] == 77) return cudaErrorUnknown;",
         "__attribute__((target(\"avx2\"), noinline)) static void fetch(int* __restrict__ t, const int* __restrict__ s, const int* __restrict__ on, int n) {\n#pragma clang loop vectorize(enable)\nfor (int i = 0; i < n; ++i) if (on[i]) t[i] = s[i]; }", daily=True, told="vectorized with a mask"),
    host("copies by the memcpy that is no call", "char t[4]; __builtin_memcpy_inline(t, s, 4); __builtin_memcpy_inline(d, t, 4);", told="device memory"),
    host("stores past the caches", "for (std::int64_t i = 0; i < n / 16; ++i) __builtin_nontemporal_store(Four{1, 2, 3, 4}, (Four*)d + i);", "typedef int Four __attribute__((vector_size(16)));"),
    host("moves the stack", "stack = stack - 4096;", "register unsigned long stack asm(\"rsp\");", told="read_register"),
    host("reads its caller's arguments", "if (sum(1, s) == 77) return cudaErrorUnknown;",
         "#include <cstdarg>\n__attribute__((noinline)) static int sum(int n, ...) { va_list l; va_start(l, n); int r = 0; for (int i = 0; i < 100; ++i) r += va_arg(l, int); va_end(l); return r; }", told="va_start"),
    host("device functions on the host", "for (std::int64_t i = 0; i < n / 4; ++i) atomicExch(reinterpret_cast<unsigned*>(d) + i, 7u);"),
    host("fills by memset", "for (std::int64_t i = 0; i < n; ++i) (void)cudaMemsetAsync(d + i, 7, 1, stream);"),
    # ---- kernels that cheat
    Attack("kernels", "the output's own content", swap=("word[i] = src[first + i * kThreads]", "for (unsigned b = 0; b < sizeof(W); ++b) reinterpret_cast<unsigned char*>(word + i)[b] = static_cast<unsigned char>(~reinterpret_cast<unsigned char*>(dst + first + i * kThreads)[b])"), daily=True),
    Attack("kernels", "every thread writes everything", swap=(STORE, "for (std::int64_t j = 0; j < count; ++j) dst[j] = src[(j + threadIdx.x) % count];")),
    Attack("kernels", "the input becomes the output", swap=(STORE, "if (first + i * kThreads < count) const_cast<W*>(src)[first + i * kThreads] = dst[first + i * kThreads] = W{};")),
    Attack("kernels", "one element more", swap=(STORE, "if (first + i * kThreads <= count) dst[first + i * kThreads] = word[i];"), daily=True),
    Attack("kernels", "the program's variables", "#include <cstdint>\n#include <cuda_runtime.h>\nstatic int mine[4];\n", swap=(STORE, STORE + " reinterpret_cast<volatile int*>(mine)[64 + i] = 0;"), daily=True),
    Attack("kernels", "loads that nobody counts", "#include <cuda_runtime.h>\nstruct Cover { char c[48]; };\n__attribute__((noinline)) static __device__ char one(Cover v, int i) { return v.c[i]; }\n",
           swap=(LOAD, "if (first + i * kThreads < count) for (unsigned b = 0; b < sizeof(W); ++b) reinterpret_cast<char*>(word + i)[b] = one(*reinterpret_cast<const Cover*>(src + first + i * kThreads), (int)b);")),
    Attack("kernels", "the C library's variables", "#include <cstdio>\n", swap=(STORE, STORE + " *reinterpret_cast<volatile char*>(stdout) = 0;")),
    Attack("kernels", "a kernel that the counters knew", "#include <cuda_runtime.h>\nnamespace { __global__ void case_begins() {} }\n", "return launch(case_begins, {.stream = stream});"),
    # ---- what the compiler reads
    Attack("files", "the finished step", '#include "chapters/chapter3_permute/permute.cuh"', daily=True),
    Attack("files", "the finished step by a macro", "#define WHERE \"chapters/chapter3_permute/asides/copy.cuh\"\n#include WHERE"),
    Attack("files", "the finished step by another word", '#import "chapters/chapter3_permute/permute.cuh"', told="not handed out"),
    Attack("files", "the emulator's insides by a macro", '#define WHERE "common/emulator/observation/confinement.hpp"\n#include WHERE', "warpbook::emulator::confining_frame = nullptr;", told="confining_frame"),
    Attack("files", "a file of the system's", '#include "/etc/passwd"'),
    Attack("files", "the inputs", '#include <cstdint>\nconstexpr unsigned char data[] = {\n#embed "../arrays/0.in"\n};'),
    Attack("files", "the harness", '#include "common/harness/verify.hpp"'),
    Attack("files", "another's file", '#include "../other/copy_guard.cuh"'),
    Attack("files", "our own words", "#define run_exercise stolen(const Case&, const Arrays&, cudaStream_t) { return cudaSuccess; }\\\n cudaError_t run_exercise"),
    # ---- time and space
    Attack("time and space", "an endless loop", "", "for (volatile int i = 0;; i = i + 1) {}"),
    Attack("time and space", "an endless kernel", swap=(STORE, "for (volatile int j = 0; j >= 0;) j = 0;")),
    Attack("time and space", "an endless template", "template <int n> struct Deep { static constexpr int value = Deep<n + 1>::value + Deep<n + 2>::value; };\nconstexpr int deep = Deep<0>::value;"),
    Attack("time and space", "an endless constant", "constexpr int loop() { int i = 0; while (true) i ^= 1; return i; }\nconstexpr int endless = loop();"),
    Attack("time and space", "a flood of words", swap=(STORE, 'for (int j = 0; j < 1000000; ++j) printf("=========    %d\\n", j);')),
    Attack("time and space", "no memory is enough", "", "volatile char a[1 << 30]; for (long i = 0; i < 1 << 30; i += 4096) a[i] = 1;"),
]  # fmt: skip

# What a student may well do besides.
HONEST = [
    Attack("honest", "a helper, a static and a printf", """#include <cstdio>
#include <cuda_runtime.h>
struct Helper { int value; __device__ explicit Helper(int v) : value(v) {} virtual __device__ int twice() const { return 2 * value; } };
static int calls = 0;
constexpr int table[4] = {0, 1, 2, 3};
inline int next_call() { static int count = calls; calls = calls + 1; return ++count; }
""", swap=("const std::int64_t count = p.count();", "const std::int64_t count = p.count(); if (next_call() == 1) std::printf(\"first of %d%%\\n\", 100);")),
    Attack("honest", "a kernel that prints and calls by a pointer", "#include <cuda_runtime.h>\n#include <cstdio>\nstatic __device__ int same(int i) { return i; }\n",
           swap=(STORE, "{ int (*volatile f)(int) = same; if (first + f(i) * kThreads < count) dst[first + f(i) * kThreads] = word[i]; if (first + i == 0) printf(\"%d of %lld\\n\", i, (long long)count); }")),
]  # fmt: skip
