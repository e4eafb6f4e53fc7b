#!/usr/bin/env python3
"""Makes each chapter's take-away header one file that needs nothing but the CUDA Toolkit: `make headers`.

The project's own includes are put in their place, each once and inside its own include guard, so that two of these
headers may be included side by side. The toolkit's and the standard library's includes are gathered at the top.
"""

import argparse
import os
import pathlib
import re
import sys

from version import project_version

ROOT = pathlib.Path(__file__).resolve().parent.parent

HEADERS = [
    "chapters/chapter1_elementwise/elementwise.cuh",
    "chapters/chapter2_strided/strided_copy.cuh",
    "chapters/chapter3_permute/permute.cuh",
    "chapters/chapter4_atomic_add/atomic_add.cuh",
    "chapters/chapter5_index_add/index_add.cuh",
    "chapters/chapter6_upsample_nearest/upsample_nearest.cuh",
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
OPENS = re.compile(r"^\s*#\s*if")
CLOSES = re.compile(r"^\s*#\s*endif")
PRAGMA_ONCE = re.compile(r"^\s*#\s*pragma\s+once\b")


class Problem(Exception):
    """What stops a header from being made, in one line."""


class Amalgamation:
    """One header and all that it includes of the project's files."""

    def __init__(self, header):
        self.header = header
        self.system_includes = []
        self.seen = set()
        self.body = []
        self._add(header, included_by="the list of headers")

    def _add(self, name, included_by):
        if name in self.seen:
            return
        self.seen.add(name)
        try:
            lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            raise Problem(f"{included_by}: {name} is not there") from None

        guard = "WARPBOOK_" + re.sub(r"\W", "_", name).upper()
        own = [f"// ---- {name}", f"#ifndef {guard}", f"#define {guard}"]
        depth = 0
        for number, line in enumerate(lines, start=1):
            include = INCLUDE.match(line)
            if OPENS.match(line):
                depth += 1
            elif CLOSES.match(line):
                depth -= 1
            if PRAGMA_ONCE.match(line):
                continue
            if include and include.group(1) == '"':
                if depth > 0:
                    raise Problem(f"{name}:{number}: an include of the project's inside #if cannot be amalgamated")
                self._add(include.group(2), included_by=f"{name}:{number}")  # Lands before this file.
                continue
            if include and depth == 0:
                self.system_includes.append(include.group(2))
                continue
            own.append(line)
        self.body += collapse_blank_lines(own) + [f"#endif  // {guard}", ""]

    def text(self):
        toolkit = sorted({name for name in self.system_includes if "." in name or name.startswith("cuda/")})
        standard = sorted(set(self.system_includes) - set(toolkit))
        licence = (ROOT / "LICENSE").read_text(encoding="utf-8").strip().splitlines()
        lines = [f"// {pathlib.Path(self.header).name}: from Warpbook, {self.header} and what it includes, in one file."]
        lines += ["// Made by `make headers`: change the files it is made from, not this one.", "//"]
        lines += [f"// {line}".rstrip() for line in licence]
        version = project_version()
        major, minor, patch = map(int, version.split("."))
        # The same in all of them: headers of two versions in one program make the compiler complain.
        lines += ["#pragma once", "", f"#define WARPBOOK_VERSION {10000 * major + 100 * minor + patch}  // {version}", ""]
        lines += [f"#include <{name}>" for name in toolkit] + [""]
        lines += [f"#include <{name}>" for name in standard] + [""]
        return "\n".join(collapse_blank_lines(lines + self.body))


def collapse_blank_lines(lines):
    """The same lines without a blank one after another."""
    return [line for i, line in enumerate(lines) if line.strip() or (i > 0 and lines[i - 1].strip())]


def write_whole(path, text):
    """Writes beside, then renames: a reader never sees half a file. A file that is right already is left alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/headers", help="the folder for the headers")
    parser.add_argument("--quiet", action="store_true", help="do not print what was made")
    arguments = parser.parse_args()
    try:
        for header in HEADERS:
            target = arguments.output / pathlib.Path(header).name
            write_whole(target, Amalgamation(header).text())
            if not arguments.quiet:
                print(target)
    except (Problem, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
