"""Drawings of ideas, made from the expressions that they are about. Charts of what was measured are in charts.py."""

import re
import textwrap

from charts import svg, text
from records import Problem

LANES = BANKS = 32
CELL = 10


def bank_of(expression):
    """The bank of each lane, where `expression` is the word (of 4 bytes) that it reads: `lane * 33`."""
    if not re.fullmatch(r"(?:lane|[\d\s+*/%^&()-])+", expression):
        raise Problem(f"a word's place is told by `lane` and numbers, not by {expression}")
    rule = compile(expression.strip(), "figure", "eval")
    return [eval(rule, {"__builtins__": {}}, {"lane": lane}) % BANKS for lane in range(LANES)]  # pylint: disable=eval-used


def panel(title, expression):
    """One warp that reads from shared memory: a row is a lane, a column a bank, and a cell is where the lane reads."""
    size, left = BANKS * CELL, 62
    heads = textwrap.wrap(title, 44)
    top = 17 * len(heads) + 42
    bottom = top + LANES * CELL
    places = bank_of(expression)
    turns = max(places.count(bank) for bank in places)
    told = "1 turn: each lane has a bank of its own" if turns == 1 else f"{turns} turns: {turns} lanes share a bank"
    word = expression.strip().replace("*", "×")
    body = [text(left, 16 + 17 * line, words, "title") for line, words in enumerate(heads)]
    body += [text(left, top - 24, f"reads word {word}", "muted"), text(left, top - 7, "bank 0", "muted"),
             text(left + size, top - 7, "bank 31", "muted", "end"), text(left - 8, top + 9, "lane 0", "muted", "end"),
             text(left - 8, bottom - 1, "lane 31", "muted", "end"),
             f'<rect class="frame" x="{left}" y="{top}" width="{size}" height="{LANES * CELL}"/>']
    for line in range(4 * CELL, size, 4 * CELL):
        body.append(f'<line class="grid" x1="{left + line}" y1="{top}" x2="{left + line}" y2="{bottom}"/>')
        body.append(f'<line class="grid" x1="{left}" y1="{top + line}" x2="{left + size}" y2="{top + line}"/>')
    for lane, bank in enumerate(places):
        kind = "bar" if places.count(bank) == 1 else "conflict"
        body.append(f'<rect class="{kind}" x="{left + bank * CELL + 1}" y="{top + lane * CELL + 1}" width="{CELL - 2}" height="{CELL - 2}">'
                    f"<title>lane {lane}, bank {bank}</title></rect>")
    body.append(text(left, bottom + 20, told))
    return svg(bottom + 28, "".join(body), f"{title}: which bank each lane reads from",
               f"Lanes 0 to 31 read from banks {', '.join(map(str, places))}: {told}.", "panel", left + size + 2)


def banks(panels):
    """Panels [(title, expression)] beside each other, below each other where the page is narrow."""
    return f'<div class="panels">{"".join(panel(*each) for each in panels)}</div>'


def draw(name, arguments):
    """The drawing of that name: `banks v4a: lane * 32 | v4b: lane * 33`."""
    if name != "banks":
        raise Problem(f"there is no drawing {name} in docs/book/drawings.py")
    return banks([tuple(part.strip() for part in each.rpartition(":")[::2]) for each in arguments.split("|")])
