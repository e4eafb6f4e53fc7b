"""The take-away header as a shared library, called through its C interface."""

import ctypes
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "tests/peers/permute_c.cu"


def build(folder, architecture):
    """Makes the amalgamated headers and compiles the library; returns its path. architecture: "90"."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["python3", str(ROOT / "scripts/amalgamate.py"), "--quiet", "--output", str(folder)], check=True
    )
    nvcc = subprocess.run([str(ROOT / "scripts/find_nvcc.sh")], check=True, capture_output=True, text=True).stdout.strip()
    library = folder / "libwarpbook_permute.so"
    subprocess.run(
        [nvcc, "-std=c++20", "-O2", f"-arch=sm_{architecture}", "-shared", "-Xcompiler=-fPIC", f"-I{folder}",
         "-o", str(library), str(SOURCE)],
        check=True,
    )
    return library


class Permute:
    """warpbook::permute."""

    def __init__(self, library):
        self.function = ctypes.CDLL(str(library)).warpbook_permute
        self.function.restype = ctypes.c_int
        self.function.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int64),
            ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_void_p,
        ]

    def bind(self, source, permutation, destination, stream):
        """A function of no arguments that permutes one tensor into another on a stream."""
        rank = source.dim()
        shape = (ctypes.c_int64 * rank)(*source.shape)
        order = (ctypes.c_int * rank)(*permutation)
        arguments = (
            destination.data_ptr(), source.data_ptr(), rank, shape, order, source.element_size(), stream,
        )

        def call():
            error = self.function(*arguments)
            if error:
                raise RuntimeError(f"warpbook_permute returned CUDA error {error}")

        return call
