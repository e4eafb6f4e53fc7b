"""Charts as SVG, put into the page itself, so that the theme's colours reach them in light and dark."""

import html
import math

from records import is_yardstick, of_step, seconds_of, share_text, time_text

WIDTH = 720
PHONE = 358  # As wide as the text on a narrow phone.
LEFT = 160  # Where bars begin.
ROW = 22
BAR = 13


def svg(height, body, title, description, classes="", width=WIDTH, more=""):
    return (f'<svg class="chart {classes}" viewBox="0 0 {width} {height:g}" width="{width}" height="{height:g}" role="img" '
            f'xmlns="http://www.w3.org/2000/svg"{more}><title>{html.escape(title)}</title>'
            f"<desc>{html.escape(description)}</desc>{body}</svg>")


def text(x, y, words, classes="", anchor="start"):
    return f'<text x="{x:g}" y="{y:g}" class="{classes}" text-anchor="{anchor}">{html.escape(str(words))}</text>'


def figure(drawing, caption):
    return (f'<figure><div class="scroll" tabindex="0" role="group" aria-label="figure">{drawing}</div><figcaption>{caption}'
            "</figcaption></figure>")


def ladder(case, steps, title):
    """Each step's share of the copy's speed in one case, with its time; a step that did not run there has no row. A phone shows
    a narrow one, without the times."""
    return ladder_of(case, steps, title, False) + ladder_of(case, steps, title, True)


def ladder_of(case, steps, title, narrow):
    rows = [(step, of_step(case, step.version)) for step in steps]
    rows = [(step, row) for step, row in rows if row]
    top = max([1.0] + [case["copy_seconds"] / row["seconds"]["median"] for _, row in rows])
    # Where the bars begin and the longest one ends; the columns' right edges.
    left, right, shares, times = (16 + 7 * max(len(step.title) for step, _ in rows), 296, PHONE - 2, None) if narrow else (LEFT, 560, 632, WIDTH)
    scale = (right - left) / top
    line = left + scale
    lines = title.rsplit(": ", 1) if narrow else [title]
    under = 24 + 16 * len(lines)
    body = [text(0, 16 * number, words, "title" if number == 1 else "muted") for number, words in enumerate(lines, 1)]
    body += [text(line - 6, under, f"a plain copy: {time_text(case['copy_seconds'])}", "muted", "end"), text(shares, under, "of copy", "muted", "end")]
    if times:
        body.append(text(times, under, "median", "muted", "end"))
    y, words = under + 12, []
    for step, row in rows:
        median = row["seconds"]["median"]
        share = case["copy_seconds"] / median
        body.append(text(left - 8, y + 11, step.title, "", "end"))
        body.append(f'<rect class="bar" x="{left}" y="{y}" width="{max(1.0, share * scale):.1f}" height="{BAR}" rx="2"/>')
        body.append(text(shares, y + 11, share_text(case, median), "value", "end"))
        if times:
            body.append(text(times, y + 11, time_text(median), "value", "end"))
        words.append(f"{step.title} {share_text(case, median)}")
        y += ROW
    body.append(f'<line class="limit" x1="{line:.1f}" y1="{under + 6}" x2="{line:.1f}" y2="{y - 4}"/>')
    return svg(y + 2, "".join(body), title, "Share of the copy's speed. " + ", ".join(words), "narrow" if narrow else "wide", PHONE if narrow else WIDTH)


def clocks(case, title):
    """What each way to time reads of the same launch; the line is what the kernel takes from a cold L2."""
    rows = [(f"{step['version']} {step['name'].replace('_', ' ')}", step["seconds"]["median"]) for step in case["steps"] if step["status"] == "pass"]
    left, right, top = 16 + 7 * max(len(name) for name, _ in rows), PHONE - 66, 58
    scale = (right - left) / max(case["cold_seconds"], *(seconds for _, seconds in rows))
    line, bottom = left + case["cold_seconds"] * scale, top + ROW * len(rows)
    body = [text(0, 16, title, "title"), text(0, 36, f"{case['name']}; the kernel: {time_text(case['cold_seconds'])}", "muted")]
    for row, (name, seconds) in enumerate(rows):
        y = top + ROW * row
        body += [text(left - 8, y + 11, name, "", "end"), text(PHONE, y + 11, time_text(seconds), "value", "end"),
                 f'<rect class="bar" x="{left}" y="{y}" width="{max(1.0, seconds * scale):.1f}" height="{BAR}" rx="2"/>']
    body.append(f'<line class="limit" x1="{line:.1f}" y1="{top - 14}" x2="{line:.1f}" y2="{bottom - 4}"/>')
    return svg(bottom + 2, "".join(body), title, f"{case['name']}: " + ", ".join(f"{name} {time_text(seconds)}" for name, seconds in rows), width=PHONE)


def modelled_and_measured(pairs, title):
    """Speedups over v1, (label, measured, modelled) each, as points on two logarithmic axes; the line is agreement."""
    low = min(min(a, b) for _, a, b in pairs)
    high = max(max(a, b) for _, a, b in pairs)
    low, high = math.log2(low) - 0.3, math.log2(high) + 0.3
    size, left, top = PHONE - 80, 60, 48

    def place(value):
        return (math.log2(value) - low) / (high - low) * size

    body = [text(0, 16, title, "title"),
            f'<rect class="frame" x="{left}" y="{top}" width="{size}" height="{size}"/>',
            f'<line class="limit" x1="{left}" y1="{top + size}" x2="{left + size}" y2="{top}"/>']
    every = math.ceil((high - low) / 6)  # More labels than that would touch.
    for power in range(math.ceil(low / every) * every, math.floor(high) + 1, every):
        at = place(2.0 ** power)
        label = f"{2 ** power}x" if power >= 0 else f"1/{2 ** -power}x"
        body.append(f'<line class="grid" x1="{left + at:.1f}" y1="{top}" x2="{left + at:.1f}" y2="{top + size}"/>')
        body.append(f'<line class="grid" x1="{left}" y1="{top + size - at:.1f}" x2="{left + size}" y2="{top + size - at:.1f}"/>')
        body.append(text(left + at, top + size + 16, label, "muted", "middle"))
        body.append(text(left - 6, top + size - at + 4, label, "muted", "end"))
    for label, measured, modelled in pairs:
        body.append(f'<circle class="point" cx="{left + place(measured):.1f}" cy="{top + size - place(modelled):.1f}" r="3.5">'
                    f"<title>{html.escape(label)}: measured {measured:.2f}x, modelled {modelled:.2f}x</title></circle>")
    body.append(text(left + size / 2, top + size + 36, "measured gain over v1", "", "middle"))
    body.append(text(left, top - 8, "modelled gain over v1", "muted"))
    off = sorted(max(a / b, b / a) for _, a, b in pairs)
    for row, words in enumerate((f"{len(pairs)} steps and cases", f"off by {off[len(off) // 2]:.2f}x in the median, by {off[-1]:.2f}x at worst")):
        body.append(text(0, top + size + 62 + 20 * row, words))
    return svg(top + size + 90, "".join(body), title,
               f"{len(pairs)} points; the model is off by a factor of {off[len(off) // 2]:.2f} in the median.", width=PHONE)


def gains(measured, modelled, parameters=None):
    """(label, measured, modelled) gains over v1 of all steps and cases that both records have."""
    found = []
    for case in measured.cases:
        other = modelled.case(case["parameters"])
        first = seconds_of(case, "v1")
        if not other or not first or not seconds_of(other, "v1"):
            continue
        if parameters and case["parameters"] not in parameters:
            continue
        for step in case["steps"]:
            ours, theirs = seconds_of(case, step["version"]), seconds_of(other, step["version"])
            if ours and theirs and not is_yardstick(step) and step["version"] != "v1":
                found.append((f"{step['version']} {step['name']}, {case['name']}", first / ours,
                              seconds_of(other, "v1") / theirs))
    return found
