"""Recorded machine code: docs/results/<device>/sass/chapterN.txt, which scripts/record_sass.py writes."""

import re

from records import MEASURED, RESULTS, Problem


def file_of(chapter):
    return RESULTS / MEASURED / "sass" / f"chapter{chapter.number}.txt"


def listings(chapter):
    """{name: (what is told of it, [line of code])} of what is recorded of a chapter."""
    path, found = file_of(chapter), {}
    for listing in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.M)[1:] if path.exists() else []:
        name, listing = listing.split("\n", 1)
        head, code = listing.split("\n\n", 1)
        found[name] = head, code.rstrip().splitlines()
    return found


def part(chapter, name, first, last):
    """The lines of a listing from one address to another."""
    if name not in listings(chapter):
        raise Problem(f"no machine code called {name} is recorded")
    lines = listings(chapter)[name][1]
    places = [number for wanted in (first, last) for number, line in enumerate(lines) if line[2:].split()[0] == wanted]
    if len(places) != 2 or places[0] > places[1]:
        raise Problem(f"{name} has no lines from {first} to {last}")
    return lines[places[0]:places[1] + 1]
