"""nvcc's command line: which options there are, which of them take a value, and what the emulator makes of each."""

import shlex
from pathlib import Path


class Refused(Exception):
    """A command line that cannot be followed, in one line."""


# nvcc's options that take a value, by all their names; the first one is the name below.
VALUED = [
    ("-o", "--output-file"), ("-x", "--x"), ("-std", "--std"), ("-O", "--optimize"),
    ("-arch", "--gpu-architecture"), ("-gencode", "--generate-code"), ("-code", "--gpu-code"),
    ("-D", "--define-macro"), ("-U", "--undefine-macro"), ("-I", "--include-path"),
    ("-isystem", "--system-include"), ("-include", "--pre-include"),
    ("-l", "--library"), ("-L", "--library-path"),
    ("-Xcompiler", "--compiler-options"), ("-Xlinker", "--linker-options"),
    ("-Xptxas", "--ptxas-options"), ("-Xcudafe", "--cudafe-options"), ("-Xarchive", "--archive-options"),
    ("-Xnvlink", "--nvlink-options"), ("-Xfatbin", "--fatbin-options"), ("-Xopencc",),
    ("-ccbin", "--compiler-bindir"), ("-cudart", "--cudart"), ("-cudadevrt", "--cudadevrt"),
    ("-rdc", "--relocatable-device-code"), ("-fmad", "--fmad"), ("-ftz", "--ftz"), ("-prec-div", "--prec-div"),
    ("-prec-sqrt", "--prec-sqrt"), ("-maxrregcount", "--maxrregcount"), ("-default-stream", "--default-stream"),
    ("-m", "--machine"), ("-t", "--threads"), ("-split-compile", "--split-compile"), ("-keep-dir", "--keep-dir"),
    ("-odir", "--output-directory"), ("-objdir", "--objdir-as-tempdir"), ("-ldir", "--libdevice-directory"),
    ("-MF", "--dependency-output"), ("-MT", "--dependency-target-name"), ("-MQ",), ("-Werror", "--Werror"),
    ("-diag-suppress", "--diag-suppress"), ("-diag-error", "--diag-error"), ("-diag-warn", "--diag-warn"),
    ("-optf", "--options-file"), ("-time", "--time"), ("-dopt", "--dopt"), ("-brief-diag", "--brief-diagnostics"),
    ("-target-dir", "--target-directory"), ("-compress-mode", "--compress-mode"),
    ("-default-architecture",), ("-static-global-template-stub", "--static-global-template-stub"),
]
# Those that are there or not.
PLAIN = [
    ("-c", "--compile"), ("-dc", "--device-c"), ("-dw", "--device-w"), ("-dlink", "--device-link"),
    ("-link", "--link"), ("-lib", "--lib"), ("-run", "--run"), ("-shared", "--shared"), ("-E", "--preprocess"),
    ("-M", "--generate-dependencies"), ("-MM", "--generate-nonsystem-dependencies"),
    ("-MD", "--generate-dependencies-with-compile"), ("-MMD", "--generate-nonsystem-dependencies-with-compile"),
    ("-MP", "--generate-dependency-targets"),
    ("-ptx", "--ptx"), ("-cubin", "--cubin"), ("-fatbin", "--fatbin"), ("-cuda", "--cuda"), ("-optix-ir", "--optix-ir"),
    ("-ltoir", "--ltoir"),
    ("-g", "--debug"), ("-G", "--device-debug"), ("-lineinfo", "--generate-line-info"), ("-pg", "--profile"),
    ("-w", "--disable-warnings"), ("-v", "--verbose"), ("-dryrun", "--dryrun"),
    ("-V", "--version"), ("-h", "--help"), ("-ls-arch", "--list-gpu-arch"), ("-ls-code", "--list-gpu-code"),
    ("-use_fast_math", "--use_fast_math"), ("-expt-relaxed-constexpr", "--expt-relaxed-constexpr"),
    ("-expt-extended-lambda", "--expt-extended-lambda"), ("-extended-lambda", "--extended-lambda"),
    ("-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler"),
    ("-forward-unknown-opts", "--forward-unknown-opts"),
    ("-keep", "--keep"), ("-save-temps", "--save-temps"), ("-clean", "--clean-targets"),
    ("-res-usage", "--resource-usage"), ("-restrict", "--restrict"), ("-dlto", "--dlink-time-opt"),
    ("-allow-unsupported-compiler", "--allow-unsupported-compiler"), ("-noprof", "--dont-use-profile"),
    ("-extra-device-vectorization", "--extra-device-vectorization"), ("-src-in-ptx", "--source-in-ptx"),
    ("-Wno-deprecated-gpu-targets", "--Wno-deprecated-gpu-targets"),
    ("-Wno-deprecated-declarations", "--Wno-deprecated-declarations"), ("-Wreorder", "--Wreorder"),
    ("-Wdefault-stream-launch", "--Wdefault-stream-launch"),
    ("-Wmissing-launch-bounds", "--Wmissing-launch-bounds"), ("-Wext-lambda-captures-this", "--Wext-lambda-captures-this"),
    ("-err-no", "--display-error-number"), ("-no-err-no", "--no-display-error-number"),
    ("-disable-warnings", "--disable-warnings-all"), ("-no-compress", "--no-compress"),
    ("-nohdinitlist", "--no-host-device-initializer-list"), ("-nohdmoveforward", "--no-host-device-move-forward"),
    ("-gen-opt-lto", "--gen-opt-lto"), ("-noeh", "--no-exceptions"), ("-opt-info", "--opt-info"),
]
NAMES = {name: (names[0], True) for names in VALUED for name in names}
NAMES.update({name: (names[0], False) for names in PLAIN for name in names})
# Their value may follow without a space or "=".
GLUED = ("-D", "-U", "-I", "-L", "-l", "-O", "-m", "-x", "-t")
# Of these, several values may be given at once, parted by commas.
LISTS = {"-Xcompiler", "-Xlinker", "-D", "-U", "-I", "-isystem", "-include", "-l", "-L"}
NO_PTX = {"-ptx": "PTX", "-cubin": "cubins", "-fatbin": "fatbins", "-cuda": ".ii files", "-optix-ir": "OptiX IR",
          "-ltoir": "LTO IR"}


class CommandLine:
    """What was asked for; `given` has the other options' values by their first names, in order."""

    def __init__(self):
        self.inputs = []  # files and libraries, as the linker is to see them
        self.compiler = []  # for every source: -I, -D, ...
        self.host = []  # what went through -Xcompiler
        self.linker = []
        self.given = {}

    def last(self, name, otherwise=None):
        return self.given[name][-1] if name in self.given else otherwise

    def __contains__(self, name):
        return name in self.given


def split_list(value):
    """nvcc's lists: commas part the values unless a backslash or quotes protect them."""
    values, quote, at = [""], "", 0
    while at < len(value):
        character = value[at]
        if character == "\\" and value[at + 1 : at + 2] == ",":
            values[-1] += ","
            at += 1
        elif character in "\"'" and quote in ("", character):
            quote = "" if quote else character
            values[-1] += character
        elif character == "," and not quote:
            values.append("")
        else:
            values[-1] += character
        at += 1
    return [each for each in values if each]


def read_words(file):
    try:
        return shlex.split(Path(file).read_text(), comments=False)
    except (OSError, ValueError) as error:
        raise Refused(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def split_option(word):
    """The option's first name, whether it wants a value, and the value that the word holds already."""
    if word in NAMES:
        return (*NAMES[word], None)
    name, equals, value = word.partition("=")
    if equals and name in NAMES and NAMES[name][1]:
        return NAMES[name][0], True, value
    for name in GLUED:
        rest = word[len(name):].removeprefix("=")
        if word.startswith(name) and (name not in ("-m", "-t") or rest.isdigit()):
            return name, True, rest
    return None, False, None


def parse(words):
    words = list(words)
    line = CommandLine()
    unknown = []
    while words:
        word = words.pop(0)
        if word.startswith("@") and len(word) > 1:
            words = read_words(word[1:]) + words
            continue
        if not word.startswith("-") or word == "-":
            line.inputs.append(word)
            continue
        name, valued, value = split_option(word)
        if name is None:
            unknown.append(word)
            line.host.append(word)
            continue
        if valued and value is None:
            if not words:
                raise Refused(f"{word} wants a value")
            value = words.pop(0)
        if name == "-optf":
            for file in split_list(value):
                words = read_words(file) + words
            continue
        take(line, name, value)
    if unknown and not {"-forward-unknown-to-host-compiler", "-forward-unknown-opts"} & set(line.given):
        raise Refused(f"unknown option {unknown[0]} (for the host's compiler: -Xcompiler {unknown[0]})")
    return line


def take(line, name, value):
    line.given.setdefault(name, []).append(value)
    values = split_list(value) if name in LISTS else [value]
    if name in NO_PTX:
        raise Refused(f"{name}: the emulator runs kernels as host code, it makes no {NO_PTX[name]}")
    if name in ("-D", "-U", "-I"):
        line.compiler += [name + each for each in values]
    elif name in ("-isystem", "-include"):
        line.compiler += [word for each in values for word in (name, each)]
    elif name == "-Xcompiler":
        line.host += [word for each in values for word in words_of(each)]
    elif name == "-Xlinker":
        line.linker += [word for each in values for word in ("-Xlinker", each)]
    elif name in ("-l", "-L"):
        line.inputs += [name + each for each in values]


def words_of(value):
    """`-Xcompiler "-Wall -O2"` is two words for the compiler."""
    try:
        return shlex.split(value)
    except ValueError:
        return [value]
