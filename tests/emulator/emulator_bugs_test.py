"""The corpus of planted bugs: each program of tests/emulator/bugs/ is built and run as `make emulate` does. The bug is found, of
the kind and at the line that the program's comments say, and nothing else is; the program as it should be is flagged
by nothing.

    python3 tests/emulator/emulator_bugs_test.py [NAME...]     shows what is said of these
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))
BUGS = ROOT / "tests/emulator/bugs"
FEWEST = 40


class Expected:
    """What a program's comments say: `// expect: KIND`, `// <- bug` and `// <- other` at lines."""

    def __init__(self, source):
        text = source.read_text()
        self.kind = re.search(r"^// expect: (\w+)$", text, re.MULTILINE)[1]
        self.lines = {number for number, line in enumerate(text.splitlines(), 1) if re.search(r"// <- \w+$", line)}
        self.bug = next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith("// <- bug"))


def build(source, folder):
    """Builds a program; returns it."""
    program = folder / source.stem
    made = subprocess.run([sys.executable, str(ROOT / "scripts" / "emulate.py"), "--build", str(BUILD), "--no-run",
                           "--output", str(program), str(source)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise AssertionError(f"{source.name} does not build:\n{made.stderr}")
    return program


def run(program, *arguments):
    """Runs it as scripts/emulate.py does; returns the mistakes that were found and what was printed."""
    reports = program.with_suffix(".json")
    environment = {**os.environ, "WARPBOOK_CHECK": "all", "WARPBOOK_TRACE": "first", "WARPBOOK_REPORTS": str(reports)}
    ran = subprocess.run([str(program), *arguments], env=environment, capture_output=True, text=True, check=False,
                         timeout=60)
    if ran.returncode != 0:
        raise AssertionError(f"{program.name} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return json.loads(reports.read_text())["mistakes"], ran.stderr


def line_of(place):
    return int(place.rpartition(":")[2]) if place else 0


def problems(source, folder):
    """What is wrong with the report on one program, as text; "" where all is as it should be."""
    expected = Expected(source)
    program = build(source, folder)
    mistakes, printed = run(program)
    wrong = []
    at_bug = [m for m in mistakes if m["kind"] == expected.kind and expected.bug in (line_of(m["place"]),
                                                                                     line_of(m["other_place"]))]
    if not at_bug:
        wrong.append(f"no {expected.kind} at line {expected.bug} was reported")
    for mistake in mistakes:
        places = {line_of(mistake["place"]), line_of(mistake["other_place"])} - {0}
        if mistake["kind"] != expected.kind or not places <= expected.lines:
            wrong.append(f"something else was reported: {mistake['kind']} at {sorted(places)}")
        if source.name not in mistake["place"]:
            wrong.append(f"the place is not in {source.name}: {mistake['place']}")
    if len(re.findall(r"^========= .*\n", printed, re.MULTILINE)) > 24:
        wrong.append("a flood of lines was printed")
    found, printed_fixed = run(program, "fixed")
    if found:
        wrong.append(f"the program as it should be was flagged:\n{printed_fixed}")
    return f"{source.name}: " + "; ".join(wrong) + f"\n{printed}" if wrong else ""


class Bugs(unittest.TestCase):
    def test_each_is_found_and_nothing_else(self):
        sources = sorted(BUGS.glob("*.cu"))
        self.assertGreaterEqual(len(sources), FEWEST)
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [text for text in pool.map(lambda source: problems(source, Path(folder)), sources) if text]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            for name in sys.argv[1:]:
                found = build(BUGS / f"{name}.cu", Path(folder))
                print(run(found)[1], end="")
    else:
        unittest.main()
