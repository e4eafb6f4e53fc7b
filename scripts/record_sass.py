#!/usr/bin/env python3
"""Records the machine code of the kernels that a chapter's book.toml names in [[sass]], with the lines that matter marked.

    scripts/record_sass.py 3 --program build/gpu/chapter3/run_all --output docs/results/nvidia-h200/sass

writes chapter3.txt there, or nothing where a kernel is not found. Only the program is read: no GPU is needed. `function` is the mangled name, or a part of it that one function has; `says` tells
what to look at; lines with `mark` (a regular expression) get a ">".
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")


def functions(text):
    """{mangled name: [(address, instruction)]} of what `cuobjdump -sass` printed."""
    found, current = {}, None
    for line in text.splitlines():
        if "Function :" in line:
            current = found.setdefault(line.split("Function :")[1].strip(), [])
        else:
            match = LINE.match(line)
            if match and current is not None:
                current.append(match.groups())
    return found


def without_padding(instructions):
    """The instructions without the NOPs, and the branch to itself, that fill the end."""
    instructions = list(instructions)
    while instructions and (instructions[-1][1] == "NOP" or instructions[-1][1] == f"BRA 0x{instructions[-1][0].lstrip('0')}"):
        instructions.pop()
    return instructions


def listing(name, instructions, entry, compiled):
    head = textwrap.fill(f"{name}, {compiled}. {entry['says']}", 120, break_long_words=False, break_on_hyphens=False)
    mark = re.compile(entry["mark"])
    lines = [f"{'>' if mark.search(code) else ' '} {address}  {code}" for address, code in without_padding(instructions)]
    return f"== {entry['name']}\n{head}\nMarked (>): {entry['marked']}.\n\n" + "\n".join(lines) + "\n"


def output_of(*command):
    """What a command prints; nothing where it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout
    except OSError:
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapter", type=int)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--architecture", default="sm_90")
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump")
    parser.add_argument("--commit", help="what the program was built from (left out: HEAD)")
    arguments = parser.parse_args()

    [path] = (ROOT / "chapters").glob(f"chapter{arguments.chapter}_*/chapter.cu")
    book = path.parent / "book.toml"
    entries = tomllib.loads(book.read_text(encoding="utf-8")).get("sass", []) if book.exists() else []
    if not entries:
        print(f"chapter {arguments.chapter}: its book.toml names no machine code")
        return
    try:
        dumped = subprocess.run([arguments.cuobjdump, "-sass", "-arch", arguments.architecture, arguments.program],
                                capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit(f"error: {error}")
    found = functions(dumped.stdout)
    if not found:
        sys.exit(f"error: {arguments.program} holds no code for {arguments.architecture}: {dumped.stderr.strip()}")
    release = re.search(r"release ([\d.]+)", output_of(output_of("scripts/find_nvcc.sh").strip() or "nvcc", "--version"))
    commit = arguments.commit or os.environ.get("WARPBOOK_COMMIT") or output_of("git", "rev-parse", "--short=7", "HEAD").strip()
    compiled = f"{arguments.architecture}, nvcc {release.group(1) if release else 'unknown'} (cuobjdump -sass), commit {commit}"
    arguments.output.mkdir(parents=True, exist_ok=True)
    listings = []
    for entry in entries:
        names = [name for name in found if entry["function"] in name]
        if len(names) != 1:
            print(f"error: {entry['name']}: {len(names)} functions have {entry['function']} in their names", file=sys.stderr)
            continue
        listings.append(listing(names[0], found[names[0]], entry, compiled))
        print(f"chapter {arguments.chapter}: {entry['name']}")
    if len(listings) < len(entries):
        sys.exit(1)
    (arguments.output / f"chapter{arguments.chapter}.txt").write_text("\n".join(listings), encoding="utf-8")


if __name__ == "__main__":
    main()
