"""The second way: setuptools, for what is to be installed like any other package.

    python3 setup.py build_ext --build-lib build     makes build/add2_op.so; `pip install .` installs it

The user of the package needs no compiler where a wheel was made, but one wheel for each version of PyTorch. It is loaded by
torch.ops.load_library("add2_op.so").
"""

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="add2_op",
    version="1.0",
    ext_modules=[
        CUDAExtension(
            "add2_op",
            ["binding.cpp", "add2.cu"],
            extra_compile_args={"cxx": ["-O2"], "nvcc": ["-O2"]},
            extra_link_args=["-l:libstdc++.so.6"],  # PyTorch's C++ runtime: see ../README.md.
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
