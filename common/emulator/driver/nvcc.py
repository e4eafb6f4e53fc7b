#!/usr/bin/env python3
"""A compiler driver with nvcc's options, for the emulator: `nvcc -O3 -arch=sm_90 -o program kernels.cu main.cpp`.

It is bin/nvcc of a folder that looks like a toolkit's:

    bin/nvcc  include/  lib/  driver/  options.txt  cards.txt

Sources are compiled by clang, `.cu` files as kernels are compiled in this project; objects, archives and libraries are
the host's. What only says how code is made for a GPU is accepted and changes nothing. The exit status is the
compiler's or the linker's, and 1 for a command line that cannot be followed.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cached_property
from pathlib import Path

from options import Refused, parse
from precompiled import HEADER, Precompiled
from sources import Sources

TOOLKIT = Path(os.path.abspath(__file__)).parent.parent
RELEASE = "13.0"
LANGUAGES = {".cu": "cu", ".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".c++": "c++", ".C": "c++"}
LINKED = re.compile(r"\.(o|obj|a|lib|so(\.\d+)*)$")
# Libraries of the toolkit: what the emulator has of them is in its own library, and what it lacks did not compile.
LIBRARIES = re.compile(r"-l(cuda|cudart(_static)?|cudadevrt|culibos|cufftw|cusparseLt|cusolver(Mg|_lapack\w*|_metis\w*)|cudnn\w*|"
                       r"npp\w*|nvToolsExt|nvrtc|nvidia-ml|nvjpeg|cupti)$")
# What is asked of the host's compiler and would change what a kernel computes or counts.
HOST_ONLY = re.compile(r"-(O\w*|ffast-math|funsafe-\S*|funroll-\S*|ftree-\S*|fvect\S*|flto\S*|m(arch|tune|cpu|fpmath)=\S*|"
                       r"m(avx|sse|fma|no-)\S*)$")
# clang warns of other things than the compiler that the project was written with.
STRICT = re.compile(r"-(Werror\S*|pedantic-errors)$")
OLD_STANDARD = re.compile(r"(gnu|c)\+\+(98|03|0x|11|1y|14)$")

# A compiler takes its memory in large pages where the system has them, and less time.
MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

VERSION = f"""nvcc: NVIDIA (R) Cuda compiler driver: Warpbook's emulator stands in for it
Cuda compilation tools, release {RELEASE}, V{RELEASE}.0
Build of Warpbook's emulator, by clang
"""
HELP = """usage: nvcc [options] file...

Takes nvcc's options and compiles for Warpbook's emulator: programs run on this machine's cores, no GPU is needed.
What only says how code is made for a GPU (-arch, -gencode, -Xptxas, -maxrregcount, ...) changes nothing.
"""


class Settings:
    """How kernels are compiled; written beside this folder when the emulator is built."""

    def __init__(self):
        compiler, linker, *options = (TOOLKIT / "options.txt").read_text().split("\n")
        self.compiler = compiler
        self.linker = [linker] if linker else []  # -fuse-ld=NAME
        self.options = [word for option in options if option
                        for word in (shlex.split(option[6:]) if option.startswith("SHELL:") else [option])]
        self.options.append(f"-fpass-plugin={TOOLKIT / 'lib' / 'warpbook_pass.so'}")
        self.c_compiler = re.sub(r"clang\+\+(?=[^/]*$)", "clang", compiler)

    @cached_property
    def openmp(self):
        """The header and the library of the compiler's OpenMP, or of another clang's: a program of one runs with the
        runtime of the other. None where there is none."""
        own = Path(os.path.realpath(self.compiler)).parents[1]
        headers = [*own.glob("lib*/clang/*/include/omp.h"), *sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*/include/omp.h"))]
        pairs = [(header, header.parents[3] / "libomp.so") for header in headers]
        return next((pair for pair in pairs if pair[1].is_file()), None)

    def openmp_package(self):
        return "libomp-" + (re.search(r"\d+$", self.compiler) or ["N"])[0] + "-dev"


def is_toolkit(folder):
    return (folder / "crt" / "host_config.h").is_file() or (folder / "cuda_runtime.h").is_file()


class Driver:
    def __init__(self, words):
        self.line = parse([*shlex.split(os.environ.get("NVCC_PREPEND_FLAGS", "")), *words,
                           *shlex.split(os.environ.get("NVCC_APPEND_FLAGS", ""))])
        self.verbose = "-v" in self.line or "-dryrun" in self.line
        self.settings = Settings()
        self.drop_toolkits()
        self.is_parallel = any(flag.startswith("-fopenmp") for flag in self.line.host)
        if self.is_parallel and self.settings.openmp is None:
            raise Refused(f"-fopenmp: the compiler's OpenMP is missing: install {self.settings.openmp_package()}")

    def drop_toolkits(self):
        """A real toolkit's headers and libraries must not take the place of the emulator's."""
        words, kept = self.line.compiler, []
        for at, word in enumerate(words):
            if word.startswith("-I") and is_toolkit(Path(word[2:])):
                continue
            if word == "-isystem" and is_toolkit(Path(words[at + 1])):
                continue
            if at and words[at - 1] == "-isystem" and is_toolkit(Path(word)):
                continue
            kept.append(word)
        self.line.compiler = kept
        self.line.inputs = [word for word in self.line.inputs if not LIBRARIES.match(word) and not (
            word.startswith("-L") and list(Path(word[2:]).glob("libcudart*")))]

    # ---- What to do

    def run(self):
        line = self.line
        if "-V" in line:
            print(VERSION, end="")
            return 0
        if "-h" in line:
            print(HELP, end="")
            return 0
        if "-ls-arch" in line or "-ls-code" in line:
            print("\n".join(("compute_" if "-ls-arch" in line else "sm_") + each for each in ("75", "80", "90")))
            return 0
        if self.verbose:
            self.show_settings()
        sources, objects = self.sort_inputs()
        alone = {"-c", "-dc", "-dw", "-E", "-M", "-MM"} & set(line.given)
        output = line.last("-o")
        if not sources and not objects:
            raise Refused("no input files")
        if alone and output and len(sources) > 1:
            raise Refused("-o names one file, and more than one source is compiled")
        with tempfile.TemporaryDirectory(prefix="warpbook_nvcc_") as folder:
            self.folder = Path(folder)
            if "-dlink" in line:  # Kernels are the host's code: nothing of them is left to link.
                return self.call([self.settings.c_compiler, "-c", "-fPIC", "-x", "c", os.devnull, "-o",
                                  output or "a_dlink.o"])
            if alone:
                return self.compile_alone(sources, output)
            inputs, made = list(line.inputs), []
            for number, (file, language) in enumerate(sources):
                made.append(str(self.folder / f"{number}.o"))
                status = self.compile(file, language, ["-c", "-o", made[-1], *self.dependencies(file, output)], number)
                if status != 0:
                    return status
                inputs[inputs.index(file)] = made[-1]
            if "-lib" in line:
                if output is None:
                    raise Refused("-lib wants the archive's name: -o libNAME.a")
                return self.call(["ar", "rcs", output, *[each for each in inputs if not each.startswith("-")]])
            status = self.link(inputs, output or "a.out")
            if status == 0 and "-run" in line:
                return self.call([os.path.abspath(output or "a.out")])
            return status

    def sort_inputs(self):
        """The sources with their languages, and what is left to the linker."""
        language = self.line.last("-x")
        if language not in (None, "cu", "c", "c++"):
            raise Refused(f"-x {language}: accepted are cu, c++ and c")
        sources, objects = [], []
        for file in self.line.inputs:
            suffix = Path(file).suffix
            if file.startswith("-") or LINKED.search(file):
                objects.append(file)
            elif language or suffix in LANGUAGES:
                sources.append((file, language or LANGUAGES[suffix]))
            else:
                raise Refused(f"{file}: not known by its name; accepted are .cu .c .cc .cpp .cxx .o .a .so")
            if not file.startswith("-") and not os.path.exists(file):
                raise Refused(f"{file}: there is no such file")
        return sources, objects

    def compile_alone(self, sources, output):
        for number, (file, language) in enumerate(sources):
            mode = [name for name in ("-E", "-M", "-MM") if name in self.line]
            if mode:
                words = [*mode, *self.targets(), *(["-o", output] if output else [])]
            else:
                made = output or str(Path(self.line.last("-odir", ".")) / (Path(file).stem + ".o"))
                words = ["-c", "-o", made, *self.dependencies(file, made)]
            status = self.compile(file, language, words, number)
            if status != 0:
                return status
        return 0

    def targets(self):
        words = ["-MP"] if "-MP" in self.line else []
        for name in ("-MF", "-MT", "-MQ"):
            for value in self.line.given.get(name, []):
                words += [name, value]
        return words

    def dependencies(self, file, output):
        modes = [name for name in ("-MD", "-MMD") if name in self.line]
        if not modes:
            return []
        words = modes + self.targets()
        if "-MF" not in self.line:
            words += ["-MF", str(Path(output or file).with_suffix(".d"))]
        return words

    # ---- Compiling

    def compile(self, file, language, words, number):
        folder = self.folder / str(number)
        folder.mkdir()
        include = TOOLKIT / "include"
        flags = self.line.compiler
        folders = [Path(flag[2:]) for flag in flags if flag.startswith("-I")]
        folders += [Path(after) for flag, after in zip(flags, flags[1:]) if flag == "-isystem"]
        sources = Sources(include, [Path(os.path.abspath(each)) for each in folders])
        sources.add(file)
        if language != "cu":
            sources.rewritten.clear()
        openmp = folder / "openmp"
        openmp.mkdir()
        if self.settings.openmp is not None:
            (openmp / "omp.h").symlink_to(self.settings.openmp[0])
        else:
            (openmp / "omp.h").write_text(f"#error <omp.h> is missing: install {self.settings.openmp_package()}\n")
        kept = [flag for flag in self.line.host
                if not STRICT.match(flag) and (language != "cu" or not HOST_ONLY.match(flag))]
        quiet = ["-w"] if "-w" in self.line else []
        own = ["-isystem", str(TOOLKIT / "cccl"), "-isystem", str(include)]
        front = []
        if language == "cu":
            front = ["-include", HEADER]
            # Lists of the program's own headers would name the toolkit's, too.
            if "-include" not in flags and not {"-E", "-M", "-MM", "-MMD"} & set(words):
                defined = [flag for flag in flags if flag.startswith(("-D", "-U"))]
                precompiled = Precompiled(TOOLKIT, [self.settings.compiler, *self.kernel_options(), *own, *kept, *quiet], defined)
                front = precompiled.find(folders) or front
        command = [self.settings.compiler if language != "c" else self.settings.c_compiler,
                   *(self.kernel_options() if language == "cu" else self.host_options(language)),
                   f"-fmacro-prefix-map={os.getcwd()}/=", *front,
                   "-ivfsoverlay", str(sources.overlay(folder)), *flags, f"-I{sources.replace_missing(folder)}",
                   *own, "-idirafter", str(openmp), "-fno-caret-diagnostics", "-fno-color-diagnostics", *kept, *quiet,
                   "-x", "c" if language == "c" else "c++", os.path.abspath(file), *words]
        environment = MEMORY | os.environ
        if "-expt-relaxed-constexpr" in self.line:
            environment["WARPBOOK_RELAXED_CONSTEXPR"] = "1"  # The compiler pass asks for these.
        if not self.extends_lambdas():
            environment["WARPBOOK_PLAIN_LAMBDA"] = "1"
        if not self.is_separate():
            environment["WARPBOOK_WHOLE_PROGRAM"] = "1"
        if self.verbose:
            print("#$", shlex.join(command), file=sys.stderr)
        if "-dryrun" in self.line:
            return 0
        def run():
            return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=environment)

        made = run()
        if made.returncode != 0 and "-include-pch" in command and str(precompiled.file) in made.stderr:
            precompiled.drop()
            at = command.index("-include-pch")
            command[at : at + 2] = ["-include", HEADER]
            made = run()
        while made.returncode != 0 and language != "c" and sources.split_arrays(made.stderr, language == "cu"):
            sources.overlay(folder)
            made = run()
        print(made.stdout, end="")
        sources.tell(made.stderr)
        return made.returncode

    def common_options(self):
        # A GPU's integers wrap around, and so does what a program expects of its host's.
        return ["-fPIC", "-fwrapv", "-DWARPBOOK_EMULATED=1",
                # Reports name the line that calls into these headers, which they know by this name.
                f"-fdebug-prefix-map={TOOLKIT / 'include'}=common/emulator/include",
                # What g++ takes, and clang does not: `"%"PRIu64`, a `return;` in main, a `static const T x = 1;` in a template.
                "-Wno-reserved-user-defined-literal", "-Wno-error=return-mismatch", "-Wno-static-float-init",
                "-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument", "-Wno-unused-command-line-argument"]

    def standard(self):
        """The language: nvcc's own is C++17, which is also the oldest that the emulator's headers are written in."""
        asked = self.line.last("-std")
        old = asked is None or OLD_STANDARD.match(asked)
        return ["-std=gnu++17" if old else f"-std={asked}", "-Wno-register"]

    def extends_lambdas(self):
        return bool({"-extended-lambda", "-expt-extended-lambda"} & set(self.line.given))

    def is_separate(self):
        return self.line.last("-rdc") == "true" or "-dc" in self.line

    def kernel_options(self):
        debug = "-G" in self.line
        options = self.settings.options
        if debug or "-g" in self.line:
            options = [option for option in options if option != "-gline-tables-only"] + ["-g"]
        contract = ["-ffp-contract=off"] if self.line.last("-fmad") == "false" else []
        defined = [f"-D__CUDA_ARCH__={self.architecture()}", f"-D__CUDA_ARCH_LIST__={self.architecture()}"]
        # A mere declaration of a constant is not `used`, and that is no news to anyone.
        defined += ["-D__CUDACC_RDC__=1"] if self.is_separate() else ["-DWARPBOOK_WHOLE_PROGRAM=1", "-Wno-ignored-attributes"]
        if self.extends_lambdas():
            defined.append("-D__CUDACC_EXTENDED_LAMBDA__=1")
        if "-expt-relaxed-constexpr" in self.line:
            defined.append("-D__CUDACC_RELAXED_CONSTEXPR__=1")
        if self.line.last("-default-stream") == "per-thread":
            defined.append("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1")
        # Kernels' files are compiled once, for host and device: what a program keeps for the device
        # (#if __CUDA_ARCH__ >= 700) is what is emulated. By the names of temporaries the compiler pass knows kernels'
        # parameters.
        return [*self.common_options(), *self.standard(), "-O0" if debug else "-O2", *options, *contract,
                "-fno-discard-value-names", "-D__CUDACC__=1", "-D__NVCC__=1", "-D__CUDACC_VER_MAJOR__=13",
                "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0", *defined,
                # Not where only a branch leaves it so: a leader's variable, which a shuffle hands to the others.
                "-Wuninitialized", "-Wno-sometimes-uninitialized",
                # A function that lacks its return gives a value that nobody set, which is told. Else clang takes its end for unreachable.
                "-fno-strict-return",
                # As nvcc warns, and has loops that never end.
                "-Wtautological-unsigned-zero-compare", "-fno-finite-loops",
                # PTX's registers are not the host's; `while (atomicCAS(...)) ;` waits.
                "-Wno-asm-operand-widths", "-Wno-empty-body"]

    def host_options(self, language):
        level = self.line.last("-O")
        standard = [] if language == "c" else self.standard()
        debug = ["-g"] if {"-g", "-G"} & set(self.line.given) else ["-gline-tables-only"]
        char = [option for option in self.settings.options if option == "-fsigned-char"]  # As kernels have it.
        return [*self.common_options(), *standard, *([f"-O{level}"] if level else []), *debug, *char, "-fdeclspec"]

    def architecture(self):
        """`__CUDA_ARCH__`: the newest that was asked for, as far as the emulated card goes."""
        cards = dict(line.split() for line in (TOOLKIT / "cards.txt").read_text().splitlines())
        card = int(cards.get(os.environ.get("WARPBOOK_GPU", ""), cards["h200"]))
        asked = [int(number) for name in ("-arch", "-gencode", "-code") for value in self.line.given.get(name, [])
                 for number in re.findall(r"(?:compute|sm)_(\d+)", value)]
        return min(card, max(750, 10 * max(asked))) if asked else card

    # ---- Linking

    def link(self, inputs, output):
        library = TOOLKIT / "lib"
        # What GCC's programs ask for is clang's own here.
        if self.settings.openmp is not None and (self.is_parallel or "-lgomp" in inputs or "-lomp" in inputs):
            place = self.settings.openmp[1]
            inputs = [word for word in inputs if word not in ("-lgomp", "-lomp", "-liomp5")]
            inputs += [str(place), f"-Wl,-rpath,{place.resolve().parent}"]
        return self.call([self.settings.compiler, *self.settings.linker, *(["-shared"] if "-shared" in self.line else []),
                          *(["-g"] if {"-g", "-G"} & set(self.line.given) else []), *(word for word in self.line.host if not word.startswith("-fopenmp")), "-o", output, *inputs,
                          *self.line.linker, "-Wno-unused-command-line-argument", f"-L{library}", "-lcudadevrt",
                          "-lcudart_static", "-lrt", "-lpthread", "-ldl"])

    def call(self, command):
        if self.verbose:
            print("#$", shlex.join(map(str, command)), file=sys.stderr)
        if "-dryrun" in self.line:
            return 0
        return subprocess.run(command, check=False).returncode

    def show_settings(self):
        """What build systems look for in nvcc's verbose output."""
        for name, value in [("PATH", os.environ.get("PATH", "")), ("TOP", TOOLKIT),
                            ("NVVMIR_LIBRARY_DIR", TOOLKIT / "nvvm" / "libdevice"),
                            ("LIBRARIES", shlex.quote(f"-L{TOOLKIT / 'lib'}")),
                            ("INCLUDES", shlex.quote(f"-I{TOOLKIT / 'include'}")),
                            ("ARCHITECTURE", f"-arch compute_{self.architecture() // 10}")]:
            print(f"#$ {name}={value}", file=sys.stderr)


def main():
    try:
        status = Driver(sys.argv[1:]).run()
    except Refused as error:
        print(f"nvcc: error: {error}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        status = 130
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
