#!/usr/bin/env python3
"""Compiles the operators, build/torch_op/libwarpbook_ops.so, where PyTorch is: `make chapter7` and `make test` do it.

A binding is ordinary C++: PyTorch's headers, two of its libraries, any compiler that it accepts. No nvcc is needed, since
the kernels are a library of their own. Nothing is compiled where nothing changed, and nothing where there is no PyTorch.
Where Python's own headers are, too, add2 gets its short way from Python (warpbook_ops/python.cpp).
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

CHAPTER = pathlib.Path(__file__).resolve().parent
ROOT = CHAPTER.parents[1]
PYTHON = CHAPTER / "warpbook_ops/python.cpp"
SOURCES = sorted(set((CHAPTER / "warpbook_ops").glob("*.cpp")) - {PYTHON})
HEADERS = sorted((CHAPTER / "warpbook_ops").glob("*.hpp"))
FOLDER = ROOT / "build/torch_op"


def look(python):
    """Where that Python's PyTorch lies, without importing it; where Python's headers would be; how its modules' names end."""
    code = ("import importlib.util, sysconfig; print(importlib.util.find_spec('torch').submodule_search_locations[0], "
            "sysconfig.get_paths()['include'], sysconfig.get_config_var('EXT_SUFFIX'), sep='\\n')")
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.split("\n")
    return pathlib.Path(found[0]), pathlib.Path(found[1]), found[2]


def commands(torch, headers, suffix):
    """What compiles, each by itself: the objects, and what is Python's where its headers are. And what links the objects."""
    compiler = os.environ.get("CXX_TORCH", "g++")
    objects = [FOLDER / f"{source.stem}.o" for source in SOURCES]
    include = [f"-isystem{torch / 'include'}", f"-isystem{torch / 'include/torch/csrc/api/include'}"]
    options = ["-std=c++20", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", *include]
    libraries = [f"-L{torch / 'lib'}", "-lc10", "-ltorch_cpu", "-l:libstdc++.so.6", f"-Wl,-rpath,{torch / 'lib'}"]
    compiles = [[compiler, *options, "-c", str(s), "-o", str(o)] for s, o in zip(SOURCES, objects)]
    if (headers / "Python.h").exists():
        compiles.append([compiler, *options, f"-isystem{headers}", "-shared", str(PYTHON), *libraries, "-ltorch_python",
                         "-o", str(FOLDER / f"warpbook_ops_python{suffix}")])
    return compiles, [compiler, "-shared", *map(str, objects), *libraries, "-o", str(FOLDER / "libwarpbook_ops.so")]


def run(command):
    """Whether it ends well."""
    if subprocess.run(command, check=False).returncode == 0:
        return True
    print("error: the operators were not built; the command was: " + " ".join(command), file=sys.stderr)
    return False


def main():
    found = subprocess.run([ROOT / "scripts/find_torch.sh"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        print("PyTorch is not here, so its operators are not built: make deps-torch")
        return 0
    torch, headers, suffix = look(found.stdout.strip())
    compiles, link = commands(torch, headers, suffix)
    stamp = FOLDER / "made_of.json"
    files = [*SOURCES, PYTHON, *HEADERS, torch / "version.py"]
    made_of = {"commands": [*compiles, link], "files": {str(f): f.stat().st_mtime_ns for f in files}}
    if stamp.exists() and (FOLDER / "libwarpbook_ops.so").exists() and json.loads(stamp.read_text()) == made_of:
        return 0
    print(f"building the operators with {torch}", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in (stamp, *FOLDER.glob("warpbook_ops_python*")):
        old.unlink(missing_ok=True)
    if not (headers / "Python.h").exists():
        print(f"{headers}/Python.h is not there: calls of add2 go PyTorch's general way (Debian: python3-dev)")
    # At once: each reads all of PyTorch's headers, and the build has nothing else left to do.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        if not all(list(pool.map(run, compiles))) or not run(link):
            return 1
    stamp.write_text(json.dumps(made_of), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
