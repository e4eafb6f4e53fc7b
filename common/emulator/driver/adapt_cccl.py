#!/usr/bin/env python3
"""Adapts NVIDIA's CCCL (Thrust, CUB, libcu++) to the emulator: `adapt_cccl.py CCCL OUTPUT`.

Copies its headers to OUTPUT. In a program for the emulator host and device are one, so in the copy

- what CCCL asks the preprocessor of the device is answered as for the host (`__CUDA_ARCH__`), except for CUB's tuning;
- `NV_IF_TARGET(NV_IS_HOST, ...)` of Thrust and CUB is asked when the program runs; an algorithm of Thrust's that a
  kernel calls is taken for the host's all the same, and its calls of the runtime are reported;
- PTX becomes calls of warpbook_cccl.h; where PTX is left, compiling what uses it fails and names the instruction.
"""

import re
import shutil
import sys
from pathlib import Path

# By file: each of its asm statements becomes this.
STATEMENTS = {
    "cub/thread/thread_load.cuh": "retval = *ptr;",
    "cub/thread/thread_store.cuh": "*ptr = val;",
    "cub/detail/strong_load.cuh": "retval = ::warpbook::emulator::cccl::load(ptr);",
    "cub/detail/strong_store.cuh": "::warpbook::emulator::cccl::store(ptr, val);",
    "cub/warp/specializations/warp_reduce_shfl.cuh":
        "output = ::warpbook::emulator::cccl::add_below(input, offset, shfl_c, member_mask);",
    "cub/warp/specializations/warp_scan_shfl.cuh":
        "output = ::warpbook::emulator::cccl::add_above(input, offset, shfl_c, member_mask);",
}
# By what stands in an asm statement.
INSTRUCTIONS = {
    "bfe.u32": "bits = ::warpbook::emulator::cccl::extract(source, bit_start, num_bits);",
    "shfl.sync.up": "word = ::warpbook::emulator::cccl::shuffle_up(word, src_offset, flags, member_mask).value;",
    "shfl.sync.down": "word = ::warpbook::emulator::cccl::shuffle_down(word, src_offset, flags, member_mask).value;",
    "vote.ballot.sync": "mask = ::warpbook::emulator::cccl::same_bit(label, current_bit);",
    "shl.b32": "ret = num_bits > 31 ? 0 : val << num_bits;",
    "shr.b32": "ret = num_bits > 31 ? 0 : val >> num_bits;",
}
# libcu++'s asynchronous copies are those of compute capability 8.0, in these files; and their instructions, by what stands
# in an asm statement.
COPIES = ("cuda/pipeline", "cuda/__memcpy_async/dispatch_memcpy_async.h", "cuda/__memcpy_async/cp_async_shared_global.h",
          "cuda/__memcpy_async/is_local_smem_barrier.h", "cuda/__memcpy_async/memcpy_completion.h")
COPY_INSTRUCTIONS = {
    "cp.async.ca.shared.global": "::warpbook::emulator::async_copy(__dest, __src, _Copy_size, 0);",
    "cp.async.cg.shared.global": "::warpbook::emulator::async_copy(__dest, __src, 16, 0);",
    "cp.async.commit_group": "::warpbook::emulator::async_commit();",
    "cp.async.wait_group": "::warpbook::emulator::async_wait(_Prior);",
    "cp.async.wait_all": "::warpbook::emulator::async_wait_all();",
    "cp.async.mbarrier.arrive": "::warpbook::emulator::async_arrive(&__barrier);",
}
# libcu++'s functions for atomics of the host, by the middle of their names: what they do in a kernel.
ATOMICS = {
    "store": "atomic_store(__place, static_cast<__bare>(__val), __order)",
    "load": "atomic_load(__place, __order)",
    "exchange": "update(::warpbook::emulator::AtomicOperation::exchange, __place, static_cast<__bare>(__val), __order)",
    "compare_exchange_strong": "atomic_compare_exchange(__place, __expected, static_cast<__bare>(__desired), __success)",
    "compare_exchange_weak": "atomic_compare_exchange(__place, __expected, static_cast<__bare>(__desired), __success)",
    "fetch_add": "atomic_add(__place, __delta * __atomic_ptr_skip_t<_Tp>::__skip, __order)",
    "fetch_sub": "atomic_add(__place, -(__delta * __atomic_ptr_skip_t<_Tp>::__skip), __order)",
    "fetch_and": "update(::warpbook::emulator::AtomicOperation::bit_and, __place, static_cast<__bare>(__pattern), __order)",
    "fetch_or": "update(::warpbook::emulator::AtomicOperation::bit_or, __place, static_cast<__bare>(__pattern), __order)",
    "fetch_xor": "update(::warpbook::emulator::AtomicOperation::bit_xor, __place, static_cast<__bare>(__pattern), __order)",
}
ATOMIC = re.compile(r"\b__atomic_(\w+)_host\([^{};]*?\)( -> remove_cv_t<_Tp>)?\n\{\n")
ATOMIC_CALL = re.compile(r"(\b__atomic_\w+_host\()(__a->get\(\))")  # by the scope that the caller has
ASM = re.compile(r"\basm\b(\s+volatile)?\s*\(")
SWITCH = re.compile(r"\bNV_IF_TARGET\(\s*(NV_IS_HOST|NV_IS_DEVICE)\s*,")
COPY_SWITCH = re.compile(r"\bNV_IF(?:_ELSE)?_TARGET\(\s*(NV_PROVIDES_SM_80)\s*,")
# What is a kernel's body, or asks for what kernels have.
BOTH_SIDES = ("thrust/system/cuda/detail/core/agent_launcher.h", "thrust/detail/allocator/temporary_allocator.inl")


def end_of(text, at):
    """Behind the parenthesis that closes the one at `at`; and the top-level commas on the way."""
    depth, commas = 0, []
    while True:
        character = text[at]
        if character == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1, commas
        elif character == "," and depth == 1:
            commas.append(at)
        elif text.startswith("//", at):
            at = text.index("\n", at)
        at += 1


def replace_asm(name, text):
    at = 0
    while found := ASM.search(text, at):
        end, _ = end_of(text, found.end() - 1)
        statement = text[found.start():end]
        new = STATEMENTS.get(name)
        if name in COPIES:
            new = next((made for words, made in COPY_INSTRUCTIONS.items() if words in statement), None)
        if "prefetch.global.L2" in statement:
            new = "(void)addr"
        if name == "cub/util_ptx.cuh":
            new = next((made for words, made in INSTRUCTIONS.items() if words in statement), None)
        if new is None:
            at = end
            continue
        text = text[: found.start()] + new.removesuffix(";") + text[end:]
        at = found.start()
    return text


def block(text):
    """The statements of one of NV_IF_TARGET's arguments, which mostly stand in parentheses."""
    text = text.strip()
    while text.startswith("//"):
        text = text.partition("\n")[2].strip()
    if text.startswith("(") and end_of(text, 0)[0] == len(text):
        text = text[1:-1]
    return text if text.rstrip().endswith((";", "}")) or not text.strip() else text + ";"


def ask_when_running(text, switch=SWITCH):
    while found := switch.search(text):
        opening = text.index("(", found.start())
        end, commas = end_of(text, opening)
        first = block(text[commas[0] + 1: commas[1] if len(commas) > 1 else end - 1])
        second = block(text[commas[1] + 1: end - 1]) if len(commas) > 1 and switch is SWITCH else ""
        condition = ("!" if found[1] == "NV_IS_HOST" else "") + "::warpbook::emulator::in_kernel()"
        text = f"{text[:found.start()]}if ({condition}) {{ {first} }} else {{ {second} }}{text[end:]}"
    return text


def atomic_of_kernels(function):
    call = ATOMICS.get(function[1])
    if call is None:
        return function[0]
    return f"""{function[0]}  using __bare = remove_cv_t<_Tp>;
  if constexpr (::warpbook::emulator::cccl::is_word<_Tp>) {{
    __bare* const __place = const_cast<__bare*>(__a);
    if (::warpbook::emulator::in_kernel()) return ::warpbook::emulator::cccl::{call};
  }}
"""


def adapt(name, text):
    if name == "cub/iterator/tex_obj_input_iterator.cuh":  # Over textures.
        return "#pragma once\n"
    if name.startswith("cuda/std/__atomic/functions/cuda_ptx_"):  # Atomics are the compiler's own, as on the host.
        return "#pragma once\n"
    if name == "cuda/std/__atomic/functions/host.h":
        text = ATOMIC.sub(atomic_of_kernels, text)
        return text.replace("  __atomic_thread_fence(__atomic_order_to_int(__order));",
                            "  ::warpbook::emulator::memory_fence();")
    if name == "cuda/std/__atomic/types/base.h":
        text = ATOMIC_CALL.sub(r"\1::warpbook::emulator::cccl::scoped<is_same<_Sco, __thread_scope_block_tag>::value>(\2)", text)
    if name.startswith("cuda/std/__thread/threading_support"):  # Who waits in a kernel lets the other threads run.
        text = re.sub(r'asm volatile\("(pause|yield)" :: :\)', "::warpbook::emulator::cccl::let_others_run()", text)
        text = text.replace("  sched_yield();", "  if (!::warpbook::emulator::cccl::let_others_run()) sched_yield();")
        text = text.replace("  while (nanosleep(", "  if (::warpbook::emulator::cccl::let_others_run()) return;\n  while (nanosleep(")
        return text
    if name == "cub/util_arch.cuh":  # The host chooses among CUB's tunings what a kernel was compiled with.
        return text.replace("!defined(__CUDA_ARCH__)", "0")
    if name not in BOTH_SIDES and not name.startswith("cuda/__ptx/"):
        text = re.sub(r"\b__CUDA_ARCH__\b", "WARPBOOK_DEVICE_ALONE", text)
    text = replace_asm(name, text)
    text = re.sub(r'"([=+]?)h"', r'"\1r"', text)  # A constraint that clang does not know on this machine.
    text = text.replace("extern __shared__", "extern WARPBOOK_DYNAMIC_SHARED")
    text = re.sub(r"\b__cvta_generic_to_(?=shared|global)", "::warpbook::emulator::cccl::from_generic_to_", text)
    text = re.sub(r"\b__cvta_(shared|global)_to_generic", "::warpbook::emulator::cccl::to_generic", text)
    if name.startswith(("cub/", "thrust/")) and not name.endswith("cdp_dispatch.h"):
        text = ask_when_running(text)
    if name in COPIES:
        if name != "cuda/pipeline":
            text = re.sub(r"NV_IF_ELSE_TARGET\(\s*NV_IS_DEVICE,", "NV_IF_TARGET(NV_IS_DEVICE,", text)
            text = ask_when_running(text)
        text = ask_when_running(text, COPY_SWITCH)
    if name in COPIES or name.startswith("cuda/__memcpy_async/memcpy_async"):  # A report names the line of who calls them.
        text = re.sub(r"\b(_LIBCUDACXX_HIDE_FROM_ABI|inline _CCCL_(?:HOST_)?DEVICE|_CCCL_DEVICE inline)\b",
                      r"\1 __attribute__((always_inline))", text)
    if name == "cuda/__barrier/barrier_block_scope.h":  # Who has waited for a barrier finds the copies that it counts.
        text = text.replace("_CUDA_VSTD::__call_try_wait(__barrier, _CUDA_VSTD::move(__token))",
                            "::warpbook::emulator::cccl::passed(&__barrier, __token >> 63 != 0, "
                            "_CUDA_VSTD::__call_try_wait(__barrier, arrival_token{__token}))")
        text = text.replace("_CUDA_VSTD::__call_try_wait_parity(__barrier, __phase_parity)",
                            "::warpbook::emulator::cccl::passed(&__barrier, __phase_parity, "
                            "_CUDA_VSTD::__call_try_wait_parity(__barrier, __phase_parity))")
    if name == "cub/util_device.cuh":
        text = text.replace("empty_kernel_attrs.ptxVersion * 10", "CUB_PTX_ARCH")
        text = re.sub(r"(define CUB_TEMP_GET_PTX) WARPBOOK_DEVICE_ALONE", r"\1 CUB_PTX_ARCH", text)
    if name == "thrust/system/cuda/detail/core/triple_chevron_launch.h":
        text = text.replace("k<<<grid, block, shared_mem, stream>>>(args...);",
                            "(::warpbook::emulator::configure(grid, block, shared_mem, stream), k(args...), "
                            "::warpbook::emulator::launch());")
    text = text.replace("define _CUB_HAS_TRANSFORM_UBLKCP", "undef _CUB_HAS_TRANSFORM_UBLKCP")  # Needs bulk copies.
    if name == "cub/agent/agent_radix_sort_onesweep.cuh":  # A shorter way for equal keys, which ends with PTX's `exit`.
        text = text.replace("agent.TryShortCircuit(keys, bins);", "")
    if name == "cub/block/block_merge_sort.cuh":  # What lies behind a list is read there, and not used.
        for key in ("key1", "key2"):
            other = {"key1": "keys2", "key2": "keys1"}[key]
            keys = key.replace("key", "keys")
            text = text.replace(f"KeyT {key} = keys_shared[{keys}_beg];",
                                f"KeyT {key} = keys_shared[{keys}_beg < {keys}_end ? {keys}_beg : {other}_beg];")
            text = text.replace(f"      {key} = keys_shared[{keys}_beg];",
                                f"      if ({keys}_beg < {keys}_end) {key} = keys_shared[{keys}_beg];")
    if name == "cuda/std/__cccl/compiler.h":
        text = text.replace("#define __CCCL_COMPILER_H", """#define __CCCL_COMPILER_H
#include <warpbook_cccl.h>""", 1)
    return text


def main():
    source, output = map(Path, sys.argv[1:])
    shutil.rmtree(output, ignore_errors=True)
    for folder in ("cub", "cuda", "nv", "thrust"):
        for path in sorted((source / folder).rglob("*")):
            if path.is_file():
                name = str(path.relative_to(source))
                (output / name).parent.mkdir(parents=True, exist_ok=True)
                (output / name).write_text(adapt(name, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
