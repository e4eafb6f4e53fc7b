#!/usr/bin/env python3
"""Writes docs/results/emulator_bugs.md: of each planted bug what the emulator says, beside what compute-sanitizer said
on a GPU, where tests/emulator/bugs/sanitize.py recorded that.

    make emulate FILE=tests/emulator/bugs/leak.cu    builds the emulator, if it is not yet
    python3 tests/emulator/bugs/table.py             with --check, writes nothing and fails where the table would change
"""

import argparse
import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "emulator"))
from emulator_bugs_test import BUGS, Expected, build, line_of, run  # noqa: E402

RECORD = ROOT / "docs" / "results" / "nvidia-h200" / "emulator_bugs.json"
TABLE = ROOT / "docs" / "results" / "emulator_bugs.md"
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
NOT_RUN = {tool: {"status": "not run"} for tool in TOOLS}  # A program that is newer than the record.


def ours(source, folder):
    """The emulator's verdict: the lines that it names, and whether the bug's is one of them."""
    mistakes, _ = run(build(source, folder))
    kind, bug = Expected(source).kind, Expected(source).bug
    of_kind = [mistake for mistake in mistakes if mistake["kind"] == kind]
    lines = sorted({line_of(m[place]) for m in of_kind for place in ("place", "other_place")} - {0})
    return {"headline": of_kind[0]["text"].splitlines()[0].removeprefix("========= ") if of_kind else "nothing",
            "found": bug in lines, "lines": lines}


def short(heading):
    """A heading without what is told besides: its places, its lanes."""
    if "Assertion" in heading:
        return "Assertion failed"
    if api := re.match(r"Program hit (\w+) .* API call to (\w+)", heading):
        return f"{api[1]} from {api[2]}"
    heading = re.sub(r"^(Error|Warning): ", "", heading).replace("Barrier error detected. ", "Barrier error, ")
    for end in (" between ", " at ", " detected", " in block", ":"):
        heading = heading.split(end)[0]
    return heading.rstrip(".")


def theirs(program, expected):
    """The tools that said something, with their first heading, and whether one named a line of the bug."""
    said, named = [], False
    not_run = [tool for tool in TOOLS if program[tool]["status"] == "not run"]
    if len(not_run) == len(TOOLS):
        return "not run", False, False
    for tool in TOOLS:
        result = program[tool]
        if tool in not_run:
            continue
        if result["status"] == "timeout" and not result.get("findings"):
            continue
        if result.get("findings"):
            said.append(f"{tool}: {short(result['findings'][0])}")
            named |= bool(expected.lines & set(result["lines"]))
    if not said and any(program[tool]["status"] == "timeout" for tool in TOOLS):
        return "nothing; the program hangs", False, False
    words = "; ".join(said) or "nothing"
    return words + (f" ({', '.join(not_run)} not run)" if not_run else ""), named, bool(said)


def introduction(record, programs, caught, caught_there, line_there):
    """What the table shows, in numbers."""
    lines = [f"{programs} programs of `tests/emulator/bugs/`, each with one mistake. The emulator finds {caught} of them at the "
             "line of the mistake; of the programs as they should be it flags none (`tests/emulator/emulator_bugs_test.py` "
             "asserts both)."]
    if record is None:
        return [*lines, "", "compute-sanitizer's verdicts on the same programs are not recorded yet. On a machine with "
                "a GPU, `python3 tests/emulator/bugs/sanitize.py --output docs/results/nvidia-h200/emulator_bugs.json` records "
                "them, and `tests/emulator/bugs/table.py` puts them here."]
    device, driver = record["device"].split(",")
    ran = sum(any(program[tool]["status"] != "not run" for tool in TOOLS) for program in record["programs"].values())
    return [*lines, "", f"compute-sanitizer was run on {ran} of them, and says something of {caught_there}, with four tools, and names a line of the "
            f"mistake in {line_there}. On {device}, driver {driver.strip()}, {record['compute_sanitizer']}, "
            f"{record['date'][:10]}; its verdicts are in `nvidia-h200/emulator_bugs.json`, which "
            "`tests/emulator/bugs/sanitize.py` wrote. \"Nothing\" is what its tools said, not that the program works: each tool "
            "looks for its own kinds, and races in global memory are no kind of any."]


def table(record, folder):
    sources = sorted(BUGS.glob("*.cu"))
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda source: ours(source, folder), sources))
    rows, caught, caught_there, line_there = [], 0, 0, 0
    for source, verdict in zip(sources, verdicts):
        expected = Expected(source)
        text = source.read_text().splitlines()[0].removeprefix("// ")
        lines = f"line {', '.join(map(str, verdict['lines']))}" if verdict["lines"] else "-"
        row = f"| `{source.stem}` | {text} | {expected.kind} | {short(verdict['headline'])}, {lines} |"
        caught += verdict["found"]
        if record is not None:
            said, named, anything = theirs(record["programs"].get(source.stem, NOT_RUN), expected)
            caught_there += anything
            line_there += named
            row += f" {said}{', same line' if named else ''} |"
        rows.append(row)
    heading = "| program | the mistake | kind | emulator |" + (" compute-sanitizer |" if record is not None else "")
    says = introduction(record, len(sources), caught, caught_there, line_there)
    return "\n".join(["# Planted bugs: what the emulator says of each", "", *says, "",
                      "Made by `python3 tests/emulator/bugs/table.py`.", "", heading, "|---" * heading.count(" |") + "|",
                      *rows, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail where the table would change")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = table(json.loads(RECORD.read_text()) if RECORD.exists() else None, Path(folder))
    if arguments.check:
        sys.exit(0 if TABLE.read_text() == text else f"error: {TABLE} is not what tests/emulator/bugs/table.py makes")
    TABLE.write_text(text)


if __name__ == "__main__":
    main()
