"""A drawing that the reader changes by one control. It is drawn once for each value, so what it shows is computed as any other
drawing is; the page's script (docs/theme/book.js) only chooses which one is seen."""

import html
import re

from records import Problem

MOST = 40  # Values of a control.
FORM = re.compile(r"(?P<name>\w+) (?P<low>\d+)\.\.(?P<high>\d+)(?: by (?P<step>\d+))? at (?P<at>\d+): (?P<drawing>\w+) (?P<rest>.+)")


def explore(arguments, drawn):
    """`explore row 28..36 at 32: banks a column: lane * {row}`: the drawing behind the colon for each value of `row`; `by 2` for every
    second. `drawn(name, arguments)` draws one."""
    match = FORM.fullmatch(arguments)
    if not match:
        raise Problem(f"`explore name 1..8 at 4: drawing title: ... {{name}} ...` is wanted, not {arguments}")
    name, at = match["name"], int(match["at"])
    values = list(range(int(match["low"]), int(match["high"]) + 1, int(match["step"] or 1)))
    if at not in values or not 2 <= len(values) <= MOST:
        raise Problem(f"{name} has 2 to {MOST} values, and begins at one of them; not {match['low']} to {match['high']} at {at}")
    if f"{{{name}}}" not in match["rest"]:
        raise Problem(f"{{{name}}} stands nowhere in {match['rest']}")
    frames = "".join(f'<div class="frame" data-value="{value}"{"" if value == at else " hidden"}>'
                     f'{drawn(match["drawing"], match["rest"].replace(f"{{{name}}}", str(value)))}</div>' for value in values)
    words = html.escape(name.replace("_", " "))
    return (f'<div class="explore"><label class="control"><span>{words}: <output>{at}</output></span><input type="range" min="{values[0]}" '
            f'max="{values[-1]}" step="{match["step"] or 1}" value="{at}" aria-label="{words}"/></label>{frames}</div>')
