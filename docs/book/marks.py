"""The book's command for measured numbers, and the linter that refuses numbers without it.

A number is followed by a comment that says where it comes from; a code host shows the number alone:

    v6a takes 69.3 us<!--= v6a float--> for float, 98.3%<!--= v6a float--> of a copy, 1.08x<!--= v6a over v4c float-->.

`python3 docs/book update` writes the numbers anew from docs/results/, with as many decimals as stand there, and
`python3 docs/book check` fails where one differs. docs/pages/figures.md tells what a comment may say.
"""

import html
import re

import queries
import tables
from markdown import lines_outside_code
from records import ROOT, Problem

MARK = re.compile(r"(?P<value>[-+]?\d[\d,]*(?:\.\d+)?(?: ?(?:us|ms|ns|s|GB/s|TB/s|MB|M|x|%))?|[\w.-]+)<!--= ?(?P<query>[^>]*?) ?-->")
BLOCK = re.compile(r"<!-- table (?P<what>[^>]*?) ?-->\n(?P<body>.*?)<!-- end -->\n", re.S)
BARE = re.compile(r"(?<![\w.,/-])\d(?:[\d.,]*\d)?(?: ?(?:us|ms|GB/s|TB/s)\b|x(?![\w(])| ?%(?!\w))")
COMMENT = re.compile(r"<!--.*?-->", re.S)


def texts():
    """Every text of the book that people write."""
    return [ROOT / "README.md", *sorted((ROOT / "chapters").glob("*/README.md")), *sorted((ROOT / "docs" / "pages").glob("*.md")),
            ROOT / "common" / "exercises" / "README.md"]


def evaluate(path, query, shown):
    try:
        return queries.answer(path, query, shown)
    except (Problem, KeyError, ValueError, IndexError) as error:
        raise Problem(f"{path.relative_to(ROOT)}: {shown}<!--= {query}-->: {error}") from None


def renewed(path):
    """The text of a file with all its numbers and tables as the records have them."""
    text = path.read_text(encoding="utf-8")
    text = BLOCK.sub(lambda m: f"<!-- table {m['what']} -->\n{tables.table(path, m['what'])}<!-- end -->\n", text)
    return MARK.sub(lambda m: f"{evaluate(path, m['query'], m['value']).text}<!--= {m['query']}-->", text)


def published(path):
    """The text for the book: each number says on hovering where it comes from."""
    def span(match):
        answer = evaluate(path, match["query"], match["value"])
        if answer.text != match["value"]:
            raise Problem(f"{path.relative_to(ROOT)}: {match['value']}<!--= {match['query']}--> is {answer.text} in the "
                          "records: run `python3 docs/book update`")
        return f'<span class="{answer.kind}" title="{html.escape(answer.origin)}">{match["value"]}</span>'

    text = MARK.sub(span, path.read_text(encoding="utf-8"))
    return COMMENT.sub("", text)


def bare_figures(path):
    """[(line, figure)] of the numbers with a unit of measurement that no comment explains."""
    text = path.read_text(encoding="utf-8")

    def blank(match):
        return "\n" * match.group().count("\n")

    text = COMMENT.sub(blank, MARK.sub(blank, BLOCK.sub(blank, text)))
    found = []
    for number, line, is_code in lines_outside_code(text.splitlines()):
        if not is_code:
            found += [(number + 1, m.group()) for m in BARE.finditer(re.sub(r"`[^`]*`", "", line))]
    return found
