"""What was recorded: docs/results/<device>/*.json, read and never changed."""

import functools
import importlib.util
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
MEASURED = "nvidia-h200"
EMULATED = "emulated-h200"


class Problem(Exception):
    """What stops the book, in one line."""


def module(path):
    """A script of the project as a module: the book counts with its functions, not with its own."""
    spec = importlib.util.spec_from_file_location(path.rsplit("/", maxsplit=1)[-1], ROOT / f"{path}.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.path.append(str((ROOT / path).parent))  # For what it imports from beside it.
    try:
        spec.loader.exec_module(loaded)
    finally:
        sys.path.pop()
    return loaded


@functools.lru_cache(maxsize=None)
def load(name):
    """The record docs/results/`name`.json, as Python has it, or None where there is none."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise Problem(f"{path.relative_to(ROOT)}: {error}") from None
    if "metrics" in record:
        record["launches"] = module("scripts/record_counters").launches_of(record)
    return record


def devices():
    """The folders of docs/results/ that hold a chapter's times: the book's own card, other cards, the emulated one."""
    names = {path.parent.name for path in RESULTS.glob("*/chapter*.json") if re.fullmatch(r"chapter\d+", path.stem)}
    return sorted(names, key=lambda name: (name.startswith("emulated"), name != MEASURED, name))


def origin(record, file):
    """Where a record comes from, in one line: device, toolkit, commit, file."""
    run = record.get("run", record)
    device = record.get("device", "")
    name = device if isinstance(device, str) else device.get("name", "")
    emulated = isinstance(device, dict) and device.get("emulated", False)
    what = f"{name} (emulated: times are modelled)" if emulated else name
    commit = run.get("commit", "unknown")
    if re.fullmatch(r"[0-9a-f]{8,}", commit):
        commit = commit[:7]
    toolkit = f"CUDA {run['toolkit']}, " if "toolkit" in run else ""
    return f"{what}, {toolkit}commit {commit}, docs/results/{file}"


def is_yardstick(step):
    """Whether a row is a plain copy's or a fill's; records from before the kinds say it in a field of its own."""
    return step.get("kind") == "yardstick" or step.get("yardstick", False)


def of_step(case, version):
    """A step's row in a case, if the step ran there and was right; else None."""
    for step in case["steps"]:
        if step["version"] == version and step["status"] == "pass" and step.get("seconds"):
            return step
    return None


def seconds_of(case, version):
    """A step's median in a case, or the copy's; None where it did not run."""
    if version == "copy":
        return case["copy_seconds"]
    step = of_step(case, version)
    return step["seconds"]["median"] if step else None


class Times:
    """What `run_all --json` wrote."""

    def __init__(self, record, file, note=""):
        self.record = record
        self.note = note
        self.file = file
        self.cases = record["cases"]
        self.emulated = record["device"].get("emulated", False)

    def origin(self):
        return origin(self.record, self.file) + (f"; {self.note}" if self.note else "")

    def case(self, parameters):
        for case in self.cases:
            if case["parameters"] == parameters:
                return case
        return None

    def versions(self):
        """The steps' versions, in order, without yardsticks."""
        found = []
        for case in self.cases:
            found += [s["version"] for s in case["steps"] if not is_yardstick(s) and s["version"] not in found]
        return found

    def main_cases(self, count=3):
        """The cases that say most where nobody chose: those in which most steps ran, the largest of each element type."""
        def ran(case):
            return sum(1 for s in case["steps"] if s["status"] == "pass" and not is_yardstick(s))
        ranked = sorted(self.cases, key=lambda c: (-ran(c), -c["bytes_moved"]))
        chosen, types = [], set()
        for case in ranked:
            kind = case["name"].split()[-1]
            if kind not in types:
                types.add(kind)
                chosen.append(case)
        chosen += [case for case in ranked if case not in chosen]
        return chosen[:count]


def time_text(seconds, decimals=None):
    """As run_all's table writes it: three to four digits."""
    for limit, unit, factor in ((1e-3, "us", 1e6), (1.0, "ms", 1e3), (float("inf"), "s", 1.0)):
        if seconds < limit:
            value = seconds * factor
            places = decimals if decimals is not None else (2 if value < 10 else 1)
            return f"{value:.{places}f} {unit}"
    return ""


def share_text(case, seconds):
    return f"{100 * case['copy_seconds'] / seconds:.1f}%"


def speedup_text(before, after, noise=False):
    return "same" if noise else f"{before / after:.2f}x"


def is_noise(before, after):
    """The design's rule for two medians: equal when they differ by less than 2% or their spreads overlap. What was modelled has none."""
    if abs(before["median"] - after["median"]) < 0.02 * max(before["median"], after["median"]):
        return True
    (low, high), (low_after, high_after) = ((each.get("p25", each["median"]), each.get("p75", each["median"])) for each in (before, after))
    return low <= high_after and low_after <= high
