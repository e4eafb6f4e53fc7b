"""The first way: PyTorch compiles the sources when they are asked for, and keeps what it made.

    python3 jit.py

Best while one writes the kernel: nothing to install, a changed source is compiled at the next start. It needs nvcc, ninja
and a compiler wherever the program runs, and the first start takes as long as the compiler does.
"""

import pathlib

import torch
from torch.utils.cpp_extension import load

HERE = pathlib.Path(__file__).resolve().parent


def build(folder=None):
    """Compiles and loads it: torch.ops.add2.add2 is there afterwards."""
    load(
        name="add2_jit",
        sources=[str(HERE / "binding.cpp"), str(HERE / "add2.cu")],
        extra_cflags=["-O2"],
        extra_cuda_cflags=["-O2"],
        extra_ldflags=["-l:libstdc++.so.6"],  # PyTorch's C++ runtime, whichever the compiler would take: see ../README.md.
        build_directory=str(folder) if folder else None,
        is_python_module=False,  # It registers an operator, and is no module that Python could import.
    )


if __name__ == "__main__":
    build()
    print(torch.ops.add2.add2.default._schema)
