"""Builds an exercise's check: everything but the reader's file is compiled beforehand, by CMake's target
chapterN_exercise. Its commands, taken from the build, then serve for the reader's file.
"""

import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from book import ROOT
from sandbox import run_limited

# What a file under work may have that a finished one may not: names that nobody uses yet.
LENIENT = ["-Wno-error", "-Wno-unused", "-Wno-unused-parameter", "-Wno-unused-const-variable", "-Wno-conversion",
           "-Wno-unneeded-internal-declaration", "-Wno-pedantic", "-Wunused-value", "-Wunused-comparison"]  # fmt: skip

# What a reader's file may call that it does not hold itself, by the object file's undefined symbols: what CUDA offers to
# kernels and launchers (memory is allocated and copied by the check, and a lack of it is no file's to tell), what compilers and the emulator's passes call by
# themselves, and mathematics. confine_pass.cpp refuses what is not named, and looks at how some of these are called.
ALLOWED_SYMBOLS = re.compile(
    r"""cuda(?:GetDevice|DeviceGetAttribute|GetLastError|PeekAtLastError|GetErrorName|GetErrorString|MemsetAsync)
    | __tsan_\w+ | __warpbook_\w+ | __safestack_pointer_address
    | warpbook::emulator::(?:async_(?:copy|commit|wait)|atomic_|lane_index|trap_thread|warp_|memory_fence|yield_thread|wait_for_block
    |active_blocks|best_block_size|block_|grid_extent|thread_index|reduce_pairs|launch_kernel|dynamic_shared|set_kernel_attribute
    |multiprocessor_|nanoseconds|rounded).*
    | mem(?:cpy|set|move)(?:@.*)? | printf | puts | putchar | abort | __assert_fail
    | _Unwind_Resume | __gxx_personality_v0 | __cxa_(?:guard_\w+|begin_catch|pure_virtual) | __tls_get_addr | _GLOBAL_OFFSET_TABLE_
    | __(?:extend|trunc|fix|fixuns|float|floatun|u?div|u?mod|mul|powi)(?:[sdthx]f|bf|[sdt]i){1,2}\d? | std::terminate\(\) | std::__throw_(?!bad_a)\w+\(.* | vtable\ for\ __cxxabiv1::.*
    | (?:a?(?:sin|cos|tan)h?|atan2|exp|exp2|expm1|log|log2|log10|log1p|pow|sqrt|cbrt|fma|f?abs|floor|ceil|round|trunc|rint
    |nearbyint|l?lround|l?lrint|fmod|remainder|fmin|fmax|hypot|erf|erfc|tgamma|ldexp|scalbn|copysign)f?""",
    re.VERBOSE,
)
NOT_FOR_KERNELS = ("chapters/", "exercises/", "tests/", "build/", "/", "..", "common/exercises", "common/harness", "common/emulator")
SYSTEM_HEADERS = ("/usr/", "/lib/", "/opt/")
CHECKS = "memory is made, copied and waited for by the check, not by the file"
OFFERED = "a file may call what its chapter's headers and CUDA offer to kernels"
INSTEAD = {  # Of what many would call, what to do.
    r"cuda(?:Malloc|Free|Memcpy|Host|Stream|Event|DeviceSynchronize|DeviceReset)\w*": CHECKS,
    r"cudaGetDeviceProperties\w*": "cudaDeviceGetAttribute tells a device's properties one by one",
    r"cudaLaunch(?:Cooperative)?Kernel": "launch() of common/cuda/launch.cuh or cudaLaunchKernelEx launches a kernel",
    r"_?exit|quick_exit|std::terminate": "return an error instead",
    r"f(?:printf|puts|write)|std::ostream.*|std::operator<<.*": "print by printf",
    r"clock\w*|gettimeofday|std::chrono.*": "the check counts and times a kernel by itself",
}
FORBIDDEN = re.compile(r"(\S+:\d+): error: attempt to use a poisoned identifier")
CONFINED = re.compile(r"error: confined: (.*)")  # As confine_pass.cpp has it, and this.
LOCAL_MEMORY = re.compile(r"warning: local memory: (.*?)(?: \[-W.*)?$", re.MULTILINE)
# A compiler takes its memory in large pages where the system has them, and less time.
COMPILER_ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
LEFT_OUT_STATUS = 87  # As check.cpp has it.
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


class BuildError(Exception):
    """The project itself could not be built: says what to do."""


@dataclasses.dataclass
class Compiled:
    """What came of building a check. Where `error` is empty, `program` can be run."""

    program: pathlib.Path | None = None
    error: str = ""  # For the reader: what is wrong with the file.
    refused: bool = False  # The file is no solution by itself: it calls or includes what it must not.
    notes: str = ""  # Warnings.
    local: str = ""  # The kernel that works in local memory, if one does.


def case_source(chapter):
    """The file that makes the chapter's cases: compiled once."""
    definitions = f"\nnamespace warpbook::chapter{chapter.number} {{\n{chapter.definitions.strip()}\n}}\n" if chapter.definitions else ""
    return f"""// Written by common/exercises from {chapter.path}/exercises.toml.
#include "{chapter.path}/{chapter.header}"
#include "common/exercises/check.hpp"
{definitions}
namespace warpbook::exercises {{

std::unique_ptr<Case> make_exercise_case(const Parameters& parameters) {{
  using namespace chapter{chapter.number};
  return {chapter.make};
}}

std::string inspect_exercise(const Case& c, const Arrays& arrays) {{
  using namespace chapter{chapter.number};
  const auto& problem = static_cast<const {chapter.case}&>(c);
  static_cast<void>(problem), static_cast<void>(arrays);
  return {chapter.inspect.strip()};
}}

}}  // namespace warpbook::exercises
"""


def step_source(chapter, exercise=None, file=None):
    """The file that is compiled for a check: the reader's, and behind it the call of its step. Without an exercise: a
    file that takes its place, so that CMake has something to compile."""
    number = chapter.number
    body = "static_cast<void>(arrays), static_cast<void>(stream), static_cast<void>(problem);\n  return cudaErrorNotSupported"
    include = helpers = ""
    if exercise is not None:
        body = f"return {exercise.call}"
        if exercise.helpers:
            helpers = f"\nnamespace warpbook::chapter{number} {{\n{exercise.helpers.strip()}\n}}\n"
        # What the check and the file share comes first: no macro of the file's changes it.
        shared = "".join(f'#include "{name}"\n' for name in sorted(included(exercise.handed_out)) if name.startswith("chapters/") and name.endswith(".hpp"))
        include = f'{shared}#include "{file}"\n'
        if exercise.forbid:  # Whatever way a file spells them: macros are expanded when the compiler looks.
            include = f"#ifdef WARPBOOK_EMULATED\n#pragma GCC poison {' '.join(exercise.forbid)}\n#endif\n{include}"
    behind = f"""{helpers}
namespace warpbook::exercises {{

cudaError_t run_exercise(const Case& c, const Arrays& arrays, cudaStream_t stream) {{
  using namespace chapter{number};
  const auto& problem = static_cast<const {chapter.case}&>(c);
  {body};
}}

}}  // namespace warpbook::exercises
"""
    return f"""// Written by common/exercises from {chapter.path}/exercises.toml.
#include "{chapter.path}/{chapter.header}"
#include "common/exercises/check.hpp"
{include}{own_words(behind) if include else ""}{behind}"""


def included(text):
    return set(re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE))


def own_words(code):
    """Lines that refuse a file with a macro that would change what the check says behind it."""
    words = sorted(set(re.findall(r"[A-Za-z_]\w*", COMMENT_OR_STRING.sub("", code))))
    return "".join(f"#ifdef {word}\n#error confined: it defines the macro {word}, which is the check's word\n#endif\n" for word in words)


def headers_source(chapter):
    """The headers that are compiled beforehand: of this project, what stands in front of every file and what files include."""
    handed_out = "\n".join(e.handed_out for e in chapter.exercises if e.is_code)
    names = {f"{chapter.path}/{chapter.header}", "common/exercises/check.hpp", "common/cuda/launch.cuh", "common/cuda/pack.cuh"}
    names |= set(re.findall(r'^\s*#\s*include\s*"(common/cuda/[^"]+)"', handed_out, re.MULTILINE))
    return "".join(f'#include "{name}"\n' for name in sorted(names))


def write_sources(chapter, directory):
    """case.cpp, step.cu and headers.hpp, for CMake. A file that is as it should be is left alone."""
    directory.mkdir(parents=True, exist_ok=True)
    sources = {"case.cpp": case_source(chapter), "step.cu": step_source(chapter), "headers.hpp": headers_source(chapter)}
    for name, text in sources.items():
        path = directory / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


class Toolchain:
    """The build of one device."""

    def __init__(self, device, root=ROOT, jobs=None):
        self.device = device
        self.root = root
        self.build = root / "build" / device
        self.jobs = jobs or os.cpu_count() or 2
        self._commands = {}

    # ---- beforehand
    def prepare(self, chapters, say=print):
        """Builds all that the chapters' checks need besides the reader's file. \\raises BuildError"""
        targets = [f"chapter{c.number}_exercise" for c in chapters]
        command = [self.root / "scripts" / "build.sh", self.device, "--parallel", str(self.jobs), "--target", *targets]
        with tempfile.TemporaryFile("w+") as log:
            building = subprocess.Popen(command, cwd=self.root, stdout=log, stderr=subprocess.STDOUT)
            told = False
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    building.wait(timeout=2)
                    break
                if not told:
                    say(f"building what the checks need, for DEVICE={self.device} (some minutes the first time) ...")
                told = True
                said = os.pread(log.fileno(), 1 << 20, 0)  # Not by seeking: the build writes where it stands.
                if sys.stdout.isatty() and (steps := re.findall(rb"^\[(\d+)/(\d+)\]", said, re.MULTILINE)):
                    print(f"  {int(steps[-1][0])} of {int(steps[-1][1])}", end="\r", flush=True)
            if building.returncode != 0:
                log.seek(0)
                tail = "\n".join(log.read().splitlines()[-30:])
                raise BuildError(f"the checker could not be built; `make deps` installs what it needs:\n{tail}")
        self._commands.clear()

    def commands(self, number):
        """(compile, link) of the target chapterN_exercise: lists of words."""
        if number not in self._commands:
            target = f"chapter{number}_exercise"
            source = str(self.build / "exercises" / f"chapter{number}" / "step.cu")
            database = json.loads((self.build / "compile_commands.json").read_text(encoding="utf-8"))
            entry = next((e for e in database if e["file"] == source), None)
            if entry is None:
                raise BuildError(f"the build knows no {target}: `make clean` and try again")
            shown = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "-s", f"exercises/chapter{number}/{target}"],
                                   capture_output=True, text=True, check=True).stdout  # fmt: skip
            line = shown.strip().splitlines()[-1]
            link = [w for w in shlex.split(line) if w not in ("&&", ":")]
            self._commands[number] = (shlex.split(entry["command"]), link)
        return self._commands[number]

    def compile_command(self, number, source, output):
        words = list(self.commands(number)[0])
        if pathlib.Path(words[0]).name in ("ccache", "sccache"):
            words = words[1:]
        words[words.index("-o") + 1] = str(output)
        words[words.index("-c") + 1] = str(source)
        if self.device == "emulator":
            words = [w for w in words if w != "-Werror"] + LENIENT + ["-fno-color-diagnostics"]
        else:
            words = [w for w in words if w != "-Werror=all-warnings"]
            words = [re.sub(r"(-Xcompiler=.*),-Werror\b", r"\1", w) for w in words]
        return words + ["-MD", "-MF", str(output) + ".d"]

    def link_command(self, number, object_file, program):
        words = list(self.commands(number)[1])
        if pathlib.Path(words[0]).name in ("ccache", "sccache"):
            words = words[1:]
        words[words.index("-o") + 1] = str(program)
        return [str(object_file) if w.endswith("step.cu.o") else w for w in words]

    # ---- the reader's file
    def compile(self, chapter, exercise, file, scratch, sandbox=None, seconds=60, lean=False):
        """Compiles and links the check of `file`. `lean`: without the bodies of what is rare. A program that calls one ends
        with LEFT_OUT_STATUS."""
        file = pathlib.Path(file)
        if sandbox is not None:  # Which reads nothing else.
            copy = scratch / "submitted" / file.name
            copy.parent.mkdir()
            file = pathlib.Path(shutil.copy(file, copy))
        text = file.read_text(encoding="utf-8", errors="replace")
        if problem := self.foreign_include(exercise, text):
            return Compiled(error=problem, refused=True)
        source, object_file, program = scratch / "step.cu", scratch / "step.o", scratch / "check"
        source.write_text(step_source(chapter, exercise, file), encoding="utf-8")
        command = self.compile_command(chapter.number, source, object_file)
        lower = [file.with_name(f"{e.name}.cuh") for e in chapter.foundations(exercise)]
        for path, e in zip(lower, chapter.foundations(exercise)):
            stand_in = scratch / "include" / chapter.path / e.step_file
            stand_in.parent.mkdir(parents=True, exist_ok=True)
            stand_in.write_text(f'#include "{path}"\n', encoding="utf-8")
        if lower:
            command.insert(1, f"-I{scratch / 'include'}")
        asked = {"WARPBOOK_RARE": exercise.rare if lean else ""} | ({"WARPBOOK_WHOLE_NUMBERS": "1"} if exercise.whole_numbers else {})
        if sandbox is None:
            done = plain_run(command, cwd=self.build, scratch=scratch, seconds=seconds, environment=os.environ | COMPILER_ENVIRONMENT | asked)
        else:
            done = sandbox(command, cwd=self.build, scratch=scratch, seconds=seconds, environment=asked)
        no_room(done, scratch)
        if done.timed_out:
            return Compiled(error=f"compiling it takes more than {seconds:g} seconds")
        if refused := list(dict.fromkeys(CONFINED.findall(done.stderr))):
            return Compiled(error="\n".join(refused), refused=True)
        messages = shorten(done.stderr + done.stdout, file, source, self.root)
        if found := re.search(FORBIDDEN, messages):
            names = ", ".join(f"{name}()" for name in exercise.forbid)
            problem = f"{found[1]}: the exercise is to do without {names}; a name of your own has to be another"
            return Compiled(error=problem, refused=True)
        if foreign := self.foreign_file(exercise, [file, *lower], scratch, done.stderr):
            return Compiled(error=f'it includes "{foreign}", which it was not handed out with', refused=True)
        if done.returncode != 0 or not object_file.exists():
            return Compiled(error=messages or "the compiler failed without a word (out of memory?)")
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            linking = beside.submit(plain_run, self.link_command(chapter.number, object_file, program), cwd=self.build, scratch=scratch, seconds=seconds)
            problem = self.foreign_header(exercise, [file, *lower], object_file) or self.foreign_symbol(exercise, object_file)
            link = linking.result()
        if problem:
            return Compiled(error=problem, refused=True)
        no_room(link, scratch)
        if link.returncode != 0:
            return Compiled(error=shorten_linker(link.stderr + link.stdout))
        local = LOCAL_MEMORY.search(done.stderr)
        return Compiled(program=program, notes=messages, local=local[1] if local else "")

    def foreign_include(self, exercise, text):
        """What the file includes of this project that it was not handed out with."""
        plain = COMMENT_OR_STRING.sub(lambda m: m.group() if m.group().startswith('"') else "", text)
        for line in plain.splitlines():
            found = re.match(r"\s*#\s*include\s*[\"<]([^\">]+)[\">]", line)
            if not found:
                continue
            name = found[1]
            if name.startswith(("exercises/", "..")):
                return f'it includes "{name}": {ALONE}'
            if "warpbook" in name or (name.startswith(NOT_FOR_KERNELS) and name not in self.header_closure(exercise)):
                return (f'it includes "{name}", which it was not handed out with: the exercise is to write the step, not to '
                        "call a finished one")  # fmt: skip
        return ""

    def foreign_header(self, exercise, files, object_file):
        """The same, of what the compiler really read."""
        listed = pathlib.Path(str(object_file) + ".d").read_text(encoding="utf-8", errors="replace")
        names = re.split(r"(?<!\\)\s+", listed.split(":", 1)[1].replace("\\\n", " "))
        allowed = self.header_closure(exercise)
        for name in filter(None, (n.replace("\\ ", " ") for n in names)):
            if foreign := self.foreign_name(name, exercise, allowed, files, object_file.parent):
                return f'it includes "{foreign}", which it was not handed out with'
        return ""

    def foreign_file(self, exercise, files, scratch, messages):
        """The same, of what the compiler complains about: its words would tell what stands in there."""
        allowed = self.header_closure(exercise)
        named = {found["file"] for line in messages.splitlines() if (found := DIAGNOSTIC.match(line))}
        return next(filter(None, (self.foreign_name(name, exercise, allowed, files, scratch) for name in sorted(named))), "")

    def foreign_name(self, name, exercise, allowed, files, scratch):
        """A file's name for a message, where no reader's file has anything to do with it; else empty."""
        path = pathlib.Path(os.path.normpath(os.path.join(self.build, name)))
        precompiled = self.build / "exercises" / f"chapter{exercise.chapter}" / "headers.hpp"
        if path in (*files, precompiled) or path.is_relative_to(scratch) or path.name.startswith("cmake_pch."):
            return ""
        if path.is_relative_to(self.root):
            relative = str(path.relative_to(self.root))
            return "" if relative.startswith(("common/", ".venv/")) or relative in allowed else relative
        return "" if str(path).startswith(SYSTEM_HEADERS) else path.name

    def header_closure(self, exercise):
        """The chapter's headers that the file as handed out includes, directly or not."""
        chapter_folder = self.root / "chapters" / exercise.folder
        result, todo = set(), included(exercise.handed_out)
        todo |= {f"chapters/{exercise.folder}/{p.name}" for p in chapter_folder.glob("*_case.hpp")}
        while todo:
            name = todo.pop()
            if name in result:
                continue
            result.add(name)
            path = self.root / name
            if path.is_file():
                todo |= included(path.read_text(encoding="utf-8"))
        return result

    def foreign_symbol(self, exercise, object_file):
        """What the compiled file calls that it must not."""
        if self.device != "emulator":
            return ""
        listed = subprocess.run(["nm", "-C", "--plugin=", object_file], capture_output=True, text=True, check=True).stdout
        symbols = [(line[17:18], line[19:], line[19:].split("(")[0]) for line in listed.splitlines()]
        judges = [f"warpbook::chapter{exercise.chapter}::{name}" for name in exercise.judged_by]
        for judge in judges:
            if {kind for kind, _, short in symbols if short == judge} != {"U"}:
                return f"it takes the place of {judge}, which is the check's"
        allow = [re.compile(a) for a in (*exercise.allow, *judges)]
        for name, short in ((name, short) for kind, name, short in symbols if kind in "Uvw"):  # Undefined, also weakly.
            if not ALLOWED_SYMBOLS.fullmatch(name) and not any(a.fullmatch(short) for a in allow):
                name = short.rpartition("emulator::")[2]
                why = next((why for names, why in INSTEAD.items() if re.fullmatch(names, name)), "")
                if "emulator::" in short:
                    return f"it calls the emulator's {name}: {CHECKS}"
                return f"it calls {name}" + (f": {why}" if why else f", which is not the exercise's: {OFFERED}")
        return ""

    def referee(self, number):
        """The program that judges what a check of the chapter wrote."""
        return self.build / "exercises" / f"chapter{number}" / f"chapter{number}_referee"

    def key(self):
        """Changes when what the checks are made of does."""
        parts = [self.device] + [p.read_text(encoding="utf-8") for p in sorted(pathlib.Path(__file__).parent.glob("*.py"))]
        made = ("libwarpbook_*.a", "libchapter*_exercise_case.a", "lib/*.so", "exercises/chapter*/chapter*_referee", "CMakeFiles/chapter*_exercise.dir/*.pch",
                "exercises/chapter*/step.cu")  # fmt: skip
        for path in sorted(p for pattern in made for p in self.build.glob(pattern)):
            stat = path.stat()
            parts.append(f"{path.name} {stat.st_size} {stat.st_mtime_ns}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


NO_ROOM = "no space is left on the device for temporary files (TMPDIR names another place)"


def no_room(done, folder):
    """\raises BuildError where it is this machine that failed, and no file that says so"""
    if "No space left on device" in done.stderr and shutil.disk_usage(folder).free < 64 << 20:
        raise BuildError(NO_ROOM)


def plain_run(command, cwd, scratch, seconds, environment=None, reserves=False):  # pylint: disable=unused-argument
    """Runs a command with a time limit, and ends all that it started."""
    return run_limited([str(w) for w in command], cwd=cwd, seconds=seconds, environment=environment)


@contextlib.contextmanager
def scratch_folder():
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        yield pathlib.Path(folder)


# ---- the compiler's words
DIAGNOSTIC = re.compile(r"^(?P<file>[^\s:(][^:(]*)[:(](?P<line>\d+)(?:[:,]\d+)?\)?:? ?(?P<kind>(?:fatal )?error|warning|note)[^:]*: (?P<text>.*)$")
MOST_ERRORS = 4
ALONE = "a file is handed in alone, so copy into it what it needs of your other files"


def shorten(output, file, source, root):
    """The compiler's messages, as far as they concern the reader's file: each with the line that it points at. What
    went wrong in headers is told by where the reader's file led there."""
    blocks, current = [], None
    for line in output.splitlines():
        found = DIAGNOSTIC.match(line)
        if found:
            current = [found, []]
            blocks.append(current)
        elif current is not None and not line.startswith(("In file included", "                 from")):
            current[1].append(line)
    mine, elsewhere = [], []
    for index, (found, rest) in enumerate(blocks):
        if not found["kind"].endswith("error") and found["kind"] != "warning":
            continue
        if os.path.basename(found["file"]) == file.name and pathlib.Path(found["file"]).name != source.name:
            if not any(same_message(found, m[0]) for m in mine):  # Once, not for each type.
                mine.append((found, rest))
            continue
        # The first note behind it that points into the reader's file.
        notes = [(n, r) for n, r in blocks[index + 1 : index + 13] if n["kind"] == "note"]
        note = next((n for n in notes if os.path.basename(n[0]["file"]) == file.name), None)
        elsewhere.append((found, rest, note))

    shown = []
    errors = [m for m in mine if m[0]["kind"].endswith("error")]
    for found, rest in (errors or mine)[:MOST_ERRORS]:
        shown.append(f"{display(file, root)}:{found['line']}: {found['kind']}: {clean(found['text'])}")
        shown += excerpt(rest)
    if errors and any("<<<" in line for line in shown):
        shown.append("    (<<<>>> is no C++: launch(kernel, {.grid = ..., .block = ..., .stream = stream}, arguments...), as common/cuda/launch.cuh has it)")
    if any("from a __host__ function" in line for line in shown):
        shown.append("    (a kernel is declared __global__, and what kernels call __device__)")
    if any(re.search(r"'[^'/]+' file not found", line) for line in shown):
        shown.append(f"    ({ALONE})")
    if any(re.search(r"'(?:cuda|thrust|cub)/[^']+' file not found", line) for line in shown):
        shown.append("    (the checks have CUDA's own headers, and neither libcu++ nor Thrust nor CUB)")
    if len(errors) > MOST_ERRORS:
        shown.append(f"and {len(errors) - MOST_ERRORS} more errors: begin with the first")
    if not errors:
        for found, rest, note in [e for e in elsewhere if e[0]["kind"].endswith("error")][:2]:
            if note is not None:
                shown.append(f"{display(file, root)}:{note[0]['line']}: error: {clean(found['text'])}")
                shown += excerpt(note[1])
            elif pathlib.Path(found["file"]).name == source.name:
                shown.append(f"{display(file, root)}: error: the check cannot call the step: {clean(found['text'])}")
                shown.append("    (is a brace left open, or has run, its parameters or its namespace changed?)")
            else:
                shown.append(f"{display(file, root)}: error in {display(pathlib.Path(found['file']), root)}:{found['line']}: {clean(found['text'])}")
    if not shown and ("error" in output or "fatal" in output):
        shown = output.splitlines()[:6]
    return "\n".join(shown)


def same_message(one, other):
    """What is told of one line twice, in words that differ by no more than what they quote, such as a template's arguments."""
    return one["line"] == other["line"] and re.sub(r'"[^"]*"', "", one["text"]) == re.sub(r'"[^"]*"', "", other["text"])


def clean(text):
    text = re.sub(r" \[-W[^\]]*\]$", "", text)
    return text if len(text) <= 240 else text[:237] + "..."


def excerpt(lines):
    """The source line and its caret, moved to the left."""
    shown = [found[1].rstrip() for line in lines[:2] if (found := re.match(r"^\s*(?:\d+)?\s*\|(.*)$", line))]
    if not shown and len(lines) > 1 and lines[1].strip() == "^":  # As nvcc has it.
        shown = [line.rstrip() for line in lines[:2]]
    margin = len(shown[0]) - len(shown[0].lstrip()) if shown else 0
    return ["    " + line[min(margin, len(line) - len(line.lstrip())) :] for line in shown]


def display(path, root):
    with contextlib.suppress(ValueError):
        return str(pathlib.Path(path).relative_to(root))
    return pathlib.Path(path).name


def shorten_linker(output):
    missing = re.findall(r"undefined (?:reference to [`'\"]|symbol: )([^'\"`\n]+)", output)
    twice = re.findall(r"(?:multiple definition of [`'\"]|duplicate symbol: )([^'\"`\n]+)", output)
    if missing:
        return f"it calls {missing[0]}, which is declared and nowhere defined"
    if twice:
        return f"it defines {twice[0]}, which is the checker's own"
    return "\n".join(output.splitlines()[:6])

