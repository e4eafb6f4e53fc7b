#!/usr/bin/env python3
"""Chapter 7: ways to time add2, in C++ and in PyTorch, and every operator against PyTorch's own.

    ./chapter7/run_all                                      the study, then the operators
    ./chapter7/run_all --case 'n=67108864 dtype=half'       the study of a size of your own
    ./chapter7/run_all --ops                                only the operators
    ./chapter7/run_all --ops permute --shape 31,17,63 --dtype half
    ./chapter7/run_all --timeline timeline.svg              what the host and the GPU do meanwhile, drawn (needs a GPU)

Every other option goes to the C++ half: --list, --step, --case, --quick, --full, --seed, --samples, --json, --device-info.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CHAPTER = pathlib.Path(__file__).resolve().parent
ROOT = CHAPTER.parents[1]
NO_PYTORCH = "PyTorch is not here: its half of the study and the operators are skipped (make deps-torch)"
WITHOUT_STUDY = ("--help", "-h", "--list", "--device-info")


def fail(text, status):
    sys.stdout.flush()
    print(f"run_all: {text}", file=sys.stderr)
    return status


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.exit(fail(message, 2))


def parse(arguments):
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/emulator", help=argparse.SUPPRESS)
    parser.add_argument("--ops", nargs="?", const="all", metavar="NAME,NAME")
    parser.add_argument("--shape")
    parser.add_argument("--dtype", choices=("float", "half", "bfloat16"))
    parser.add_argument("--timeline", metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    ours, rest = parser.parse_known_args(arguments)
    if ours.shape is not None and not re.fullmatch(r"\d+(,\d+)*", ours.shape):
        parser.error(f"--shape {ours.shape}: accepted are sizes between commas: 32,1024,1024")
    if (ours.shape or ours.dtype) and ours.ops in (None, "all"):
        parser.error("--shape and --dtype need an operator: --ops permute --shape 32,1024,1024")
    if ours.ops is not None and rest and rest != ["--quick"]:
        parser.error(f"{rest[0]} has no meaning with --ops (accepted: --shape, --dtype, --json, --quick)")
    return ours, rest


def find_torch():
    found = subprocess.run([ROOT / "scripts/find_torch.sh"], capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def torch_half(python, build, part, *arguments):
    """Runs the half that needs PyTorch; what it found is in the file `part`."""
    environment = os.environ | {"PYTHONPATH": str(CHAPTER), "PYTHONDONTWRITEBYTECODE": "1"}
    variable = "WARPBOOK_OPS_CUDA" if build.name == "gpu" else "WARPBOOK_OPS_CPU"
    library = build / "lib/libwarpbook_ops_kernels.so"
    if library.exists():
        environment.setdefault(variable, str(library))
    return subprocess.run([python, CHAPTER / "torch_half.py", "--output", part, *arguments], env=environment,
                          check=False).returncode


def read(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def run(ours, rest, folder):
    cpp, torch_part = folder / "cpp.json", folder / "torch.json"
    python = find_torch()
    if (ours.ops or ours.timeline) and python is None:
        return fail(f"{'--ops' if ours.ops else '--timeline'} needs PyTorch, which is not here: make deps-torch", 3)

    status = 0
    study_program = ours.build / "chapter7/chapter7_timing"
    if any(option in rest for option in WITHOUT_STUDY):
        print(__doc__ if "-h" in rest or "--help" in rest else "", end="")
        return subprocess.run([study_program, *rest], check=False).returncode
    if not ours.ops and not ours.timeline:
        status = subprocess.run([study_program, *rest, "--json", cpp], check=False).returncode
        if status > 1:
            return status
    if python is None:
        print(f"\n{NO_PYTORCH}")
    else:
        arguments = ["--quick"] if "--quick" in rest else []
        if ours.timeline:
            arguments += ["--timeline", ours.timeline]
        elif ours.ops:
            arguments += ["--ops", ours.ops]
            arguments += ["--shape", ours.shape] if ours.shape else []
            arguments += ["--dtype", ours.dtype] if ours.dtype else []
        else:
            arguments += ["--ops", "all", "--study", str(cpp)]
        status = max(status, torch_half(python, ours.build, torch_part, *arguments))
    if ours.json:
        document = read(cpp) | {"pytorch": read(torch_part) or {"skipped": NO_PYTORCH}}
        try:
            pathlib.Path(ours.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        except OSError as problem:
            return fail(f"{ours.json} cannot be written: {problem.strerror}", 4)
    return status


def main():
    ours, rest = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        try:
            return run(ours, rest, pathlib.Path(folder))
        except KeyboardInterrupt:
            return fail("interrupted", 130)


if __name__ == "__main__":
    sys.exit(main())
