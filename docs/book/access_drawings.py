"""What a warp's accesses touch, element by element: places in memory, requests, shifted packs, lanes that add to one place."""

import bisect
import itertools
import math
import re

from charts import text
from memory_drawings import LANES, SECTOR, touched
from order_drawings import digits, grid, strides
from records import Problem
from sketch import WIDTH, box, boxes, count, function_of, inside, labelled, line, numbers, panel, panels, parts, paths

ACROSS = 16  # Floats in a row of memory: two sectors.
NAMES = "abcdefghijklmnopqrstuvwxyzABCDEF"  # Of the places of 32 lanes.


def memory_panel(title, expression, floats):
    """Memory in rows of two sectors, and in it the lanes' floats."""
    element, cell, top = function_of(expression, "lane"), (WIDTH - 4) / ACROSS, 26
    found = touched(f"({expression}) * 4", 4)
    places = [element(lane) for lane in range(LANES)]
    if not 0 <= min(places) <= max(places) < floats:
        raise Problem(f"{expression} leads out of {floats} floats")
    rows = -(-floats // ACROSS)

    def at(number):
        return 2 + number % ACROSS * cell, top + number // ACROSS * cell

    body = [text(0, 16, title, "title"), boxes([at(number) for number in range(floats)], cell, cell)]
    body += [labelled(*at(place), cell, cell, lane, "mark") for lane, place in enumerate(places)]
    body.append(boxes([at(8 * sector) for sector in found], 8 * cell, cell, "edge thick"))
    bottom, used = top + rows * cell, sum(map(len, found.values()))
    told = f"{count(len(found), 'sector')}, outlined; {used} of {SECTOR * len(found)} bytes are used"
    body.append(text(0, bottom + 20, told))
    return panel(bottom + 28, body, f"{title}: the floats of a warp's request",
                 f"Lanes 0 to 31 have floats {', '.join(map(str, places))}: {told}.", counted=(title, count(len(found), "sector")))


def memory(arguments):
    """`memory 128 turn 1: lane + 32 | by pieces: lane * 4 + 1`: so many floats of memory, and in them the float of each lane."""
    floats, _, rest = arguments.partition(" ")
    return panels(memory_panel(title, what, int(floats)) for title, what in parts(rest))


def request_panel(title, size, total):
    """A row of sectors, and above it the requests that together move it."""
    sectors, bytes_each = total // SECTOR, size * LANES
    unit, requests = WIDTH / total, total // bytes_each
    if total % bytes_each:
        raise Problem(f"{total} bytes are no whole number of requests of {LANES} x {size} bytes")
    each = count(max(1, bytes_each // SECTOR), "sector")
    told = f"{count(requests, 'request')} of {each}"
    body = [text(0, 16, title, "title"), text(WIDTH, 16, told, "muted", "end")]
    for request in range(requests):
        width = bytes_each * unit
        words = f"request {request}" if width > 66 else request
        body.append(labelled(request * width + 1, 26, width - 2, 24, words, "mark", 'rx="4"'))
    body += [boxes([(sector * SECTOR * unit, 54) for sector in range(sectors)], SECTOR * unit, 16),
             text(0, 88, f"{count(sectors, 'sector')} in memory: the same bytes in any case", "muted")]
    return panel(94, body, f"{title}: the requests that move {total} bytes", f"{size} bytes per lane: {told}.", counted=(title, told))


def requests(arguments):
    """`requests 512 v2: 2 | v3: 16`: so many bytes, and the requests that move them with so many bytes per lane."""
    total, _, rest = arguments.partition(" ")
    return panels(request_panel(title, int(size), int(total)) for title, size in parts(rest))


def shifted(arguments):
    """`shifted 3 of 8`: an input whose packs of 8 elements begin 3 behind a boundary, and the aligned words that hold a pack of it."""
    match = re.fullmatch(r"(\d+) of (\d+)", arguments)
    if not match or int(match[1]) >= int(match[2]):
        raise Problem(f"`shifted 3 of 8` is wanted, not {arguments}")
    shift, width = map(int, match.groups())
    left, top, below = 16, 48, 116
    cell = (WIDTH - left) / (2 * width)
    words = 2 if shift else 1
    told = "1 load: the pack is an aligned word" if words == 1 else "2 loads, and the pack is cut out of both words"
    body = [text(0, top + 16, "y", "title"), text(0, below + 16, "z", "title"), boxes([(left + n * cell, top) for n in range(2 * width)], cell, 22),
            boxes([(left + n * cell, below) for n in range(width)], cell, 22)]
    for n in range(width):
        source, target = left + (n + shift) * cell, left + n * cell
        body += [labelled(source, top, cell, 22, n, "mark"), labelled(target, below, cell, 22, n, "mark"),
                 line(source + cell / 2, top + 22, target + cell / 2, below, "flow")]
    for word in range(2):
        x = left + word * width * cell
        loaded = word < words
        body += [box(x, top, width * cell, 22, "edge thick" if loaded else "edge"),
                 inside(x, top - 26, width * cell, 24, f"words[{word}]: {'loaded' if loaded else 'not needed'}", "" if loaded else "muted")]
    body += [line(left + at * width * cell - at / 2, 18, left + at * width * cell - at / 2, below + 26, "limit") for at in range(3)]
    body += [text(left, 12, "dashed: boundaries of 16 bytes", "muted"), text(left, below + 46, told)]
    return panels([panel(below + 54, body, "A pack cut out of aligned words",
                         f"A pack of y begins {shift} elements behind a boundary: {told}.", counted=("", told.partition(":")[0].partition(",")[0]))])


def zipf_places(places):
    """The places of 32 lanes that stand for Zipf's law: the place of rank k is hit as often as 1 / k."""
    sums = list(itertools.accumulate(1 / rank for rank in range(1, places + 1)))
    return [bisect.bisect(sums, (lane + .5) / LANES * sums[-1]) for lane in range(LANES)]


def queue_panel(title, what, round_of):
    """Lanes that stand in line, one line for each word that they want."""
    expression, law, places = what.partition(" zipf ")
    skewed = zipf_places(int(places)) if law else [0] * LANES
    word = function_of(expression, "lane", "place")
    wanted = [word(lane, skewed[lane]) for lane in range(LANES)]
    lines = {each: [lane for lane in range(LANES) if wanted[lane] == each] for each in sorted(set(wanted))}
    longest = max(map(len, lines.values()))
    wide, high, top = min(34, WIDTH / len(lines)), 9, 26
    bottom = top + max(8, longest) * high
    told = f"{count(longest, round_of)}: " + ("no two lanes meet" if longest == 1 else f"{longest} lanes want one word")
    body = [text(0, 16, title, "title")]
    for at, lanes in enumerate(lines.values()):
        places_of = [(at * wide + 1, bottom - (rank + 1) * high) for rank in range(len(lanes))]
        body += [box(x, y, wide - 2, high - 1, "conflict" if rank else "bar") for rank, (x, y) in enumerate(places_of)]
    body += [line(0, bottom + 1, WIDTH, bottom + 1, "grid"), text(0, bottom + 17, f"{count(len(lines), 'word')}; each box above is a lane that wants it", "muted"),
             text(0, bottom + 37, told)]
    return panel(bottom + 45, body, f"{title}: lanes that meet at a word", f"{told}. Lanes per word: {', '.join(str(len(lanes)) for lanes in lines.values())}.",
                 counted=(title, count(longest, round_of)))


def queued(arguments):
    """`queued round v1: lane % 4 // 2 | v6b: place * 8 + lane % 8 zipf 256`: the word to which each lane adds; `place` are 32 places of
    256 by Zipf's law. The first word names what the last in a line waits for."""
    round_of, _, rest = arguments.partition(" ")
    return panels(queue_panel(title, what, round_of) for title, what in parts(rest))


def group_rounds(places):
    """Chapter 4's group_sum: [[(lane, the lane that it adds)]] of each round."""
    above = [{other for other in range(lane + 1, LANES) if places[other] == places[lane]} for lane in range(LANES)]
    rank = [sum(places[other] == places[lane] for other in range(lane)) for lane in range(LANES)]
    rounds, gone = [], set()
    while any(above):  # A lane that has given away its sum goes on adding, to nobody's harm: that is not drawn.
        rounds.append([(lane, min(others)) for lane, others in enumerate(above) if others and lane not in gone and not rank[lane] & 1])
        gone |= {lane for lane in range(LANES) if rank[lane] & 1}
        above = [others - gone for others in above]
        rank = [each >> 1 for each in rank]
    return rounds


def grouped(arguments):
    """`grouped lane % 4`: the place of each lane, how lanes of one place add up by shuffles, and which are left to add to memory."""
    place = function_of(arguments, "lane")
    places = [place(lane) for lane in range(LANES)]
    rounds, order = group_rounds(places), sorted(set(places))
    cell, high, apart, top = WIDTH / LANES, 18, 46, 42
    left = set(range(LANES))
    told = f"{count(len(rounds), 'round')}, then {count(len(order), 'addition')} in memory"
    body = [text(0, 16, "the place of each lane, 0 to 31", "muted")]
    for number in range(len(rounds) + 1):
        y = top - 16 + number * apart
        body += [box(lane * cell, y, cell, high, "mark") for lane in sorted(left)] + [boxes([(lane * cell, y) for lane in range(LANES) if lane not in left], cell, high)]
        body += [inside(lane * cell, y, cell, high, NAMES[order.index(places[lane])]) for lane in sorted(left)]
        if number < len(rounds):
            body.append(paths([((giver + .5) * cell, y + high, f"L{(taker + .5) * cell:g} {y + apart:g}") for taker, giver in rounds[number]], "flow"))
            left -= {giver for _, giver in rounds[number]}
    bottom = top - 16 + len(rounds) * apart + high
    body.append(text(0, bottom + 20, told))
    return panels([panel(bottom + 28, body, "Lanes of one place add up", f"{told}. Lanes {', '.join(map(str, sorted(left)))} add to memory.", counted=("", told))])


def pair_panel(title, place, length, first):
    """An array of halves whose first one is the lower (0) or the upper (1) half of a word, and how one of them is added to."""
    cell, top = 34, 26
    upper = (place + first) % 2 == 1
    neighbour = place - 1 if upper else place + 1
    alone = not 0 <= neighbour < length
    told = "no neighbour in the array: the loop" if alone else "one reduction of a pair"
    body = [text(0, 16, title, "title")]
    for half in range(length):
        kind, words = ("conflict-mark" if alone else "mark", "x") if half == place else ("mark", "-0.0") if half == neighbour else ("cell", "")
        body.append(labelled((half + first) * cell, top, cell, 24, words, kind))
    body += [boxes([(word * 2 * cell, top) for word in range((length + first + 1) // 2)], 2 * cell, 24, "edge thick"),
             text(0, top + 44, told)]
    return panel(top + 52, body, f"{title}: a half and its neighbour", f"Place {place} of {length}: {told}.", counted=(title, told))


def paired(arguments):
    """`paired 2 of 7`: how chapter 4's v4 adds to place 2 of 7 halves, in an array that begins at a word and in one that does not."""
    match = re.fullmatch(r"(\d+) of (\d+)", arguments)
    if not match or int(match[1]) >= int(match[2]):
        raise Problem(f"`paired 2 of 7` is wanted, not {arguments}")
    place, length = map(int, match.groups())
    return panels(pair_panel(title, place, length, first) for first, title in enumerate(("dst begins at a word", "dst begins inside a word")))


def tiled(arguments):
    """`tiled 4 blocks 8 bins block 2: value * 7 % 16`: 16 values, the place of each, and which block reads and adds which, block 2 above
    all: two neighbouring blocks have the same share of the values, and each has half of the places."""
    match = re.fullmatch(r"(\d+) blocks (\d+) bins block (\d+): (.+)", arguments)
    if not match or int(match[1]) % 2 or int(match[3]) >= int(match[1]):
        raise Problem(f"`tiled 4 blocks 8 bins block 2: value * 7 % 16` is wanted, not {arguments}")
    blocks, bins, chosen, values = int(match[1]), int(match[2]), int(match[3]), 16
    place, share, left = function_of(match[4], "value"), 2 * values // blocks, 66
    cell, top = (WIDTH - left) / values, 54
    body = [text(0, 40, "place", "muted"), text(left, 16, "values in memory", "title"), boxes([(left + n * cell, 26) for n in range(values)], cell, 20)]
    body += [inside(left + n * cell, 26, cell, 20, place(n)) for n in range(values)]
    described, told = [], ""
    for block in range(blocks):
        worker, first, y = block // 2, block % 2 * bins, top + block * 28
        mine = range(worker * share, worker * share + share)
        added = [n for n in mine if 0 <= place(n) - first < bins]
        body += [text(0, y + 15, f"block {block}", "title" if block == chosen else "small"), boxes([(left + n * cell, y) for n in mine], cell, 20)]
        body += [labelled(left + n * cell, y, cell, 20, place(n), "conflict-mark" if block == chosen else "mark") for n in added]
        described.append(f"Block {block} reads values {mine[0]} to {mine[-1]} and adds {', '.join(map(str, added))}.")
        if block == chosen:
            told = f"reads {len(mine)} values, adds {len(added)}: places {first} to {first + bins - 1}"
    bottom = top + blocks * 28
    body.append(text(0, bottom + 14, "boxes: read; filled: added", "muted"))
    return panels([panel(bottom + 22, body, "Which block adds which value", " ".join(described), counted=("", told))])


def looked_up(arguments):
    """`looked_up 3x4x2 dim 0 index 5,0,5 at 13`: how an element's number becomes coordinates, and its place in a tensor whose
    dimension `dim` the index names."""
    match = re.fullmatch(r"([\dx]+) dim (\d+) index ([\d,]+) at (\d+)", arguments)
    if not match:
        raise Problem(f"`looked_up 3x4 dim 0 index 5,0,5 at 7` is wanted, not {arguments}")
    sizes, dim, index, element = numbers(match[1], "x"), int(match[2]), numbers(match[3], ","), int(match[4])
    if dim >= len(sizes) or len(index) != sizes[dim]:
        raise Problem(f"the index has a number for each of {match[1]}'s entries along dimension {dim}")
    at = digits(element, sizes)
    to = [index[coordinate] if d == dim else coordinate for d, coordinate in enumerate(at)]
    rows = max(index) + 1
    target = strides([rows if d == dim else size for d, size in enumerate(sizes)])
    place = sum(coordinate * step for coordinate, step in zip(to, target))
    shown = [("size", sizes, "cell"), ("coordinate", at, "mark"), ("in dst", to, ["conflict-mark" if d == dim else "mark" for d in range(len(sizes))]),
             ("dst stride", target, None)]
    told = [f"index[{at[dim]}] = {index[at[dim]]}; the rest stays as it is", f"added to dst[{place}]"]
    return panels([grid(f"Element {element} of src", [f"dim {d}" for d in range(len(sizes))], shown, told,
                        f"Element {element} has the coordinates {', '.join(map(str, at))} and goes to {', '.join(map(str, to))}: dst[{place}].",
                        counted=("", f"dst[{place}]"))])


def fast_divisor(divisor):
    """(multiplier, shift) of common/cuda/fast_division.cuh in 32 bits."""
    shift = (divisor - 1).bit_length()
    return ((1 << shift) - divisor) * 2**32 // divisor + 1, shift


def multiplied(arguments):
    """`multiplied 1000 by 10`: a quotient by FastDivisor: the upper half of a product, a sum, a shift."""
    match = re.fullmatch(r"(\d+) by (\d+)", arguments)
    if not match or not 1 <= int(match[2]) or int(match[1]) >= 2**31:
        raise Problem(f"`multiplied 1000 by 10` is wanted, not {arguments}")
    n, divisor = map(int, match.groups())
    multiplier, shift = fast_divisor(divisor)
    upper = n * multiplier >> 32
    quotient = upper + n >> shift
    rows = [(f"the host, for {divisor}", f"multiplier {multiplier}, shift {shift}"), ("n x multiplier", f"{n * multiplier}"),
            ("its upper 32 bits", f"{upper}"), ("+ n", f"{upper + n}"), (f"shifted by {shift}", f"{quotient}"),
            (f"n - quotient x {divisor}", f"{n - quotient * divisor}")]
    body, left = [text(0, 16, f"n = {n}, divided by {divisor}", "title")], 132
    for at, (words, value) in enumerate(rows):
        y = 28 + 30 * at
        body += [text(0, y + 15, words, "muted" if at == 0 else ""), labelled(left, y, WIDTH - left, 22, value, "cell" if at < 4 else "mark", 'rx="4"')]
    told = f"{n} / {divisor} = {quotient}, remainder {n - quotient * divisor}"
    bottom = 28 + 30 * len(rows)
    body.append(text(0, bottom + 14, told))
    return panels([panel(bottom + 22, body, "A division by multiplying", f"{told}; multiplier {multiplier}, shift {shift}.", counted=("", told))])


def sorted_tile(arguments):
    """`sorted_tile 3,1,0,3,1,3,0,1 by 2`: the rows that a tile's entries name, their order by row, and the sums of two groups of threads."""
    match = re.fullmatch(r"([\d,]+) by (\d+)", arguments)
    if not match:
        raise Problem(f"`sorted_tile 3,1,0,3 by 2` is wanted, not {arguments}")
    rows, groups = numbers(match[1], ","), int(match[2])
    counts = [rows.count(row) for row in range(max(rows) + 1)]
    begins = [sum(counts[:row]) for row in range(len(counts))]
    order = sorted(range(len(rows)), key=lambda entry: (rows[entry], entry))
    stretch = -(-len(rows) // groups)
    left, height = 96, 22
    cell = (WIDTH - left) / len(rows)
    body = [text(left, 14, "a tile's entries, 0 to " + str(len(rows) - 1), "muted"), text(0, 38, "their rows", "small")]
    body += [labelled(left + at * cell, 22, cell, height, row) for at, row in enumerate(rows)]
    body += [text(0, 84, "row: begins at", "small")]
    wide = (WIDTH - left) / len(counts)
    body += [labelled(left + row * wide + 1, 68, wide - 2, height, f"{row}: {begin}", "cell", 'rx="4"') for row, begin in enumerate(begins)]
    body += [text(0, 130, "sorted", "small")]
    body += [labelled(left + at * cell, 114, cell, height, entry, "cell" if sorted(set(rows)).index(rows[entry]) % 2 else "mark") for at, entry in enumerate(order)]
    sums, described = 0, []
    for group in range(groups):
        mine = order[group * stretch:(group + 1) * stretch]
        x = left + group * stretch * cell
        named = list(dict.fromkeys(rows[entry] for entry in mine))
        sums += len(named)
        body += [box(x + 1, 142, len(mine) * cell - 2, 8, "edge"), inside(x, 152, len(mine) * cell, 20, f"group {group}", "small"),
                 inside(x, 170, len(mine) * cell, 20, f"rows {', '.join(map(str, named))}", "small")]
        described.append(f"Group {group} adds rows {', '.join(map(str, named))}.")
    told = f"{count(len(rows), 'entry').replace('entrys', 'entries')}, {count(sums, 'addition')}"
    body.append(text(0, 208, told))
    return panels([panel(216, body, "A tile sorted by row", f"Entries in the order {', '.join(map(str, order))}. {' '.join(described)} {told}.", counted=("", told))])


def filling(arguments):
    """`filling 132x2048 15 entries of 1048576 | 15 entries of 1`: how many threads v2 and v3 of chapter 5 have work for, beside what the
    device holds, and which of them v4 takes."""
    device, _, rest = arguments.partition(" ")
    blocks, threads = numbers(device, "x")
    holds, left, top = blocks * threads, 96, 26
    body, described, y = [], [], 0
    for part in rest.split("|"):
        match = re.fullmatch(r"(\d+) entries of (\d+)", part.strip())
        if not match:
            raise Problem(f"`15 entries of 1024` is wanted, not {part}")
        entries, row = map(int, match.groups())
        unit = (WIDTH - left) / top
        chosen = "v2" if entries <= 16 and row >= holds else "v3"
        body.append(text(0, y + 16, f"{entries:,} entries of {row:,}: v4 takes {chosen}", "title"))
        for at, (name, work) in enumerate((("v2: a row", row), ("v3: all of src", row * entries))):
            place = y + 28 + 24 * at
            body += [text(left - 8, place + 12, name, "", "end"),
                     box(left, place, max(2, math.log2(work) * unit), 16, "mark" if name[:2] == chosen else "conflict-mark", 'rx="2"'),
                     text(left + 6, place + 13, f"{work:,} threads", "small")]
        x = left + math.log2(holds) * unit
        body += [line(x, y + 24, x, y + 76, "limit"), text(x, y + 90, f"{holds:,} fit the device", "muted", "end")]
        described.append(f"{entries} entries of {row}: v2 has work for {row} threads, v3 for {row * entries}; v4 takes {chosen}.")
        y += 108
    return panels([panel(y - 10, body, "Threads that have work", " ".join(described))])


def upsampled(arguments):
    """`upsampled 2x4 to 4x8 at 13`: an image, the larger one, and the input that output 13 shows."""
    match = re.fullmatch(r"(\d+x\d+) to (\d+x\d+) at (\d+)", arguments)
    if not match:
        raise Problem(f"`upsampled 2x4 to 4x8 at 13` is wanted, not {arguments}")
    (in_rows, in_columns), (out_rows, out_columns), output = numbers(match[1], "x"), numbers(match[2], "x"), int(match[3])
    row, column = divmod(output, out_columns)
    if row >= out_rows:
        raise Problem(f"there is no output {output} of {match[2]}")

    def source(r, c):  # At the scale out / in, as chapter 6's rule.
        return r * in_rows // out_rows * in_columns + c * in_columns // out_columns

    cell = min(28, WIDTH / out_columns)
    shown = source(row, column)
    body, top = [text(0, 16, "the input's numbers", "title")], 26
    body += [labelled(n % in_columns * cell, top + n // in_columns * cell, cell, cell, n, "conflict-mark" if n == shown else "cell") for n in range(in_rows * in_columns)]
    top += in_rows * cell + 30
    body.append(text(0, top - 8, "which of them each output shows", "title"))
    copies = 0
    for r in range(out_rows):
        for c in range(out_columns):
            same = source(r, c) == shown
            copies += same
            here = (r, c) == (row, column)
            body.append(labelled(c * cell, top + r * cell, cell, cell, source(r, c), "conflict-mark" if here else "mark" if same else "cell"))
    bottom = top + out_rows * cell
    told = f"output {output}: row {row}, column {column}, so input {shown}"
    body.append(text(0, bottom + 20, told))
    return panels([panel(bottom + 28, body, "Which input an output shows", f"{told}; {copies} outputs read it.", counted=("", f"input {shown}"))])
