"""How long a page may be, and how many figures it may have: the limits that the project's style sets.

A step's page has five parts, in an order, and is about one case. A chapter tells its story in a README.md of limited length, and what
was learned in three sentences. The figures of general pages are limited, too; evidence and the library's pages have no limits.
"""

import re

import sentences
import sidecar
from markdown import sections
from queries import split
from records import ROOT

PARTS = ["Problem", "Predict", "Change", "Measure", "Why not 100%?"]
NO_GAIN = "Why no gain?"  # How an aside ends.
LAST = "Your turn"  # May follow: which exercise belongs to the step.
STEP_WORDS, STEP_FIGURES, CHAPTER_LINES, LEARNED = 250, 8, 220, 3
PER_SENTENCE, PER_HUNDRED_WORDS = 2, 4
CELL = re.compile(r"\|\s*([^|\n]*\d[^|\n]*?)\s*(?=\|)")


def words(text):
    """The words of a page's prose. Tables, code, and what is made from the tree do not count."""
    shown = sentences.masked(text)
    return sum(len([word for word in re.split(r"\s+", shown[start:end]) if re.search(r"[\w\0]", word)])
               for start, end in sentences.paragraphs(shown) if not shown[start:end].lstrip().startswith("|"))


def measured(path, text, entries=None):
    """[(sentence, its figures that a record answers)] of the page's prose."""
    sources, _ = sidecar.resolve(path, text, entries)
    found = []
    for sentence in sentences.sentences(text):
        own = [source for source in sources if sentence.start <= source.start < sentence.end and source.answer.kind == "result"]
        if own and not text[text.rfind("\n", 0, sentence.start) + 1:sentence.start].lstrip().startswith("|"):
            found.append((sentence, own))
    return found


def crowded(name, text, found):
    """Sentences and pages with too many figures."""
    faults = [f"{name}: \"{' '.join(text[s.start:s.start + 50].split())}...\" has {len(own)} measured figures; a sentence has at most "
              f"{PER_SENTENCE}" for s, own in found if len(own) > PER_SENTENCE]
    count, length = sum(len(own) for _, own in found), words(text)
    if count * 100 > PER_HUNDRED_WORDS * max(length, 100):
        faults.append(f"{name}: {count} measured figures in {length} words of prose; at most {PER_HUNDRED_WORDS} in a hundred")
    return faults


def step_page(path, text, entries=None):
    """What is wrong with the form of a step's or an aside's page."""
    name = path.relative_to(ROOT)
    found = measured(path, text, entries)
    faults = crowded(name, text, found)
    is_step = re.fullmatch(r"v\d+[a-z]?", path.stem)
    if not re.match(rf"# {re.escape(path.stem)} · \S", text):
        faults.append(f"{name}: the first line is to be `# {path.stem} · What it does`")
    parts = [part.rstrip(".") for part in re.findall(r"^\*\*(.+?)\*\*", text, re.M)]
    if not is_step:
        parts = [PARTS[-1] if part == NO_GAIN else part for part in parts]
    if parts not in (PARTS, PARTS + [LAST]):
        faults.append(f"{name}: the parts are {', '.join(parts)}; they are to be {', '.join(PARTS)}, and {LAST} may follow")
    if words(text) > STEP_WORDS:
        faults.append(f"{name}: {words(text)} words; at most {STEP_WORDS}")
    blocks = [match for match in sentences.MARKER.finditer(text) if match["kind"] == "measure"]
    if len({tuple(split(match["what"])[1:2]) for match in blocks}) > 1:
        faults.append(f"{name}: tables of several cases; a step's page is about one")
    shown = {" ".join(source.shown.split()) for _, own in found for source in own}
    for match in blocks:  # A figure that the text repeats counts once, and a gain is no figure of its own.
        for row in (match["body"] or "").splitlines()[2:]:
            shown |= set(CELL.findall(re.sub(r"^\|[^|]*", "", row).rsplit("|", 2)[0] + "|"))
    if len(shown) > STEP_FIGURES:
        faults.append(f"{name}: {len(shown)} measured figures ({', '.join(sorted(shown))}); at most {STEP_FIGURES}")
    return faults


def chapter_page(path, text, entries=None):
    """What is wrong with the form of a chapter's page."""
    name, lines = path.relative_to(ROOT), text.count("\n")
    faults = crowded(name, text, measured(path, text, entries))
    if lines > CHAPTER_LINES:
        faults.append(f"{name}: {lines} lines; at most {CHAPTER_LINES}")
    learned = next((body.partition("**Questions.**")[0] for _, title, _, body in sections(text) if title == "What we learned"), "")
    count = len(list(sentences.sentences(learned)))
    if count != LEARNED:
        faults.append(f"{name}: What we learned has {count} sentences; {LEARNED} are wanted")
    return faults


def faults(path, text):
    """What is wrong with the form of a page."""
    if path.parent.name == "pages" and path.parent.parent.parent == ROOT / "chapters":
        return step_page(path, text)
    if path.name == "README.md" and path.parent.parent == ROOT / "chapters":
        return chapter_page(path, text)
    if path.parent == ROOT / "docs" / "pages":
        return crowded(path.relative_to(ROOT), text, measured(path, text))
    return []
