#!/usr/bin/env python3
"""Records a chapter's times on the GPU that is here, in as many parts as it takes.

    scripts/record_times.py 3               # docs/results/nvidia-h200/chapter3.json: what is not recorded yet
    scripts/record_times.py 3 --case half   # of these, the cases whose parameters match
    timeout 300 scripts/record_times.py 3   # what 300 s are enough for; the same again goes on
    scripts/record_times.py 3 --state       # what is recorded, and whether of the present sources; measures nothing
    scripts/record_times.py 3 --brief --output docs/results/nvidia-h100/chapter3.json    # of a second device

A record says of which sources it is: `run.sources` is a hash of chapter.cu, of what it includes from this project, and of what
measures, without comments. A case whose record has the present hash is not measured again, so a run that was stopped goes on where
it ended. If the hash or the device differs, the chapter begins anew. `run.parts` lists commit, date and number of cases of each run
that made the record.

`--brief` measures the ladder on the headline cases, and the finished kernel alone on all others.

Exit status: 0 all cases, or all that were asked for, are recorded; 2 no case matches; otherwise that of run_all, whose whole cases are
kept, or 1 where it left some out.
"""

import argparse
import hashlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURING = ("common/harness/measure.hpp", "common/harness/measure.cpp")
COMMENT = re.compile(r"\s*//.*")
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def read_tree(path):
    """A file of the working tree; None where there is none."""
    file = ROOT / path
    return file.read_bytes() if file.is_file() else None


def read_commit(commit):
    """The same of a commit."""
    def read(path):
        shown = subprocess.run(["git", "-C", str(ROOT), "show", f"{commit}:{path}"], capture_output=True, check=False)
        return shown.stdout if shown.returncode == 0 else None
    return read


def sources_hash(chapter, read=read_tree):
    """A hash of all that decides a chapter's times."""
    [folder] = [path.name for path in (ROOT / "chapters").glob(f"chapter{chapter}_*")]
    waiting, seen = [f"chapters/{folder}/chapter.cu", *MEASURING], {}
    while waiting:
        path = waiting.pop()
        if path in seen or (content := read(path)) is None:
            continue
        seen[path] = "\n".join(line for line in COMMENT.sub("", content.decode()).splitlines() if line.strip())
        waiting += [other for other in INCLUDE.findall(seen[path]) if not other.startswith("common/harness/")]
    digest = hashlib.sha256()
    for path in sorted(seen):
        digest.update(f"{path}\0{len(seen[path])}\0{seen[path]}".encode())
    return digest.hexdigest()[:12]


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def run_on(command):
    """Runs a program that writes what it has when it is stopped: signals go to it, and this script stays to take what it wrote."""
    with subprocess.Popen([str(word) for word in command]) as child:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: child.send_signal(received))
        return child.wait()


def listed_cases(program):
    """The parameters of all of a chapter's cases, in order."""
    listed = run([program, "--list"])
    if listed.returncode != 0:
        sys.exit(f"record_times: {listed.stderr.strip() or f'{program} --list failed'}")
    return re.findall(r"^ +--case '(.*)'$", listed.stdout, re.MULTILINE)


def is_of(case, listed):
    """Whether a recorded case is the listed one, whose words may stand in another order and leave out what follows from them."""
    return set(listed.split()) <= set(case["parameters"].split())


def whole_cases(record):
    """What may be kept: of a run that was stopped, all but the case that it was at. Records that were made here have no other."""
    return record["cases"][:-1] if record["partial"] and "parts" not in record["run"] else record["cases"]


def packed(record):
    """A line per case, as run_all writes it."""
    head = json.dumps(record | {"cases": None}, separators=(",", ":"), ensure_ascii=False)
    cases = ",\n".join(json.dumps(case, separators=(",", ":"), ensure_ascii=False) for case in record["cases"])
    return head.replace('"cases":null}', '"cases":[\n' + cases + "\n]}\n")


def merged(kept, new, listed, sources):
    """One record of two, its cases in the chapter's order; `kept` may be None."""
    cases = (whole_cases(kept) if kept else []) + whole_cases(new)
    part = {key: new["run"][key] for key in ("commit", "date")} | {"cases": len(whole_cases(new))}
    parts = (kept["run"].get("parts", []) if kept else []) + [part]
    order = [next((case for case in cases if is_of(case, parameters)), None) for parameters in listed]
    found = [case for case in order if case is not None]
    return new | {"partial": len(found) < len(listed), "run": new["run"] | {"sources": sources, "parts": parts}, "cases": found}


def measured(program, choice, file):
    """The status of run_all for the cases of a choice, and what it wrote; None where that is nothing."""
    status = run_on([program, *choice, "--all-steps", "--json", file])
    return status, whole_file.read_json(file) if file.exists() else None


def measured_in_brief(program, choice, file):
    """The same with the ladder on the headline cases, and the dispatch alone on the others."""
    status = run_on([program, *choice, "--step", "dispatch", "--json", file])
    others = whole_file.read_json(file) if status == 0 else None
    if others is None or (status := run_on([program, "--json", file])) != 0:
        return status, None
    ladder = whole_file.read_json(file)
    have = {case["parameters"] for case in ladder["cases"]}
    return status, ladder | {"cases": ladder["cases"] + [case for case in others["cases"] if case["parameters"] not in have]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapter", type=int)
    parser.add_argument("--program", type=pathlib.Path, help="the chapter's run_all (build/gpu/chapterN/run_all)")
    parser.add_argument("--output", type=pathlib.Path, help="the record (docs/results/nvidia-h200/chapterN.json)")
    parser.add_argument("--case", type=re.compile, default=re.compile(""), metavar="REGEX", help="only cases that match")
    parser.add_argument("--brief", action="store_true", help="the ladder on the headline cases, the dispatch alone on the others")
    parser.add_argument("--state", action="store_true", help="say what is recorded, and measure nothing")
    options = parser.parse_args()
    if not list((ROOT / "chapters").glob(f"chapter{options.chapter}_*/chapter.cu")):
        parser.error(f"{options.chapter}: no chapter of steps has this number")
    program = options.program or ROOT / f"build/gpu/chapter{options.chapter}/run_all"
    output = options.output or ROOT / f"docs/results/nvidia-h200/chapter{options.chapter}.json"
    sources = sources_hash(options.chapter)
    record = whole_file.read_json(output) if output.exists() else None
    if options.state:
        print(f"chapter {options.chapter}: " + (
            "no record" if record is None else
            f"{len(record['cases'])} cases{' of more' if record['partial'] else ''}, commit {record['run']['commit']}, "
            + ("the sources as they are" if record["run"].get("sources") == sources else "other sources")))
        return 0
    listed = listed_cases(program)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "new.json"
        told = run([program, "--device-info"])
        same = record is not None and record["run"].get("sources") == sources and record["device"]["name"] in told.stdout
        kept = record if same else None
        wanted = [case for case in listed if options.case.search(case)]
        if not wanted:
            parser.error(f"--case {options.case.pattern}: no case of chapter {options.chapter} matches; run_all --list shows them")
        missing = [case for case in wanted if not any(is_of(each, case) for each in (whole_cases(kept) if kept else []))]
        if not missing:
            print(f"chapter {options.chapter}: all {len(wanted)} cases are recorded of these sources")
            return 0
        choice = ["--full"] if missing == listed else [word for case in missing for word in ("--case", case)]
        print(f"chapter {options.chapter}: {len(missing)} of {len(listed)} cases", flush=True)
        status, new = (measured_in_brief if options.brief else measured)(program, choice, file)
        if new is None:
            return status or 1
        result = merged(kept, new, listed, sources)
        output.parent.mkdir(parents=True, exist_ok=True)
        whole_file.write(output, packed(result))
        print(f"{output}: {len(result['cases'])} of {len(listed)} cases")
        return status or int(not all(any(is_of(each, case) for each in result["cases"]) for case in wanted))


if __name__ == "__main__":
    sys.exit(main())
