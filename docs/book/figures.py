"""Pictures of what a step does to memory, as the emulator's `--access-map` draws them: docs/results/<device>/maps/, written
by `python3 docs/book maps` for the steps and cases that a chapter's book.toml names in [[map]]."""

import collections
import html
import re
import subprocess
import tempfile

from chapters import chapters
from records import EMULATED, MEASURED, RESULTS, ROOT, Problem

Picture = collections.namedtuple("Picture", "path caption description")
FOLDER = RESULTS / EMULATED / "maps"


def wanted(chapter):
    """(step's version, case, file) of each picture of a chapter."""
    for entry in chapter.book.get("map", []):
        for version in entry["steps"]:
            yield version, entry["case"], FOLDER / f"chapter{chapter.number}_{version}_{entry['name']}.svg"


def pictures(chapter, step):
    """The recorded pictures of a step."""
    found = []
    for version, case, path in wanted(chapter):
        if version == step.version and path.exists():
            text = path.read_text(encoding="utf-8")
            described = re.search(r"<desc[^>]*>(.*?)</desc>", text, re.S)
            requests = len(re.findall(r" a lane in (?:global|shared) memory", described.group(1)))
            caption = (f"What the first warp of {step.title} touches, {requests} kinds of request, on {html.escape(case)}: drawn by the "
                       "emulator. Lanes of one colour share a sector, or a pass over the banks.")
            found.append(Picture(path, caption, html.unescape(described.group(1))))
    return found


def draw(program, version, case):
    """The picture as the emulator draws it now. Lines of the source are left out: they change without the accesses."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/map.svg"
        result = subprocess.run([program, "--access-map", version, "--case", case, "--svg", file], capture_output=True, text=True,
                                check=False)
        if result.returncode != 0:
            raise Problem(f"{program} --access-map {version} --case '{case}': {result.stderr.strip()}")
        try:
            with open(file, encoding="utf-8") as drawn:
                return re.sub(r"(\.cuh):\d+", r"\1", drawn.read())
        except FileNotFoundError:
            raise Problem(f"{version} does not take the case {case}") from None


def programs(build):
    """(chapter, its run_all) of the chapters that are built."""
    for chapter in chapters():
        program = build / f"chapter{chapter.number}" / "run_all"
        if program.exists():
            yield chapter, program


def record(build=ROOT / "build" / "emulator"):
    """Draws all pictures anew. Returns the files that are no longer as they were."""
    changed = []
    FOLDER.mkdir(parents=True, exist_ok=True)
    for chapter, program in programs(build):
        for version, case, path in wanted(chapter):
            drawing = draw(program, version, case)
            if not path.exists() or path.read_text(encoding="utf-8") != drawing:
                path.write_text(drawing, encoding="utf-8")
                changed.append(path)
    return changed


MOST_BYTES = 2 << 30  # That a case moves, for the emulator to run it in seconds.


def model(numbers, build=ROOT / "build" / "emulator"):
    """Runs the main cases of these chapters (of all, where none is named) on the emulator, for what it models of them to stand
    beside what was measured. Yields the files written."""
    for chapter, program in programs(build):
        if numbers and chapter.number not in numbers or not chapter.by_harness:
            continue
        record = chapter.times(MEASURED)
        known = {case["parameters"]: case for _, case in chapter.main_cases(record)} if record else {}
        cases = [chapter.book.get("case", {}).get(name, name) for name in chapter.book.get("ladder", {}).get("cases", [])]
        chosen = [case for case in cases or known if case not in known or known[case]["bytes_moved"] <= MOST_BYTES]
        path = RESULTS / EMULATED / f"chapter{chapter.number}_ladder.json"
        if not chosen:
            continue
        command = [program, *(word for case in chosen for word in ("--case", case)), "--json", path]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise Problem(f"{path.name}: {result.stderr.strip() or result.stdout.strip()[-300:]}")
        yield path
