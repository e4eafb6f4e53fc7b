"""A take-away header as a shared library, called through its C interface."""

import ctypes
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]


def build(name, folder, architecture):
    """Makes the amalgamated headers and compiles tests/chapters/peers/NAME_c.cu; returns its path. architecture: "90"."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["python3", str(ROOT / "scripts/amalgamate.py"), "--quiet", "--output", str(folder)], check=True
    )
    nvcc = subprocess.run([str(ROOT / "scripts/find_nvcc.sh")], check=True, capture_output=True, text=True).stdout.strip()
    library = folder / f"libwarpbook_{name}.so"
    subprocess.run(
        [nvcc, "-std=c++20", "-O2", f"-arch=sm_{architecture}", "-shared", "-Xcompiler=-fPIC,-fno-gnu-unique", f"-I{folder}",
         "-o", str(library), str(ROOT / f"tests/chapters/peers/{name}_c.cu")],
        check=True,
    )
    return library


def load(path, functions):
    """The library, with what its functions take and return declared. functions: name -> list of ctypes."""
    library = ctypes.CDLL(str(path))
    for name, arguments in functions.items():
        function = getattr(library, name)
        function.restype = ctypes.c_int
        function.argtypes = arguments
    return library


def shared_names(path):
    """The project's variables of which a process has but one, however many libraries define them: the second library would
    take the first one's, its table of rules for instance. GCC makes inline variables so unless -fno-gnu-unique is given."""
    listed = subprocess.run(["nm", "-D", "--defined-only", str(path)], check=True, capture_output=True, text=True).stdout
    return [name for _, kind, name in map(str.split, listed.splitlines()) if kind == "u" and "warpbook" in name]
