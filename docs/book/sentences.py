"""A page's prose: its sentences, and the figures in them, as places in the page's text."""

import collections
import re

from markdown import lines_outside_code

Sentence = collections.namedtuple("Sentence", "start end")
Figure = collections.namedtuple("Figure", "start end text")

MARKER = re.compile(r"^<!-- (?P<kind>table|measure|diff|code|call|sass|figure|exercises) (?P<what>.*?) ?-->\n"
                    r"(?:(?P<body>(?:(?!<!-- ).*\n)*?)<!-- end -->(?:\n|\Z))?", re.M)
COMMENT = r"<!--.*?-->|"
HIDDEN = (r"`[^`]+`|\]\([^)\n]*\)|</?[a-z][^>\n]*>|(?<=\*\*Why not )100%(?=\?\*\*)")
START = re.compile(r"(?:[ \t>]*(?:[-*+]|\d+\.) +|[ \t>]+|\|[ \t]*|#{1,6} +)+")  # A list's, a quotation's, a row's, a heading's.
ALONE = re.compile(r"[ \t>]*(?:\||#{1,6} )")  # A line that is a unit by itself: a table's row, a heading.
OPENS = re.compile(r"[ \t>]*(?:[-*+]|\d+\.) ")
STOP = re.compile(r"[.!?][)\"*_]*\s+")
SHORTENED = re.compile(r"(?:\b[A-Z]|\be\.g|\bi\.e|\bet al|\bvs|\bcf)\.$")

# What has to have a source: a number with a unit, a number with decimals, and a count of what is measured or recorded.
NAMED = "".join(rf"(?<!{name}\s)" for name in ("CUDA", "Toolkit", "nvcc", "clang", "capability", "PyTorch", "Triton", "Ubuntu",
                                                 "row", "word", "bank", "lane", "column"))  # Where 2x is an index.
NUMBER = r"[-+]?\d(?:[\d,]*\d)?(?:\.\d+)?"
UNIT = r"(?:\s?(?:us|ms|ns|GB/s|TB/s|TFLOP/s)(?!\w)|\s?%(?!\w)|x(?![\w(])|\ss(?!\w))"
COUNTED = r"\s(?:turns|wavefronts|cycles|instructions|sectors per|cases|problems)\b|\sof\s(?:the\s)?\d+(?![\w.,]*\w)"
FIGURE = re.compile(rf"(?<![\w.,/])(?<![A-Za-z_]-){NAMED}"
                    rf"(?:{NUMBER}{UNIT}|[-+]?\d[\d,]*\.\d+(?![\w.]|,\d)(?:\s(?:M|MB|GB)(?!\w))?|\d[\d,]*(?={COUNTED}))|(?<=\d of )\d+(?![\w.,]*\w)")


def blanked(match):
    """As long as what it stands for, in as many lines, without a word."""
    return re.sub(r"[^\n]", "\0", match.group())


def masked(text, comments=False):
    """The page with all that is no prose hidden: generated blocks, code, links' targets, and comments if these are not wanted.
    Places stay as they are."""
    def block(match):
        if match["kind"] != "figure" or match["body"] is None:
            return re.sub(r"[^\n]", " ", match.group())
        start, end = match.start("body") - match.start(), match.end("body") - match.start()
        return re.sub(r"[^\n]", " ", match.group()[:start]) + match["body"] + re.sub(r"[^\n]", " ", match.group()[end:])

    lines = MARKER.sub(block, text).split("\n")
    for number, line, is_code in lines_outside_code(list(lines)):
        if is_code:
            lines[number] = " " * len(line)
    return re.sub(HIDDEN if comments else COMMENT + HIDDEN, blanked, "\n".join(lines), flags=re.S)


def paragraphs(shown):
    """(start, end) of each paragraph, item of a list, table's row and heading."""
    found, opened, place = [], None, 0
    for line in shown.split("\n"):
        alone = bool(ALONE.match(line))
        if opened is not None and (not line.strip() or alone or OPENS.match(line)):
            found.append((opened, place - 1))
            opened = None
        if alone:
            found.append((place, place + len(line)))
        elif line.strip() and opened is None:
            opened = place
        place += len(line) + 1
    return found + ([(opened, place - 1)] if opened is not None else [])


def sentences(text):
    """Every sentence of the page, in order. A table's row is one sentence."""
    shown, found = masked(text), []
    for start, end in paragraphs(shown):
        lead = START.match(shown, start, end)
        begin = lead.end() if lead else start
        if not ALONE.match(shown, start):
            for stop in STOP.finditer(shown, begin, end):
                follows = shown[stop.end():stop.end() + 2]
                before = shown[begin:stop.start() + 1]
                if (follows[:1].islower() and not re.match(r"[vca]\d", follows)) or SHORTENED.search(before):
                    continue
                found.append(Sentence(begin, stop.end()))
                begin = stop.end()
        if shown[begin:end].strip():
            found.append(Sentence(begin, end))
    return found


def figures(text, sentence, shown=None):
    """The numbers of a sentence that have to have a source."""
    shown = masked(text) if shown is None else shown
    return [Figure(m.start(), m.end(), m.group()) for m in FIGURE.finditer(shown, sentence.start, sentence.end)]
