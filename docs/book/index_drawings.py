"""What it takes to find an element: sizes and strides, divisions and what stands in for them, indices that carry."""

import itertools
import math
import re

from charts import text
from order_drawings import digits, grid
from records import Problem
from sketch import WIDTH, box, count, inside, labelled, line, numbers, panel, panels, parts


def sized(words):
    """([2, 4], [8, 2]) of `2x4 by 8,2`: sizes and strides."""
    sizes, by, strides = words.partition(" by ")
    sizes, strides = numbers(sizes, "x"), numbers(strides, ",") if by else []
    if len(sizes) != len(strides):
        raise Problem(f"a view is `2x4 by 8,2`, with a stride for each size, not {words}")
    return sizes, strides


def viewed(arguments):
    """`viewed 2x4x2 by 16,4,2 at 11`: the elements of a view in memory, and how an element's number becomes its place."""
    match = re.fullmatch(r"(.+) at (\d+)", arguments)
    if not match:
        raise Problem(f"`viewed 2x4 by 8,2 at 3` is wanted, not {arguments}")
    (sizes, steps), number = sized(match[1]), int(match[2])
    index = digits(number, sizes)
    place = sum(i * step for i, step in zip(index, steps))
    found = {sum(i * step for i, step in zip(indices, steps)) for indices in itertools.product(*map(range, sizes))}
    cells = 16
    body, top = [text(0, 16, "the array's memory", "title")], 28
    for at in range(-(-(max(found) + 1) // cells) * cells):
        x, y = at % cells * 21, top + at // cells * 21
        body.append(box(x, y, 20, 20, "conflict" if at == place else "mark" if at in found else "cell"))
    top += -(-(max(found) + 1) // cells) * 21 + 8
    body += [box(0, top, 10, 10, "mark"), text(15, top + 10, "in the view", "small"), box(110, top, 10, 10, "conflict"),
             text(125, top + 10, f"its element number {number}", "small")]
    told = f"{' + '.join(f'{i} x {step}' for i, step in zip(index, steps))} = {place}"
    shown = [("size", sizes, "cell"), (f"index of {number}", index, "mark"), ("stride", steps, "cell")]
    how = grid("From a number to a place", [f"dim {d}" for d in range(len(sizes))], shown, [f"place {told}"],
               f"Element {number} has the indices {', '.join(map(str, index))}; it lies at {told}.", counted=("", f"place {place}"))
    return panels([panel(top + 18, body, "Where a view's elements lie", f"Places {', '.join(map(str, sorted(found)))}."), how])


def runs(sizes, steps):
    """[[dimensions that are one run]]: a step of the outer one goes just behind the inner one's last. Those of size 1 go."""
    found = []
    for d in (d for d in range(len(sizes)) if sizes[d] != 1):
        if found and steps[found[-1][-1]] == sizes[d] * steps[d]:
            found[-1].append(d)
        else:
            found.append([d])
    return found


def collapsed_panel(title, what):
    sizes, steps = sized(what)
    merged, width = runs(sizes, steps), WIDTH / len(sizes)
    body = [text(0, 16, title, "title")]

    def dimension(left, top, across, size, step, classes):
        return [box(left + 3, top, across - 6, 42, classes, 'rx="4"'), inside(left, top, across, 24, f"size {size}"),
                inside(left, top + 18, across, 24, f"stride {step}")]

    for d, (size, step) in enumerate(zip(sizes, steps)):
        body += dimension(d * width, 26, width, size, step, "cell")
    for run in merged:
        left, across = run[0] * width, (run[-1] - run[0] + 1) * width
        body.append(line(left + across / 2, 68, left + across / 2, 88, "flow"))
        body += dimension(left, 88, across, math.prod(sizes[d] for d in run), steps[run[-1]], "mark")
    told = ", ".join(f"{math.prod(sizes[d] for d in run)} by {steps[run[-1]]}" for run in merged)
    return panel(136, body, f"{title}: which dimensions merge", f"{what} becomes {count(len(merged), 'dimension')}: {told}.",
                 counted=(title, count(len(merged), "dimension")))


def collapsed(arguments):
    """`collapsed a: 64x1024x512 by 1048576,1024,2 | b: 4x4 by 8,1`: sizes and strides, and below those that are left."""
    return panels(collapsed_panel(*part) for part in parts(arguments))


def fitting(arguments):
    """`fitting a: 64x512x1024 by 1048576,2048,1 | b: 2 by 8589934592`: a view's number of elements and its last one's offset, and 2^31."""
    body, described, y, left, top = [], [], 0, 96, 40  # Bits of the axis.
    unit = (WIDTH - left) / top
    for title, what in parts(arguments):
        sizes, steps = sized(what)
        values = {"elements": math.prod(sizes), "last offset": sum((size - 1) * step for size, step in zip(sizes, steps))}
        fits = all(value < 2**31 for value in values.values())
        body.append(text(0, y + 16, f"{title}: {'32 bits are enough' if fits else '64 bits are needed'}", "title"))
        for number, (name, value) in enumerate(values.items()):
            at = y + 28 + 24 * number
            body += [text(left - 8, at + 12, name, "", "end"),
                     box(left, at, max(1, math.log2(max(value, 1)) * unit), 16, "mark" if value < 2**31 else "conflict-mark", 'rx="2"'),
                     text(left + 6, at + 13, f"{value:,}", "small")]
        body += [line(left + 31 * unit, y + 24, left + 31 * unit, y + 76, "limit"), text(left + 31 * unit, y + 90, "2^31", "muted", "middle")]
        described.append(f"{title}: " + ", ".join(f"{name} {value}" for name, value in values.items()) + f", {32 if fits else 64} bits.")
        y += 106
    told = [each.rpartition(", ")[2].rstrip(".") for each in described]
    return panels([panel(y - 8, body, "What has to fit into 32 bits", " ".join(described), counted=("", ", ".join(told)))])


def quotients(arguments):
    """`quotients 10 as 103 shift 10`: n / 10 and (n * 103) >> 10, for eight n up to and beyond the first at which they differ."""
    match = re.fullmatch(r"(\d+) as (\d+) shift (\d+)", arguments)
    if not match:
        raise Problem(f"`quotients 10 as 103 shift 10` is wanted, not {arguments}")
    divisor, factor, shift = map(int, match.groups())

    def made(n):
        return n * factor >> shift

    wrong = next(n for n in itertools.count() if made(n) != n // divisor)
    shown = range(max(0, wrong - 5), max(0, wrong - 5) + 8)
    agree = ["mark" if made(n) == n // divisor else "conflict-mark" for n in shown]
    told = f"equal for all n below {wrong}"
    return grid(f"n / {divisor} by multiplying with {factor}", [str(n) for n in shown],
                [(f"n / {divisor}", [n // divisor for n in shown], "cell"), (f"n*{factor}/{1 << shift}", [made(n) for n in shown], agree)], [told],
                f"n / {divisor} and n x {factor} shifted right by {shift} are {told}.", counted=("", told))


def work(arguments):
    """`work v1: size 2(% / test) | v2: 2(% /)`: what a thread does, one after the other; what stands in parentheses it does twice."""
    rows = [(title, re.sub(r"(\d+)\(([^()]*)\)", lambda match: f"{match[2]} " * int(match[1]), what).split()) for title, what in parts(arguments)]
    width = WIDTH / max(len(done) for _, done in rows)
    kinds = sorted({what for _, done in rows for what in done}, key=lambda what: [what in done for _, done in rows].count(True))
    body, y = [], 0
    for title, done in rows:
        body.append(text(0, y + 16, title, "title"))
        body += [labelled(at * width, y + 26, width - 2, 26, what, "mark" if all(what in other for _, other in rows) else "conflict-mark", 'rx="4"')
                 for at, what in enumerate(done)]
        y += 66
    told = ", ".join(f"{title}: {len(done)} operations" for title, done in rows)
    return panels([panel(y, body, "What a thread does", "; ".join(f"{title}: {', '.join(done)}" for title, done in rows)
                         + f". Only in one: {', '.join(what for what in kinds if not all(what in done for _, done in rows)) or 'nothing'}.",
                         counted=("", told))])


def carry(arguments):
    """`carry 40 from 5 by 32 times 8`: indices in rows of 40 of a thread that goes on by 32, and where the last one runs over."""
    match = re.fullmatch(r"(\d+) from (\d+) by (\d+) times (\d+)", arguments)
    if not match:
        raise Problem(f"`carry 40 from 5 by 32 times 8` is wanted, not {arguments}")
    row, start, step, times = map(int, match.groups())
    found = [divmod(start + i * step, row) for i in range(times)]
    over = [i > 0 and found[i][1] != found[i - 1][1] + step for i in range(times)]
    classes = ["conflict-mark" if carried else "mark" for carried in over]
    told = [f"each time {step} more", f"where that runs over: {row} less, and the next row"]
    return grid(f"One thread's indices in rows of {row}", [f"{i}." for i in range(1, times + 1)],
                [("row", [second for second, _ in found], "cell"), ("in the row", [last for _, last in found], classes)], told,
                f"Row and index in it: {', '.join(f'{second} {last}' for second, last in found)}; it runs over {over.count(True)} times.",
                counted=("", f"runs over {count(over.count(True), 'time')}"))
