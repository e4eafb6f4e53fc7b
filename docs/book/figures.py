"""Pictures of what a step does to memory, as the emulator's `--access-map` draws them: docs/results/<device>/maps/, written
by `python3 docs/book maps` for the steps and cases that a chapter's book.toml names in [[map]]."""

import collections
import html
import json
import pathlib
import re
import subprocess
import tempfile

from chapters import chapters
from queries import split
from records import EMULATED, MEASURED, RESULTS, ROOT, Problem
from sentences import MARKER

Picture = collections.namedtuple("Picture", "path caption description requests")
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
            described = html.unescape(re.search(r"<desc[^>]*>(.*?)</desc>", text, re.S)[1])
            requests = re.findall(r"\w+ of \d+ bytes? a lane in (?:global|shared) memory.*?\.(?= |$)", described)
            caption = (f"What the first warp of {step.title} touches, {len(requests)} kinds of request, on {html.escape(case)}: drawn by the "
                       "emulator. Lanes of one colour share a sector, or a pass over the banks.")
            found.append(Picture(path, caption, described, requests))
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


def measured_cases(chapter):
    """The cases on which the chapter's pages show their steps."""
    found = (match for page in sorted((chapter.folder / "pages").glob("*.md")) for match in MARKER.finditer(page.read_text(encoding="utf-8")))
    return list(dict.fromkeys(split(match["what"])[1] for match in found if match["kind"] == "measure"))


MOST_BYTES = 2 << 30  # That a case moves, for the emulator to run it in seconds.


# What says nothing of a modelled time, which is always the same.
SPREAD = re.compile(r',"p25":[^,}]*,"p75":[^,}]*,"min":[^,}]*|,"samples":1,"method":"model"')
# Counters that no page shows as the emulator has them: behind the L1 they depend on what ran before.
BEHIND_L1 = re.compile(r'"(?:lts__|dram__)[^"]*":[^,}]*,|,"(?:lts__|dram__)[^"]*":[^,}]*(?=})')


def model(numbers, build=ROOT / "build" / "emulator"):
    """Runs these chapters (all, where none is named) on the emulator, for what it models to stand beside what was measured: the
    cases of `--full`, and by the ladder alone the main cases that are too large for it, and those of the steps' pages.
    Yields the files written."""
    for chapter, program in programs(build):
        if numbers and chapter.number not in numbers or not chapter.by_harness:
            continue
        path = RESULTS / EMULATED / f"chapter{chapter.number}.json"
        run(program, ["--full", "--all-steps"], path)
        text = path.read_text(encoding="utf-8")
        record, known = chapter.times(MEASURED), {case["parameters"] for case in json.loads(text)["cases"]}
        large = {case["parameters"] for case in record.cases if case["bytes_moved"] > MOST_BYTES} if record else set()
        names = dict.fromkeys(chapter.book.get("ladder", {}).get("cases", []) + measured_cases(chapter))
        more = [case for case in (chapter.book.get("case", {}).get(name, name) for name in names) if case not in known | large]
        if more:
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "ladder.json"
                run(program, [word for case in more for word in ("--case", case)], file)
                lines = file.read_text(encoding="utf-8").split('"cases":[\n', 1)[1]
            text = text.removesuffix("\n]}\n") + ",\n" + lines
        path.write_text(BEHIND_L1.sub("", SPREAD.sub("", text)), encoding="utf-8")
        yield path


def run(program, options, path):
    result = subprocess.run([program, *options, "--json", path], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Problem(f"{path.name}: {result.stderr.strip() or result.stdout.strip()[-300:]}")
