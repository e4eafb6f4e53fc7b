#!/usr/bin/env python3
"""Does the verification notice a wrong kernel? Changes every step's kernels one place at a time, and looks who notices.

    scripts/mutants.py [--build build/emulator] [--chapter 3] [--step v4a] [--most 30] [--seconds N] [--output F]

What is changed, in device functions of the step's own file: operators (+ - * / % < <= > >= == != & | << >>), whole
numbers by one, conditions that are always or never true, additions and barriers left out, thread and block numbers. A
step is compiled once with all its mutants, each of which a number switches on; each then runs in a process of its own
over the chapter's cases (tests/chapters/mutants/cases.toml) on the emulator, with all of its checks.

A mutant is killed where the verification or the emulator objects, the program crashes, or it never ends. One that
survives is equivalent where tests/chapters/mutants/equivalent.toml argues why it cannot be seen, and else a hole in the
verification (that file may say why). What was run is kept in BUILD/mutants/, and beside F as F.json, by the code of the
step's file and its cases: an interrupted run goes on, and a step that stayed as it was is not run again.

Exit status: 0 at least 99% of the mutants that are not equivalent were killed; 1 fewer; 2 bad arguments; 3 a step could
not be built, or is wrong without a mutant.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import tomllib

import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST_KILLED = 0.99
MOST = 30  # Mutants of a step, where nobody says otherwise.
SECONDS_A_MUTANT = 6  # Of processors, at least; three times what the step as it is takes, where that is more.
FORM = "3"  # Of the records: what was run in another form is run again.

OPERATORS = {
    "+": "Minus", "-": "Plus", "*": "Plus", "/": "Times", "%": "Over", "<": "LessEqual", "<=": "Less", ">": "GreaterEqual",
    ">=": "Greater", "==": "Unequal", "!=": "Equal", "&": "Or", "|": "And", "^": "Or", "<<": "Right", ">>": "Left",
}  # fmt: skip
SIGNS = {"Plus": "+", "Minus": "-", "Times": "*", "Over": "/", "Less": "<", "LessEqual": "<=", "Greater": ">",
         "GreaterEqual": ">=", "Equal": "==", "Unequal": "!=", "And": "&", "Or": "|", "Left": "<<", "Right": ">>"}  # fmt: skip
BARRIER = re.compile(r"(?<=[\s;{}])(?:__syncthreads|__syncwarp|__threadfence\w*|__pipeline_\w+|\w*(?:wait|sync|arrive)\w*)\([^;{}]*\);")
# Chapter files' functions that no step needs, and that would compile whole headers again.
NEEDLESS = ("call_index_add", "steps_for_large_views", "copy_by_take_away", "misjudged_evidence")


class NotBuilt(Exception):
    pass


# ------------------------------------------------------------------------------------------------- places in a file
def blank(text, pattern, flags=0):
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=flags)


def closing(text, at):
    """Where the bracket that opens at `at` is closed."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    depth = 0
    for i in range(at, len(text)):
        if text[i] in pairs:
            depth += 1
        elif text[i] in pairs.values():
            depth -= 1
            if depth == 0:
                return i
    return len(text)


def as_emulated(text):
    """The text without the branches that the emulator does not compile, where an #if names it."""
    lines, taken, skipped = [], False, False
    for line in text.splitlines(keepends=True):
        if line.startswith("#endif"):
            taken = skipped = False
        elif line.startswith(("#if", "#el")):
            named = "WARPBOOK_EMULATED" in line
            refused = named and ("!defined(WARPBOOK_EMULATED)" in line or line.startswith("#ifndef"))
            skipped = taken or refused
            taken = taken or (named and not refused)
        lines.append(blank(line, r"[^\n]+") if skipped and not line.startswith("#") else line)
    return "".join(lines)


def code_only(text):
    """The text with everything blanked that is no statement of a device function."""
    code = blank(text, r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
    code = blank(as_emulated(code), r"^[ \t]*#.*$", re.M)
    code = blank(code, r"__launch_bounds__\([^)]*\)|\[\[[^\]]*\]\]|alignas\([^)]*\)")
    kept = [" " if c != "\n" else c for c in code]
    for found in re.finditer(r"__global__|__device__", code):
        at = code.find("(", found.end())
        if at < 0:
            continue
        if "operator()" in code[found.end() : at + 2]:
            at = code.find("(", at + 1)
        end = closing(code, at)
        body = re.compile(r"[{;]").search(code, end)
        if not body or body.group() == ";":
            continue
        last = closing(code, body.start())
        kept[body.start() : last + 1] = code[body.start() : last + 1]
    code = "".join(kept)
    code = blank(code, r"\btemplate\s*<[^;{]*?>(?=\s*\w)")
    code = blank(code, r"\bstatic_assert\([^;]*;|\b(?:static )?constexpr\b[^;{]*(?:\{[^;{}]*\})?[^;{]*;|__shared__[^;]*;|\bcase [^:]*:")
    while True:  # if constexpr (...)
        found = re.search(r"\bif constexpr \(", code)
        if not found:
            break
        code = code[: found.start()] + " " * (closing(code, found.end() - 1) + 1 - found.start()) + code[closing(code, found.end() - 1) + 1 :]
    return blank(code, r"(?<=\w)<[^<>;(){}=&|]*(?:<[^<>;(){}]*>)*[^<>;(){}=&|]*>(?!=)")


def places(text):
    """[(begin, end, kind, words, replacement)]: `replacement` is text with {n} for the mutant's number."""
    code = code_only(text)
    found = []

    def add(begin, end, kind, words, replacement):
        found.append((begin, end, kind, words, replacement))

    for m in re.finditer(r" (\+|-|\*|/|%|<=|>=|==|!=|<<|>>|<|>|&|\||\^)(?=[ \n])", code):
        sign, other = m[1], OPERATORS[m[1]]
        mark = f" {sign} warpbook::mutants::Mark<{{n}}, warpbook::mutants::{other}>{{{{}}}} {sign}"
        add(m.start(), m.end(), "operator", f"{sign} becomes {SIGNS[other]}", mark)
    for m in re.finditer(r"(?<![\w.'])(\d+)(U|LL|ULL)?(?![\w.'])", code):
        add(m.start(), m.end(), "number", f"{m[0]} becomes {int(m[1]) + 1}", f"({m[0]} + warpbook::mutants::on({{n}}))")
    for m in re.finditer(r"\bif \(", code):
        end = closing(code, m.end() - 1)
        inside = text[m.end() : end]
        if ";" in code[m.end() : end]:
            continue
        short = " ".join(inside.split())
        add(m.end(), m.end(), "condition", f"if ({short}) becomes true", "warpbook::mutants::on({n}) || ")
        # Two places for one mutant: the second is where the bracket is closed.
        add(m.end(), (m.end(), end), "condition", f"if ({short}) becomes false", "!warpbook::mutants::on({n}) && (")
    for m in re.finditer(r" (\+=|-=|\|=|\^=) ", code):
        depth, end = 0, m.end()
        while end < len(code) and not (depth == 0 and code[end] in ";,)"):
            depth += code[end] in "([{"
            depth -= code[end] in ")]}"
            end += 1
        add(m.end(), (m.end(), end), "addition", f"{m[1]} {' '.join(text[m.end():end].split())} is left out", "warpbook::mutants::unless({n}, ")
    for m in BARRIER.finditer(code):
        add(m.start(), m.start(), "barrier", f"{' '.join(text[m.start():m.end()].split())} is left out", "if (!warpbook::mutants::on({n})) ")
    for m in re.finditer(r"\b(threadIdx|blockIdx|blockDim|gridDim)\.[xyz]\b", code):
        add(m.start(), m.end(), "index", f"{m[0]} becomes {m[0]} + 1", f"({m[0]} + unsigned(warpbook::mutants::on({{n}})))")
    return sorted(found, key=lambda p: (p[0], p[2]))


def chosen(all_places, most):
    """At most so many, evenly over the file and each kind in turn."""
    if len(all_places) <= most:
        return all_places
    kinds = {}
    for place in all_places:
        kinds.setdefault(place[2], []).append(place)
    share, left = {}, most
    for number, (kind, group) in enumerate(sorted(kinds.items(), key=lambda k: len(k[1]))):
        share[kind] = min(len(group), left // (len(kinds) - number))
        left -= share[kind]
    return sorted((p for kind, group in kinds.items() for p in (group[i * len(group) // share[kind]] for i in range(share[kind]))),
                  key=lambda p: (p[0], p[2]))  # fmt: skip


def written(text, numbered):
    """The file with its mutants: [(number, place)] go in."""
    edits = []  # (position, order, end, text): what is behind goes first.
    for number, (begin, end, _kind, _words, replacement) in numbered:
        replacement = replacement.replace("{n}", str(number)).replace("{{", "{").replace("}}", "}")
        if isinstance(end, tuple):
            edits.append((end[0], 1, end[0], replacement))
            edits.append((end[1], 0, end[1], ")"))
        else:
            edits.append((begin, 2, end, replacement))
    for position, _order, end, replacement in sorted(edits, key=lambda e: (e[0], e[1]), reverse=True):
        text = text[:position] + replacement + text[end:]
    return text.replace("#pragma once\n", '#pragma once\n#include "tests/chapters/mutants/mutant.hpp"\n', 1)


# ---------------------------------------------------------------------------------------------------------- chapters
def top_level(text):
    """The parts of a list, up to the bracket that ends it."""
    parts, depth, start, i = [], 0, 0, 0
    code = blank(text, r'"(?:\\.|[^"\\\n])*"')
    while i < len(code) and depth >= 0:
        depth += code[i] in "([{"
        depth -= code[i] in ")]}"
        if (code[i] == "," and depth == 0) or depth < 0:
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    return [p for p in parts if p]


def names(text, version):
    """True where the text of a chapter.cu makes this step."""
    return re.search(rf'([({{]|C::preparing\("[^"]*",\s*)"{version}"', text) is not None


class Chapter:
    def __init__(self, number):
        self.number = number
        self.folder = next((ROOT / "chapters").glob(f"chapter{number}_*"))
        self.text = (self.folder / "chapter.cu").read_text()
        for name in NEEDLESS:
            self.text = re.sub(r"^[\w:<> ]+\b" + name + r"\([^{]*\{.*?^\}\n", "", self.text, flags=re.S | re.M)
        with (ROOT / "tests/chapters/mutants/cases.toml").open("rb") as file:
            self.all_cases = tomllib.load(file)
        self.cases = self.all_cases[f"chapter{number}"]
        self.hosts = {}

    def hosts_of(self, version):
        """The steps under which a file is tried: itself, or those that share it."""
        return self.hosts.get(version, [version])

    def cases_of(self, step):
        """The chapter's cases, and what a step has of its own."""
        return self.cases + self.all_cases.get(f"chapter{self.number}_{step}", [])

    def step_files(self):
        """{version: file}, of the steps that have one: vN_idea.cuh, and asides and library kernels by their file's name."""
        found = {file.name.split("_")[0]: file for file in sorted(self.folder.glob("v*_*.cuh"))}
        for file in [*sorted(self.folder.glob("asides/*.cuh")), *sorted(self.folder.glob("library/*.cuh"))]:
            if names(self.text, file.stem):
                found[file.stem] = file
        # What several library kernels share is tried under each of them, until nothing survives.
        self.hosts = {}
        for file in sorted(self.folder.glob("library/*.cuh")):
            users = [v for v, f in found.items() if f"library/{file.name}" in f.read_text() and "dispatch" not in f.name]
            if file.stem not in found and users and "__device__" in file.read_text():
                self.hosts[file.stem] = users
        found |= {name: self.folder / "library" / f"{name}.cuh" for name in self.hosts}
        return found

    def source(self, version):
        """chapter.cu with this step alone in its lists of steps."""
        found = False

        def alone(match):
            nonlocal found
            kept = [s for s in top_level(match["list"]) if names(s, version)]
            found = found or bool(kept)
            return f"{match['head']}return {{{', '.join(kept)}}};\n}}\n"

        text = re.sub(r"^(?P<head>std::vector<Step> \w+\(\) \{\n.*?)return \{(?P<list>.*?\n  \});\n\}\n", alone, self.text, flags=re.S | re.M)
        if not found:
            raise NotBuilt(f"chapter {self.number} has no step {version} in its list")
        text = text.replace("Chapter chapter() {", f"Chapter chapter{self.number}_mutated() {{")
        return (f"{text}\nnamespace warpbook {{\nChapter mutated_chapter() {{ "
                f"return chapter{self.number}::chapter{self.number}_mutated(); }}\n}}\n")  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- steps
class Bench:
    """Compiles and runs a step's mutants."""

    def __init__(self, build):
        self.build = build
        database = json.loads((build / "compile_commands.json").read_text())
        self.commands = {pathlib.Path(e["file"]).parent.name: e["command"] for e in database if e["file"].endswith("chapter.cu")}

    def kernel_command(self, chapter, folder, source, output):
        words = shlex.split(self.commands[chapter.folder.name])
        if pathlib.Path(words[0]).name in ("ccache", "sccache"):
            words = words[1:]
        drop = {"-Werror", "-MD"}
        kept, skip = [], 0
        for word in words:
            if skip:
                skip -= 1
            elif word in ("-o", "-c", "-MT", "-MF"):
                skip = 1
            elif word not in drop:
                kept.append("-O1" if word == "-O2" else word)
        # Finite loops: a mutant that makes a loop endless would be taken for one that never is.
        return [kept[0], f"-I{folder}", *kept[1:], "-w", "-Wno-c++11-narrowing", "-fno-finite-loops", "-ferror-limit=0",
                "-fno-caret-diagnostics", "-fno-color-diagnostics", "-o", str(output), "-c", str(source)]  # fmt: skip

    def driver(self):
        """The driver's object, compiled when it is older than its source."""
        output, source = self.build / "mutants" / "driver.o", ROOT / "tests/chapters/mutants/driver.cpp"
        if not output.exists() or output.stat().st_mtime < source.stat().st_mtime:
            output.parent.mkdir(parents=True, exist_ok=True)
            run([self.compiler(), "-std=c++20", "-O1", "-fdeclspec",
                 "-mf16c" if os.uname().machine == "x86_64" else "-O1", "-DWARPBOOK_EMULATED=1", f"-I{ROOT}",
                 f"-I{ROOT}/common/emulator/include", "-c", str(source), "-o", str(output)])  # fmt: skip
        return output

    def compiler(self):
        words = shlex.split(next(iter(self.commands.values())))
        return words[1] if pathlib.Path(words[0]).name in ("ccache", "sccache") else words[0]

    def compile(self, chapter, version, file, numbered, folder, host):
        """\\returns the mutants that compile. The others are no C++."""
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        source, output = folder / "step.cu", folder / "step.o"
        source.write_text(chapter.source(host))
        text = file.read_text()
        for _ in range(20):
            copy.write_text(written(text, numbered))
            done = subprocess.run(self.kernel_command(chapter, folder, source, output), capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return numbered
            bad = no_cpp(done.stderr, copy)
            if not bad:
                raise NotBuilt(f"chapter {chapter.number} {version}: " + done.stderr.strip()[:600])
            numbered = [(n, p) for n, p in numbered if n not in bad]
        raise NotBuilt(f"chapter {chapter.number} {version}: still does not compile")

    def link(self, chapter, folder):
        program = folder / "driver"
        libraries = [self.build / f"libchapter{chapter.number}_steps.a", self.build / "libwarpbook_harness.a"]
        run([self.compiler(), str(self.driver()), str(folder / "step.o"), *map(str, libraries), f"-L{self.build / 'lib'}",
             "-lwarpbook_emulator", f"-Wl,-rpath,{self.build / 'lib'}", "-lbenchmark", "-lfmt", "-lpthread", "-o", str(program)])  # fmt: skip
        return program


def no_cpp(messages, copy):
    """Numbers of the mutants nearest to where the compiler objects: those that are no C++."""
    lines, bad = copy.read_text().splitlines(), set()
    where = re.compile(re.escape(str(copy)) + r":(\d+):(\d+): (error|note)")
    for block in re.split(r"\n(?=[^\n]*: (?:fatal )?error: )", messages):
        for line, column, _kind in where.findall(block):
            marks = [(abs(m.start() - int(column)), int(m[1])) for m in
                     re.finditer(r"(?:Mark<|\bon\(|\bunless\()(\d+)", lines[int(line) - 1])]  # fmt: skip
            if marks:
                bad.add(min(marks)[1])
                break
    return bad


def run(command, **environment):
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotBuilt(" ".join(command[:3]) + " ...: " + (done.stderr + done.stdout).strip()[:600])
    return done.stdout


def key_of(chapter, version, file, most):
    """Of the step's code and its cases; comments and line breaks may change."""
    code = " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read_text(), flags=re.S).split())
    hosts = chapter.hosts_of(version)
    parts = [code, *(json.dumps(chapter.cases_of(host)) for host in hosts), str(most), FORM]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def folder_of(build, chapter, version, most):
    return build / "mutants" / f"chapter{chapter.number}_{version}{'' if most == MOST else f'_{most}'}"


def kept_record(build, chapter, version, file, most, published):
    """What was run of the step as it is, or None."""
    kept = folder_of(build, chapter, version, most) / "result.json"
    for record in ([published_record(json.loads(kept.read_text()))] if kept.exists() else []) + published:
        if (record["chapter"], record["step"], record["key"]) == (chapter.number, version, key_of(chapter, version, file, most)):
            return record
    return None


def published_record(record):
    """What of a step's record is worth keeping: the survivors, and how many did not survive."""
    kept = {k: v for k, v in record.items() if k != "mutants"}
    return kept | {"killed": sum(m["status"] == "killed" for m in record["mutants"]),
                   "alive": [m for m in record["mutants"] if m["status"] != "killed"]}  # fmt: skip


def try_under(bench, chapter, host, folder, alive, record):
    """\\returns {number: what came of it} of these mutants, where their file is compiled under one step."""
    program, outcome = bench.link(chapter, folder), {}
    # Once more on a card of one multiprocessor: there, loops over a grid of some waves take more than one turn.
    for card in ({}, {"WARPBOOK_MULTIPROCESSORS": "1"}):
        before = os.times().children_user
        said = run([str(program), "60", "0", *chapter.cases_of(host)], **card).strip()
        if said.startswith("0 survived 0 of"):
            record["takes_none"] = True  # Of the cases: the emulator lacks what it needs.
            break
        if not said.startswith("0 survived"):
            raise NotBuilt(f"chapter {chapter.number} {host} without a mutant: {said}")
        record.setdefault("accepted", said.removeprefix("0 survived "))
        if alive:
            seconds = max(SECONDS_A_MUTANT, math.ceil(3 * (os.times().children_user - before)))
            lines = run([str(program), str(seconds), ",".join(map(str, alive)), *chapter.cases_of(host)], **card).splitlines()
            outcome |= {int(n): rest for n, _, rest in (line.partition(" ") for line in lines)}
            alive = [n for n in alive if outcome[n].startswith("survived")]
    return outcome


def try_step(bench, chapter, version, file, most):
    """\\returns the step's record: {"chapter", "step", "file", "places", "no_cpp", "mutants": [...]}."""
    folder = folder_of(bench.build, chapter, version, most)
    kept = folder / "result.json"
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    text = file.read_text()
    found = places(text)
    numbered = list(enumerate(chosen(found, most), 1))
    record = {"key": key_of(chapter, version, file, most), "chapter": chapter.number, "step": version, "file": file.relative_to(chapter.folder).as_posix(),
              "places": len(found), "no_cpp": 0, "mutants": []}  # fmt: skip
    if numbered:
        outcome, compiled = {}, numbered
        for host in chapter.hosts_of(version):
            alive = [(n, p) for n, p in compiled if outcome.get(n, "survived").startswith("survived")]
            if not alive:
                break
            built = bench.compile(chapter, version, file, alive, folder, host)
            if not outcome:
                compiled = built
                record["no_cpp"] = len(numbered) - len(compiled)
                if 2 * len(compiled) < len(numbered):  # Some are no C++. If most are not, it is the marks that do not compile.
                    raise NotBuilt(f"chapter {chapter.number} {version}: {len(compiled)} of {len(numbered)} mutants compile")
            outcome |= try_under(bench, chapter, host, folder, [n for n, _ in built], record)
        for number, place in [] if "takes_none" in record else compiled:
            status, _, reason = outcome[number].partition(" ")
            line = text.count("\n", 0, place[0]) + 1
            record["mutants"].append({"line": line, "source": text.splitlines()[line - 1].strip(), "kind": place[2], "change": place[3],
                                      "status": status, "reason": reason})  # fmt: skip
    record["seconds"] = round(time.monotonic() - begin, 1)
    whole_file.write(kept, json.dumps(record, indent=1))
    return record


# ------------------------------------------------------------------------------------------------------------ report
def load_equivalent():
    """[(chapter, step or *, source and change as regular expressions, why, whether it is equivalent)]"""
    with (ROOT / "tests/chapters/mutants/equivalent.toml").open("rb") as file:
        return [(e["chapter"], e.get("step", "*"), re.compile(e["source"]), re.compile(e.get("change", "")), e["why"],
                 e.get("equivalent", True))
                for e in tomllib.load(file).get("equivalent", [])]  # fmt: skip


def argued(record, mutant, arguments):
    """(why it survives, whether it is equivalent)"""
    for chapter, step, source, change, why, equivalent in arguments:
        if chapter == record["chapter"] and step in ("*", record["step"]) and source.search(mutant["source"]) and change.search(mutant["change"]):
            return why, equivalent
    return "", False


def line_now(record, mutant):
    """Where the mutant's line is in the file as it is now: comments above it may have changed since it was tried."""
    folder = next((ROOT / "chapters").glob(f"chapter{record['chapter']}_*"))
    found = [number for number, line in enumerate((folder / record["file"]).read_text().splitlines(), 1) if line.strip() == mutant["source"]]
    return min(found, key=lambda number: abs(number - mutant["line"]), default=mutant["line"])


def tables(records, arguments):
    """(lines of Markdown, share killed, holes)."""
    lines = ["| step | places | mutants | killed | equivalent | survived |", "|---|---:|---:|---:|---:|---:|"]
    all_killed = all_counted = 0
    survivors = []
    for r in records:
        killed, alive = r["killed"], r["alive"]
        judged = [(r, m, *argued(r, m, arguments)) for m in alive]
        holes = [m for _r, m, _why, equivalent in judged if not equivalent]
        survivors += judged
        lines.append(f"| {r['chapter']} {r['step']} | {r['places']} | {killed + len(alive)} | {killed} | {len(alive) - len(holes)} | {len(holes)} |")
        all_killed += killed
        all_counted += killed + len(holes)
    total = sum(r["killed"] + len(r["alive"]) for r in records)
    holes = [m for _r, m, _why, equivalent in survivors if not equivalent]
    share = all_killed / all_counted if all_counted else 1.0
    lines += ["", f"{len(records)} steps, {total} mutants: {all_killed} killed, {len(survivors) - len(holes)} equivalent, {len(holes)} survived: "
              f"{share:.1%} of those that are not equivalent were killed.",
              *(["", "Not emulated, and so without mutants: " + ", ".join(f"chapter {r['chapter']} {r['step']}" for r in records if "takes_none" in r)
                 + "."] if any("takes_none" in r for r in records) else []),
              "", "Each step was tried as its code and its cases are now."]  # fmt: skip
    for title, wanted in (("Survived, and not argued", (False, False)), ("Survived, for a reason that is no excuse", (True, False)),
                          ("Equivalent", (True, True))):  # fmt: skip
        chosen_ones = [(r, m, why) for r, m, why, equivalent in survivors if (bool(why), equivalent) == wanted]
        if not chosen_ones:
            continue
        lines += ["", f"{title}:", ""]
        for r, m, why in chosen_ones:
            source = f"`` {m['source']} ``" if "`" in m["source"] else f"`{m['source']}`"
            lines.append(f"- chapter {r['chapter']} {r['file']}:{m['line']}: {source}: {m['change']}" + (f". {why}" if why else ""))
    return lines, share, len(holes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/emulator", help="with chapterN_steps built")
    parser.add_argument("--chapter", type=int, action="append", help="only this chapter; may be repeated")
    parser.add_argument("--step", action="append", help="only this step; may be repeated")
    parser.add_argument("--most", type=int, default=MOST, help=f"mutants of a step ({MOST})")
    parser.add_argument("--jobs", type=int, default=1, help="steps at a time (1)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no step after so many")
    parser.add_argument("--output", type=pathlib.Path, help="write the report there, as Markdown")
    parser.add_argument("--kept", action="store_true", help="run nothing: report what was run before")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "compile_commands.json").exists():
        print(f"mutants: {build} is no build of the emulator: `make mutants` makes it", file=sys.stderr)
        return 2
    begin = time.monotonic()
    bench = Bench(build)
    work = []
    for number in options.chapter or sorted(int(p.name[7:].split("_")[0]) for p in (ROOT / "chapters").glob("chapter*_*")):
        if f"[chapter{number}]" not in "".join(("[" + k + "]") for k in tomllib.loads((ROOT / "tests/chapters/mutants/cases.toml").read_text())):
            continue
        chapter = Chapter(number)
        work += [(chapter, v, f) for v, f in chapter.step_files().items() if not options.step or v in options.step]
    if not work:
        print("mutants: no such step", file=sys.stderr)
        return 2
    records, failed, left = [], [], 0
    beside = options.output.with_suffix(".json") if options.output else None
    published = whole_file.read_json(beside)["steps"] if beside and beside.exists() else []

    def one(item):
        chapter, version, file = item
        record = kept_record(build, chapter, version, file, options.most, published)
        if record or options.kept or time.monotonic() - begin > options.seconds:
            return record
        record = published_record(try_step(bench, chapter, version, file, options.most))
        print(f"chapter {chapter.number} {version}: {record['killed']} of {record['killed'] + len(record['alive'])} killed, "
              f"{record['seconds']} s", flush=True)  # fmt: skip
        return record

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for item, future in [(item, pool.submit(one, item)) for item in work]:
            try:
                record = future.result()
                if record is None:
                    left += 1
                else:
                    records.append(record)
            except NotBuilt as error:
                failed.append(f"chapter {item[0].number} {item[1]}")
                print(f"mutants: {error}", file=sys.stderr)
    lines, share, holes = tables(records, load_equivalent())
    if left:
        lines += ["", f"Not run: {left} of {len(work)} steps."]
    if failed:
        lines += ["", "Could not be tried: " + ", ".join(failed) + "."]
    report = "\n".join(lines) + "\n"
    print(report)
    if options.output:
        title = "# Wrong kernels, and whether anybody notices\n\nMade by `make mutants` (`scripts/mutants.py`): how is said there.\n\n"
        whole_file.write(options.output, title + report)
        whole_file.write(beside, json.dumps({"steps": records}, separators=(",", ":")) + "\n")
    if failed:
        return 3
    return 0 if share >= LEAST_KILLED else 1


if __name__ == "__main__":
    sys.exit(main())
