"""A drawing that the reader changes by one control. It is drawn once for each value, so what it shows is computed as any other
drawing is; the page's script (docs/theme/book.js) only chooses which one is seen."""

import html
import re

from records import Problem
from sketch import function_of

MOST = 40  # Values of a control.
FORM = re.compile(r"(?P<name>\w+) (?:(?P<list>\d+(?:,\d+)+)|(?P<low>\d+)\.\.(?P<high>\d+)(?: by (?P<step>\d+))?) at (?P<at>\d+): "
                  r"(?P<drawing>\w+) (?P<rest>.+)")
COUNT = re.compile(r'data-count="([^"]*)"')


def values_of(match):
    if match["list"]:
        return match["list"].split(",")
    return list(map(str, range(int(match["low"]), int(match["high"]) + 1, int(match["step"] or 1))))


def filled(text, name, value):
    """The text with `{name}` as it is given, and an expression of it such as `{name * 2}` as a number."""
    return re.sub(r"\{([^{}]+)\}", lambda match: value if match[1] == name else str(function_of(match[1], name)(int(value))), text)


def counters(drawing):
    """What the drawing's panels count, each with its panel's name where there are several."""
    found = [each.partition("|")[::2] for each in COUNT.findall(drawing)]
    return "; ".join(dict.fromkeys(words if len(found) == 1 else f"{title}: {words}" for title, words in found))


def explore(arguments, drawn):
    """`explore row 28..36 at 32: banks a column: lane * {row}`: the drawing behind the colon for each value of `row`; `by 2` for every
    second; `1,2,4` for these. `drawn(name, arguments)` draws one."""
    match = FORM.fullmatch(arguments)
    if not match:
        raise Problem(f"`explore name 1..8 at 4: drawing title: ... {{name}} ...` is wanted, not {arguments}")
    name, at = match["name"], match["at"]
    values = values_of(match)
    if at not in values or not 2 <= len(values) <= MOST:
        raise Problem(f"{name} has 2 to {MOST} values, and begins at one of them; not {arguments.partition(':')[0]}")
    if not re.search(rf"\{{[^{{}}]*\b{name}\b", match["rest"]):
        raise Problem(f"{{{name}}} stands nowhere in {match['rest']}")
    drawings = [drawn(match["drawing"], filled(match["rest"], name, value)) for value in values]
    counts = [counters(drawing) for drawing in drawings]
    frames = "".join(f'<div data-value="{value}" data-counts="{count}"{"" if value == at else " hidden"}>{drawing}</div>'
                     for value, count, drawing in zip(values, counts, drawings))
    words, place = html.escape(name.replace("_", " ")), values.index(at)
    counted = f'<output class="count">{counts[place]}</output>' if any(counts) else ""
    return (f'<div class="explore"><div class="control"><label><span>{words}: <output>{at}</output></span>'
            f'<input type="range" min="0" max="{len(values) - 1}" value="{place}" aria-label="{words}" aria-valuetext="{at}"/></label>'
            f'{counted}</div><div class="frames">{frames}</div></div>')
