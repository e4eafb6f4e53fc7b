#!/usr/bin/env python3
"""Builds a CUDA program for the emulator and runs it: `make emulate FILE=mykernel.cu ARGS="..."`.

    scripts/emulate.py [--debug] [--flags FLAGS] [--no-run] [--output PROGRAM] FILE [FILE...] [-- ARGUMENT...]

Launches in the files, and in headers that they include by "name.h", are rewritten (common/emulator/pass/launch_rewriter.py);
the compiler reads the new text in the place of the files, so that whatever it says, and the debugger, name the
reader's own. The exit status is the program's; where that is 0, it is 1 when the emulator found mistakes (of which a
warning is none).
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EMULATOR = ROOT / "common" / "emulator"
sys.path.insert(0, str(EMULATOR / "pass"))
from launch_rewriter import rewrite  # noqa: E402

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
DIAGNOSTIC = re.compile(
    r"^(?P<path>/[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?P<text>(?:fatal )?error|warning|note)(?=:)")
ANY_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)
# The toolkit's headers; those that the emulator lacks must not be found where a toolkit is installed.
TOOLKIT = re.compile(
    r"cu(rand|blas|fft|sparse|solver|dnn|ff|pti|_ext|ob)\w*\.h$|(cuda|cub|thrust|nv|nvtx3|cutlass|cute|crt)/|"
    r"(cuda\w*|cooperative_groups\w*|cooperative_groups/.*|mma|nvrtc|nvml|npp\w*|nvToolsExt\w*|device_\w+|sm_\w+|"
    r"texture_\w+|surface_\w+|vector_\w+|math_\w+|channel_descriptor|builtin_types|library_types|common_functions)\.h$")
INCLUDED_FROM = re.compile(r"^(In file included from )(/[^:\n]+)(:\d+[:,])")
# The program's own checks: everything, unless the environment says otherwise.
ARCHITECTURES = {"h200": 900, "a100": 800, "t4": 750}  # by WARPBOOK_GPU
# Options of nvcc that change what a program computes, or what it may call, and the compiler's.
RELAXED_CONSTEXPR = {"--expt-relaxed-constexpr", "-expt-relaxed-constexpr"}
NVCC_OPTIONS = {"-fmad=true": [], "--fmad=true": [], "-fmad=false": ["-ffp-contract=off"],
                "--fmad=false": ["-ffp-contract=off"], **{flag: [] for flag in RELAXED_CONSTEXPR}}
CHECKS = {"WARPBOOK_CHECK": "all", "WARPBOOK_TRACE": "first"}


def fail(text):
    print(f"error: {text}", file=sys.stderr)
    sys.exit(2)


def shown(path):
    """A path as the reader would write it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


class Sources:
    """The reader's files, rewritten where they need it."""

    def __init__(self, flags):
        self.rewritten = {}  # by absolute path
        self.missing = set()  # headers of the toolkit that the emulator lacks
        self.seen = set()
        self.folders = [Path(flag[2:]).resolve() for flag in flags if flag.startswith("-I") and len(flag) > 2]
        self.folders += [Path(after).resolve() for flag, after in zip(flags, flags[1:]) if flag == "-I"]

    def add(self, path):
        path = Path(os.path.abspath(path))
        if path in self.seen:
            return
        self.seen.add(path)
        try:
            text = path.read_bytes().decode("utf-8", "surrogateescape")
        except OSError:
            return
        if "<<<" in text or "__shared__" in text or "asm" in text:
            result = rewrite(text)
            if result.launches or result.arrays or result.registers:
                self.rewritten[path] = result
        self.missing.update(name for name in ANY_INCLUDE.findall(text)
                            if TOOLKIT.match(name) and not (EMULATOR / "include" / name).is_file())
        for name in INCLUDE.findall(text):
            for folder in [path.parent, *self.folders]:
                if (folder / name).is_file():
                    self.add(folder / name)
                    break

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

    def refuse_missing(self, folder):
        """Puts in the place of each header that the emulator lacks one that says so; returns their folder."""
        headers = folder / "missing"
        headers.mkdir()
        for name in self.missing:
            (headers / name).parent.mkdir(parents=True, exist_ok=True)
            (headers / name).write_text(f"#error the emulator has no <{name}>\n")
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


def build_tools():
    """Builds the emulator; says nothing where nothing goes wrong."""
    made = subprocess.run([str(ROOT / "scripts" / "build.sh"), "emulator", "--parallel", "--target", "warpbook_emulate"],
                          stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        print(made.stdout, end="", file=sys.stderr)
        fail("the emulator does not build")


def compile_command(build, debug):
    """The compiler with the options for kernels, and those for host files."""
    compiler, *options = (build / "emulate_options.txt").read_text().split("\n")
    options = [word for option in options if option
               for word in (shlex.split(option[6:]) if option.startswith("SHELL:") else [option])]
    if debug:
        options = [option for option in options if option != "-gline-tables-only"]
    # A GPU's integers wrap around, and so does what a program expects of its host's.
    common = [compiler, "-std=gnu++20", "-fPIC", "-fwrapv", *(["-O0", "-g"] if debug else ["-O2"]),
              "-DWARPBOOK_EMULATED=1", f"-fmacro-prefix-map={os.getcwd()}/=",
              f"-I{EMULATOR / 'include'}"]
    # Kernels' files include CUDA's header without saying so. They are compiled once, for host and device: what a
    # program keeps for the device (#if __CUDA_ARCH__ >= 700) is what is emulated.
    architecture = ARCHITECTURES.get(os.environ.get("WARPBOOK_GPU", ""), 900)
    # By the names of temporaries the compiler pass knows kernels' parameters.
    kernels = [*common, *options, "-fno-discard-value-names", "-D__CUDACC__=1", "-D__NVCC__=1",
               "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", f"-D__CUDA_ARCH__={architecture}", "-include",
               "cuda_runtime.h", "-include", "warpbook_chevrons.h",
               # Not where only a branch leaves it so: a leader's variable, which a shuffle hands to the others.
               "-Wuninitialized", "-Wno-sometimes-uninitialized"]
    return kernels, [*common, "-gline-tables-only", "-fdeclspec"]


def own_flags(flags):
    """The compiler's options for nvcc's, and its environment: what the compiler pass is told besides."""
    relaxed = {"WARPBOOK_RELAXED_CONSTEXPR": "1"} if RELAXED_CONSTEXPR & set(flags) else {}
    return [word for flag in flags for word in NVCC_OPTIONS.get(flag, [flag])], {**os.environ, **relaxed}


def build_program(files, arguments, build, program):
    sources = Sources(arguments.flags)
    flags, environment = own_flags(arguments.flags)
    for file in files:
        sources.add(file)
    kernels, host = compile_command(build, arguments.debug)
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warpbook_emulate_") as folder:
        folder = Path(folder)
        overlay = sources.overlay(folder)
        missing = sources.refuse_missing(folder)
        objects = []
        for number, file in enumerate(files):
            objects.append(str(folder / f"{number}.o"))
            command = [*(kernels if file.suffix == ".cu" else host), "-ivfsoverlay", str(overlay), f"-I{missing}",
                       "-fno-caret-diagnostics", "-fno-color-diagnostics", *flags, "-x", "c++", "-c",
                       os.path.abspath(file), "-o", objects[-1]]
            made = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                                  env=environment)
            sources.tell(made.stderr)
            if made.returncode != 0:
                sys.exit(1)
        # Beside the program, which a crash must not leave half written.
        library = build / "lib"
        linked = subprocess.run([kernels[0], *objects, "-o", str(program), f"-L{library}", "-lwarpbook_emulator",
                                 f"-Wl,-rpath,{library}",
                                 *[flag for flag in flags if flag[:2] in ("-l", "-L")]],
                                capture_output=True, text=True, errors="replace", check=False)
        print(linked.stderr, end="", file=sys.stderr)
        if linked.returncode != 0:
            sys.exit(1)


def run(program, arguments):
    """Runs the program; returns its exit status, or 1 where it has none to tell and mistakes were found."""
    with tempfile.NamedTemporaryFile(prefix="warpbook_reports_", suffix=".json") as reports:
        environment = {**CHECKS, "WARPBOOK_REPORTS": reports.name, **os.environ}
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
    parser.add_argument("--flags", type=shlex.split, default=[], help="for the compiler: -Ifolder -DNAME ...")
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
        if file.suffix not in (".cu", ".cpp", ".cc", ".cxx"):
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
