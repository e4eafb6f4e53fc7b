"""The chapters as the tree has them: their steps, stories, code, and what differs between two steps."""

import copy
import difflib
import functools
import re
import tomllib

from records import EMULATED, MEASURED, ROOT, Problem, Times, load

STEP_FILE = re.compile(r"([av]\d+[a-z]?)_(\w+)\.cuh")
STORY_LINE = re.compile(r"^///( ?)(.*)$")


def natural(version):
    kind, number, letter = re.fullmatch(r"([av])(\d+)([a-z]?)", version).groups()
    return kind, int(number), letter


class Step:
    """One step: its file, its story, its code."""

    def __init__(self, folder, path, ideas):
        self.version, self.name = STEP_FILE.fullmatch(path.name).groups()
        self.path = path
        self.file = str(path.relative_to(ROOT))
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.idea = ideas.get(self.version, "")
        self.folder = folder

    @property
    def title(self):
        return f"{self.version} {self.name.replace('_', ' ')}"

    def story(self):
        """The comment that the file opens with, without its first word and its `\\file`."""
        found = []
        for line in self.lines:
            match = STORY_LINE.match(line)
            if not match:
                break
            found.append(match.group(2))
        return "\n".join(line for line in found if line.strip() != "\\file").strip()

    def summary(self):
        """One sentence: the idea that the chapter gives, else the story's first."""
        opening = " ".join(self.story().split("\n\n")[0].split()).split(": ", 1)[-1]
        return self.idea or (opening[:1].upper() + opening[1:]).split(". ")[0].rstrip(".") + "."

    def has_snippet(self):
        return sum(line.strip() == "//! [kernel]" for line in self.lines) == 2

    def code(self):
        """The file without its story and without marks: what two steps are compared by."""
        lines = list(self.lines)
        while lines and (lines[0].startswith("///") or lines[0].startswith("#") or not lines[0].strip()):
            lines.pop(0)
        return [line for line in lines if not line.strip().startswith("//! [")]

    def kernel(self):
        """The lines between the `//! [kernel]` marks."""
        lines = "\n".join(self.lines).split("//! [kernel]")[1].split("\n")[1:-1]
        return [line for line in lines if not line.strip().startswith("//! [")]

    def difference(self, previous, context=3):
        """The unified difference: of the two kernels, or of the whole code where a file marks no kernel or the kernel is the
        same. The steps' own names count as equal."""
        def plain(step, lines):
            return [re.sub(rf"\b{step.version}\b", "vN", line) for line in lines]

        before, after = [], []
        if self.has_snippet() and previous.has_snippet():
            before, after = plain(previous, previous.kernel()), plain(self, self.kernel())
        if before == after:
            before, after = plain(previous, previous.code()), plain(self, self.code())
        shown = list(difflib.unified_diff(before, after, lineterm="", n=context))[2:]
        return [re.sub(r"\bvN\b", previous.version if line.startswith("-") else self.version, line) for line in shown]


class Chapter:
    """A folder chapters/chapterN_name."""

    def __init__(self, folder):
        number, self.name = re.fullmatch(r"chapter(\d+)_(\w+)", folder.name).groups()
        self.number = int(number)
        self.folder = folder
        self.readme = folder / "README.md"
        data = folder / "chapter.cu"  # Chapter 7 is about other things than steps, and has none.
        self.by_harness = data.exists()
        source = data.read_text(encoding="utf-8") if data.exists() else ""
        ideas = {version: "".join(re.findall(r'"([^"]*)"', text)) for version, text in
                 re.findall(r'\{"(v\d+[a-z]?)",\s*"\w+",\s*"\w*",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', source)}
        files = [path for path in folder.glob("*.cuh") if STEP_FILE.fullmatch(path.name)]
        self.steps = sorted((Step(folder, path, ideas) for path in files), key=lambda step: natural(step.version))
        told = self.readme.read_text(encoding="utf-8")
        match = re.match(r"# (.+)\n", told)
        if not match:
            raise Problem(f"{self.readme.relative_to(ROOT)}: the first line is to be the title, `# Chapter N: name`")
        self.title = match.group(1).strip()

    @functools.cached_property
    def book(self):
        """The chapter's book.toml: short names of cases, the ladder's columns, targets. Empty where there is none."""
        path = self.folder / "book.toml"
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    @functools.cached_property
    def dispatched(self):
        """The step that others take, and that targets are about: the last one, or the one that book.toml names."""
        version = self.book.get("dispatched", self.steps[-1].version)
        return next(step for step in self.steps if step.version == version)

    def times(self, device=MEASURED):
        """The chapter's recorded times on a device, or None. Where there is no record of the chapter as it is, the one that
        book.toml names, with its steps' versions as they are called now and a note of what has changed."""
        record = load(f"{device}/chapter{self.number}")
        if record and not all("copy_seconds" in case and "steps" in case for case in record["cases"]):
            return None  # Of another kind.
        if record:
            return Times(record, f"{device}/chapter{self.number}.json")
        other = self.book.get("records")
        record = load(f"{device}/{other}") if other else None
        if not record:
            return None
        now = {old: new for new, old in self.book.get("version", {}).items()}
        record = copy.deepcopy(record)
        for case in record["cases"]:
            for step in case["steps"]:
                step["version"] = now.get(step["version"], step["version"])
        return Times(record, f"{device}/{other}.json", self.book.get("note", ""))

    def main_cases(self, record):
        """The ladder's cases as (short name, case): the book.toml's, or those in which most steps ran."""
        ladder = self.book.get("ladder", {})
        wanted = ladder.get("cases", [])
        named = [(label, record.case(self.book.get("case", {}).get(name, name)))
                 for name, label in zip(wanted, ladder.get("labels", wanted))]
        named = [(name, case) for name, case in named if case]
        return named or [(case["name"], case) for case in record.main_cases()]

    def modelled(self):
        """The emulator's times: of its default cases, and of the ladder's where they are recorded (`python3 docs/book model`)."""
        times = self.times(EMULATED)
        more = load(f"{EMULATED}/chapter{self.number}_ladder")
        if times and more:
            known = {case["parameters"] for case in times.cases}
            times.cases = times.cases + [case for case in more["cases"] if case["parameters"] not in known]
            times.note = f"more cases from chapter{self.number}_ladder.json, commit {more['run']['commit'][:7]}"
        return times

    def exercises(self):
        path = self.folder / "exercises.toml"
        return tomllib.loads(path.read_text(encoding="utf-8"))["exercise"] if path.exists() else []

    def take_away(self):
        for path in sorted(self.folder.glob("*.cuh")):
            if "The take-away of chapter" in path.read_text(encoding="utf-8"):
                return path
        return None


@functools.lru_cache(maxsize=None)
def chapters():
    folders = [path.parent for path in (ROOT / "chapters").glob("chapter*_*/README.md")]
    return sorted((Chapter(folder) for folder in folders), key=lambda chapter: chapter.number)
