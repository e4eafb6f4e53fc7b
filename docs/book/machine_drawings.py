"""How the machine is built and what it can do: threads and warps, latencies, bytes under way, the roofline. What was measured is
read from the microbenchmarks' record."""

import math
from fractions import Fraction

from charts import svg, text
from records import MEASURED, Problem, load, seconds_of
from sketch import WIDTH, box, labelled, line, panel

LANES = 32
LEFT, SIZE, TOP = 68, 264, 46  # Of a chart with two axes: where it begins, and its width.


def machine(arguments):
    """`machine copy: 128`: a kernel's blocks, one block's warps and one warp's lanes, with this many threads per block."""
    name, _, threads = arguments.partition(":")
    threads = int(threads)
    if threads % LANES or not LANES <= threads <= 4 * LANES:
        raise Problem(f"a block that is drawn has 32, 64, 96 or 128 threads, not {threads}")
    warps, shown, cell = threads // LANES, 5, WIDTH / LANES
    body = [text(0, 16, f"{name.strip()}: its blocks, each on some multiprocessor", "muted")]
    for block in range(shown):
        words = f"block {block}" if block < shown - 1 else "..."
        body.append(labelled(block * WIDTH / shown, 24, WIDTH / shown - 6, 24, words, "mark" if block == 1 else "cell", 'rx="4"'))
    first = WIDTH / shown
    body += [line(first, 48, 0, 84, "faint"), line(2 * first - 6, 48, WIDTH, 84, "faint"),
             text(42, 78, f"block 1: {threads} threads are {warps} warps", "muted")]
    for warp in range(warps):
        words = f"{warp * LANES} to {warp * LANES + LANES - 1}"
        body.append(labelled(warp * WIDTH / warps, 86, WIDTH / warps - 6, 24, words, "mark" if warp == warps // 2 else "cell", 'rx="4"'))
    marked, wide = warps // 2 * WIDTH / warps, WIDTH / warps
    body += [line(marked, 110, 0, 146, "faint"), line(marked + wide - 6, 110, WIDTH, 146, "faint"),
             text(92, 140, f"warp {warps // 2}: 32 lanes run one instruction", "muted")]
    body += [box(lane * cell, 148, cell, 24, "mark" if lane == 6 else "cell") for lane in range(LANES)]
    body += [text(6.5 * cell, 188, "lane 6", "small", "middle"), text(WIDTH, 188, "lane 31", "small", "end")]
    return panel(196, body, "Blocks, warps, lanes",
                 f"A kernel runs as blocks. A block of {threads} threads is {warps} warps of 32 lanes, which run one instruction at a time.")


def microbenchmarks():
    record = load(f"{MEASURED}/microbenchmarks")
    if not record:
        raise Problem(f"there is no docs/results/{MEASURED}/microbenchmarks.json")
    return record


def latencies(_):
    """`latencies`: clocks until a load's value can be used, by where it is found."""
    record = microbenchmarks()
    found = record["memory"]["latency"]
    rows = [("shared memory", record["on_chip"]["shared_latency_clocks"]), ("L1", found["l1"]["clocks"]), ("L2", found["l2"]["clocks"]),
            ("DRAM", found["dram"]["clocks"])]
    left, number = 112, 84
    scale = (WIDTH - left - number) / rows[-1][1]
    body = []
    for place, (name, clocks) in enumerate(rows):
        y = 8 + 30 * place
        body += [text(left - 8, y + 14, name, "", "end"), box(left, y, clocks * scale, 20, "bar", 'rx="2"'),
                 text(left + clocks * scale + 6, y + 14, f"{clocks:.0f} clocks", "value")]
    return panel(8 + 30 * len(rows), body, "Latency of a load", ", ".join(f"{name}: {clocks:.0f} clocks" for name, clocks in rows))


def axis(low, high):
    """The place of a value between two, on a logarithmic axis."""
    return lambda value: (math.log2(value) - math.log2(low)) / (math.log2(high) - math.log2(low))


def size_text(count):
    return f"{count // 1024} KB" if count >= 1024 else f"{count} B"


def speed_text(speed):
    return f"{speed / 1e12:g} TB/s" if speed >= 1e12 else f"{speed / 1e9:g} GB/s"


def littles_law(_):
    """`littles_law`: speed of reading from DRAM by the bytes that each multiprocessor has under way."""
    record = microbenchmarks()
    rows = [row for row in record["memory"]["bytes_in_flight"] if row["from"] == "dram"]
    most = record["ratios"]["dram_read_bytes_per_second"]
    multiprocessors, seconds = record["device"]["multiprocessors"], record["memory"]["latency"]["dram"]["seconds"]
    x, height = axis(128, 131072), 260
    y = axis(3.125e10, 5e12)

    def at(count, speed):
        return LEFT + x(count) * SIZE, TOP + height - y(speed) * height

    body = [box(LEFT, TOP, SIZE, height, "frame")]
    for power in range(7, 18, 2):
        place = LEFT + x(2 ** power) * SIZE
        body.append(line(place, TOP, place, TOP + height, "grid"))
        if power < 17:  # The text names 32 KB; a label at the frame's end has no room beside it.
            body.append(text(place, TOP + height + 16, size_text(2 ** power), "muted", "middle"))
    for speed in (60e9, 250e9, 1e12, 4e12):
        _, place = at(128, speed)
        body += [line(LEFT, place, LEFT + SIZE, place, "grid"), text(LEFT - 6, place + 4, speed_text(speed), "muted", "end")]
    bend = most * seconds / multiprocessors
    start, corner, end = at(128, 128 * multiprocessors / seconds), at(bend, most), at(131072, most)
    body += [line(*start, *corner, "limit"), line(*corner, *end, "limit"),
             text(LEFT + SIZE, TOP - 6, f"the most: {most / 1e12:.2f} TB/s", "muted", "end")]
    for row in rows:
        px, py = at(row["bytes_in_flight_a_multiprocessor"], row["bytes_per_second"])
        told = (f"{row['warps_a_multiprocessor']} warps, {row['accesses_in_flight_a_thread']} loads of {row['bytes_an_access']} bytes per thread: "
                f"{row['bytes_per_second'] / 1e12:.2f} TB/s")
        body.append(f'<circle class="point" cx="{px:.1f}" cy="{py:.1f}" r="4"><title>{told}</title></circle>')
    body += [text(0, TOP - 28, "Reading from DRAM, by bytes under way", "title"),
             text(LEFT + 8, TOP + 30, "dashed: Little's law", "muted"),
             text(LEFT + SIZE / 2, TOP + height + 38, "bytes under way per multiprocessor", "", "middle")]
    few, many = rows[0], max(rows, key=lambda row: row["bytes_per_second"])
    return svg(TOP + height + 46, "".join(body), "Speed by bytes under way",
               f"From {few['bytes_per_second'] / 1e12:.2f} TB/s with 128 bytes under way per multiprocessor to {many['bytes_per_second'] / 1e12:.2f} TB/s; "
               "the speed grows in proportion, and bends below the memory's limit.", "panel", WIDTH)


def roofline(arguments, find):
    """`roofline 1 float: 1/12 | 3 float: 0`: of each chapter a case, by its name in book.toml, and its operations per byte; `find` gives a
    chapter."""
    record = microbenchmarks()
    most = record["ratios"]["dram_read_bytes_per_second"]
    [add] = [row for row in record["instructions"]["rows"] if (row["operation"], row["type"]) == ("add", "float")]
    peak = LANES / add["clocks_a_warp"] * record["device"]["multiprocessors"] * record["device"]["clock_hertz"]
    ridge, height = peak / most, 240
    low, high = 1 / 64, 64
    x, y = axis(low, high), axis(0.25e12, 8e12)
    zero = LEFT + 22  # What only moves stands left of the axis' break.
    begin, width = LEFT + 58, SIZE - 58

    def place(intensity):
        return begin + x(intensity) * width if intensity else zero

    def level(speed):
        return TOP + height - y(speed) * height

    body = [text(0, TOP - 26, "Bytes per second, by operations per byte", "title"), box(LEFT, TOP, SIZE, height, "frame")]
    for speed in (0.5e12, 1e12, 2e12, 4e12):
        body += [line(LEFT, level(speed), LEFT + SIZE, level(speed), "grid"), text(LEFT - 6, level(speed) + 4, speed_text(speed), "muted", "end")]
    body.append(text(zero, TOP + height + 16, "none", "muted", "middle"))
    for power in range(-6, 7, 3):
        label = f"{2 ** power}" if power >= 0 else f"1/{2 ** -power}"
        body += [line(place(2.0 ** power), TOP, place(2.0 ** power), TOP + height, "grid"), text(place(2.0 ** power), TOP + height + 16, label, "muted", "middle")]
    body += [line(LEFT, level(most), place(ridge), level(most), "limit"), line(place(ridge), level(most), place(high), level(peak / high), "limit"),
             text(LEFT + 8, level(most) - 8, f"the memory: {most / 1e12:.2f} TB/s", "muted"),
             text(place(ridge) - 6, level(most) + 20, f"{ridge:.1f} per byte", "muted", "end"),
             text(LEFT + SIZE / 2, TOP + height + 38, "operations per byte moved", "", "middle")]
    groups, words = {}, []
    for part in arguments.split("|"):
        what, _, intensity = part.partition(":")
        number, name = what.split()
        chapter = find(int(number))
        case = chapter.times(MEASURED).case(chapter.book["case"][name])
        speed = case["bytes_moved"] / seconds_of(case, chapter.dispatched.version)
        groups.setdefault(Fraction(intensity.strip()), []).append((chapter, speed))
        words.append(f"chapter {chapter.number}: {float(Fraction(intensity.strip())):.2g} operations per byte, {speed / 1e12:.2f} TB/s")
    for intensity, those in groups.items():
        for rank, (chapter, speed) in enumerate(sorted(those, key=lambda pair: -pair[1])):
            px, py = place(float(intensity)), level(speed)
            body.append(f'<circle class="point" cx="{px:.1f}" cy="{py:.1f}" r="4"><title>{chapter.title}: {speed / 1e12:.2f} TB/s</title></circle>')
            body += [line(px + 3, py + 3, px + 8, TOP + 92 + 18 * rank, "faint"), text(px + 10, TOP + 96 + 18 * rank, f"chapter {chapter.number}", "small")]
    return svg(TOP + height + 46, "".join(body), "Roofline of an H200", f"The roof is {most / 1e12:.2f} TB/s up to {ridge:.1f} operations per byte. "
               + "; ".join(words), "panel", WIDTH)
