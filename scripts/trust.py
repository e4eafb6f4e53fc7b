#!/usr/bin/env python3
"""What a reader may rely on, and what was run to know it: docs/results/trust.md.

    scripts/trust.py                                        writes the page from docs/results/trust.json
    scripts/trust.py --record NAME                          runs the row's own command here, and keeps what it said
    scripts/trust.py --record NAME --log F --status 0 --device "NVIDIA H200" [--commit C] [--date D]
                                                            keeps what the row's command said on another machine
    scripts/trust.py --check                                status 1 where the page is not what the records make

A row without a record is "not run": nothing here is from memory. Exit status: 0; 1 a recorded command failed; 2 bad
arguments.
"""

import argparse
import dataclasses
import datetime
import json
import pathlib
import platform
import re
import subprocess
import sys

import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "chapters"
RECORDS = ROOT / "docs/results/trust.json"
PAGE = ROOT / "docs/results/trust.md"
KEPT_LINES = 400


@dataclasses.dataclass
class Row:
    name: str
    what: str
    command: str
    result: str  # A regular expression for the lines of the output that say how it went.


@dataclasses.dataclass
class Part:
    title: str
    says: str
    rows: list
    more: object = None  # A function whose lines of Markdown come behind the rows.


def steps_of(chapter):
    """The steps that the chapter's recorded run has, yardsticks left out, in their order; chapter 7's one kernel."""
    if chapter == 7:
        return ["add2"]
    cases = whole_file.read_json(ROOT / f"docs/results/nvidia-h200/chapter{chapter}.json")["cases"]
    versions = dict.fromkeys(step["version"] for case in cases for step in case["steps"])
    return [version for version in versions if version.startswith("v")]


def sanitized(text, tool, steps):
    """What records say of each step under a tool: clean, findings, or did not end; a step that no line names is left out.

    A line is `v7c 4 cases: 4 right; ERROR SUMMARY: 0 errors`, a commit before it or not; `v7` stands for v7a, v7b, ...
    """
    said = {}
    for part in re.findall(rf"^{tool}:\n(.*?)(?=^\w+:$|\Z)", text, re.M | re.S):
        for name, words in re.findall(r"^ *(?:[0-9a-f]{7,12} +)?(v\d+[a-z]?|add2) +(.*)$", part, re.M):
            if "skipped" in words and "right" not in words:
                continue  # It refused all of the cases.
            summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", words)
            found = "did not end" if summary is None else "clean" if summary[1] == "0" else "findings"
            for step in steps:
                if step == name or re.fullmatch(name + "[a-z]", step):
                    said[step] = max(found, said.get(step, ""), key=["", "clean", "did not end", "findings"].index)
    return said


def sanitized_steps():
    """What compute-sanitizer said of each chapter, from the records' text: a table of chapters and tools."""
    tools = ("memcheck", "racecheck", "initcheck", "synccheck")
    lines = ["", "| compute-sanitizer | steps | " + " | ".join(tools) + " | record |", "|---|---|" + "---|" * (len(tools) + 1)]
    for number in range(1, 8):
        steps = steps_of(number)
        files = sorted((ROOT / "docs/results").glob(f"nvidia-*/chapter{number}*_sanitizers*.txt"))
        text = "\n".join(file.read_text(encoding="utf-8") for file in files)
        cells = []
        for tool in tools:
            said = sanitized(text, tool, steps)
            clean = [step for step in steps if said.get(step) == "clean"]
            cell = "all clean" if len(clean) == len(steps) else f"{len(clean)} clean"
            for what, shown in (("findings", "**findings: {}**"), ("did not end", "did not end: {}"), (None, "not run: {}")):
                those = [step for step in steps if said.get(step) == what]
                cell += ", " + shown.format(" ".join(those)) if those else ""
            cells.append(cell if said else "**not run**")
        names = ", ".join(f"`{f.relative_to(ROOT / 'docs/results')}`" for f in files)
        lines.append(f"| chapter {number} | {len(steps)} | " + " | ".join(cells) + f" | {names} |")
    return lines + ["", "A step is clean where every process of it that is recorded ended without a finding; the records name the cases and the "
                    "commits. Racecheck's findings in v6c are warnings: a lane overwrites what other lanes of its warp have read. Its sum is "
                    "made of what they read, and shuffles bring it, so the reads come first."]  # fmt: skip


EMULATOR = "build/emulator"
SAID = r"^All tests passed.*|^(?:test cases|assertions):.*failed.*|.*ERROR.*|.*runtime error.*|^SUMMARY:.*|.*WARNING: ThreadSanitizer.*"
INSTALLED = r"^(?:ok|FAILED|not ok|not tried|error).*"
LARGE = r"^chapter\d.*|^v\d+\w? +\w+ .*|^not here: .*|^run_all: .*|^status.*|^\d+ cases?:.*|^error:.*"
PARTS = [
    Part("The verifier against mutants", "Every step's kernels are changed one place at a time; the verification or the emulator's checks have to "
         "notice. The whole report, with each survivor, is [mutants.md](mutants.md).", [
        Row("mutants", "all steps, up to 30 mutants of each", "make mutants", r"^\d+ steps, .*|^Not run: .*|^Could not be tried.*"),
    ]),
    Part("Fuzzing", "Random problems for every step of a chapter against its reference, from a seed that draws the same ones again "
         "(`WARPBOOK_TEST_SEED`); what fails is printed as the `--case` that runs it. And what people type and programs write, changed at random.", [
        Row("fuzz_emulator", "1,000 problems a chapter, emulated", "make fuzz DEVICE=emulator CASES=1000 SEED=7", r"^chapter \d.*"),
        Row("fuzz_h200", "10,000 problems a chapter, on the H200", "scripts/fuzz.sh build/gpu CASES SEED CHAPTER", r"^chapter \d.*|^Of .*"),
        Row("fuzz_parsers", "case strings and command lines, by libFuzzer with the address and undefined-behaviour sanitizers",
            f"cmake --build {EMULATOR} --target parsers_fuzz && WARPBOOK_NIGHTLY=1 WARPBOOK_FUZZ_SECONDS=60 python3 tests/harness/fuzz_parsers_test.py",
            r"^Done \d+ runs.*|^Ran .*|^OK.*|^FAILED.*"),
        Row("fuzz_readers", "exercises.toml and every JSON that is read, 5,000 changes of each", "WARPBOOK_NIGHTLY=1 python3 tests/harness/fuzz_readers_test.py",
            r"^Ran .*|^OK.*|^FAILED.*"),
        Row("fuzz_readers_libfuzzer", "the same files by libFuzzer, which sees the readers' branches, a minute each",
            "python3 -m venv build/fuzz && build/fuzz/bin/pip install -q atheris && WARPBOOK_NIGHTLY=1 WARPBOOK_FUZZ_SECONDS=60 build/fuzz/bin/python "
            "tests/harness/fuzz_readers_test.py UnderLibFuzzer", r"^\S+: Done.*|^Ran .*|^OK.*|^FAILED.*"),
    ]),
    Part("Size", "More than 2^31 elements and 4 GiB in every chapter's take-away header; every element compared on the GPU with a formula, parts of "
         "the result on the CPU.", [
        Row("size_h200", "take-away headers on the H200", "cmake --build build/gpu --target size && build/gpu/tests/size", r"^\d  .*|^   .*|^Of .*"),
        Row("large_cases_h200", "first and last steps on such cases, the whole result compared on the CPU", "tests/chapters/size/large_cases.sh large", LARGE),
        Row("memory_h200", "cases that do not fit: what is needed, what is free, and status 3", "tests/chapters/size/large_cases.sh too-large", LARGE),
    ]),
    Part("Faults", "Each allocation of a run fails once, the device is lost at each of its launches, disks are full, files cut short, runs "
         "interrupted: each ends with its status and one line, with whole files and nothing left allocated.", [
        Row("faults_device", "device: every allocation, every launch (injected)", f"{EMULATOR}/tests/emulator_faults_test", r"^All tests passed.*|.*failed.*"),
        Row("faults_run", "a kernel that traps, interrupts, files that cannot be written", f"{EMULATOR}/tests/harness_run_test", r"^All tests passed.*|.*failed.*"),
        Row("faults_run_h200", "the same on the H200", "build/gpu/tests/harness_run_test", r"^All tests passed.*|.*failed.*"),
        Row("faults_files", "full disk, files cut short", f"cmake --build {EMULATOR} --target chapter3_run_all && python3 tests/harness/faults_test.py", r"^Ran .*|^OK.*|^FAILED.*"),
    ]),
    Part("Sanitizers", "Host code (harness and emulator) under clang's sanitizers, with fibers announced to the address and the thread sanitizer; "
         "every step under compute-sanitizer on a GPU.", [
        Row("asan_ubsan", "address and undefined-behaviour sanitizer: whole runs of the harness with faults, verification, launches, the runtime",
            "cmake -S . -B build/asan_ubsan -G Ninja -DDEVICE=emulator -DWARPBOOK_SANITIZE=address,undefined && cmake --build build/asan_ubsan --target "
            "harness_parameters_test harness_run_test harness_verify_test emulator_faults_test emulator_core_test emulator_runtime_test && "
            "export ASAN_OPTIONS=alloc_dealloc_mismatch=0 && for t in harness_parameters harness_run harness_verify emulator_faults emulator_core "
            "emulator_runtime; do build/asan_ubsan/tests/${t}_test || exit 1; done", SAID),
        Row("tsan", "thread sanitizer: runs of the harness, launches, barriers, streams and graphs over several workers",
            "cmake --preset tsan && cmake --build build/tsan --target harness_run_test harness_verify_test emulator_core_test emulator_runtime_test && "
            "export WARPBOOK_WORKERS=4 && for t in harness_run harness_verify emulator_core emulator_runtime; do build/tsan/tests/${t}_test || exit 1; done", SAID),
    ], sanitized_steps),
    Part("Timing you can trust", "The same run twice: medians over 50 us within 2%. A pair of steps known to be equal is called noise, one that "
         "moves 5% and one that moves 10% more slower. Each run says what a sample of nothing takes, and counts the multiprocessors' clock "
         "before and after each case.", [
        Row("repeat_h200", "twice the same run on the H200, of six chapters", "chapter3/run_all --json a.json; chapter3/run_all --json b.json; "
            "scripts/compare_runs.py a.json b.json", r"^\w+ on .*|^  .*"),
        Row("known_pairs_h200", "known pairs on the H200", "cmake --build build/gpu --target known_pairs && build/gpu/tests/known_pairs --json k.json && "
            "scripts/compare_runs.py --known-pairs k.json", r"^copy of .*"),
        Row("throttling", "a clock that falls while it is measured is told, in the table and in the JSON",
            f"{EMULATOR}/tests/harness_statistics_test 'a clock that falls*'", SAID),
    ]),
    Part("Installing", "From a clean checkout in a fresh root of Debian 12, by the README's commands; a header copied to another project, and found "
         "by `find_package(warpbook)`; a path with spaces; nothing written where nothing should be.", [
        Row("install_user", "fresh Debian 12, without the toolkit, by a user who asks for what is missing", "tests/front_door/install/fresh_root.sh emulator user", INSTALLED),
        Row("install_toolkit", "fresh Debian 12, as root, with the toolkit", "tests/front_door/install/fresh_root.sh gpu", INSTALLED),
        Row("install_class", "a handout in fresh Debian 12, by the commands that its files for GitHub run", "tests/front_door/install/fresh_root.sh emulator user class", INSTALLED),
        Row("install_headers", "the installed headers, from a project outside the tree", "python3 tests/front_door/install_test.py", r"^Ran .*|^OK.*|^FAILED.*"),
    ]),
    Part("Students' code is not trusted", "What `make grade` runs has limits of time, memory, files and processes, no network where the system lets "
         "it be taken away, and with Landlock no file to write but its own scratch folder's. (Root's processes are not counted by Linux.)", [
        Row("sandbox", "endless loop, memory, large and many files, fork bomb, network, others' files", "python3 tests/exercises/exercises_test.py Sandboxed",
            r"^Ran .*|^OK.*|^FAILED.*"),
    ]),
]  # fmt: skip


def row_named(name):
    for part in PARTS:
        for row in part.rows:
            if row.name == name:
                return row
    names = ", ".join(r.name for p in PARTS for r in p.rows)
    print(f"trust: no row is called {name} (there are {names})", file=sys.stderr)
    sys.exit(2)


def records():
    """What was kept of each row, by its name."""
    return whole_file.read_json(RECORDS) if RECORDS.exists() else {}


def commit():
    done = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def record(options):
    row = row_named(options.record)
    if options.log:
        output, status = pathlib.Path(options.log).read_text(encoding="utf-8", errors="replace"), options.status
    else:
        print(row.command)
        done = subprocess.run(["bash", "-c", row.command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False)  # fmt: skip
        output, status = done.stdout, done.returncode
        print(output[-2000:])
    found = [line.rstrip() for line in output.splitlines() if re.search(row.result, line)]
    kept = {"command": row.command, "device": options.device or f"emulator, {platform.system()}", "date": options.date or f"{datetime.date.today()}",
            "commit": options.commit or commit(), "status": status, "result": found[:KEPT_LINES]}  # fmt: skip
    whole_file.write(RECORDS, json.dumps(records() | {row.name: kept}, separators=(",", ":")) + "\n")
    return 0 if status == 0 else 1


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def page():
    kept_rows = records()
    lines = ["# What was tried, and what came of it", "", "Generated by `scripts/trust.py` from `docs/results/trust.json`, where `scripts/trust.py --record NAME` "
             "keeps what a command said. A row that nobody ran says so.", ""]  # fmt: skip
    for part in PARTS:
        lines += [f"## {part.title}", "", part.says, "", "| what | command | where, when | result |", "|---|---|---|---|"]
        details = []
        for row in part.rows:
            kept = kept_rows.get(row.name)
            if kept is None:
                lines.append(f"| {cell(row.what)} | `{cell(row.command)}` | | **not run** |")
                continue
            result = kept["result"]
            short = cell(result[0]) if len(result) == 1 else cell("; ".join(result)) if len(result) == 2 else f"below ({len(result)} lines)"
            if len(result) > 2:
                details.append((row, result))
            if kept["status"] != 0:
                short = f"**status {kept['status']}**: {short}"
            lines.append(f"| {cell(row.what)} | `{cell(kept['command'])}` | {kept['device']}, {kept['date']}, {kept['commit']} | {short} |")
        for row, result in details:
            lines += ["", f"{row.what}:", "", "```text", *result, "```"]
        lines += (part.more() if part.more else []) + [""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", metavar="NAME")
    parser.add_argument("--log", help="what the command said elsewhere")
    parser.add_argument("--status", type=int, default=0)
    for option in ("--device", "--commit", "--date"):
        parser.add_argument(option)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    status = record(options) if options.record else 0
    text = page()
    if options.check:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        if not same:
            print("trust: docs/results/trust.md is not what its records make: run scripts/trust.py", file=sys.stderr)
        return 0 if same else 1
    whole_file.write(PAGE, text)
    return status


if __name__ == "__main__":
    sys.exit(main())
