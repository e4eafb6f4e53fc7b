"""The texts of the book that people write: their figures and generated blocks as the records have them.

A page's source is plain Markdown. Where its figures are from stands in a file beside it (sidecar.py); `python3 docs/book update`
writes figures and blocks anew, and `python3 docs/book check` fails where one differs or says not where it is from.
"""

import re

import addresses
import blocks
import sentences
import sidecar
from markdown import broken_links, fold_answers, link_pages
from records import ROOT, Problem

COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)


def texts():
    """Every text of the book that people write."""
    chapters, pages = ROOT / "chapters", ROOT / "docs" / "pages"
    return [*sorted(ROOT.glob("*.md")), *sorted(chapters.glob("*/README.md")), *sorted(chapters.glob("*/evidence.md")),
            *sorted(chapters.glob("*/pages/*.md")), *sorted(chapters.glob("*/library/README.md")), *sorted(pages.glob("*.md")),
            ROOT / "common" / "exercises" / "README.md"]


def replaced(text, sources, form):
    for source in reversed(sources):
        text = text[:source.start] + form(source) + text[source.end:]
    return text


def renewed(path):
    """(the page with all its figures and blocks as the records have them, what is wrong with it)."""
    text = blocks.renewed(path, path.read_text(encoding="utf-8"))
    sources, faults = sidecar.resolve(path, text)
    return replaced(text, sources, lambda source: source.answer.text), faults


def faults(path, text):
    """What is wrong with a page's text, a line each."""
    name = path.relative_to(ROOT)
    try:
        found = [] if blocks.renewed(path, text) == text else [f"{name}: a table or a block differs from what it is made of: "
                                                               "run `python3 docs/book update`"]
    except Problem as problem:
        found = [str(problem)]
    sources, wrong = sidecar.resolve(path, text)
    for source in sources:
        if source.answer.text != source.shown:
            found.append(f"{name}:{text.count(chr(10), 0, source.start) + 1}: {source.shown!r} is {source.answer.text!r} by "
                         f"{source.answer.origin}: run `python3 docs/book update`")
    return found + wrong + comments(name, text) + [f"{name}:{line}: the link {link} leads nowhere" for line, link in broken_links(text, path)]


def comments(name, text):
    """Comments that are no marker of a block: a page is plain Markdown, and a marker with a slip would do nothing."""
    shown = sentences.masked(sentences.MARKER.sub(sentences.blanked, text), comments=True)
    return [f"{name}:{shown.count(chr(10), 0, match.start()) + 1}: {match.group()[:40]!r} is no marker of a block"
            for match in COMMENT.finditer(shown)]


def attribute(told):
    """Words for an attribute of a tag in a page's text: Doxygen escapes these itself, so all that may not be there is a quote."""
    return told.replace('"', "'")


QUOTED = re.compile(r'"[^"]+"')


def unquoted(text, sources):
    """[(start, end, text)] for the quotation marks around a figure: Doxygen takes no tag for one between two of them."""
    return [(place, place + 1, "&quot;") for match in QUOTED.finditer(sentences.masked(text))
            if any(match.start() < source.start < match.end() for source in sources) for place in (match.start(), match.end() - 1)]


def published(path):
    """The text for the book: each figure says on hovering where it is from, and blocks look as the book's own."""
    text = path.read_text(encoding="utf-8")
    sources, wrong = sidecar.resolve(path, text)
    wrong += [f"{path.relative_to(ROOT)}: {source.shown} is {source.answer.text}: run `python3 docs/book update`"
              for source in sources if source.answer.text != source.shown]
    if wrong:
        raise Problem(wrong[0])
    edits = [(source.start, source.end, f'<span class="{source.answer.kind}" title="{attribute(source.answer.origin)}">{source.shown}</span>')
             for source in sources] + unquoted(text, sources)
    for start, end, shown in sorted(edits, reverse=True):
        text = text[:start] + shown + text[end:]
    return link_pages(fold_answers(blocks.published(path, text)), path, addresses.pages())
