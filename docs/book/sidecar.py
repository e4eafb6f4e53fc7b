"""Where a page's figures are from: the file figures.toml beside the page.

    [["pages/v4b.md"]]
    sentence = "v4a reads and writes whole rows, yet it reaches"
    figures = ["v4a float"]

docs/pages/figures.md tells how to write an entry; queries.py what a figure may ask of the records.
"""

import collections
import functools
import re
import tomllib

import queries
import sentences
from records import ROOT, Problem

Source = collections.namedtuple("Source", "start end shown answer")

NAME = "figures.toml"
KINDS = {"worked out": "worked out in the text, not measured", "quoted": "from the source that the text names",
         "hardware": "the hardware's number, by its maker", "chosen": "an aim, a limit or a setting of ours, not measured",
         "name": "part of a name or an example, not measured"}
PLACE = r"([-+]?\d(?:[\d,]*\d)?(?:\.\d+)?(?!\.?\w)(?:\s?(?:us|ms|ns|s|GB/s|TB/s|MB|M|%)(?!\w))?|[\d,.]*\dx(?!\w)|[\w.-]*\w)"
LITERAL = re.compile(r"(?<![\w.,])[-+]?\d(?:[\d,]*\d)?(?:\.\d+)?")


def folder_of(path):
    """The folder whose sidecar a page has: its chapter's, or docs/pages for all others."""
    for parent in path.parents:
        if parent.parent == ROOT / "chapters":
            return parent
    return ROOT / "docs" / "pages"


def name_of(path):
    """How the sidecar calls a page: by its path from there, and a page beside no sidecar by its path from the root."""
    folder = folder_of(path)
    return str(path.relative_to(folder if folder in path.parents else ROOT))


@functools.lru_cache(maxsize=None)
def read(folder):
    path = folder / NAME
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Problem(f"{path.relative_to(ROOT)}: {error}") from None


def pattern(beginning, any_number):
    """What a sentence has to begin with. `{}` is a number, or a word such as a commit's."""
    def words(part):
        return r"\s+".join(re.escape(word) for word in re.split(r"\s+", part))

    out, last = "", 0
    for match in re.finditer(r"\{\}|" + LITERAL.pattern, beginning):
        out += words(beginning[last:match.start()])
        out += PLACE if match.group() == "{}" else LITERAL.pattern if any_number else re.escape(match.group())
        last = match.end()
    return re.compile(out + words(beginning[last:]) + (r"(?!\w)" if re.match(r"[\w}]", beginning[-1:]) else ""))


def find(text, known, beginning):
    """[(sentence, match)] of those that begin so: with these very numbers, else with any in their places."""
    for any_number in (False, True):
        wanted = pattern(" ".join(beginning.split()), any_number)
        found = [(sentence, match) for sentence in known if (match := wanted.match(text, sentence.start, sentence.end))]
        if found:
            return found
    return []


def marked(text, sentence, match, shown):
    """The figures of an entry, in order: those that need a source, and those that the entry marks by `{}`."""
    needed = sentences.figures(text, sentence, shown)
    for number in range(1, (match.re.groups or 0) + 1):
        start, end = match.span(number)
        if not any(start < figure.end and figure.start < end for figure in needed):
            needed.append(sentences.Figure(start, end, text[start:end]))
    return sorted(needed)


def evaluate(path, query, shown):
    """What the query answers, in the form of the figure that stands in the text."""
    if query in KINDS:
        return queries.Answer(shown, "stated", KINDS[query])
    flat = re.sub(r"\s", " ", shown)
    answer = queries.answer(path, query, flat)
    return answer._replace(text=answer.text.replace(" ", "\n", 1)) if "\n" in shown else answer


def resolve(path, text, entries=None):
    """([Source of each figure that an entry explains, in order], [what is wrong])."""
    name, faults, explained = name_of(path), [], {}
    entries = read(folder_of(path)).get(name, []) if entries is None else entries
    shown, known = sentences.masked(text), sentences.sentences(text)
    for entry in entries:
        beginning, given = entry.get("sentence", ""), entry.get("figures")
        try:
            if not beginning or not given or set(entry) - {"sentence", "figures"}:
                raise Problem("an entry has `sentence` and `figures`, and nothing else")
            found = find(text, known, beginning)
            if len(found) != 1:
                raise Problem(f"{len(found)} sentences begin so" if found else "no sentence begins so")
            sentence, match = found[0]
            if sentence in explained:
                raise Problem("the sentence has two entries")
            figures = marked(text, sentence, match, shown)
            listed = [given] * len(figures) if isinstance(given, str) else given
            if not figures or len(figures) != len(listed):
                raise Problem(f"{len(listed)} sources for the figures {', '.join(f.text for f in figures) or 'none'}")
            explained[sentence] = []
            for figure, query in zip(figures, listed):
                try:
                    answer = evaluate(path, query, figure.text)
                except (Problem, KeyError, ValueError, IndexError, ZeroDivisionError) as error:
                    raise Problem(f"{figure.text}, `{query}`: {error}") from None
                explained[sentence].append(Source(figure.start, figure.end, figure.text, answer))
        except Problem as problem:
            faults.append(f"{path.relative_to(ROOT)}: \"{beginning}\": {problem}")
    for sentence in known:
        if sentence not in explained:
            line = text.count("\n", 0, sentence.start)
            faults += [f"{path.relative_to(ROOT)}:{line + 1 + text.count(chr(10), sentence.start, figure.start)}: nothing says where "
                       f"{figure.text!r} is from" for figure in sentences.figures(text, sentence, shown)]
    return sorted(source for found in explained.values() for source in found), faults


def without_page(pages):
    """What is wrong with the sidecars themselves: an entry for a page that is not there."""
    named = {(folder_of(path), name_of(path)) for path in pages}
    faults = []
    for folder in sorted({folder_of(path) for path in pages}):
        faults += [f"{(folder / NAME).relative_to(ROOT)}: there is no page {name}" for name in read(folder)
                   if (folder, name) not in named]
    return faults
