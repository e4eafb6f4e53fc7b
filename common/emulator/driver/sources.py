"""The reader's files as the compiler is to see them, and what it says of them in terms of the reader's own text.

Launches in `.cu` files, and in the program's headers that these include, are rewritten (launch_rewriter.py). The
compiler reads the new text in the place of the files, so that its messages, dependencies and the debugger name the
reader's.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

from launch_rewriter import rewrite, split_arrays

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
DIAGNOSTIC = re.compile(
    r"^(?P<path>/[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?P<text>(?:fatal )?error|warning|note)(?=:)")
SIZE_NO_CONSTANT = "error: variable-sized object may not be initialized"
INCLUDED_FROM = re.compile(r"^(In file included from |\s+from )(/[^:\n]+)(:\d+[:,])")
# The toolkit's headers; those that the emulator lacks must not be found where a toolkit is installed.
TOOLKIT = re.compile(
    r"cu(rand|blas|fft|sparse|solver|dnn|ff|pti|_ext|ob)\w*\.h$|(cuda|cub|thrust|nv|nvtx3|cutlass|cute|crt)/|"
    r"(cuda\w*|cooperative_groups\w*|cooperative_groups/.*|mma|nvrtc|nvml|npp\w*|nvToolsExt\w*|device_\w+|driver_\w+|sm_\w+|"
    r"texture_\w+|surface_\w+|vector_\w+|math_\w+|channel_descriptor|host_config|builtin_types|library_types|common_functions)\.h$")
# Parts of other headers, which some programs include by themselves.
PARTS = {"cuda_runtime.h": re.compile(r"(crt/)?(device_(atomic_|double_)?functions|device_types|common_functions|math_functions|"
                                      r"channel_descriptor|driver_functions|host_config|host_defines|sm_\d+_\w+|"
                                      r"(texture|surface)_(types|indirect_functions))\.h$"),
         "cuda_pipeline.h": re.compile(r"cuda_pipeline_(primitives|helpers)\.h$"),
         "cusparse.h": re.compile(r"cusparse_v2\.h$"),
         "curand_kernel.h": re.compile(r"curand_(globals|uniform|normal|lognormal|poisson|philox4x32_x|mrg32k3a)\.h$"),
         "mma.h": re.compile(r"crt/mma\.h$")}
# What CCCL has and the emulator cannot run: these wait, or ask in other ways, for the device.
REFUSED = re.compile(r"cuda/(ptx|annotated_ptr|experimental|stream\w*|memory_resource|access_property|discard_memory|"
                     r"devices)|cuda/__")
CCCL = re.compile(r"(cuda|cub|thrust|nv)/")
# What the rewriter changes has one of these in it.
REWRITTEN = re.compile(r'<\s*<\s*<|__shared__|"[=+&]*[rhlfdqn]"|\]\s*__(host|device)__|\]\s*[A-Za-z]\w*\s*\(|asm|"__|\\[ \t]*//')


def shown(path):
    """A path as the reader would write it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


class Sources:
    """The reader's files, rewritten where they need it."""

    def __init__(self, include, folders):
        self.include = include  # the emulator's own headers
        self.cccl = include.parent / "cccl"  # NVIDIA's, adapted; not there where they were not installed
        self.folders = folders  # where the program's are looked for
        self.rewritten = {}  # by absolute path
        self.arrays = {}  # those to be set behind their declarations: offsets in the file, by absolute path
        self.missing = set()  # headers of the toolkit that the emulator lacks
        self.seen = set()

    def add(self, path):
        path = Path(os.path.abspath(path))
        if path in self.seen:
            return
        self.seen.add(path)
        try:
            text = path.read_bytes().decode("utf-8", "surrogateescape")
        except OSError:
            return
        if REWRITTEN.search(text):
            result = rewrite(text)
            if result.text != result.old:
                self.rewritten[path] = result
        for quote, name in INCLUDE.findall(text):
            for folder in [path.parent, *self.folders] if quote == '"' else self.folders:
                if (folder / name).is_file():
                    self.add(folder / name)
                    break
            else:
                if TOOLKIT.match(name) and not self.has(name):
                    self.missing.add(name)

    def split_arrays(self, diagnostics, has_kernels):
        """Rewrites the arrays whose initialisers the compiler has refused because their sizes are no constants; False where
        there is none. g++, which nvcc hands host code to, takes them."""
        found = set()
        for line in diagnostics.splitlines():
            told = DIAGNOSTIC.match(line)
            if told is None or not line.endswith(SIZE_NO_CONSTANT):
                continue
            path, number, column = Path(told["path"]), int(told["line"]), int(told["column"])
            if path in self.rewritten:
                number, column = self.rewritten[path].origin(number, column)
            lines = path.read_bytes().decode("utf-8", "surrogateescape").splitlines(keepends=True)
            offset = sum(map(len, lines[: number - 1])) + column - 1
            if offset not in self.arrays.setdefault(path, set()):
                self.arrays[path].add(offset)
                found.add(path)
        for path in found:
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            self.rewritten[path] = (rewrite if has_kernels else split_arrays)(text, self.arrays[path])
        return bool(found)

    def has(self, name):
        return (self.include / name).is_file() or ((self.cccl / name).is_file() and not REFUSED.match(name))

    def overlay(self, folder):
        """Writes the new texts and the file that puts them in the place of the old ones; returns its name."""
        roots = []
        for number, (path, result) in enumerate(self.rewritten.items()):
            copy = folder / f"{number}_{path.name}"
            copy.write_bytes(result.text.encode("utf-8", "surrogateescape"))
            roots.append({"type": "directory", "name": str(path.parent),
                          "contents": [{"type": "file", "name": path.name, "external-contents": str(copy)}]})
        overlay = folder / "overlay.json"
        overlay.write_text(json.dumps({"version": 0, "case-sensitive": "true", "use-external-names": "false",
                                       "roots": roots}))
        return overlay

    def replace_missing(self, folder):
        """Puts in the place of each header that the emulator lacks the one that it is a part of, or one that says so;
        returns their folder."""
        headers = folder / "missing"
        headers.mkdir()
        for name in self.missing:
            (headers / name).parent.mkdir(parents=True, exist_ok=True)
            whole = next((whole for whole, parts in PARTS.items() if parts.match(name)), None)
            if whole is not None:
                (headers / name).write_text(f"#include <{whole}>\n")
                continue
            hint = ""
            if CCCL.match(name) and not REFUSED.match(name) and not self.cccl.is_dir():
                hint = ": `make deps` installs NVIDIA's CCCL, which has it; then build the emulator again"
            (headers / name).write_text(f"#error the emulator has no <{name}>{hint}\n")
        return headers

    def tell(self, diagnostics):
        """Prints what the compiler said, in terms of the reader's own text, with the line that it is about."""
        for line in diagnostics.splitlines():
            found = DIAGNOSTIC.match(line)
            if found is None:
                print(INCLUDED_FROM.sub(lambda m: m[1] + shown(m[2]) + m[3], line), file=sys.stderr)
                continue
            if "/missing/" in found["path"] and found["path"].startswith(tempfile.gettempdir()):
                print(line[found.start("text"):], file=sys.stderr)
                continue
            path, number, column = Path(found["path"]), int(found["line"]), int(found["column"])
            result = self.rewritten.get(path)
            if result is not None:
                number, column = result.origin(number, column)
            print(f"{shown(path)}:{number}:{column}: {line[found.start('text'):]}", file=sys.stderr)
            try:
                text = path.read_text(errors="replace").splitlines()[number - 1]
            except (OSError, IndexError):
                continue
            caret = re.sub(r"[^\t]", " ", text[: column - 1])
            print(f"{number:5} | {text}\n      | {caret}^", file=sys.stderr)
