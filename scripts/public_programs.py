#!/usr/bin/env python3
"""Public CUDA programs on the emulator: how many compile, run and pass their own check, and what was found in them.

    scripts/public_programs.py FOLDER [--only REGEX] [--failed] [--stages nvcc,here,run] [--trust] [--seconds 60] [--jobs 1]
    scripts/public_programs.py FOLDER... --write  # docs/results/public_programs.json, which keeps other folders

FOLDER holds a folder OWNER+NAME for each repository, outside of this tree: nothing of them is copied. Each .cu file is
compiled alone, by nvcc and by the emulator's driver; one with a main() is then linked and run without arguments, where it
does not need other files' functions. What was found is kept in FOLDER/public_programs.json, so a sweep may be stopped and
go on; `--failed` tries those anew that failed here. nvcc takes most of the time: with `--trust` it is asked only about files
that do not compile here, and the others count as if it compiled them.

A program checks itself where its output says so ("PASSED", "Test passed", "mismatch", ...). Of what the emulator reports,
a reader has to judge whether it is a bug: FOLDER/verdicts.json has {"OWNER+NAME/file.cu": {"bug": "..."}}, or
{"false": "..."} for a false alarm.
"""

import argparse
import concurrent.futures
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import whole_file  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "results" / "public_programs.json"
HEADERS = ("Common", "common", "include", "inc", "Utilities", "utils", "util", "src")
LIBRARIES = ("-lcublas", "-lcurand", "-lcufft", "-lcusolver", "-lcusparse", "-lcuda")
PASSED = re.compile(r"\b(pass(ed)?|success(ful|fully)?|correct(ly)?|(results?|arrays?|vectors?|matrices) (do )?match(es)?|"
                    r"match!|verified|OK)\b", re.IGNORECASE)
FAILED = re.compile(r"\b(fails?|failed|failures?|mismatch(es)?|incorrect(ly)?|wrong|(do|does|did) ?n.t match|not correct|not match|"
                    r"not passed|unsuccessful)\b", re.IGNORECASE)
NO_FAILURE = re.compile(r"\b(0|no) (mismatch\w*|fail\w*|errors?)|(fail\w*|mismatch\w*): *0\b", re.IGNORECASE)
MAIN = re.compile(r"\bmain\s*\(")
NUMBERS = ("files", "nvcc_compiles", "compile_here", "tried", "ran", "check_passed", "check_failed", "with_bugs",
           "with_false_alarms")


def folders_of_headers(file, root):
    found = []
    for folder in file.parents:
        found += [folder / name for name in HEADERS if (folder / name).is_dir()]
        if folder == root:
            return found
    return found


def call(command, folder, seconds, limited=False):
    """Exit status (None: it took too long), output, errors."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))) if limited else None
    with subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                          preexec_fn=limit) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, errors = process.communicate()
            return None, output, errors


def first_error(text):
    lines = [line for line in text.splitlines() if re.search(r"error|undefined reference", line)]
    return re.sub(r"^\S*?: ", "", lines[0])[:300] if lines else text[-300:]


class Sweep:
    def __init__(self, folder, arguments):
        self.folder = folder
        self.arguments = arguments
        self.kept = folder / "public_programs.json"
        self.state = json.loads(self.kept.read_text()) if self.kept.exists() else {}

    def files(self):
        only = re.compile(self.arguments.only or "")
        for file in sorted(self.folder.glob("*+*/**/*.cu")):
            name = str(file.relative_to(self.folder))
            if file.is_file() and only.search(name):
                yield name

    def includes(self, name):
        file = self.folder / name
        return [word for each in folders_of_headers(file, self.folder / Path(name).parts[0]) for word in ("-I", each)]

    def compiles(self, compiler, name, *options):
        file = self.folder / name
        status, _, errors = call([compiler, "-c", "-w", "-rdc=true", "-o", "/dev/null", *options, *self.includes(name), file],
                                 file.parent, 300)
        return status == 0, "" if status == 0 else first_error(errors)

    def one(self, name):
        entry = dict(self.state.get(name, {}))
        stages = self.arguments.stages.split(",")
        if self.arguments.failed and not entry.get("here", True):
            del entry["here"]
        if "here" in stages and "here" not in entry:
            entry["here"], entry["error"] = self.compiles(self.arguments.driver, name)
        if "nvcc" in stages and "nvcc" not in entry:
            trusted = self.arguments.trust and entry.get("here", False)
            entry["nvcc"], why = (True, "") if trusted else self.compiles(self.arguments.nvcc, name, "-arch=sm_90")
            if why:
                entry["nvcc_error"] = why
        if "run" in stages and entry.get("here") and entry.get("nvcc") and \
                ("run" not in entry or (self.arguments.failed and entry["run"] not in ("ran", "no main"))):
            self.run(name, entry)
        return name, entry

    def run(self, name, entry):
        file = self.folder / name
        entry.pop("check", None)
        entry.pop("reports", None)
        if not MAIN.search(file.read_text(errors="replace")):
            entry["run"] = "no main"
            return
        with tempfile.TemporaryDirectory(prefix="public_program_") as made:
            program = Path(made) / "program"
            status, _, errors = call([self.arguments.driver, "-w", "-rdc=true", "-o", program, *self.includes(name), file, *LIBRARIES],
                                     file.parent, 300)
            if status != 0:
                entry["run"], entry["error"] = "not alone", first_error(errors)
                return
            begin = time.monotonic()
            # By lines: what a program that takes too long has printed is not lost.
            status, output, errors = call(["stdbuf", "-oL", program], file.parent, self.arguments.seconds, limited=True)
            entry["seconds"] = round(time.monotonic() - begin, 1)
        entry["run"] = "too slow" if status is None else "ran" if status >= 0 else f"signal {-status}"
        entry["status"] = status
        text = output + re.sub(r"^=+ .*$", "", errors, flags=re.MULTILINE)
        if FAILED.search(NO_FAILURE.sub("", text)):
            entry["check"] = "failed"
        elif PASSED.search(text):
            entry["check"] = "passed"
        entry["reports"] = [line[10:] for line in errors.splitlines()
                            if re.match(r"========= (?!    )", line) and "SUMMARY" not in line][:8]
        entry["tail"] = (output[-300:] + errors[-600:])

    def sweep(self):
        names = list(self.files())
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            for number, (name, entry) in enumerate(pool.map(self.one, names), 1):
                self.state[name] = entry
                if number % 10 == 0 or number == len(names):
                    whole_file.write(self.kept, json.dumps(self.state, indent=0))
        self.show(names)

    def show(self, names):
        entries = [self.state.get(name, {}) for name in names]
        nvcc = [entry for entry in entries if entry.get("nvcc")]
        print(f"{len(entries)} files, nvcc compiles {len(nvcc)}, of these here {sum(bool(e.get('here')) for e in nvcc)}; "
              f"ran {sum(e.get('run') == 'ran' for e in nvcc)}, too slow {sum(e.get('run') == 'too slow' for e in nvcc)}, "
              f"own check passed {sum(e.get('check') == 'passed' for e in nvcc)}, "
              f"failed {sum(e.get('check') == 'failed' for e in nvcc)}")

    def verdicts(self):
        file = self.folder / "verdicts.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def repositories(self):
        """What is known of each, in numbers."""
        verdicts, repositories = self.verdicts(), {}
        for name, entry in sorted(self.state.items()):
            row = repositories.setdefault(Path(name).parts[0].replace("+", "/", 1), dict.fromkeys(NUMBERS, 0))
            row["files"] += 1
            if not entry.get("nvcc"):
                continue
            run = entry.get("run", "")
            ran = run == "ran"
            row["nvcc_compiles"] += 1
            row["compile_here"] += bool(entry.get("here"))
            row["tried"] += ran or run == "too slow" or run.startswith("signal")
            row["ran"] += ran
            row["check_passed"] += ran and entry.get("check") == "passed"
            row["check_failed"] += ran and entry.get("check") == "failed"
            row["with_bugs"] += "bug" in verdicts.get(name, {})
            row["with_false_alarms"] += "false" in verdicts.get(name, {})
        return repositories


def total_of(repositories):
    return {"repositories": len(repositories), **{key: sum(row[key] for row in repositories.values()) for key in NUMBERS}}


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def write(sweeps, seconds):
    """Of several folders, the totals of each are told, too. What is recorded of others stays."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else dict.fromkeys(("repositories", "folders", "bugs", "false_alarms"), {})
    sets = [sweep.repositories() for sweep in sweeps]
    new = {name for repositories in sets for name in repositories}
    rows = {name: dict(zip(NUMBERS, row)) for name, row in record["repositories"].items()}
    rows |= {name: row for repositories in sets for name, row in sorted(repositories.items())}
    folders = record["folders"] | {sweep.folder.name: total_of(repositories) for sweep, repositories in zip(sweeps, sets)}
    verdicts = {name: {kind: verdict} for kind, told in (("bug", record["bugs"]), ("false", record["false_alarms"]))
                for name, verdict in told.items() if "/".join(name.split("/")[:2]) not in new}
    verdicts |= {name.replace("+", "/", 1): verdict for sweep in sweeps for name, verdict in sweep.verdicts().items()}
    lines = [",\n".join(f"  {json.dumps(name)}: {compact(list(row.values()))}" for name, row in rows.items()),
             ",\n".join(f"  {json.dumps(name)}: {compact(total)}" for name, total in folders.items()),
             *(",\n".join(f"  {json.dumps(name)}: {json.dumps(verdict[kind])}"
                          for name, verdict in sorted(verdicts.items()) if kind in verdict) for kind in ("bug", "false"))]
    whole_file.write(RECORD, f'{{"seconds": {seconds},\n"columns": {compact(NUMBERS)},\n"repositories": {{\n{lines[0]}\n}},\n"folders": {{\n{lines[1]}\n}},\n'
                             f'"total": {compact(total_of(rows))},\n"bugs": {{\n{lines[2]}\n}},\n'
                             f'"false_alarms": {{\n{lines[3]}\n}}}}\n')
    print(compact(total_of(rows)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--only", help="programs whose names this finds")
    parser.add_argument("--stages", default="nvcc,here,run")
    parser.add_argument("--failed", action="store_true", help="tries anew what failed here")
    parser.add_argument("--trust", action="store_true", help="asks nvcc only about what does not compile here")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--driver", default=str(ROOT / "build" / "emulator" / "toolkit" / "bin" / "nvcc"))
    parser.add_argument("--write", action="store_true", help="writes the record of what is known")
    arguments = parser.parse_args()
    sweeps = [Sweep(folder.absolute(), arguments) for folder in arguments.folder]
    if arguments.write:
        write(sweeps, arguments.seconds)
    else:
        for sweep in sweeps:
            sweep.sweep()


if __name__ == "__main__":
    main()
