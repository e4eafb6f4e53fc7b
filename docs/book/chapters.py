"""The chapters as the tree has them: their steps, stories, code, and what differs between two steps."""

import copy
import difflib
import functools
import os
import re
import tomllib

from records import EMULATED, MEASURED, ROOT, Problem, Times, load

STEP_FILE = re.compile(r"(v\d+[a-z]?)_(\w+)\.cuh")
TEXT = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'  # A string of C++, in one part or several.
STORY_LINE = re.compile(r"^///( ?)(.*)$")


def natural(version):
    match = re.fullmatch(r"v(\d+)([a-z]?)", version)
    return (0, int(match[1]), match[2]) if match else (1, 0, version)


def unquoted(text):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')


# What the strings are that a call of StepsOf's functions begins with.
STRINGS = {
    "step": ("version", "name", "base", "idea"),
    "preparing": ("prepares", "version", "name", "base", "idea"),
    "aside": ("version", "base", "idea"),
    "library": ("version", "idea"),
    "yardstick": ("version", "idea"),
}


def declared(source):
    """{version: {"name", "idea", "base", "prepares"}} of the steps that a chapter's source lists: by StepsOf's functions, or as
    {"version", "name", "base", "idea"}."""
    found = {}
    for match in re.finditer(rf"(?:\bC::(\w+)|\b(?:make_step<\w+>|planned_step)\(\s*{{|^ +{{(?=\"v\d))[(\s]*((?:{TEXT},\s*)+)", source, re.M):
        told = dict(zip(STRINGS[match[1] or "step"], (unquoted(text) for text in re.findall(TEXT, match[2]))))
        found[told.pop("version")] = told
    return found


def definition(path, lines, name):
    """The lines of a function's definition, from the comment above it to its end."""
    begins = [number for number, line in enumerate(lines) if re.match(rf"(?!\s*return\b)[\w:<>&*, ]*(?<![\w:]){name}\((?!.*;$)", line)]
    if not begins:
        raise Problem(f"{path.relative_to(ROOT)} defines no {name}")
    first = begins[0]
    while lines[first - 1].strip() and not lines[first - 1].strip().startswith(("//! [", "// [")):
        first -= 1
    indent = re.match(r" *", lines[first])[0]
    last = next(number for number in range(begins[0], len(lines)) if lines[number] in (f"{indent}}}", f"{indent}}};"))
    return [line.removeprefix(indent) for line in lines[first:last + 1] if not line.strip().startswith(("//! [", "// ["))]


class Step:
    """One kernel: a step of the ladder, an aside, or one of the library. Its file, its story, its code."""

    def __init__(self, chapter, path, told):
        self.chapter = chapter  # Its folder.
        named = STEP_FILE.fullmatch(path.name)
        self.version, self.name = named.groups() if named else (path.stem, path.stem)
        self.path = path
        self.file = str(path.relative_to(ROOT))
        self.lines = path.read_text(encoding="utf-8").splitlines()
        told = told.get(self.version, {})
        self.idea = told.get("idea", "")
        self.base = told.get("base", "")
        self.prepares = told.get("prepares", "")

    @property
    def title(self):
        name = self.name.replace("_", " ")
        return name if self.version == self.name else f"{self.version} {name}"

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

    def region(self, name, file=""):
        """The lines between the `//! [name]` marks of the step's file, or of another in the chapter's folder or in common/,
        without other marks; of `name()` the function's definition. Doxygen would print a mark `//! [name]` in a documented function;
        there it is `// [name]`."""
        path = (ROOT if file.startswith("common/") else self.chapter) / file if file else self.path
        everything = path.read_text(encoding="utf-8").splitlines() if file else self.lines
        if name.endswith("()"):
            return definition(path, everything, name[:-2])
        places = [number for number, line in enumerate(everything) if line.strip() in (f"//! [{name}]", f"// [{name}]")]
        if len(places) != 2:
            raise Problem(f"{path.relative_to(ROOT)} has {len(places)} marks //! [{name}]; a region has two")
        lines = [line for line in everything[places[0] + 1:places[1]] if not line.strip().startswith(("//! [", "// ["))]
        indent = os.path.commonprefix([re.match(" *", line)[0] for line in lines if line.strip() and not line.startswith("#")])
        return "\n".join(line.removeprefix(indent) for line in lines).strip("\n").split("\n")

    def difference(self, base, region="kernel", base_region="", context=3):
        """The unified difference of a region of both files. The steps' own names count as equal."""
        def plain(step, name):
            return [re.sub(rf"\b{step.version}\b", "vN", line) for line in step.region(name)]

        shown = list(difflib.unified_diff(plain(base, base_region or region), plain(self, region), lineterm="", n=context))[2:]
        return [re.sub(r"\bvN\b", base.version if line.startswith("-") else self.version, line) for line in shown]


class Way(Step):
    """A step that is a function, between marks of its version: in chapter 7, whose steps are ways to time."""

    def __init__(self, chapter, path, version, told):
        super().__init__(chapter, path, {version: told})
        self.version, self.name = version, told["name"]
        self.idea, self.base = told["idea"], told.get("base", "")

    def region(self, name, file=""):
        return super().region(self.version if name == "kernel" else name, file)


class Chapter:
    """A folder chapters/chapterN_name."""

    def __init__(self, folder):
        number, self.name = re.fullmatch(r"chapter(\d+)_(\w+)", folder.name).groups()
        self.number = int(number)
        self.folder = folder
        self.readme = folder / "README.md"
        self.by_harness = "ways" not in self.book  # Chapter 7 has a program of its own.
        data = folder / self.book.get("ways", "chapter.cu")
        known = declared(data.read_text(encoding="utf-8"))

        def kernels(place, wanted):
            found = [Step(folder, path, known) for path in place.glob("*.cuh") if wanted(path)]
            return sorted(found, key=lambda step: natural(step.version))

        self.steps = (kernels(folder, lambda path: STEP_FILE.fullmatch(path.name)) if self.by_harness
                      else [Way(folder, data, version, known[version]) for version in sorted(known, key=natural)])
        self.asides = kernels(folder / "asides", lambda path: True)
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

    def kernel(self, version):
        """The step or aside of that version."""
        for step in self.steps + self.asides:
            if step.version == version:
                return step
        raise Problem(f"chapter {self.number} has no step or aside {version}")

    def bases(self, step):
        """What a step is built on, and what that is built on, and so on."""
        found = []
        while step.base and len(found) < len(self.steps):
            step = self.kernel(step.base)
            found.append(step)
        return found

    @functools.cached_property
    def pages(self):
        """{version: page} of the steps' pages and then the asides', in order."""
        files = sorted((self.folder / "pages").glob("*.md"), key=lambda path: natural(path.stem))
        order = [step.version for step in self.steps + self.asides]
        unknown = [path for path in files if path.stem not in order]
        if unknown:
            raise Problem(f"{unknown[0].relative_to(ROOT)}: chapter {self.number} has no step or aside {unknown[0].stem}")
        return {path.stem: path for path in sorted(files, key=lambda path: order.index(path.stem))}

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

    def renamed(self, version):
        """What a version was called when the chapter was recorded, where it is another kernel now; else None."""
        times = self.times()
        rows = [row for case in times.cases for row in case["steps"] if row["version"] == version] if times else []
        now = next((step for step in self.steps + self.asides if step.version == version), None)
        return rows[0]["name"] if rows and now and rows[0]["name"] != now.name else None

    def main_cases(self, record):
        """The ladder's cases as (short name, case): the book.toml's, or those in which most steps ran."""
        ladder = self.book.get("ladder", {})
        wanted = ladder.get("cases", [])
        named = [(label, record.case(self.book.get("case", {}).get(name, name)))
                 for name, label in zip(wanted, ladder.get("labels", wanted))]
        named = [(name, case) for name, case in named if case]
        return named or [(case["name"], case) for case in record.main_cases()]

    def modelled(self):
        """The emulator's times (`python3 docs/book model`). A step that had another name when it was recorded was another kernel
        and is left out."""
        times = self.times(EMULATED)
        if not times:
            return None
        known = {(step.version, step.name) for step in self.steps}
        cases = [case | {"steps": [step for step in case["steps"] if (step["version"], step["name"]) in known]} for case in times.cases]
        return Times(times.record | {"cases": cases}, times.file, times.note)

    def exercises(self):
        path = self.folder / "exercises.toml"
        return tomllib.loads(path.read_text(encoding="utf-8"))["exercise"] if path.exists() else []

    def take_away(self):
        for path in sorted(self.folder.glob("*.cuh")):
            if "The take-away of chapter" in path.read_text(encoding="utf-8").replace("\n/// ", " "):
                return path
        return None


@functools.lru_cache(maxsize=None)
def chapters():
    folders = [path.parent for path in (ROOT / "chapters").glob("chapter*_*/README.md")]
    return sorted((Chapter(folder) for folder in folders), key=lambda chapter: chapter.number)
