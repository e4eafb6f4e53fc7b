#!/usr/bin/env python3
"""Compiles the operators, build/torch_op/libwarpbook_ops.so, where PyTorch is: `make chapter7` and `make test` do it.

A binding is ordinary C++: PyTorch's headers, two of its libraries, any compiler that it accepts. No nvcc is needed, since
the kernels are a library of their own. Nothing is compiled where nothing changed, and nothing where there is no PyTorch.
"""

import json
import os
import pathlib
import subprocess
import sys

CHAPTER = pathlib.Path(__file__).resolve().parent
ROOT = CHAPTER.parents[1]
SOURCES = sorted((CHAPTER / "warpbook_ops").glob("*.cpp"))
HEADERS = sorted((CHAPTER / "warpbook_ops").glob("*.hpp"))
FOLDER = ROOT / "build/torch_op"


def torch_folder(python):
    """Where that Python's PyTorch lies, without importing it."""
    code = "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('torch').origin).parent)"
    return pathlib.Path(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip())


def commands(torch):
    """One command for each object, and the one that links them."""
    compiler = os.environ.get("CXX_TORCH", "g++")
    objects = [FOLDER / f"{source.stem}.o" for source in SOURCES]
    include = [f"-isystem{torch / 'include'}", f"-isystem{torch / 'include/torch/csrc/api/include'}"]
    options = ["-std=c++20", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", *include]
    compile_all = [[compiler, *options, "-c", str(s), "-o", str(o)] for s, o in zip(SOURCES, objects)]
    link = [compiler, "-shared", *map(str, objects), f"-L{torch / 'lib'}", "-lc10", "-ltorch_cpu",
            "-l:libstdc++.so.6", f"-Wl,-rpath,{torch / 'lib'}", "-o", str(FOLDER / "libwarpbook_ops.so")]
    return compile_all, link


def main():
    found = subprocess.run([ROOT / "scripts/find_torch.sh"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        print("PyTorch is not here, so its operators are not built: make deps-torch")
        return 0
    torch = torch_folder(found.stdout.strip())
    compile_all, link = commands(torch)
    stamp = FOLDER / "made_of.json"
    files = [*SOURCES, *HEADERS, torch / "version.py"]
    made_of = {"commands": [*compile_all, link], "files": {str(f): f.stat().st_mtime_ns for f in files}}
    if stamp.exists() and (FOLDER / "libwarpbook_ops.so").exists() and json.loads(stamp.read_text()) == made_of:
        return 0
    print(f"building the operators with {torch}", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    for command in [*compile_all, link]:
        if subprocess.run(command, check=False).returncode != 0:
            print("error: the operators were not built; the command was: " + " ".join(command), file=sys.stderr)
            return 1
    stamp.write_text(json.dumps(made_of), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
