"""What moves where, and what happens when: dimensions, indices, loads under way, lines of a cache, rules."""

import itertools
import math
import re
import textwrap
import tomllib

from charts import text
from lookup import REST, told_of
from records import Problem
from sketch import WIDTH, box, boxes, count, inside, labelled, line, numbers, panel, panels, parts, paths, permutation

ARRIVES = 10  # How long a load takes, in the time of an instruction. A real one takes hundreds: the drawing would not fit.


def strides(shape):
    return [math.prod(shape[d + 1:]) for d in range(len(shape))]


def offsets(shape, order):
    """For each place of the output, in order, the input's: output dimension d is input dimension order[d]."""
    steps = strides(shape)
    return [sum(index * steps[d] for index, d in zip(indices, order)) for indices in itertools.product(*(range(shape[d]) for d in order))]


def letter(number):
    return chr(ord("a") + number) if number < 26 else number


def moved(arguments):
    """`moved 4x6 by 1,0`: a tensor, its memory, and the memory of the permuted one; lines connect equal values."""
    words, _, order = arguments.partition(" by ")
    shape = numbers(words, "x")
    come = offsets(shape, permutation(order, len(shape)))
    total, columns = len(come), shape[-1]
    cell, side = WIDTH / total, 22
    body = [text(0, 16, "the tensor", "title")]

    def value(x, y, width, height, number):
        shade = box(x, y, width, height, "shade", f'fill-opacity="{.06 + .14 * (number // columns % 4):g}"')
        return shade + labelled(x, y, width, height, letter(number) if width >= 12 else "")

    body += [value(n % columns * side, 26 + n // columns * side, side, side, n) for n in range(total)]
    above = 26 + total // columns * side + 38
    below = above + 110
    body += [text(0, above - 8, "its memory", "title"), text(0, below + 36, "the memory of the result", "title")]
    for classes in ("faint", "flow"):  # The first row's lines lie over the others.
        body += [line((n + .5) * cell, above + 18, (to + .5) * cell, below, classes)
                 for to, n in enumerate(come) if (n < columns) == (classes == "flow")]
    body += [value(n * cell, above, cell, 18, n) + value(to * cell, below, cell, 18, n) for to, n in enumerate(come)]
    return panel(below + 44, body, "Where a permutation puts the values in memory",
                 f"Input {' x '.join(map(str, shape))}, dimensions {order}. In the output's memory stand the input's places "
                 f"{', '.join(map(str, come))}.")


def merged(shape, order):
    """[[input dimensions that are one]] in the output's order: those side by side in both. Dimensions of size 1 are dropped."""
    kept = [d for d in range(len(shape)) if shape[d] != 1]
    runs = []
    for d in (d for d in order if d in kept):
        if runs and kept.index(d) == kept.index(runs[-1][-1]) + 1:
            runs[-1].append(d)
        else:
            runs.append([d])
    return runs


def merging(arguments):
    """`merging N=64 H=512 W=512 C=3 by 0,3,1,2`: dimensions in the input's order and in the output's, and which of them are one."""
    words, _, order = arguments.partition(" by ")
    names, sizes = zip(*re.findall(r"(\w+)=(\d+)", words))
    shape = [int(size) for size in sizes]
    order = permutation(order, len(shape))
    runs = merged(shape, order)
    gap, height, above, below = 14, 40, 34, 132
    width = (WIDTH - 14 - gap * (len(shape) - 1)) / len(shape)
    places = {"input": {d: place for place, d in enumerate(range(len(shape)))}, "output": {d: place for place, d in enumerate(order)}}
    body = [text(0, 16, "the input's order", "title"), text(0, below + height + 30, "the output's order", "title")]

    def left(side, d):
        return 7 + places[side][d] * (width + gap)

    for d, name in enumerate(names):
        body.append(line(left("input", d) + width / 2, above + height, left("output", d) + width / 2, below, "flow"))
        for side, y in (("input", above), ("output", below)):
            body += [box(left(side, d), y, width, height, "mark", 'rx="4"'), inside(left(side, d), y - 8, width, height, name, "title"),
                     inside(left(side, d), y + 9, width, height, shape[d])]
    for run in (run for run in runs if len(run) > 1):
        for side, y in (("input", above), ("output", below)):
            across = left(side, run[-1]) - left(side, run[0]) + width
            body.append(box(left(side, run[0]) - 5, y - 5, across + 10, height + 10, "limit", 'fill="none" rx="6"'))
    ranked = sorted(runs)
    told = [" x ".join("".join(names[d] for d in run) for run in ranked) + " = "
            + " x ".join(str(math.prod(shape[d] for d in run)) for run in ranked), f"permutation {','.join(str(ranked.index(run)) for run in runs)}"]
    body += [text(0, below + height + 56, f"merged: {told[0]}"), text(0, below + height + 75, told[1])]
    return panel(below + height + 83, body, "Which dimensions are neighbours before and after",
                 f"{', '.join(names)} become {', '.join(names[d] for d in order)}. Those that stay side by side merge: {told[0]}, {told[1]}.",
                 counted=("", count(len(runs), "dimension")))


def grid(title, heads, rows, told, described, counted=None):
    """Columns under heads; a row is (name, values, classes of its cells or None for plain words)."""
    left, height, top = 92, 24, 34
    width = (WIDTH - left) / len(heads)
    body = [text(0, 16, title, "title")]
    small = " small" if any(len(head) > 3 and not head.startswith("dim") for head in heads) else ""
    body += [text(left + (place + .5) * width, top + 12, head, "muted" + small, "middle") for place, head in enumerate(heads)]
    for number, (name, values, classes) in enumerate(rows):
        y = top + 22 + number * (height + 8)
        body.append(text(0, y + 16, name, "small"))
        for place, value in enumerate(values):
            marked = classes[place] if isinstance(classes, (list, tuple)) else classes
            body.append(labelled(left + place * width + 2, y, width - 4, height, value, marked or "bare", 'rx="4"'))
    bottom = top + 22 + len(rows) * (height + 8)
    body += [text(0, bottom + 16 + 19 * number, words) for number, words in enumerate(told)]
    return panel(bottom + 24 + 19 * (len(told) - 1), body, title, described, counted=counted)


def digits(number, sizes):
    """The number's digits, where the last dimension goes round fastest; None beyond the last number."""
    if not 0 <= number < math.prod(sizes):
        raise Problem(f"{number} is not below {math.prod(sizes)}")
    return [number // step % size for step, size in zip(strides(sizes), sizes)]


def bits(number, most):
    """A number in 64 bits and in 32; below them how many bits the largest one needs."""
    left, height = 54, 22
    width = (WIDTH - left) / 64
    body, y = [text(0, 16, f"{number} in bits", "title")], 30
    for size in (64, 32):
        begins = WIDTH - size * width
        body += [text(0, y + 16, f"{size} bits", "small"), boxes([(begins + bit * width, y) for bit in range(size)], width, height),
                 *(box(begins + bit * width, y, width, height, "bar") for bit in range(size) if number >> (size - 1 - bit) & 1)]
        y += height + 12
    needed = most.bit_length()
    told = f"the largest, {most:,}, needs {needed} bits"
    body += [line(WIDTH - 32 * width, 26, WIDTH - 32 * width, y - 4, "limit"), text(0, y + 12, told)]
    return panel(y + 20, body, "A number in 64 bits and in 32", f"{number} is {number:b} in bits; {told}.")


def divided(arguments):
    """`divided 32x2048x1024 by 1,0,2 at 33333333`: an offset in the output in 64 bits and in 32, and how it becomes indices and an offset
    in the input."""
    match = re.fullmatch(r"([\dx]+) by ([\d,]+) at (\d+)", arguments)
    if not match:
        raise Problem(f"`divided 4x6 by 1,0 at 7` is wanted, not {arguments}")
    shape, place = numbers(match[1], "x"), int(match[3])
    order = permutation(match[2], len(shape))
    to, steps = [shape[d] for d in order], [strides(shape)[d] for d in order]
    index = digits(place, to)
    from_place = sum(i * step for i, step in zip(index, steps))
    rest = [place % (step * size) for step, size in zip(strides(to), to)]
    last = len(shape) - 1
    rows = [("what is left", rest, "cell"), ("/ output stride", [*strides(to)[:last], "-"], None), ("= index", index, "mark"),
            ("x input stride", steps, None)]
    told = [f"{count(last, 'division')} per element, then {len(shape)} products",
            f"their sum, {from_place}, is the input's offset"]
    return panels([bits(place, math.prod(shape) - 1), grid(f"Element {place} of the output", [f"dim {d}" for d in range(last + 1)], rows, told,
                f"Output {' x '.join(map(str, to))}: element {place} has the indices {', '.join(map(str, index))} and is input element {from_place}.",
                counted=("", f"input element {from_place}"))])


def tile_in_matrix(sizes, tiles, tile, names, matrix, matrices):
    """One of many matrices, divided into tiles of which one is marked; below, which of them it is."""
    left, top, side = 54, 62, 150 / max(sizes)
    height, width = (size * side for size in sizes)
    body = [text(0, 16, f"matrix {matrix} of {matrices}", "title"), text(left, 38, names[1], "muted"), text(0, top + 14, names[0], "muted")]
    body.append(paths([(left + away, top - away + 4, f"v-4h{width:g}v{height:g}h-4") for away in (4, 8, 12)], "edge"))  # Those behind it.
    body += [box(left, top, width, height, "edge bare")]
    step = [size / many for size, many in zip((height, width), tiles)]
    for row in range(tiles[0]):
        for column in range(tiles[1]):
            place = (left + column * step[1], top + row * step[0], step[1], step[0])
            body.append(labelled(*place, "tile", "mark thick") if [row, column] == tile else box(*place))
    y = top + height + 26
    body += [box(left, y, WIDTH - left, 12, "cell"), box(left + (WIDTH - left) * matrix / matrices - 1, y - 3, 3, 18, "bar"),
             text(0, y + 11, "which", "muted"), text(left, y + 30, "0", "small"), text(WIDTH, y + 30, f"{matrices - 1}", "small", "end")]
    return panel(y + 38, body, "The block's tile in its matrix", f"Tile {tile[0]}, {tile[1]} of {tiles[0]} x {tiles[1]} in matrix {matrix} of {matrices}.")


def located(arguments):
    """`located 6x128x8x10x192 by 4,2,0,3,1 tile 64x64 block 1999`: where a block's tile begins, in the input and in the output."""
    match = re.fullmatch(r"([\dx]+) by ([\d,]+) tile (\d+x\d+) block (\d+)", arguments)
    if not match:
        raise Problem(f"`located 5x64x64 by 2,0,1 tile 64x64 block 3` is wanted, not {arguments}")
    shape, (rows, columns), block = numbers(match[1], "x"), numbers(match[3], "x"), int(match[4])
    order = permutation(match[2], len(shape))
    row_dimension, column_dimension = order[-1], len(shape) - 1
    if row_dimension == column_dimension:
        raise Problem("the last dimension is to move")
    side = [columns if d == column_dimension else rows if d == row_dimension else 1 for d in range(len(shape))]
    tiles = [math.ceil(size / step) for size, step in zip(shape, side)]
    tile = digits(block, tiles)
    first = [t * step for t, step in zip(tile, side)]
    source, target = strides(shape), dict(zip(order, strides([shape[d] for d in order])))
    from_place = sum(f * s for f, s in zip(first, source))
    to_place = sum(f * target[d] for d, f in enumerate(first))
    spans = ["mark" if d in (row_dimension, column_dimension) else "cell" for d in range(len(shape))]
    shown = [("size", shape, spans), ("tiles", tiles, None), (f"block {block}", tile, spans), ("begins at", first, None)]
    told = [f"input element {from_place}, output element {to_place}"]
    spanned = (row_dimension, column_dimension)
    others = [d for d in range(len(shape)) if d not in spanned]
    matrix = sum(tile[d] * step for d, step in zip(others, strides([shape[d] for d in others])))
    drawn = tile_in_matrix(*([of[d] for d in spanned] for of in (shape, tiles, tile)), [f"dim {d}" for d in spanned], matrix,
                           math.prod(shape[d] for d in others))
    return panels([drawn, grid("Where a block's tile begins", [f"dim {d}" for d in range(len(shape))], shown, told,
                f"Input {' x '.join(map(str, shape))}, dimensions {match[2]}. The tile spans dimensions {row_dimension} and {column_dimension}. "
                f"Block {block} begins at {', '.join(map(str, first))}: {told[0]}.", counted=("", told[0]))])


def instructions(program):
    """L and S of a program: as it stands, or of `8 by 4`, 8 loads of which 4 start together, or of `8 ahead 2`, 8 loads that each start 2
    stores early."""
    match = re.fullmatch(r"(\d+) (by|ahead) (\d+)", program)
    if not match:
        return program.split()
    loads, many = int(match[1]), int(match[3])
    if match[2] == "by":
        return (["L"] * many + ["S"] * many) * (loads // many)
    return ["L"] * many + ["L", "S"] * (loads - many) + ["S"] * many


def schedule(program):
    """[(instruction, begins, ends)] and [(asked, arrived)] of its loads: a store waits for the load that it belongs to, the first store
    for the first load."""
    now, done, flights, stores = 0, [], [], 0
    for what in instructions(program):
        if what == "L":
            flights.append((now, now + 1 + ARRIVES))
        elif what == "S" and stores < len(flights):
            now = max(now, flights[stores][1])
            stores += 1
        else:
            raise Problem(f"a program has loads L and stores S, each of a load before it, not {program}")
        done.append((what, now, now + 1))
        now += 1
    return done, flights


def timeline(arguments):
    """`timeline 4 v4b: L S L S | v4c: 4 by 4`: when a thread's loads of 4 bytes are under way. `4/add` calls the stores additions."""
    size, _, rest = arguments.partition(" ")
    size, _, waits = size.partition("/")
    drawn = [(title, *schedule(program)) for title, program in parts(rest)]
    unit = WIDTH / max(done[-1][2] for _, done, _ in drawn)
    body, described, y = [], [], 0
    for title, done, flights in drawn:
        most = max(sum(asked <= other < arrived for asked, arrived in flights) for other, _ in flights)
        told, apart = f"{int(size) * most} bytes under way", 28 / max(most, 4)
        body += [text(0, y + 16, title, "title"), text(WIDTH, y + 16, told, "muted", "end"), line(0, y + 35, WIDTH, y + 35, "grid")]
        body += [box(begins * unit, y + 26, unit - 1, 18, "bar" if what == "L" else "conflict") for what, begins, _ in done]
        body += [box(asked * unit, y + 48 + apart * (number % max(most, 4)), (arrived - asked) * unit, apart - 2, "shade", 'fill-opacity=".5"')
                 for number, (asked, arrived) in enumerate(flights)]
        described.append(f"{title}: {len(flights)} loads, at most {told}, done after {done[-1][2]} steps of time.")
        counted = f"{int(size) * most} bytes under way, {done[-1][2]} steps of time"
        y += 92
    for x, classes, words in ((0, "bar", "load"), (60, "conflict", waits or "store"), (126, "shade", "a load is under way")):
        body += [box(x, y + 2, 10, 10, classes, 'fill-opacity=".5"' if classes == "shade" else ""), text(x + 15, y + 12, words, "small")]
    return panels([panel(y + 18, body, "When a thread's loads are under way", " ".join(described),
                         counted=("", counted))])


def underway(arguments):
    """`underway v4b: 1 x 4 | v4c: 4 x 4`: loads and bytes of each that a thread has asked for while it waits."""
    rows = [(title, *numbers(what, "x")) for title, what in parts(arguments)]
    left, most = 92, max(loads * size for _, loads, size in rows)
    unit = (WIDTH - left - 100) / most
    body = [text(0, 16, "bytes under way per thread", "title")]
    for number, (title, loads, size) in enumerate(rows):
        y = 28 + 28 * number
        body += [text(0, y + 15, title)] + [box(left + load * size * unit, y, size * unit - 2, 20, "mark", 'rx="3"') for load in range(loads)]
        body.append(text(left + loads * size * unit + 6, y + 15, f"{loads} x {size} bytes", "muted"))
    return panels([panel(32 + 28 * len(rows), body, "Bytes under way per thread",
                         ", ".join(f"{title}: {count(loads, 'load')} of {size} bytes" for title, loads, size in rows))])


def leaving(lines):
    """The order in which lines leave a full cache, oldest first: those kept (k) after all others (r read, w written)."""
    order = sorted(range(len(lines)), key=lambda place: (lines[place] == "k", place))
    return [order.index(place) + 1 for place in range(len(lines))]


def cached(arguments):
    """`cached 4 leave without a hint: rwrwrwrw | with it: kwkwkwkw`: lines of a cache, the oldest first, in which order they leave, and
    which are gone when four have left."""
    match = re.fullmatch(r"(\d+) leave (.+)", arguments)
    if not match:
        raise Problem(f"`cached 4 leave with a hint: kwkwkwkw` is wanted, not {arguments}")
    gone, drawn = int(match[1]), []
    names = {"r": "read", "k": "read", "w": "write"}
    for title, lines in parts(match[2]):
        if not re.fullmatch("[rkw]+", lines):
            raise Problem(f"lines are r (read), k (read and kept) or w (written), not {lines}")
        width, leave = WIDTH / len(lines), leaving(lines)
        body = [text(0, 16, title, "title"), text(0, 38, "oldest", "muted"), text(WIDTH, 38, "newest", "muted", "end"),
                text(WIDTH / 2, 38, "leave in this order", "muted", "middle")]
        for place, kind in enumerate(lines):
            classes = "cell" if leave[place] <= gone else "conflict-mark" if kind == "w" else "mark"
            body += [labelled(place * width + 1, 45, width - 2, 26, "gone" if leave[place] <= gone else names[kind], classes, 'rx="3"'),
                     inside(place * width, 72, width, 20, leave[place])]
        left = sum(kind != "w" and turn > gone for kind, turn in zip(lines, leave))
        drawn.append(panel(96, body, f"{title}: in which order lines leave the L2",
                           f"{', '.join(f'{names[kind]} leaves as {n}' for kind, n in zip(lines, leave))}. {gone} have left.",
                           counted=(title, f"{left} of {sum(kind != 'w' for kind in lines)} read lines left")))
    return panels(drawn)


def rules_of(source, name="kRules"):
    """[(condition, kernel, a case that shows it or "")] of a table `kRules[]`, in order."""
    table = re.search(rf"{name}\[\] = \{{\n(.*?)\n\s*\}};", source, re.S)
    found = re.findall(r'^\s*\{(?:\w+::)*(\w+),\s*(?:Kernel::|run_)?(\w+)(?:::\w+(?:<\w+>)?)?,\s*"([^"]*)"', table[1], re.M) if table else []
    if not found:
        raise Problem(f"there is no table {name}[] of conditions, kernels and cases")
    return [(condition.replace("_", " "), kernel.replace("_", " "), case) for condition, kernel, case in found]


def does(source, kernel):
    """What the dispatch says of a kernel, or ""."""
    told = told_of(source, kernel.replace(" ", "_"))
    return f"{kernel}: {told}" if told else ""


def rules(arguments, folder, share):
    """`rules v9_dispatch.cuh at 3`: the rules of a chapter's table, in order, and the kernel that each chooses; `kOther` behind the file
    names a table that is not kRules. `at 3` shows the third rule's case, which those before refuse; `share(case)` is what the
    dispatch reaches there, of a copy, in words, or "" where no record has the case."""
    match = re.fullmatch(r"(\S+)(?: (k\w+))?(?: at (\d+))?", arguments)
    if not match:
        raise Problem(f"`rules v9_dispatch.cuh at 3` is wanted, not {arguments}")
    source = (folder / match[1]).read_text(encoding="utf-8")
    found = rules_of(source, *filter(None, [match[2]]))
    told = tomllib.loads((folder / "book.toml").read_text(encoding="utf-8"))
    known = {"always": REST} | told["rules"] | told.get("rules_in_short", {})
    found = [(known.get(condition.replace(" ", "_"), condition), kernel, case) for condition, kernel, case in found]
    left, chosen, y = 206, int(match[3]) - 1 if match[3] else None, 26
    body = [text(0, 16, "the first that holds", "title"), text(left + 24, 16, "runs", "title")]
    for number, (condition, kernel, _) in enumerate(found):
        runs, lines = chosen in (None, number), textwrap.wrap(condition, 30)
        height = 8 + 14 * len(lines)
        if number:
            body.append(line((left - 8) / 2, y - 8, (left - 8) / 2, y))
        if chosen is None or number <= chosen:
            body.append(box(0, y, left - 8, height, "cell" if runs else "conflict-mark", 'rx="11"'))
        body += [inside(0, y + 4 + 14 * place, left - 8, 14, words, "small" if chosen is None or number <= chosen else "small muted")
                 for place, words in enumerate(lines)]
        body += [line(left - 8, y + height / 2, left + 24, y + height / 2, "flow")] * runs
        body.append(labelled(left + 24, y, WIDTH - left - 24, height, kernel, "mark", 'rx="4"') if runs
                    else inside(left + 24, y, WIDTH - left - 24, height, kernel, "small muted"))
        y += height + 8
    bottom, described, counted = y, "; ".join(f"{condition}: {kernel}" for condition, kernel, _ in found), None
    if chosen is not None:
        if not 0 <= chosen < len(found):
            raise Problem(f"{match[1]} has {len(found)} rules, and none of number {match[3]}")
        condition, kernel, case = found[chosen]
        below = [textwrap.wrap(does(source, ran), 44) + textwrap.wrap(f"for example {shown}" if shown else "the table names no case", 44)
                 for _, ran, shown in found]
        body += [text(0, bottom + 14 + 18 * number, words, "muted") for number, words in enumerate(below[chosen])]
        bottom += 18 * max(map(len, below)) + 6
        reached = share(case) if case else ""
        counted = ("", f"{count(chosen, 'rule')} refused, {kernel} runs" + (f": {reached} of a copy" if reached else ""))
        described = f"{case or 'Another case'}: {counted[1]}."
    return panels([panel(bottom, body, f"The rules of {match[1]}", described, counted=counted)])
