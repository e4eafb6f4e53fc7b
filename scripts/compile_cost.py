#!/usr/bin/env python3
"""Measures what chapter 2's kernels cost to compile: one for any number of dimensions against one for each number.

    python3 scripts/compile_cost.py            writes docs/results/nvcc/chapter2_dims.json

Needs nvcc and no GPU. Each variant is compiled to machine code for one architecture, several times; counted are nvcc's
processor seconds, also without those of the same file without any instance, and the bytes of machine code.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = ("std::uint8_t", "std::uint16_t", "std::uint32_t", "std::uint64_t", "uint4")
INDEX = {"64-bit": "std::uint64_t", "32-bit": "std::uint32_t"}


FILES = {"v1": "v1_naive.cuh", "v2": "v2_static_dims.cuh", "v4": "v4_index_type.cuh"}


def kernel_text(step):
    """The step's kernel and its view, cut from its file: the launchers beside it would make instances of their own."""
    text = (ROOT / "chapters/chapter2_strided" / FILES[step]).read_text(encoding="utf-8")
    return text[text.index("/// A view"):text.rindex("//! [kernel]")]


def source_text(bits, counts):
    """Explicit instances of the chapter's own kernels. A count of None is the kernel that takes the number at run time."""
    lines = ['#include "common/cuda/pack.cuh"', '#include "common/cuda/tensor_view.hpp"',
             "namespace warpbook {", "inline constexpr int kThreads = 256;"]
    for step in FILES:
        lines += [f"namespace {step} {{", kernel_text(step), "}"]
    for count in counts:
        for word in WORDS:
            if bits == "64-bit" and count is None:
                name, view = f"v1::strided_kernel<{word}>", "v1::View"
            elif bits == "64-bit":
                name, view = f"v2::strided_kernel<{count}, {word}>", f"v2::View<{count}>"
            else:
                name, view = f"v4::strided_kernel<{count or 0}, {word}>", f"v4::View<{count or 0}>"
            lines.append(f"template __global__ void {name}({word}*, const {word}*, const __grid_constant__ {view}, "
                         f"{INDEX[bits]}, bool);")
    return "\n".join(lines + ["}", ""])


def compile_once(nvcc, folder, text, architecture):
    """Processor seconds of nvcc and all that it starts, and the bytes of machine code in the result."""
    source, result = folder / "kernels.cu", folder / "kernels.cubin"
    source.write_text(text, encoding="utf-8")
    before = os.times()
    subprocess.run([nvcc, "-std=c++20", "-O2", f"-arch=sm_{architecture}", "-cubin", f"-I{ROOT}", "-o", str(result),
                    str(source)], check=True)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, result.stat().st_size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--architecture", default="90")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs/results/nvcc/chapter2_dims.json")
    arguments = parser.parse_args()
    nvcc = subprocess.run([str(ROOT / "scripts/find_nvcc.sh")], check=True, capture_output=True, text=True).stdout.strip()
    version = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    variants = [("no kernel", "", [])]
    for bits in INDEX:
        variants.append((f"{bits}, number at run time", bits, [None]))
        variants.append((f"{bits}, 1 to 5 static", bits, list(range(1, 6))))
        variants.append((f"{bits}, 1 to 25 static", bits, list(range(1, 26))))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for title, bits, counts in variants:
            text = source_text(bits, counts)
            samples = [compile_once(nvcc, pathlib.Path(name), text, arguments.architecture) for _ in range(arguments.runs)]
            seconds = statistics.median(sample[0] for sample in samples)
            least = rows[0]["processor_seconds"] if rows else seconds
            rows.append({"variant": title, "kernels": len(counts) * len(WORDS), "processor_seconds": round(seconds, 3),
                         "seconds_beyond_the_headers": round(seconds - least, 3), "cubin_bytes": samples[0][1]})
            print(rows[-1], flush=True)
    document = {"nvcc": re.search(r"V([\d.]+)", version)[1], "architecture": f"sm_{arguments.architecture}",
                "runs": arguments.runs, "element_sizes": len(WORDS), "rows": rows}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    whole_file.write(arguments.output, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
