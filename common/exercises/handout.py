"""A tree to give to a class: the exercises, what they are checked with, and the chapters' pages; no solutions, and no
step that gives one away.
"""

import concurrent.futures
import functools
import json
import os
import re
import shutil
import subprocess
import sys

import handout_pages
from book import OURS, PRISTINE, ROOT, BookError, lay_out, make_pieces, mark_of, only_chapters, read_book, split_regions
from feedback import LEAST_GRAMS, grams

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
COMMON = ("common/cuda", "common/emulator", "common/harness", "common/exercises")
SCRIPTS = ("build.sh", "configure.sh", "deps.sh", "emulate.py", "find_nvcc.sh", "pick_device.sh", "write_commit.sh")
DEVCONTAINER = ".devcontainer/devcontainer.json"
FILES = (DEVCONTAINER, "CMakePresets.json", "LICENSE", "workbook")
MOST_TOLD = 0.85  # The share of an exercise's pieces that its neighbours may have: they use the same words.
DRAWN_PAGE = "docs/pages/memory.md"  # Chapter 0 explains by figures.
WORKFLOW = ".github/workflows/classroom.yml"
TEACHERS = ("common/exercises/README.md", "common/exercises/feedback.py", "common/exercises/grade.py", "common/exercises/handout.py", "common/exercises/handout_pages.py", "common/exercises/leaderboard.py")

MAKEFILE = """# The exercises: make deps, then make exerciseN or ./workbook.
DEVICE ?= $(shell scripts/pick_device.sh)
EXERCISES := $(shell ls chapters/*/exercises.toml | sed -n 's/.*chapter\\([0-9]*\\)_.*/exercise\\1/p')

ifdef CUDA_HOME
export CUDA_HOME
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help deps watch emulate clean $(EXERCISES)

help:
\t@echo "make deps          install what is missing"
\t@$(foreach exercise,$(EXERCISES),echo "make $(exercise)     check the chapter's exercises (RESET=name restores one)";)
\t@echo "make watch         check exercises while you edit them; the same as ./workbook"
\t@echo "make emulate FILE=k.cu   build and run a CUDA program of your own; ARGS=\\"...\\""
\t@echo "make clean         remove what the build made (your exercises stay)"

deps:
\t@scripts/deps.sh $(DEVICE)

$(EXERCISES):
\t@./workbook --device $(DEVICE) chapter $(@:exercise%=%) $(if $(RESET),--reset "$(RESET)")

watch:
\t@./workbook --device $(DEVICE)

emulate:
\t@python3 scripts/emulate.py $(if $(DEBUG),--debug) --flags="$(FLAGS)" $(FILE) -- $(ARGS)

clean:
\trm -rf build
"""

GITIGNORE = "/build/\n__pycache__/\n/exercises/*progress.json*\n"


def workflow(book, image):
    """For GitHub Classroom: what a student pushes is checked, exercise by exercise. The container is that of the devcontainer."""
    exercises = [e for c in book for e in c.exercises if e.is_graded]
    laid_out = "".join(f"      - run: make exercise{c.number}\n" for c in book)
    graders = "".join(f"""      - uses: classroom-resources/autograding-command-grader@v1
        id: {e.name}
        with:
          test-name: {e.key}
          command: ./workbook check {e.name}
          timeout: 5
          max-score: 1
""" for e in exercises)  # fmt: skip
    results = "".join(f"          {e.name.upper()}_RESULTS: ${{{{ steps.{e.name}.outputs.result }}}}\n" for e in exercises)
    return f"""# Checks what is pushed, and tells GitHub Classroom.
name: Exercises
on: [push, repository_dispatch]
permissions:
  checks: write
  actions: read
  contents: read
jobs:
  check:
    if: github.actor != 'github-classroom[bot]'
    runs-on: ubuntu-latest
    container: {image}
    steps:
      - uses: actions/checkout@v4
      - run: make deps
{laid_out}{graders}      - uses: classroom-resources/autograding-grading-reporter@v1
        env:
{results}        with:
          runners: {",".join(e.name for e in exercises)}
"""


def readme(book):
    rows = "\n".join(
        f"| {e.chapter} | `exercises/chapter{e.chapter}/{e.name}.cuh` | {KIND_WORDS[e.kind]} | {e.effort} | {e.learn} |"
        for c in book
        for e in c.exercises
    )
    pages = "\n".join(
        f"- [Chapter {c.number}: {c.title}](chapters/{c.folder}/README.md)"
        for c in book
        if (ROOT / c.path / "README.md").is_file()
    )
    pages += "\n" + "\n".join(f"- [{title}](docs/pages/{name}.md)" for name, title in handout_pages.TITLES.items())
    return f"""# Warpbook: exercises

CUDA kernels with their key lines taken out. Put them back: each file in `exercises/` says what is to be done. No GPU is
needed. The kernels run on an emulator, which also finds races and accesses out of bounds, and counts what the memory
system would do.

    make deps          # once, on Debian 12 or newer: installs a compiler and libraries
    ./workbook         # checks what you save, shows hints; q leaves
    make exercise{book[0].number}     # or: check a whole chapter

On another system, open this folder in its container (`.devcontainer/`): in an editor that knows devcontainers, or in a codespace.

Edit the files in `exercises/` and nothing else: they are all that is taken from you when you hand in. A file counts as
solved when its result is right on every input and within the bars that its check names. `make exercise{book[0].number} RESET=name`
brings a file back as it was handed out, and keeps yours beside it. `./workbook try NAME "n=33"` (chapter 3: `"shape=3,1,5 perm=0,2,1
dtype=half"`) runs a file on a case of your own, written as the checks name theirs, and what a kernel prints with `printf` is shown.

On a GPU (`DEVICE=gpu`) results are judged and speed is not, since there is no step of ours here to compare with: a project gets 40 of
100 points there. The emulator judges all goals.

| chapter | file | | | what you learn |
|---|---|---|---|---|
{rows}

To read:

{pages}
"""


KIND_WORDS = {"fill": "fill in a line or two", "lab": "change one line, and see a counter move", "write": "write the kernel's heart", "bug": "find the bug and repair it",
              "predict": "predict a counter", "explain": "explain in a sentence (not graded)", "project": "from an empty file"}  # fmt: skip


def tracked_files(root):
    """The project's own files: what git knows, or in a copy without git everything but what the build made."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
    skipped = re.compile(r"(build|chapter\d+|exercises|\.venv|\.git)/")
    names = (os.path.relpath(os.path.join(f, n), root) for f, _, files in os.walk(root) for n in files)
    return [n for n in names if not skipped.match(n) and "__pycache__" not in n]


def without_solutions(text, given, where):
    """A step's file with every exercise region replaced by what an exercise gives in its place."""
    names = {name for name, _ in split_regions(text, where)} & set(given)
    return "".join(p.handed_out for p in make_pieces("", text, {n: given[n] for n in names}, where))


def needed_headers(chapter, root):
    """The headers of the chapter's folder that its cases and exercises include, directly or not."""
    folder = f"chapters/{chapter.folder}/"
    todo = {f"{folder}{chapter.header}"}
    for source in (root / folder).glob("*.cpp"):
        todo.add(f"{folder}{source.name}")
    for exercise in chapter.exercises:
        todo |= set(INCLUDE.findall(exercise.handed_out))
    result = set()
    while todo:
        name = todo.pop()
        if name in result or not (root / name).is_file():
            continue
        result.add(name)
        todo |= set(INCLUDE.findall((root / name).read_text(encoding="utf-8")))
    return sorted(n for n in result if n.startswith("chapters/"))


def given_texts(root):
    """{(folder, region): what stands in its place}, of all exercises."""
    import tomllib

    result = {}
    for path in root.glob("chapters/chapter*_*/exercises.toml"):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        for exercise in table["exercise"]:
            for region, text in exercise.get("given", {}).items():
                result[(path.parent.name, region)] = text
    return result


def leaks(book, texts):
    """[(exercise, file, line)]: lines that an exercise took out and that stand in a file of the handout. The problem's
    own headers (.hpp) hold rules that everybody is given, and may be quoted; exercises.toml holds the hints; and what
    another chapter has in common with an exercise gives nothing away. A file that has nearly all pieces of what was taken out, under
    whatever names, gives it away, too."""
    found = []
    told = re.compile(r"chapters/.*(?:\.hpp|/exercises\.toml)")
    texts = {name: text for name, text in texts.items() if not told.fullmatch(name)}
    for exercise in (e for c in book for e in c.exercises):
        own = re.compile(rf"(?!.*chapter\d)|.*chapter{exercise.chapter}[_/]")
        here = {name: text for name, text in texts.items() if own.match(name)}
        for line in {line.strip() for region in exercise.removed() for line in region.splitlines()}:
            if len(line) < 30 or line.startswith("//") or line in exercise.handed_out:  # No idea of its own.
                continue
            found += [(exercise, name, line) for name, text in here.items() if line in text]
        taken = set().union(*map(grams, exercise.removed())) - grams(exercise.handed_out)
        if len(taken) >= LEAST_GRAMS:
            found += [(exercise, name, "under other names") for name, text in here.items() if len(taken & kept_grams(text)) > MOST_TOLD * len(taken)]
    return found + told_answers(book, texts)


@functools.cache
def kept_grams(text):
    return grams(text)


def told_answers(book, texts):
    """[(exercise, file, words)]: numbers that are to be predicted, with what they count, in a file of their chapter."""
    found = []
    for exercise in (e for c in book for e in c.exercises if e.kind == "predict"):
        number, what = float(exercise.answer), exercise.counter.split(" per ")[0]
        nouns = "|".join({what, what.split()[-1], *(["turns"] if what == "wavefronts" else [])})
        said = re.compile(rf"(?<![\w.,])(?:{number:.0f}|{number:,.0f}) (?:{nouns})\b")
        own = re.compile(rf".*chapter{exercise.chapter}[_/]")
        found += [(exercise, name, words[0]) for name, text in texts.items() if own.match(name) if (words := said.search(re.sub(r"\s*\n[/ ]*", " ", text)))]
    return found


def write_handout(out, root=ROOT, chapters=()):
    """Writes the tree, of all chapters or those named. \\return the exit status. \\raises BookError"""
    out = out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BookError(f"{out} is there and not empty: a handout goes into a folder of its own")
    book = only_chapters(read_book(root), chapters)
    if not book or book[0].exercises[0].solution is None:
        raise BookError("a handout is made from the whole project, not from a handout")

    with concurrent.futures.ThreadPoolExecutor() as pool:  # Kept: each takes seconds.
        list(pool.map(lambda e: mark_of(e.key, float(e.answer)), [e for c in book for e in c.exercises if e.kind == "predict"]))
    texts = {}
    for name in tracked_files(root):
        if name in FILES or name.startswith(tuple(f"{c}/" for c in COMMON)) and name not in TEACHERS:
            texts[name] = None  # As it is.
    texts |= {f"scripts/{name}": None for name in SCRIPTS}
    given = given_texts(root)
    pages = [f"docs/pages/{name}.md" for name in handout_pages.TITLES]
    for chapter in book:
        folder = f"chapters/{chapter.folder}"
        for name in needed_headers(chapter, root):
            owner = name.split("/")[1]
            here = {region: text for (f, region), text in given.items() if f == owner}
            texts[name] = without_solutions((root / name).read_text(encoding="utf-8"), here, name)
        if (root / folder / "README.md").is_file():
            pages.append(f"{folder}/README.md")
        texts[f"{folder}/exercises.toml"] = handout_toml((root / folder / "exercises.toml").read_text(encoding="utf-8"), chapter)
        texts[f"{folder}/{OURS}"] = None
        for exercise in (e for e in chapter.exercises if e.is_code):
            texts[f"{folder}/{PRISTINE}/{exercise.name}.cuh"] = exercise.handed_out
    texts["CMakeLists.txt"] = handout_build((root / "CMakeLists.txt").read_text(encoding="utf-8"), book)
    texts["Makefile"] = MAKEFILE
    texts["README.md"] = readme(book)
    texts[WORKFLOW] = workflow(book, json.loads((root / DEVCONTAINER).read_text(encoding="utf-8"))["image"])
    texts[".gitignore"] = GITIGNORE
    there = set(texts) | set(pages)
    folders = {c.number: c.path for c in book}
    for name in pages:
        text, drawn = (root / name).read_text(encoding="utf-8"), {}
        if name == DRAWN_PAGE:
            text, drawn = handout_pages.with_drawings(text, name, drawing(root / name), (root / "docs/theme/book.css").read_text(encoding="utf-8"))
        texts |= drawn | {name: handout_pages.page(text, name, there, folders)}

    readable = {n: (root / n).read_text(encoding="utf-8", errors="replace") if t is None else t for n, t in texts.items()}
    if found := leaks(book, readable):
        exercise, name, line = found[0]
        raise BookError(f"{name} gives away {exercise.key}: {line}")

    out.mkdir(parents=True, exist_ok=True)
    for name, text in sorted(texts.items()):
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            shutil.copy(root / name, path)
        else:
            path.write_text(text, encoding="utf-8")
    lay_out([e for c in book for e in c.exercises], out)
    count = sum(len(c.exercises) for c in book)
    print(f"{out}: {count} exercises of {len(book)} chapter{'s' if len(book) > 1 else ''}, in exercises/. Pack it, hand it out; a student begins with README.md.")
    return 0


def drawing(page):
    """What draws the figures of a page: the book does, but for those that need a browser or records."""
    sys.path.append(str(ROOT / "docs" / "book"))
    import blocks

    return lambda words: "" if words.startswith(("explore ", "roofline ")) else blocks.drawing(page, words)


def handout_build(text, book):
    """CMakeLists.txt up to its chapters, and of these the handout's: of them warpbook_add_chapter makes the exercises."""
    calls = {int(call[1]): call for call in re.finditer(r"(?m)^warpbook_add_chapter\((\d+) [^)]*\)[^\n]*\n", text)}
    if missing := [c.number for c in book if c.number not in calls]:
        raise BookError(f"CMakeLists.txt does not add chapter {missing[0]}, so its exercises could not be checked")
    return text[: min(call.start() for call in calls.values())] + "".join(calls[c.number].group() for c in book)


def handout_toml(text, chapter):
    """exercises.toml without the cheats that only the tests try, without what solves a region, and without the numbers that are to
    be predicted."""
    text = re.sub(r"(?ms)^(#[^\n]*\n)*\[cheats\]\n.*?(?=^\[\[)", "", text)
    text = re.sub(r"(?ms)^\[exercise\.written\]\n.*?(?=^\[\[|\Z)", "", text)
    for exercise in (e for e in chapter.exercises if e.kind == "predict"):
        mark = f'answer = "{mark_of(exercise.key, float(exercise.answer))}"'
        text = re.sub(rf'(?ms)(^name = "{exercise.name}"$(?:(?!^\[\[).)*?)^answer = [^\n]*$', lambda m, mark=mark: m[1] + mark, text)
    return text
