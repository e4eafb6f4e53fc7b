"""The header in front of every file with kernels, compiled beforehand: reading it is most of a small program's compile time.

A compile that repeats another's options makes what the next ones use. It is kept in the toolkit's own folder, or in the
user's cache where that folder is read-only; the 16 used last stay.
"""

import contextlib
import hashlib
import os
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
    """The header as one command line wants it. `command` is the compiler and its options, without the program's files."""

    def __init__(self, toolkit, command):
        self.front = toolkit / "include" / "warpbook_front.h"  # The compiler looks for it whenever it reads what was made.
        self.command = command
        self.file = None
        key = hashlib.sha256("\0".join([os.path.realpath(command[0]), *command]).encode(errors="replace")).hexdigest()[:24]
        with contextlib.suppress(OSError, RuntimeError):  # No folder to write to, no home.
            self.file = cache(toolkit) / f"{key}.pch"

    def find(self, folders):
        """The words that use it precompiled, or none: it is made when asked for the second time."""
        if self.file is None:
            return []
        try:
            if not self.file.is_file():
                asked = self.file.with_suffix(".asked")
                if not asked.exists():
                    asked.touch()
                    return []
                self.make()
            names = self.file.with_suffix(".names").read_text().splitlines()
            os.utime(self.file)
        except OSError:  # A full disk, or another compile has just deleted it.
            return []
        # Its headers are the system's to clang, which else would not ask whether they have changed.
        check = ["-Xclang", "-fmodules-validate-system-headers"]
        return ["-include-pch", str(self.file), *check] if is_clean(folders, names) else []

    def make(self):
        with tempfile.TemporaryDirectory(dir=self.file.parent) as folder:
            made, rule = Path(folder) / "made.pch", Path(folder) / "made.d"
            done = subprocess.run([*self.command, "-x", "c++-header", self.front, "-o", made, "-MD", "-MF", rule],
                                  capture_output=True, check=False)
            if done.returncode != 0:
                return
            paths = rule.read_text(errors="replace").replace("\\\n", " ").split()[1:]
            # By the last words of their paths, as an #include has them: math.h, bits/move.h.
            names = {"/".join(Path(path).parts[-count:]) for path in paths for count in (1, 2)}
            self.file.with_suffix(".names").write_text("\n".join(sorted(names)))
            made.replace(self.file)
        for old in sorted(self.file.parent.glob("*.pch"), key=lambda file: file.stat().st_mtime)[:-KEPT]:
            drop(old)


def drop(file):
    """Deletes what is older than the headers that it was made of, or than others' files."""
    for suffix in (".pch", ".names", ".asked"):
        with contextlib.suppress(OSError):
            file.with_suffix(suffix).unlink()
