#!/usr/bin/env python3
"""Builds a CUDA program for the emulator and runs it: `make emulate FILE=mykernel.cu ARGS="..."`.

    scripts/emulate.py [--debug] [--flags FLAGS] [--no-run] [--output PROGRAM] FILE [FILE...] [-- ARGUMENT...]

The emulator's compiler driver (common/emulator/driver/nvcc.py) builds it. The exit status is the program's; where that
is 0, it is 1 when the emulator found mistakes (of which a warning is none).
"""

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def fail(text):
    print(f"error: {text}", file=sys.stderr)
    sys.exit(2)


def build_tools():
    """Builds the emulator; says nothing where nothing goes wrong."""
    made = subprocess.run([str(ROOT / "scripts" / "build.sh"), "emulator", "--parallel", "--target", "warpbook_emulate"],
                          stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        print(made.stdout, end="", file=sys.stderr)
        fail("the emulator does not build")


def build_program(files, arguments, build, program):
    program.parent.mkdir(parents=True, exist_ok=True)
    # The take-away headers are C++20, and so is a program of this book unless it says otherwise.
    made = subprocess.run([str(build / "toolkit" / "bin" / "nvcc"), "-std=gnu++20", "-forward-unknown-to-host-compiler",
                           *(["-G"] if arguments.debug else []), *arguments.flags, "-o", str(program),
                           *map(str, files)], check=False)
    if made.returncode != 0:
        sys.exit(1)


def run(program, arguments):
    """Runs the program; returns its exit status, or 1 where it has none to tell and mistakes were found."""
    with tempfile.NamedTemporaryFile(prefix="warpbook_reports_", suffix=".json") as reports:
        environment = {"WARPBOOK_REPORTS": reports.name, **os.environ}
        try:
            status = subprocess.run([str(program), *arguments], env=environment, check=False).returncode
        except KeyboardInterrupt:
            return 130
        if status < 0:
            print(f"error: the program was ended by signal {-status}", file=sys.stderr)
            return 128 - status
        if status == 0 and environment["WARPBOOK_REPORTS"] == reports.name:
            text = Path(reports.name).read_text()
            mistakes = json.loads(text)["mistakes"] if text else []
            return 1 if any(mistake["severity"] == "error" for mistake in mistakes) else 0
        return status


def main():
    words = sys.argv[1:]
    program_arguments = words[words.index("--") + 1:] if "--" in words else []
    parser = argparse.ArgumentParser(prog="scripts/emulate.py", description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="a .cu file, and what else the program is made of")
    parser.add_argument("--debug", action="store_true", help="compile for a debugger (-O0 -g)")
    parser.add_argument("--flags", type=shlex.split, default=[], help="nvcc's or the compiler's: -Ifolder -DNAME ...")
    parser.add_argument("--no-run", action="store_true", help="only build it")
    parser.add_argument("--output", type=Path, help="where the program goes")
    parser.add_argument("--build", type=Path, help="the build of the emulator, which is used as it stands")
    arguments = parser.parse_args(words[: words.index("--")] if "--" in words else words)

    files = [Path(file) for file in arguments.files if file]
    if not files:
        fail("FILE is missing: make emulate FILE=mykernel.cu")
    for file in files:
        if not file.is_file():
            fail(f"FILE={file}: there is no such file")
        if file.suffix not in (".cu", ".cpp", ".cc", ".cxx", ".c"):
            fail(f"FILE={file}: a CUDA source file is wanted, NAME.cu")
    if not any(file.suffix == ".cu" for file in files):
        fail(f"FILE={files[0]}: a CUDA source file is wanted, NAME.cu")

    build = arguments.build
    if build is None:
        build = ROOT / "build" / "emulator"
        build_tools()
    build = build.resolve()
    name = hashlib.sha256(os.path.abspath(files[0]).encode()).hexdigest()[:8]
    program = build / "emulate" / f"{files[0].stem}-{name}" / files[0].stem
    if arguments.output:
        program = arguments.output.absolute()
    build_program(files, arguments, build, program)
    sys.exit(0 if arguments.no_run else run(program, program_arguments))


if __name__ == "__main__":
    main()
