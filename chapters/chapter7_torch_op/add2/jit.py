"""The first way: PyTorch compiles the sources when they are asked for, and keeps what it made.

    python3 jit.py

Best while one writes the kernel: nothing to install, a changed source is compiled at the next start. It needs nvcc, ninja
and a compiler wherever the program runs, and the first start takes as long as the compiler does.
"""

import pathlib

import torch
from torch.utils.cpp_extension import load

HERE = pathlib.Path(__file__).resolve().parent


def compiled(name, binding, folder, is_module):
    return load(
        name=name,
        sources=[str(HERE / binding), str(HERE / "add2.cu")],
        extra_cflags=["-O2"],
        extra_cuda_cflags=["-O2"],
        extra_ldflags=["-l:libstdc++.so.6"],  # PyTorch's C++ runtime, whichever the compiler would take: see ../README.md.
        build_directory=str(folder) if folder else None,
        is_python_module=is_module,
    )


def build(folder=None):
    """Compiles and loads it: torch.ops.add2.add2 is there afterwards."""
    compiled("add2_jit", "binding.cpp", folder, is_module=False)  # It registers an operator, and is no module.


def build_module(folder=None):
    """The same bound by pybind11: a Python module, whose function is add2(out, a, b)."""
    return compiled("add2_module", "pybind.cpp", folder, is_module=True)


if __name__ == "__main__":
    build()
    print(torch.ops.add2.add2.default._schema)
