"""Where the lanes of a warp go in memory, from the expressions of their addresses."""

import re
import textwrap

from charts import text
from records import Problem
from sketch import WIDTH, box, boxes, count, function_of, labelled, line, numbers, pair, panel, panels, parts, paths, readable

LANES = BANKS = 32
SECTOR = 32  # Bytes.
CELL = 10
TITLE = 18  # Letters of a small panel's title in one line.


def words_of(expression):
    """The word (of 4 bytes) that each lane reads, as `expression` says: `lane * 33`."""
    word = function_of(expression, "lane")
    return [word(lane) for lane in range(LANES)]


def turns_of(words):
    """{bank: different words in it that are wanted}: each takes a turn. Lanes that want one word share its turn."""
    found = {}
    for word in set(words):
        found[word % BANKS] = found.get(word % BANKS, 0) + 1
    return found


def bank_panel(title, expression):
    """One warp that reads from shared memory: a row is a lane, a column a bank, and a cell is where the lane reads."""
    size, left = BANKS * CELL, 62
    heads = textwrap.wrap(title, 44)
    top = 17 * len(heads) + 42
    bottom = top + LANES * CELL
    words = words_of(expression)
    turns, places = turns_of(words), [word % BANKS for word in words]
    most = max(turns.values())
    told = (f"{most} turns: {most} words of one bank are wanted" if most > 1 else "1 turn: each lane has a bank of its own"
            if len(turns) == LANES else "1 turn: no two words share a bank")
    body = [text(left, 16 + 17 * number, words, "title") for number, words in enumerate(heads)]
    body += [text(left, top - 24, f"reads word {readable(expression)}", "muted"), text(left, top - 7, "bank 0", "muted"),
             text(left + size, top - 7, "bank 31", "muted", "end"), text(left - 8, top + 9, "lane 0", "muted", "end"),
             text(left - 8, bottom - 1, "lane 31", "muted", "end"),
             f'<rect class="frame" x="{left}" y="{top}" width="{size}" height="{LANES * CELL}"/>']
    body.append(paths([(left + at, top, f"v{size}") for at in range(4 * CELL, size, 4 * CELL)]
                      + [(left, top + at, f"h{size}") for at in range(4 * CELL, size, 4 * CELL)], "grid"))
    for lane, bank in enumerate(places):
        kind = "bar" if turns[bank] == 1 else "conflict"
        body.append(f'<rect class="{kind}" x="{left + bank * CELL + 1}" y="{top + lane * CELL + 1}" width="{CELL - 2}" height="{CELL - 2}">'
                    f"<title>lane {lane}, bank {bank}</title></rect>")
    body.append(text(left, bottom + 20, told))
    return panel(bottom + 28, body, f"{title}: which bank each lane reads from",
                 f"Lanes 0 to 31 read from banks {', '.join(map(str, places))}: {told}.", left + size + 2, (title, count(most, "turn")))


def banks(arguments):
    """`banks v4a: lane * 32 | v4b: lane * 33`: the word of 4 bytes that each lane reads from shared memory."""
    return panels(bank_panel(*part) for part in parts(arguments))


def touched(expression, size):
    """{sector: {byte}} that a request touches, where each lane has `size` bytes from the address on."""
    address = function_of(expression, "lane")
    found = {}
    for lane in range(LANES):
        for byte in range(address(lane), address(lane) + size):
            found.setdefault(byte // SECTOR, set()).add(byte % SECTOR)
    return dict(sorted(found.items()))


def spread(sectors):
    """How the sectors lie to each other, in words."""
    steps = {after - before for before, after in zip(sectors, sectors[1:])}
    if steps <= {1}:
        return "side by side"
    return f"{steps.pop() * SECTOR} bytes apart" if len(steps) == 1 else "apart"


def sector_panel(title, what):
    """Lanes above, the sectors that their request touches below, each of eight cells of 4 bytes."""
    expression, size = pair(what)
    found, address = touched(expression, int(size)), function_of(expression, "lane")
    left, top, below = (WIDTH - LANES * CELL) / 2, 44, 84
    slot = LANES * CELL / len(found)
    across = next(cells for cells in (8, 4, 2, 1) if slot / cells >= 7 or cells == 1)
    width, height = (slot - 3) / across, 9
    used = sum(map(len, found.values()))
    told = ", ".join([count(len(found), "sector"), *([spread(list(found))] if len(found) > 1 else [])])
    body = [text(0, 16, title, "title"), text(left, top - 6, "lane 0", "muted"), text(WIDTH - left, top - 6, "lane 31", "muted", "end")]
    body.append(boxes([(left + lane * CELL, top) for lane in range(LANES)], CELL, CELL))
    place = {sector: left + number * slot + 1.5 for number, sector in enumerate(found)}
    links = []
    for lane in range(LANES):
        sector, byte = divmod(address(lane), SECTOR)
        x = left + (lane + .5) * CELL
        links.append((x, top + CELL, f"L{place[sector] + (byte // 4 % across + .5) * width:g} {below}"))
    body.append(paths(links, "link"))
    cells = []
    for sector, at in place.items():
        for cell in range(8):
            x, y = at + cell % across * width, below + cell // across * height
            taken = len(found[sector] & set(range(4 * cell, 4 * cell + 4))) / 4
            cells.append((x, y))
            body.append(box(x, y, width * taken, height, "bar") if taken else "")
    body += [boxes(cells, width, height), boxes([(at, below) for at in place.values()], width * across, 8 // across * height, "edge")]
    bottom = below + 8 // across * height
    body += [text(0, bottom + 20, told), text(0, bottom + 38, f"{used} of {SECTOR * len(found)} bytes are used")]
    return panel(bottom + 46, body, f"{title}: the sectors of a warp's request",
                 f"Lane n has {size} bytes from byte {readable(expression).replace('lane', 'n')} on: {told}; {used} of {SECTOR * len(found)} bytes are used.",
                 counted=(title, count(len(found), "sector")))


def sectors(arguments):
    """`sectors v1 writes: lane * 4, 4 | v1 reads: lane * 4096, 4`: the byte where each lane begins, and its bytes."""
    return panels(sector_panel(*part) for part in parts(arguments))


def carried_panel(title, what, elements, size):
    """A row of elements, and above each piece of it the thread that moves it."""
    expression, width = pair(what)
    start, width, row = function_of(expression, "thread"), int(width), elements * size
    threads = []
    while start(len(threads)) + width <= row and len(threads) < row:
        threads.append(start(len(threads)))
    unit = WIDTH / row
    told = f"{count(len(threads), 'thread')} of {count(width, 'byte')}"
    body = [text(0, 16, title, "title"), text(WIDTH, 16, told, "muted", "end")]
    for thread, byte in enumerate(threads):
        name = f"thread {thread}" if width * unit > 60 else thread
        body.append(labelled(byte * unit + 1, 26, width * unit - 2, 22, name, "mark", 'rx="4"'))
        body.append(line((byte + width / 2) * unit, 48, (byte + width / 2) * unit, 58))
    body += [box(element * size * unit, 58, size * unit, 16) for element in range(elements)]
    return panel(78, body, f"{title}: which thread moves which bytes of a row",
                 f"A row of {elements} elements of {count(size, 'byte')}: {told}.", counted=(title, told))


def carried(arguments):
    """`carried 16x2 v2b: thread * 2, 2 | v3: thread * 16, 16`: a row of 16 elements of 2 bytes; the byte where each thread begins, and
    its bytes."""
    row, _, rest = arguments.partition(" ")
    elements, size = numbers(row, "x")
    return panels(carried_panel(title, what, elements, size) for title, what in parts(rest))


def place_panel(title, what, rows, columns, lanes, pieces, lines):
    """A tile, and in it the elements that the lanes of a warp have; with their numbers where there is room."""
    row, column = (function_of(each, "lane", "part") for each in pair(what))
    cell, top = 144 / columns, 17 * lines + 10
    bottom = top + rows * cell
    places = {(row(lane, part), column(lane, part)): lane for lane in range(lanes) for part in range(pieces)}
    if not all(0 <= r < rows and 0 <= c < columns for r, c in places):
        raise Problem(f"{what} leads out of the tile of {rows}x{columns}")
    body = [text(0, 16 + 17 * number, words, "title") for number, words in enumerate(textwrap.wrap(title, TITLE))]
    body += [line(0, top + r * cell, 144, top + r * cell, "grid") for r in range(0, rows + 1, max(1, rows // 8))]
    body += [line(c * cell, top, c * cell, bottom, "grid") for c in range(0, columns + 1, max(1, columns // 8))]
    for (r, c), lane in places.items():
        body.append(labelled(c * cell, top + r * cell, cell, cell, lane, "mark") if cell >= 16 else
                    box(c * cell, top + r * cell, cell, cell, "bar"))
    met, ranks = ({place[axis] for place in places} for axis in (0, 1))
    told = f"row {min(met)}" if len(met) == 1 else f"column {min(ranks)}" if len(ranks) == 1 else f"{len(met)} rows"
    body.append(text(0, bottom + 18, told, "muted"))
    return panel(bottom + 24, body, f"{title}: {told}",
                 f"In a tile of {rows} x {columns}, lane 0 is at {sorted(p for p in places if places[p] == 0)}, "
                 f"lane {lanes - 1} at {sorted(p for p in places if places[p] == lanes - 1)}.", 148, (title, told))


def places(arguments):
    """`places 8x8 lanes 4 parts 2 load: 2, lane * 2 + part | store: lane * 2 + part, 3`: row and column in a tile of each lane's parts."""
    match = re.fullmatch(r"(\d+)x(\d+)(?: lanes (\d+))?(?: parts (\d+))? (.+)", arguments)
    if not match:
        raise Problem(f"`places 32x32 title: row, column` is wanted, not {arguments}")
    rows, columns, lanes, pieces = (int(number or default) for number, default in zip(match.groups(), (0, 0, LANES, 1)))
    drawn = parts(match[5])
    lines = max(len(textwrap.wrap(title, TITLE)) for title, _ in drawn)  # So that all tiles begin at one height.
    return panels(place_panel(*part, rows, columns, lanes, pieces, lines) for part in drawn)


def chunk_rows(what):
    """[(row, [the place of chunk 0, of chunk 1, ...])] of the rows that eight lanes read."""
    row, place = pair(what)
    row, place = function_of(row, "lane"), function_of(place, "chunk", "row")
    found = [(row(lane), [place(chunk, row(lane)) for chunk in range(8)]) for lane in range(8)]
    if any(sorted(spots) != list(range(8)) for _, spots in found):
        raise Problem(f"{what} puts two chunks into one place, or one beyond the eight")
    return found


def chunk_panel(title, what):
    """Rows of eight chunks of 16 bytes: which chunk stands at which place, that is in which four banks."""
    found, left, width, height = chunk_rows(what), 58, 35, 20
    heads = textwrap.wrap(title, 44)
    top = 17 * len(heads) + 26
    first = [spots[0] for _, spots in found]
    turns = max(map(first.count, first))
    told = f"chunk 0 of these rows: {count(turns, 'turn')}"
    body = [text(0, 16 + 17 * number, words, "title") for number, words in enumerate(heads)]
    body += [text(left, top - 6, "banks 0-3", "muted"), text(WIDTH, top - 6, "banks 28-31", "muted", "end")]
    for number, (row, spots) in enumerate(found):
        y = top + number * height
        body.append(text(left - 8, y + 15, f"row {row}", "muted", "end"))
        body += [labelled(left + place * width, y, width, height, chunk, "cell" if chunk else "conflict-mark" if first.count(place) > 1 else "mark")
                 for chunk, place in reversed(list(enumerate(spots)))]  # The marked one lies over the others.
    bottom = top + len(found) * height
    body.append(text(left, bottom + 20, told))
    return panel(bottom + 28, body, f"{title}: where chunks stand in their rows",
                 " ".join(f"Row {row} has chunk 0 at place {spots[0]}." for row, spots in found) + f" {told}.", counted=(title, count(turns, "turn")))


def chunks(arguments):
    """`chunks plain: lane * 4, chunk | swizzled: lane * 4, chunk ^ row // 4 % 8`: the rows that eight lanes read, and where a chunk of a
    row stands."""
    return panels(chunk_panel(*part) for part in parts(arguments))
