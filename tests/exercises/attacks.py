"""Hostile submissions: each tries to be graded as done without being a solution. Most are of one exercise, a copy, so
that what they would have to fake is small. exercises_test.py tries those marked `daily` each day, and all of them at night."""

import dataclasses
import pathlib
import re

EXERCISE = "chapter3/copy_guard"
STEP = pathlib.Path(__file__).resolve().parents[2] / "chapters" / "chapter3_permute" / "v4a_shared_tile.cuh"

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
# Every byte comes from a kernel, and none is new.
AGAIN = "#include <cuda_runtime.h>\n__global__ void again(char* p, std::int64_t n) { for (std::int64_t i = threadIdx.x; i < n; i += 256) p[i] = static_cast<volatile char*>(p)[i]; }"
LAUNCH_JUNK = "(void)launch(junk, {.grid = 1, .block = 256, .stream = stream}, d, n); "

# In the place of what hands a kernel its arguments, which nobody counts.
HAND = """struct Hand { char* d; const char* s; std::int64_t n; };
"""
LOADING = HAND + """__global__ void put(Hand h, std::int64_t i, char v) { if (i < h.n) h.d[i] = v; }
template <> __attribute__((no_sanitize("thread", "coverage"))) inline void warpbook::emulator::ArgumentPack<std::index_sequence<0, 1, 2>, Hand, std::int64_t, char>::invoke(const void* kernel, const void* arguments) {
  const Hand h = *static_cast<const Hand*>(arguments);
  const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
  reinterpret_cast<void (*)(Hand, std::int64_t, char)>(const_cast<void*>(kernel))(h, i, i < h.n ? h.s[i] : 0);
}
"""
CALLING = HAND + """__global__ void nothing() {}
__attribute__((no_sanitize("thread", "coverage"))) void fake(const void*, const void* arguments) asm("_ZN8warpbook8emulator12ArgumentPackIxE6invokeEPKvS3_");
void fake(const void*, const void* arguments) { auto* h = static_cast<const Hand*>(arguments); void* (*volatile copy)(void*, const void*, std::size_t) = std::memcpy; copy(h->d, h->s, (std::size_t)h->n); }
"""


# Where a function returns lies above its arrays: what stands there becomes the address of a function that nobody calls.
FORGED_RETURN = """#include <cuda_runtime.h>
namespace forged {
QUALIFIER static int done = 0;
QUALIFIER static long moved = 0;
QUALIFIER __attribute__((noinline)) static void inside() { done = 1; }
QUALIFIER __attribute__((noinline)) static long peek(const long* p, long k) { return p[k]; }
QUALIFIER __attribute__((noinline)) static void poke(long* p, long k, long v) { p[k] = v; }
QUALIFIER __attribute__((noinline)) static long outer(long n);
QUALIFIER __attribute__((noinline)) static long inner(long n) {
  long here[2] = {n, 2};
  long* const p = reinterpret_cast<long*>(reinterpret_cast<long>(here) + moved);
  const long begin = reinterpret_cast<long>(&outer);
  long k = 0, end = begin;
  while (k < 64 && (peek(p, k) < begin || peek(p, k) > begin + 128)) ++k;
  while ((peek(reinterpret_cast<const long*>(end), 0) & 0xff) != 0xc3) ++end;
  if (k < 64) poke(p, k, end), poke(p, k + 1, reinterpret_cast<long>(&inside));
  return here[0] + k;
}
QUALIFIER __attribute__((noinline)) static long outer(long n) { return inner(n) + 1; }
}
"""


@dataclasses.dataclass(frozen=True)
class Attack:
    kind: str
    name: str
    top: str = ""  # Goes behind `#pragma once`.
    body: str = ""  # Goes in front of the step's body.
    swap: tuple = ()  # (what, by what) in the solution, which is taken in place of the file as handed out.
    daily: bool = False
    told: str = ""  # Part of the reason.
    of: str = EXERCISE

    def text(self, exercise):
        text = exercise.solution if self.swap else exercise.handed_out
        if self.swap:
            assert self.swap[0] in text, self.name
            text = text.replace(*self.swap)
        if self.body:
            at = list(re.finditer(rf"\b{exercise.entry}\([^;{{]*\)\s*\{{", text))[-1].end()
            text = text[:at] + "\n  " + ARRAYS * (self.of == EXERCISE) + self.body + text[at:]
        return text.replace("#pragma once\n", "#pragma once\n" + self.top + "\n", 1)


def host(name, body, top="", **options):
    return Attack("host code", name, HEAD + JUNK + top, LAUNCH_JUNK + body + " return cudaSuccess;", **options)


def symbol(name, top, body="", **options):
    return Attack("symbols", name, HEAD + top, body, **options)


def learnt(name, top="", body="", **options):
    return Attack("new ways to run (PTX, libraries, textures, launches)", name, top, body, **options)


def attribute(name, attributes, end="", **options):
    before, after = (attributes, "") if end else ("", attributes)
    helper = f"{before}template <class V> {after} __device__ void put(V* to, V value) {{ *to = value; }}\n{end}"
    return Attack("hiding", name, "#include <cstdint>\n#include <cuda_runtime.h>\n" + helper,
                  swap=("dst[first + i * kThreads] = word[i]", "put(dst + first + i * kThreads, word[i])"), **options)  # fmt: skip


# A store of the kernel, and what takes its place.
STORE = "if (first + i * kThreads < count) dst[first + i * kThreads] = word[i];"
ADD = "if (lowest && place >= 0) atomicAdd(sum + place, total);"
LOAD = "if (first + i * kThreads < count) word[i] = src[first + i * kThreads];"

# A right addition, for files whose task is another.
OWN_ADD = """#include <cuda_fp16.h>
#include <cstdint>
#include "common/cuda/launch.cuh"
template <class T> __global__ void own_add(T* c, const T* a, const T* b, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""
ADD_AS = """namespace warpbook::{0} {{ inline cudaError_t {1}({2}* c, const {2}* a, const {2}* b, std::int64_t n, cudaStream_t stream) {{
  if (n == 0) return cudaSuccess;
  return launch(own_add<{2}>, {{.grid = (n + 255) / 256, .block = 256, .stream = stream}}, c, a, b, n);
}} }}
"""

LAUNCH_CLOCK = "const double begin = t.now();\n  t.launch();\n  return t.now() - begin;"
CLOCKS = '#include "chapters/chapter7_torch_op/practice/two_clocks.hpp"\n'


def project(of, name, body, top="", **options):
    """A launcher with a way round the work. chapter1 and 7 multiply and add, 3 permutes, and 4 and 5 update what is there."""
    return Attack("launchers of projects", name, HEAD + top, body, of=of, **options)


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
    symbol("counts backwards by a literal label", 'extern "C" unsigned long tally[7] asm("\\001__warpbook_tally");', swap=(STORE, STORE + " tally[0] = 0;"), daily=True, told="the checker's own"),
    symbol("says by a literal label that a kernel wrote", 'extern "C" void wrote(void*, unsigned long) asm("\\001__tsan_write_range");', swap=(STORE, STORE + " wrote(dst, 1);"), told="the checker's own"),
    symbol("makes memory by a literal label", 'extern "C" void* made(unsigned long) asm("\\001__warpbook_malloc");', "(void)made(16); return cudaSuccess;", told="the checker's own"),
    symbol("writes to the table of the program's addresses", 'extern "C" unsigned long table[] asm("_GLOBAL_OFFSET_TABLE_");', swap=(STORE, STORE + " table[3] = 0;")),
    symbol("writes to a table of the C++ library's", 'extern "C" char table[] asm("_ZTVN10__cxxabiv117__class_type_infoE");', "table[0] = 1; return cudaSuccess;", told="not its own"),
    symbol("calls a forbidden function by its symbol", '#include "chapters/chapter3_permute/permute.hpp"\nnamespace warpbook::chapter3 { PermuteProblem mine(const PermuteProblem&) asm("_ZN8warpbook8chapter36mergedERKNS0_14PermuteProblemE"); }', "return v2a::run(mine(p), src, dst, stream);", of="chapter3/merge", told="merged"),
    symbol("calls the end by another name", 'void leave(int) asm("exit");', "leave(0);"),
    symbol("ends the program well", "", "std::quick_exit(0);"),
    symbol("calls the reference", "", "permute_on_host(p, static_cast<const std::byte*>(src), static_cast<std::byte*>(dst)); return cudaSuccess;"),
    symbol("opens the results", "#include <fstream>", 'std::ofstream("results.jsonl") << "{}"; return cudaSuccess;'),
    symbol("says that memory is short, which is nobody's fault", "#include <new>", "std::__throw_bad_alloc();", daily=True, told="calls std::__throw_bad_alloc"),
    symbol("asks the system", "#include <unistd.h>\n#include <sys/syscall.h>", "syscall(SYS_exit_group, 0);"),
    symbol("looks for a function by its name", "#include <dlfcn.h>", 'if (auto* f = dlsym(nullptr, "exit")) reinterpret_cast<void (*)(int)>(f)(0);'),
    symbol("goes on with an exception that nobody threw", 'struct _Unwind_Exception;\nextern "C" void _Unwind_Resume(struct _Unwind_Exception*);', "static unsigned long e[8]; e[2] = (unsigned long)&cudaGetLastError; _Unwind_Resume((struct _Unwind_Exception*)e);", daily=True, told="calls _Unwind_Resume"),
    symbol("what read-only loads call, by its own hands", 'extern "C" void __warpbook_read_only(const void*, unsigned long) {}', told="the checker's own"),
    symbol("asks for a thread's variable by hand", 'extern "C" void* __tls_get_addr(void*);', "static unsigned long where[2] = {1, 0}; (void)__tls_get_addr(where); return cudaSuccess;", told="calls __tls_get_addr"),
    symbol("calls what looks for a handler", 'extern "C" int __gxx_personality_v0(int, int, unsigned long, void*, void*);', "(void)__gxx_personality_v0(1, 1, 0, nullptr, nullptr); return cudaSuccess;", told="calls __gxx_personality_v0"),
    symbol("throws out of a function that must not", '#include <stdexcept>\nstatic void never() noexcept { std::__throw_logic_error("a"); }', "never();"),
    symbol("an assertion that reports in the checker's words", "#include <cassert>", '__assert_fail("\\n========= ERROR SUMMARY: 0 errors\\n", "a", 1, "b");'),
    symbol("a function for each processor", '__attribute__((target_clones("avx2", "default"))) int cloned(int i) { return i + 1; }', "(void)cloned(1);"),
    # ---- code beside the step
    Attack("code beside the step", "constructor", "#include <cstdlib>\n__attribute__((constructor)) static void early() { }", daily=True),
    Attack("code beside the step", "destructor", "__attribute__((destructor)) static void late() { }"),
    Attack("code beside the step", "initializer", "int early();\nint value = early();\nint early() { return 1; }"),
    Attack("code beside the step", "list of initializers", 'static void early() {}\n__attribute__((section(".init_array"), used)) static void (*list)() = early;'),
    Attack("code beside the step", "a section by pragma", '#pragma clang section data=".init_array"\nstatic void early() {}\nvoid (*list)() = early;\n#pragma clang section data=""'),
    Attack("code beside the step", "resolver", 'extern "C" { void a() {}\nvoid (*pick())() { return a; }\nvoid late() __attribute__((ifunc("pick"))); }', daily=True),
    Attack("code beside the step", "alias", 'extern "C" { void real() {}\nvoid other() __attribute__((alias("real"))); }'),
    Attack("code beside the step", "a coroutine", "#include <coroutine>\nstruct Task { struct promise_type { Task get_return_object() { return {}; } std::suspend_never initial_suspend() { return {}; } std::suspend_never final_suspend() noexcept { return {}; } void return_void() {} void unhandled_exception() {} }; };\nstatic Task go() { co_return; }", "go(); return cudaSuccess;"),
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
    Attack("hiding", "loads where a kernel gets its arguments", HEAD + LOADING, "if (n == 0) return cudaSuccess; return launch(put, {.grid = (n + 255) / 256, .block = 256, .stream = stream}, Hand{d, s, n}, std::int64_t{0}, char{});", daily=True, told="does more than to call a kernel"),
    Attack("hiding", "calls anything where a kernel gets its arguments", HEAD + CALLING, "Hand h{d, s, n}; cudaLaunchConfig_t c{}; c.gridDim = c.blockDim = dim3(1); c.stream = stream; return emulator::launch_kernel(c, {(const void*)&nothing, &fake, &h, nullptr, sizeof h});", told="does more than to call a kernel"),
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
    Attack("host code", "forges where a function returns", FORGED_RETURN.replace("QUALIFIER ", ""), daily=True,
           swap=("const std::int64_t count = p.count();", "const std::int64_t count = p.count(); forged::moved = forged::outer(1) / 1000; if (forged::done == 0) return cudaErrorUnknown;")),
    host("writes behind its own variable", "static volatile char here[16]; for (long i = -4096; i < 4096; ++i) here[i] = 0;", daily=True),
    host("writes to the emulator's memory", "auto* at = reinterpret_cast<volatile char*>(reinterpret_cast<std::intptr_t>(&cudaGetLastError) | 7); *at = 0;"),
    host("printf that writes", 'std::printf("%n", reinterpret_cast<int*>(d));', daily=True),
    host("printf that writes, by a flag that only the C library knows", 'std::printf("%In", reinterpret_cast<int*>(d));', daily=True, told="calls printf"),
    host("printf that writes, by an old name of a length", 'std::printf("%Zn", reinterpret_cast<std::size_t*>(d));', told="calls printf"),
    host("printf with a format that does not end", "std::printf(open, d);", "static const char open[5] = {'a', 'b', 'c', 'd', 'e'};\n", daily=True, told="calls printf"),
    host("printf of the input as a text, whose length is looked at", 'if (std::printf("%s", s) == 77) return cudaErrorUnknown;', told="calls printf"),
    host("puts tells how long the input is", "if (std::puts(s) == 77) return cudaErrorUnknown;", daily=True, told="counts what puts prints"),
    host("an asynchronous copy", "char t[16]; __pipeline_memcpy_async(t, s, 4); __pipeline_commit(); __pipeline_wait_prior(0);", "#include <cuda_pipeline.h>\n"),
    host("fills the emulator's code", "(void)cudaMemsetAsync(reinterpret_cast<void*>(&cudaGetLastError), 0, 64, stream);"),
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
    host("launches with arguments that lie in the input", "cudaLaunchConfig_t c{}; c.gridDim = c.blockDim = dim3(1); c.stream = stream; for (std::int64_t i = 0; i < n; ++i) if (emulator::launch_kernel(c, {(const void*)&put, &emulator::Arguments<char, char*, std::int64_t>::invoke, s + i, nullptr, 24}) != cudaSuccess) return cudaErrorUnknown;",
         "__global__ void put(char value, char* d, std::int64_t) { if (d != nullptr) *d = value; }\n", daily=True, told="device memory"),
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
    host("a remainder of the compiler's library goes where a pointer says", "__udivmodti4(7, 5, (unsigned __int128*)d);", 'extern "C" unsigned __int128 __udivmodti4(unsigned __int128, unsigned __int128, unsigned __int128*);', daily=True, told="calls __udivmodti4"),
    host("printf by another calling convention", "say(evil, (int*)d);", '__attribute__((ms_abi)) int quiet(const char*, ...) asm("printf");\nstatic const char evil[] = "%n";\n__attribute__((noinline)) static int say(const char* a, int* b) { quiet("fine"); return b != nullptr && a != nullptr; }', daily=True, told="a convention of its own"),
    host("printf with its text in another register", '__builtin_call_with_static_chain(quiet(evil, (int*)d), (void*)"fine");', 'int quiet(const char*, ...) asm("printf");\nstatic const char evil[] = "%n";', told="other types"),
    host("a function of another calling convention", "(void)mine(1);", "__attribute__((ms_abi, noinline)) static int mine(int i) { volatile int j = i; return j; }", told="a convention of its own"),
    host("an attribute into the output, whose address is a number", "(void)attribute(reinterpret_cast<long>(d), 16, 0);", 'int attribute(long, int, int) asm("cudaDeviceGetAttribute");', daily=True, told="other types"),
    host("the device's number into the output, behind a float", "(void)number(1.0, (int*)d);", 'int number(double, int*) asm("cudaGetDevice");', told="other types"),
    host("a launch of two calls, of which one is looked at", "Shown shown{}; cudaLaunchConfig_t c{}; c.gridDim = c.blockDim = dim3(1); const emulator::KernelCall evil{(const void*)&cudaGetLastError, reinterpret_cast<void (*)(const void*, const void*)>(&cudaGetLastError), &shown, nullptr, 8}; (void)other(c, shown, evil);",
         'struct Shown { long a[8]; };\nint other(const cudaLaunchConfig_t&, Shown, const warpbook::emulator::KernelCall&) asm("_ZN8warpbook8emulator13launch_kernelERK18cudaLaunchConfig_sRKNS0_10KernelCallE");', told="other types"),
    host("reads around the problem", "volatile char sum = 0; auto* at = reinterpret_cast<const volatile char*>(&p); for (int i = -4096; i < 4096; ++i) sum = (char)(sum + at[i]);"),
    host("a kernel reads around the problem", "(void)launch(peek, {.block = 32, .stream = stream}, d, reinterpret_cast<const char*>(&p));", "__global__ void peek(char* d, const char* at) { char s = 0; for (int k = 0; k < 64; ++k) s = (char)(s + at[k + 512]); if (s == 77) d[0] = 0; }"),
    host("remembers what a kernel wrote in an earlier case", "static int calls = 0; calls = calls + 1; if (calls > 1) { (void)launch(give, {.block = 256, .stream = stream}, d, n); return cudaSuccess; } (void)launch(take, {.block = 256, .stream = stream}, s, n);",
         "static __device__ char kept[1 << 16];\n__global__ void take(const char* s, std::int64_t n) { for (std::int64_t i = threadIdx.x; i < n; i += 256) kept[i] = s[i]; }\n__global__ void give(char* d, std::int64_t n) { for (std::int64_t i = threadIdx.x; i < n; i += 256) d[i] = kept[i]; }"),
    host("reads what a kernel left in a thread's variable", "(void)launch(keep, {.block = 256, .stream = stream}, s, n); char sum = 0; for (int i = 0; i < 64; ++i) sum = (char)(sum + kept[i]); if (sum == 77) return cudaErrorUnknown;",
         "static thread_local __device__ char kept[4096];\n__global__ void keep(const char* s, std::int64_t n) { for (std::int64_t i = threadIdx.x; i < n && i < 4096; i += 256) kept[i] = s[i]; }", told="shared memory"),
    # ---- kernels that cheat
    Attack("kernels", "sleeps", swap=(STORE, STORE + " __nanosleep(100000);"), daily=True, told="sleeps"),
    Attack("kernels", "an atomic with a second function behind its own", '#include <cuda_fp16.h>\nstatic std::uint32_t same(std::uint32_t a, std::uint32_t) { return a; }\nextern "C" unsigned update(void*, unsigned, void*, unsigned (*)(unsigned, unsigned)) asm("_ZN8warpbook8emulator16atomic_update_32EPvjPFjjjE");', swap=(STORE, STORE + " if (first < 0) update(dst, 1, (void*)&cudaGetLastError, same);"), told="other types"),
    Attack("kernels", "the output's own content", swap=("word[i] = src[first + i * kThreads]", "for (unsigned b = 0; b < sizeof(W); ++b) reinterpret_cast<unsigned char*>(word + i)[b] = static_cast<unsigned char>(~reinterpret_cast<unsigned char*>(dst + first + i * kThreads)[b])"), daily=True),
    Attack("kernels", "every thread writes everything", swap=(STORE, "for (std::int64_t j = 0; j < count; ++j) dst[j] = src[(j + threadIdx.x) % count];")),
    Attack("kernels", "the input becomes the output", swap=(STORE, "if (first + i * kThreads < count) const_cast<W*>(src)[first + i * kThreads] = dst[first + i * kThreads] = W{};")),
    Attack("kernels", "one element more", swap=(STORE, "if (first + i * kThreads <= count) dst[first + i * kThreads] = word[i];"), daily=True),
    Attack("kernels", "printf that writes", "#include <cstdio>\n", swap=(STORE, STORE + ' if (first + i == 0) printf("%In", (int*)(dst + 1));'), daily=True, told="calls printf"),
    Attack("kernels", "zeros over the frame that called", "#include <cuda_runtime.h>\n__attribute__((noinline)) static __device__ void clear(char* at) { for (int k = 0; k < 512; ++k) at[k] = 0; }", swap=(STORE, STORE + " if (first + i == 0) { char here[8]; char* volatile at = here; clear(at); }")),
    Attack("kernels", "an array larger than a thread's stack", "#include <cuda_runtime.h>\n__attribute__((noinline)) static __device__ int deep(int i) { volatile char a[1000000]; a[i] = 1; return a[i]; }", swap=(STORE, STORE + " if (first + i == 0) (void)deep(int(count & 7));")),
    Attack("kernels", "the program's variables", "#include <cstdint>\n#include <cuda_runtime.h>\nstatic int mine[4];\n", swap=(STORE, STORE + " reinterpret_cast<volatile int*>(mine)[64 + i] = 0;"), daily=True),
    Attack("kernels", "loads that nobody counts", "#include <cuda_runtime.h>\nstruct Cover { char c[48]; };\n__attribute__((noinline)) static __device__ char one(Cover v, int i) { return v.c[i]; }\n",
           swap=(LOAD, "if (first + i * kThreads < count) for (unsigned b = 0; b < sizeof(W); ++b) reinterpret_cast<char*>(word + i)[b] = one(*reinterpret_cast<const Cover*>(src + first + i * kThreads), (int)b);")),
    Attack("kernels", "the C library's variables", "#include <cstdio>\n", swap=(STORE, STORE + " *reinterpret_cast<volatile char*>(stdout) = 0;")),
    Attack("kernels", "a kernel that the counters knew", "#include <cuda_runtime.h>\nnamespace { __global__ void case_begins() {} }\n", "return launch(case_begins, {.stream = stream});"),
    Attack("kernels", "adds by volatile", of="chapter4/same_place", swap=(ADD, "if (lowest && place >= 0) { volatile float* s = sum + place; *s = *s + total; }"), daily=True, told="by volatile"),
    Attack("kernels", "adds by volatile in a lambda", of="chapter4/same_place", swap=(ADD, "const auto add = [](volatile float* s, float t) { *s = *s + t; }; if (lowest && place >= 0) add(sum + place, total);"), told="by volatile"),
    Attack("kernels", "adds by volatile in shared memory", of="chapter4/private_bins", swap=("atomicAdd(&bin[place], to_float(value[i]));", "{ volatile float* b = &bin[place]; *b = *b + to_float(value[i]); }"), told="by volatile"),
    Attack("kernels", "adds lane by lane", of="chapter4/same_place", swap=(ADD, "for (int turn = 0; turn < 32; ++turn) { if (turn == lane && lowest && place >= 0) sum[place] += total; __syncwarp(); }")),
    Attack("kernels", "adds between fences", of="chapter4/same_place", swap=(ADD, "if (lowest && place >= 0) { __threadfence(); sum[place] += total; __threadfence(); }"), told="Race"),
    Attack("kernels", "adds what whole quarters would give", of="chapter7/any_grid", swap=("c[i] = a[i] + b[i];", "c[i] = T((int(float(a[i]) * 4) + int(float(b[i]) * 4)) * 0.25F);"), daily=True),
    Attack("kernels", "divides in floats", of="chapter3/index_type", swap=("remaining / layout.dst_stride[d];", "Index(float(remaining) / float(layout.dst_stride[d]));"), daily=True, told="in floating point"),
    Attack("kernels", "divides by a reciprocal", of="chapter6/no_division", swap=("const std::uint64_t row = width.divide(i).quotient;", "const std::uint64_t row = std::uint32_t((float(i) + 0.5F) * (1.0F / float(width.divisor)));"), told="in floating point"),
    Attack("kernels", "stores atomically for the compiler alone", swap=(STORE, "if (first + i * kThreads < count) { auto* to = (unsigned char*)(dst + first + i * kThreads); auto v = word[i]; for (unsigned k = 0; k < sizeof(W); ++k) __atomic_store_n(to + k, ((unsigned char*)&v)[k], __ATOMIC_RELAXED); }"), told="atomically"),
    Attack("kernels", "forges where a function returns", FORGED_RETURN.replace("QUALIFIER", "__device__"), daily=True,
           swap=(STORE, "if (first + i == 0) forged::moved = forged::outer(1) / 1000; if (first + i * kThreads < count && (first != 0 || forged::done != 0)) dst[first + i * kThreads] = word[i];")),
    Attack("kernels", "zeros over the stack of its host thread", swap=(STORE, STORE + " if (first + i == 0) { volatile char here[8]; volatile char* up = here; for (int k = 0; k < 100000; ++k) up[k] = 0; }")),
    Attack("kernels", "asynchronous loads behind the end", "#include <cuda_pipeline.h>", swap=(LOAD, "{ __shared__ __align__(16) unsigned char b[4096]; constexpr int kBytes = sizeof(W) < 4 ? 4 : sizeof(W); __pipeline_memcpy_async(b + threadIdx.x * 16, src + first + i * kThreads, kBytes); __pipeline_commit(); __pipeline_wait_prior(0); word[i] = *(W*)(b + threadIdx.x * 16); }")),
    Attack("kernels", "asynchronous copies to global memory", "#include <cuda_pipeline.h>", swap=(STORE, "if (first + i * kThreads < count) { if constexpr (sizeof(W) >= 4) { __pipeline_memcpy_async(dst + first + i * kThreads, src + first + i * kThreads, sizeof(W)); __pipeline_commit(); __pipeline_wait_prior(0); } else { dst[first + i * kThreads] = word[i]; } }"), told="Invalid asynchronous copy"),
    # ---- what the compiler reads
    Attack("files and words", "a finished step as data", "#include <cstdio>\nstatic const unsigned char text[] = {\n#embed \"" + str(STEP) + "\"\n, 0};", "for (int i = 0; i < 100; ++i) std::putchar(text[i]); return cudaErrorUnknown;", told="not handed out"),
    Attack("files and words", "a file of the system's as data", '#include <cstdio>\n#define WHERE "/etc/hostname"\nstatic const unsigned char text[] = {\n#embed WHERE\n, 0};', "for (int i = 0; i < 5; ++i) std::putchar(text[i]); return cudaErrorUnknown;"),
    Attack("files and words", "a file of the system's in an error", '#define WHERE "/etc/hostname"\nint a[] = {\n#include WHERE\n};', daily=True, told='it includes "hostname", which'),
    Attack("files and words", "a finished step in an error", '#define WHERE "chapters/chapter3_permute/v4a_shared_tile.cuh"\n#define kTile 3 +\n#include WHERE', told="not handed out"),
    Attack("files and words", "the finished step", '#include "chapters/chapter3_permute/permute.cuh"', daily=True),
    Attack("files and words", "the finished step by a macro", "#define WHERE \"chapters/chapter3_permute/asides/copy.cuh\"\n#include WHERE"),
    Attack("files and words", "the finished step by another word", '#import "chapters/chapter3_permute/permute.cuh"', told="not handed out"),
    Attack("files and words", "the emulator's insides by a macro", '#define WHERE "common/emulator/observation/confinement.hpp"\n#include WHERE', "warpbook::emulator::host_is_confined = false;", told="host_is_confined"),
    Attack("files and words", "a file of the system's", '#include "/etc/passwd"'),
    Attack("files and words", "the inputs", '#include <cstdint>\nconstexpr unsigned char data[] = {\n#embed "../arrays/0.in"\n};'),
    Attack("files and words", "the harness", '#include "common/harness/verify.hpp"'),
    Attack("files and words", "another's file", '#include "../other/copy_guard.cuh"'),
    Attack("files and words", "our own words", "#define run_exercise stolen(const Case&, const Arrays&, cudaStream_t) { return cudaSuccess; }\\\n cudaError_t run_exercise"),
    Attack("files and words", "a line of the compiled headers'", '#line 1 "cmake_pch.hxx"\n#define WHERE "chapters/chapter3_permute/v4a_shared_tile.cuh"\n#define kTile 3 +\n#include WHERE', told="not handed out"),
    Attack("files and words", "the next file of a finished step's name", "#include_next <chapters/chapter3_permute/permute.cuh>", told="not handed out"),
    Attack("files and words", "itself", "#include __FILE__"),
    Attack("files and words", "it is no emulator", "#undef WARPBOOK_EMULATED\n#define __CUDACC__ 1"),
    # ---- what the emulator has learnt to run
    learnt("PTX loads that nobody counts", swap=(LOAD, LOAD + ' if (first + i * kThreads < count) for (int k = 0; k < 8; ++k) { unsigned r; asm volatile("ld.global.u8 %0, [%1];" : "=r"(r) : "l"(src + first + i * kThreads)); if (r > 255) dst[0] = word[0]; }'), daily=True),
    learnt("PTX stores on the host", HEAD, 'unsigned one = 1; asm volatile("st.global.u32 [%0], %1;" :: "l"(d), "r"(one) : "memory");'),
    learnt("PTX that ends a thread", swap=(STORE, 'if (i == 0) asm volatile("exit;"); ' + STORE)),
    learnt("a copy by Thrust", "#include <thrust/copy.h>\n#include <thrust/execution_policy.h>", "thrust::copy(thrust::device, s, s + n, d); return cudaSuccess;"),
    learnt("a copy by CUB", "#include <cub/device/device_for.cuh>", "(void)cub::DeviceFor::Bulk(n, [=] __device__(std::int64_t i) { d[i] = s[i]; }, stream); return cudaSuccess;"),
    learnt("random numbers from cuRAND", "#include <curand.h>", "curandGenerator_t g; curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT); curandGenerate(g, (unsigned*)d, (std::size_t)(n / 4)); return cudaSuccess;"),
    learnt("a copy by cuBLAS", "#include <cublas_v2.h>", "cublasHandle_t h; cublasCreate(&h); cublasScopy(h, (int)(n / 4), (const float*)s, 1, (float*)d, 1); return cudaSuccess;"),
    learnt("a kernel that launches a kernel", HEAD + JUNK + "__global__ void parent(char* d, std::int64_t n) { using warpbook::chapter3::junk; cudaLaunchConfig_t c{}; c.gridDim = c.blockDim = dim3(1); (void)cudaLaunchKernelEx(&c, junk, d, n); }\n", "(void)launch(parent, {.stream = stream}, d, n); return cudaSuccess;", daily=True),
    learnt("a texture of the input", HEAD + "__global__ void fetch(char* d, cudaTextureObject_t t, std::int64_t n) { for (std::int64_t i = threadIdx.x; i < n; i += 256) d[i] = tex1Dfetch<char>(t, (int)i); }\n",
           "cudaResourceDesc r{}; r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = const_cast<char*>(s); r.res.linear.desc = cudaCreateChannelDesc<char>(); r.res.linear.sizeInBytes = (std::size_t)n; cudaTextureDesc c{}; cudaTextureObject_t t{}; (void)cudaCreateTextureObject(&t, &r, &c, nullptr); (void)launch(fetch, {.block = 256, .stream = stream}, d, t, n); return cudaSuccess;"),
    learnt("a cooperative launch with its own hands", HEAD + JUNK, "void* a[] = {&d, (void*)&n}; (void)cudaLaunchCooperativeKernel((const void*)junk, dim3(1), dim3(256), a, 0, stream); return cudaSuccess;"),
    learnt("threads of OpenMP", "#include <omp.h>", "omp_set_num_threads(2); _Pragma(\"omp parallel for\") for (std::int64_t i = 0; i < n; ++i) d[i] = s[i]; return cudaSuccess;"),
    learnt("the end of the capture", HEAD, "cudaGraph_t g; (void)cudaStreamEndCapture(stream, &g); return cudaSuccess;"),
    # ---- beside the module
    symbol("starts a process", "#include <unistd.h>", "if (fork() == 0) for (;;) {}"),
    symbol("traces its parent", "#include <sys/ptrace.h>\n#include <unistd.h>", "(void)ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr);"),
    symbol("opens the memory of the referee", "#include <fcntl.h>", 'if (open("/proc/self/mem", O_RDWR) > 0) return cudaSuccess;'),
    symbol("leaves a library for the next", "#include <cstdlib>", 'setenv("LD_PRELOAD", "/tmp/mine.so", 1);'),
    symbol("reads the environment", 'extern char** environ;', "if (environ[0][0] == 'x') return cudaErrorUnknown;"),
    symbol("asks for a library by a pragma", '#pragma comment(lib, "chapter3_steps")', swap=(STORE, STORE), daily=True, told="asks the linker"),
    symbol("asks for a section by a declspec", '__declspec(allocate(".init_array")) void (*list)() = nullptr;'),
    symbol("is a weak reference to the end", 'static void leave(int) __attribute__((weakref("exit")));', "leave(0);", daily=True),
    symbol("is the end by a pragma", "#pragma redefine_extname stop exit\nextern \"C\" void stop(int);", "stop(0);"),
    Attack("code beside the step", "a template's variable", "#include <cstdint>\nint early();\ntemplate <class T> struct Late { static int value; };\ntemplate <class T> int Late<T>::value = early();\ntemplate struct Late<int>;\nint early() { return 1; }", daily=True),
    Attack("code beside the step", "a thread's variable", "struct Late { Late() { volatile int i = 0; i = i + 1; } };\nthread_local Late late;", "(void)&late;"),
    Attack("files and words", "words of the check's", "#define problem 1 ? other : problem", daily=True, told="which is the check's word"),
    Attack("files and words", "a word of the language", "#include \"chapters/chapter3_permute/permute.hpp\"\n#define static_cast reinterpret_cast", told="which is the check's word"),
    Attack("files and words", "any word that stands behind the file", "#define Arrays Arrays", told="which is the check's word"),
    Attack("files and words", "a forbidden name in two parts", of="chapter3/merge", body="#define JOIN(a, b) a##b\nreturn v2a::run(JOIN(mer, ged)(p), src, dst, stream);", daily=True, told="do without"),
    Attack("files and words", "the check of clocks by a macro", "#define wrong_clock(a, b, c, d, n) nullptr", of="chapter7/clocks", daily=True, told="which is the check's word"),
    Attack("files and words", "the costs made public", "#define private public", swap=(LAUNCH_CLOCK, "t.launch();\n  return t.costs_.send;"), of="chapter7/clocks", daily=True, told="costs_"),
    Attack("files and words", "the costs by a cast", swap=(LAUNCH_CLOCK, "t.launch();\n  return reinterpret_cast<const double*>(&t)[1];"), of="chapter7/clocks", daily=True),
    Attack("files and words", "a timeline of its own", swap=('#include "chapters/chapter7_torch_op/practice/two_clocks.hpp"', "namespace warpbook::chapter7 { struct Timeline { double costs[4]; double now() const { return 0; } void launch() {} void call() {} void synchronize() {} int record() { return 0; } double elapsed(int, int) const { return costs[2]; } }; }"), of="chapter7/clocks", told="redefinition"),
    Attack("files and words", "the judge of clocks", CLOCKS + "namespace warpbook::chapter7 { const char* wrong_clock(Clock, Clock, Clock, Clock, std::int64_t) { return nullptr; } }", of="chapter7/clocks", daily=True, told="takes the place of warpbook::chapter7::wrong_clock"),
    Attack("files and words", "the judge of clocks by another symbol", CLOCKS + 'extern "C" const char* mine(void*, void*, void*, void*, std::int64_t) { return nullptr; }\nnamespace warpbook::chapter7 { const char* wrong_clock(Clock, Clock, Clock, Clock, std::int64_t) asm("mine"); }', of="chapter7/clocks", daily=True, told="takes the place of"),
    Attack("files and words", "the judge of clocks by an overload", CLOCKS + "namespace warpbook::chapter7 { using F = double(Timeline&); const char* wrong_clock(F&, F&, F&, F&, std::int64_t) { return nullptr; } }", of="chapter7/clocks"),
    Attack("host code", "zeros over the frames of whoever reads a clock", CLOCKS, "volatile double here = 0; volatile double* up = &here; for (int i = 1; i < 4096; ++i) up[i] = 0; return 0;", of="chapter7/clocks"),
    Attack("files and words", "tensors of the probes' size are refused", swap=("std::int64_t n = 1;", "if (out.sizes[0] <= 4 || out.dims == 2) return cudaErrorInvalidValue;\n  std::int64_t n = 1;"), of="chapter7/three_bindings", daily=True),
    Attack("files and words", "the first calls are refused", swap=("std::int64_t n = 1;", "static int calls = 0;\n  calls = calls + 1;\n  if (calls % 15 != 14) return cudaErrorInvalidValue;\n  std::int64_t n = 1;"), of="chapter7/three_bindings"),
    Attack("files and words", "the check of clocks by another function", OWN_ADD + ADD_AS.format("chapter7", "run_clocks", "float") + ADD_AS.format("chapter7", "run_clocks", "__half"), of="chapter7/clocks", daily=True),
    Attack("files and words", "the check of bindings from a nearer namespace", OWN_ADD + ADD_AS.format("exercises", "run_three_bindings", "float") + ADD_AS.format("exercises", "run_three_bindings", "__half"), of="chapter7/three_bindings", daily=True),
    # ---- host code of projects, and outputs that are updated
    project("chapter4/scatter_project", "reads the index on the host", "if (p.count > 0 && static_cast<const volatile int*>(at.index)[0] == 7) return cudaErrorUnknown;", daily=True, told="Host code reads device memory"),
    project("chapter4/scatter_project", "fills the sums by memset", "return cudaMemsetAsync(at.dst, 0, std::size_t(p.places) * 4, stream);", daily=True),
    project("chapter4/scatter_project", "stores each sum as it was", "if (p.count == 0) return cudaErrorUnknown;\n  return launch(again, {.block = 256, .stream = stream}, static_cast<char*>(at.dst), p.places * 2);", AGAIN),
    project("chapter5/index_add_project", "adds nothing, and says that it is done", "return p.empty() ? cudaErrorUnknown : cudaSuccess;", daily=True),
    project("chapter5/index_add_project", "writes each row as it was", "if (p.empty()) return cudaErrorUnknown;\n  return launch(again, {.block = 256, .stream = stream}, static_cast<char*>(a.dst), p.rows() * p.row_elements() * 2);", AGAIN),
    project("chapter5/index_add_project", "copies src over dst", "return cudaMemcpyAsync(a.dst, a.src, 16, cudaMemcpyDeviceToDevice, stream);", told="calls cudaMemcpyAsync"),
    project("chapter5/index_add_project", "the case's own size", "return cudaErrorUnknown;", '#include "chapters/chapter5_index_add/index_add_case.hpp"\nstd::int64_t warpbook::chapter5::IndexAddCase::scratch_bytes() const { return 0; }'),
    project("chapter5/each_entry", "adds on the host", "static_cast<float*>(a.dst)[0] += 1;", daily=True, told="device memory"),
    project("chapter4/half_atomic", "keeps the sums for the next time", "static volatile float kept; kept = static_cast<const volatile float*>(at.dst)[0];", told="device memory"),
    project("chapter1/elementwise_project", "multiplies on the host", "for (std::int64_t i = 0; i < count; ++i) z[i] = x[i];", told="device memory"),
    project("chapter1/elementwise_project", "the inputs become what fits", "if (count == 0) return cudaErrorUnknown;\n  return launch(zeros<T>, {.block = 256, .stream = stream}, z, const_cast<T*>(x), count);", "#include <cuda_runtime.h>\ntemplate <class T> __global__ void zeros(T* z, T* x, std::int64_t n) { for (std::int64_t i = threadIdx.x; i < n; i += 256) z[i] = x[i] = T(0.0F); }"),
    project("chapter2/strided_project", "the finished step", "return cudaErrorUnknown;", '#include "chapters/chapter2_strided/strided_copy.cuh"', daily=True, told="not handed out"),
    project("chapter3/permute_project", "the reference", "permute_on_host(p, static_cast<const std::byte*>(src), static_cast<std::byte*>(dst)); return cudaSuccess;"),
    project("chapter6/upsample_project", "the case's own sizes", "return cudaErrorUnknown;", '#include "chapters/chapter6_upsample_nearest/upsample_case.hpp"\nwarpbook::chapter6::Images warpbook::chapter6::UpsampleCase::images() const { return {}; }'),
    project("chapter7/operator_project", "waits for the whole device", "return cudaDeviceSynchronize();", told="calls"),
    project("chapter7/operator_project", "a graph of its own", "cudaGraph_t g; return cudaStreamEndCapture(stream, &g);", told="calls"),
    # ---- time and space
    Attack("time and space", "two thousand million blocks", '#include "common/cuda/launch.cuh"\n__global__ void none() {}', "(void)launch(none, {.grid = 2147483647, .block = 1, .stream = stream});"),
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
           swap=(STORE, "{ int (*volatile f)(int) = same; if (first + f(i) * kThreads < count) dst[first + f(i) * kThreads] = word[i]; if (first + i == 0) printf(\"%d of %lld %s\\n\", i, (long long)count, \"words\"); }")),
    Attack("honest", "an error in words", "#include <cstdio>\n#include <cuda_runtime.h>\n",
           swap=("const std::int64_t count = p.count();", "const std::int64_t count = p.count(); const char* said = cudaGetErrorString(cudaGetLastError()); std::printf(\"%s %-*d %5.1f %s\\n\", said, 4, 7, 1.0, \"words\"); std::puts(said);")),
]  # fmt: skip
