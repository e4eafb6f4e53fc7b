"""Who works at which piece: of an array, of a tensor's rows; and where what is added goes."""

import re

from charts import text
from order_drawings import grid
from records import Problem
from sketch import WIDTH, box, boxes, count, function_of, labelled, line, numbers, panel, panels, parts


def cell_panel(what, mark, title, rows, columns, expression):
    """Cells in rows, each with the number of what it belongs to."""
    number, cell, top = function_of(expression, "row", "column"), min(28, WIDTH / columns), 26
    found = {(row, column): number(row, column) for row in range(rows) for column in range(columns)}
    body = [text(0, 16, title, "title")]
    body += [labelled(column * cell, top + row * cell, cell, cell, each, "mark" if each == mark else "cell") for (row, column), each in found.items()]
    told = count(len(set(found.values())), what)
    body.append(text(0, top + rows * cell + 18, told, "muted"))
    return panel(top + rows * cell + 24, body, f"{title}: the {what} of each cell",
                 "; ".join(f"row {row}: {' '.join(str(found[row, column]) for column in range(columns))}" for row in range(rows)),
                 counted=(title, told))


def cells(arguments):
    """`cells block 0: v1, 1x16: column | v2, 1x16: column % 4`: rows of cells, the block that each belongs to, and block 0 marked."""
    head, _, rest = arguments.partition(":")
    match = re.fullmatch(r"(\w+) (\d+)", head)
    drawn = [(re.fullmatch(r"(.+), (\d+)x(\d+)", title), expression) for title, expression in parts(rest)]
    if not match or not all(sized for sized, _ in drawn):
        raise Problem(f"`cells block 0: v1, 1x16: column` is wanted, not {arguments}")
    return panels(cell_panel(match[1], int(match[2]), sized[1], int(sized[2]), int(sized[3]), expression) for sized, expression in drawn)


def at_work(blocks, cost, now):
    """({piece} at which blocks work that go on by the grid's width, {piece} at which they do if the next free one takes the next piece).
    `cost` says how long a block's pieces take."""
    strided = {block + blocks * (now // cost(block)) for block in range(blocks)}
    piece, until = list(range(blocks)), [cost(block) for block in range(blocks)]
    handed = blocks
    while min(until) <= now:
        block = until.index(min(until))
        piece[block], handed = handed, handed + 1
        until[block] += cost(block)
    return strided, set(piece)


def running(arguments):
    """`running v3 and v4, 8 blocks at 40: 8 + block * 3 % 5`: the pieces at which blocks of different speed work after so long: where
    each goes on by the grid's width, and where each new one gets the next piece. The expression is how long a block takes for one."""
    match = re.fullmatch(r"(\w+) and (\w+), (\d+) blocks at (\d+): (.+)", arguments)
    if not match:
        raise Problem(f"`running v3 and v4, 8 blocks at 40: 8 + block * 3 % 5` is wanted, not {arguments}")
    found = dict(zip(match.group(1, 2), at_work(int(match[3]), function_of(match[5], "block"), int(match[4]))))
    last = 127
    if max(map(max, found.values())) > last:
        raise Problem(f"after {match[4]} a block is beyond piece {last}: {arguments}")
    left, top, cell, body, told = 30, 26, (WIDTH - 30) / (last + 1), [text(30, 16, "the array", "muted")], []
    for title, pieces in found.items():
        body += [text(0, top + 16, title, "title"), box(left, top, WIDTH - left, 22)]
        body += [box(left + piece * cell, top, cell, 22, "bar") for piece in sorted(pieces)]
        told.append(f"{title}: within {max(pieces) - min(pieces) + 1} pieces")
        top += 34
    body.append(text(left, top + 12, f"marked: the {match[3]} pieces that are being worked at", "muted"))
    return panels([panel(top + 20, body, "Where the running blocks are",
                         " ".join(f"{title}: pieces {', '.join(map(str, sorted(pieces)))}." for title, pieces in found.items()),
                         counted=("", ", ".join(told)))])


def owned(arguments):
    """`owned 3,1,3,0`: the rows that entries name; the first entry of each row adds all of them, and the others leave."""
    rows = numbers(arguments, ",")
    first = [rows.index(row) == entry for entry, row in enumerate(rows)]
    adds = [[other for other, row in enumerate(rows) if row == rows[entry]] if own else [] for entry, own in enumerate(first)]
    shown = [("names row", rows, ["mark" if own else "cell" for own in first]), ("adds", [",".join(map(str, each)) or "-" for each in adds], None)]
    owners = sum(first)
    told = [f"{count(owners, 'block')} of {len(rows)} stay, each for a row of its own"]
    return panels([grid("Entries, and the rows that they name", [str(entry) for entry in range(len(rows))], shown, told,
                        " ".join(f"Entry {entry} adds {', '.join(map(str, each))}." for entry, each in enumerate(adds) if each))])


def total(values):
    """Of numbers their sum, of names the sum written out."""
    return str(sum(map(int, values))) if all(re.fullmatch(r"-?\d+", value) for value in values) else " + ".join(values)


def scattered(arguments):
    """`scattered 3,1,-2 to 2,0,2 of 4`: values, the places that they are added to, and what these have afterwards; `of 4 rows` calls
    these rows, and what is added entries."""
    match = re.fullmatch(r"([\w,-]+) to ([\d,]+) of (\d+)( rows)?", arguments)
    if not match:
        raise Problem(f"`scattered 3,1,-2 to 2,0,2 of 4` is wanted, not {arguments}")
    values, index, places = match[1].split(","), numbers(match[2], ","), int(match[3])
    if len(values) != len(index) or max(index) >= places:
        raise Problem(f"each value has a place of {places}, not {arguments}")
    sums = [[value for value, place in zip(values, index) if place == at] for at in range(places)]
    left, high, below = 52, 26, 150
    wide, slot = (WIDTH - left) / len(values), (WIDTH - left) / places
    width = min(slot - 8, 64)
    most = max(map(len, sums))
    hot = [len(added) == most > 1 for added in sums]
    whole, part = ("row", "src") if match[4] else ("place", "value")
    body = [text(0, 17, part), text(0, 49, "index"), text(0, below + 17, "dst")]
    for at, (value, place) in enumerate(zip(values, index)):
        x = left + at * wide
        body += [labelled(x, 0, wide - 4, high, value, "mark"), labelled(x, 32, wide - 4, high, place),
                 line(x + wide / 2 - 2, 58, left + (place + .5) * slot, below, "hot" if hot[place] else "link")]
    for at, added in enumerate(sums):
        x = left + (at + .5) * slot - width / 2
        body += [labelled(x, below, width, high, total(added) if added else "-", "conflict-mark" if hot[at] else "mark" if added else "cell"),
                 text(x + width / 2, below + 42, f"{whole} {at}", "muted", "middle")]
    return panels([panel(below + 50, body, "Where each value is added",
                         "; ".join(f"{whole} {at} gets {' and '.join(added) or 'nothing'}" for at, added in enumerate(sums)))])


def elementwise(arguments):
    """`elementwise 8 at 3`: element 3 of z, and the elements of x and y that it needs."""
    length, _, shown = arguments.partition(" at ")
    length, shown, left, high = int(length), int(shown), 30, 28
    cell = (WIDTH - left) / length
    body = []
    for row, name in enumerate(("x", "y", "z")):
        y = row * 56
        body += [text(0, y + 19, name, "title"), boxes([(left + n * cell, y) for n in range(length)], cell, high)]
        body += [labelled(left + n * cell, y, cell, high, f"{name}{n}", "mark" if n == shown else "bare") for n in range(length)]
    x = left + (shown + .5) * cell
    body += [line(x, 84, x, 112, "flow"), line(x + cell / 3, 28, x + cell / 3, 112, "flow")]
    return panels([panel(160, [*body, text(left, 156, f"z{shown} = f(x{shown}, y{shown})")], "z = f(x, y), element by element",
                         f"Element {shown} of z needs element {shown} of x and element {shown} of y.")])
