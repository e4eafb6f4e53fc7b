"""The header in front of every file with kernels, compiled beforehand: reading it is most of a small program's compile time.

A compile that repeats another's options makes what the next ones use. It is kept in the toolkit's own folder, or in the
user's cache where that folder is read-only; the 16 used last stay. A program's own macro is none of its options, unless
one of these headers has a word by its name.
"""

import contextlib
import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

HEADER = "warpbook_program.h"
KEPT = 16


def is_clean(folders, names):
    """Whether none of the program's own folders has a header by one of these names: it would be read instead."""
    return not any((Path(folder) / name).is_file() for folder in folders for name in names)


def cache(toolkit):
    folder = toolkit / "precompiled"
    with contextlib.suppress(OSError):
        folder.mkdir(exist_ok=True)
    if os.access(folder, os.W_OK):
        return folder
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "warpbook"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Precompiled:
    """The header as one command line wants it. `command` is the compiler and its options, without the program's files;
    `defined` are the -D and -U of the program."""

    def __init__(self, toolkit, command, defined):
        self.front = toolkit / "include" / "warpbook_front.h"  # The compiler looks for it whenever it reads what was made.
        self.command = command
        self.defined = defined
        self.folder = self.plain = self.file = None
        with contextlib.suppress(OSError, RuntimeError):  # No folder to write to, no home.
            self.folder = cache(toolkit)

    def find(self, folders):
        """The words that use it precompiled, or none."""
        if self.folder is None:
            return []
        try:
            self.plain = self.file = self.made(self.command)
            if self.file and (known := self.known_definitions()):
                self.file = self.made([*self.command, *known])
            if self.file is None:
                return []
            names = self.file.with_suffix(".names").read_text().splitlines()
        except OSError:  # A full disk, or another compile has just deleted it.
            self.drop()
            return []
        # Its headers are the system's to clang, which else would not ask whether they have changed.
        check = ["-Xclang", "-fmodules-validate-system-headers"]
        return ["-include-pch", str(self.file), *check] if is_clean(folders, names) else []

    def known_definitions(self):
        """Those of macros whose names the headers have: they may change what is read there."""
        words = set(self.plain.with_suffix(".words").read_text().splitlines()) if self.defined else set()
        return [each for each in self.defined if re.match(r"\w*", each[2:])[0] in words]

    def made(self, command):
        """What this command makes of the header, or None: it is made when asked for the second time."""
        key = hashlib.sha256("\0".join([os.path.realpath(command[0]), *command]).encode(errors="replace")).hexdigest()[:24]
        file = self.folder / f"{key}.pch"
        asked = file.with_suffix(".asked")
        if not file.is_file() and asked.exists():
            self.make(command, file)
        asked.touch()
        if not file.is_file():
            return None
        os.utime(file)
        return file

    def make(self, command, file):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            made, rule = Path(folder) / "made.pch", Path(folder) / "made.d"
            # With its templates' instances: else each program that reads it makes them anew.
            done = subprocess.run([*command, "-fpch-instantiate-templates", "-x", "c++-header", self.front, "-o", made,
                                   "-MD", "-MF", rule], capture_output=True, check=False)
            if done.returncode != 0:
                return
            paths = [Path(path) for path in rule.read_text(errors="replace").replace("\\\n", " ").split()[1:]]
            # By the last words of their paths, as an #include has them: math.h, bits/move.h.
            names = {"/".join(path.parts[-count:]) for path in paths for count in (1, 2)}
            words = {word for path in paths for word in re.findall(r"\w+", path.read_text(errors="replace"))}
            for suffix, lines in ((".names", names), (".words", words)):
                file.with_suffix(suffix).write_text("\n".join(sorted(lines)))
            made.replace(file)
        for old in sorted(self.folder.glob("*.pch"), key=lambda each: each.stat().st_mtime)[:-KEPT]:
            drop(old)

    def drop(self):
        """Deletes what cannot be used: headers have changed since, or a part of it is missing."""
        for file in filter(None, (self.plain, self.file)):
            drop(file)


def drop(file):
    """Deletes one precompiled header, and what is told of it."""
    for suffix in (".pch", ".names", ".words", ".asked"):
        with contextlib.suppress(OSError):
            file.with_suffix(suffix).unlink()
