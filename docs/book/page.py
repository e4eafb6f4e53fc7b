"""A chapter's page: its README.md, and what the book adds from the tree and from what was recorded."""

import collections
import html
import re

import charts
import exercise_boxes
import figures
import listings
import queries
import tables
from chapters import chapters
from charts import figure
from markdown import raw
from records import MEASURED, ROOT, is_noise, load, of_step, origin, seconds_of, share_text, speedup_text, time_text

OPEN_HEIGHT = 660  # A picture of more pixels is folded.


def table(header, rows, classes, caption=""):
    """A table whose cells are HTML already; the first column is a row's head."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join("<tr>" + f'<th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
                   for row in rows)
    told = f"<caption>{caption}</caption>" if caption else ""
    return (f'<div class="scroll" tabindex="0" role="group" aria-label="table"><table class="book {classes}">{told}<thead><tr>'
            f"{head}</tr></thead><tbody>{body}</tbody></table></div>")


def picture_block(picture):
    """A recorded picture; a long one folded. A phone is too narrow for it, and shows what it says in words."""
    height = re.search(r'viewBox="0 0 \d+ (\d+)"', picture.path.read_text(encoding="utf-8"))
    shown = " open" if height and int(height.group(1)) <= OPEN_HEIGHT else ""
    name = picture.path.stem.rpartition("_")[2]
    return (f'<details class="map"{shown}><summary>What a warp touches: {html.escape(name)}</summary>'
            + figure(f'<img src="{picture.path.name}" loading="lazy" alt="{html.escape(picture.description)}"/>', picture.caption)
            + f'<ul class="in-words">{"".join(f"<li>{html.escape(each)}</li>" for each in picture.requests)}</ul>'
            f'<p class="in-words"><a href="{picture.path.name}">The picture</a></p></details>')


def pictures_block(chapter, step):
    return "".join(map(picture_block, figures.pictures(chapter, step)))


def gain_text(before, after):
    return speedup_text(before["median"], after["median"], is_noise(before, after))


def previous_row(case, chapter, step):
    """The row of the nearest step below it, by what is built on what, that ran in the case."""
    return next(filter(None, (of_step(case, other.version) for other in chapter.bases(step))), None)


def modelled_gain(modelled, parameters, version):
    """A step's modelled gain over v1 in a case; empty where the emulator has not run both."""
    other = modelled.case(parameters) if modelled else None
    if not other or not of_step(other, version) or not of_step(other, "v1"):
        return ""
    return f"{seconds_of(other, 'v1') / seconds_of(other, version):.2f}x"


def measured_block(chapter, step, record, modelled):
    """What was measured of a step, and what the emulator modelled, on the ladder's cases. A column that would be empty is
    left out, and so is a step that ran in none of them."""
    rows = []
    for name, case in chapter.main_cases(record):
        row = of_step(case, step.version)
        label = f'<span title="{html.escape(case["name"])}">{html.escape(name)}</span>'
        if not row:
            continue
        first, previous = of_step(case, "v1"), previous_row(case, chapter, step)
        model = "" if step.version == "v1" else modelled_gain(modelled, case["parameters"], step.version)
        rows.append([label, time_text(row["seconds"]["median"]), share_text(case, row["seconds"]["median"]),
                     gain_text(previous["seconds"], row["seconds"]) if previous else "",
                     gain_text(first["seconds"], row["seconds"]) if first and previous else "", model])
    if not rows:
        return f'<p class="muted">{html.escape(why_not(step, record))}</p>'
    header = ["case", "median", "of copy", "over its base", "over v1", "over v1, modelled"]
    kept = [column for column in range(len(header)) if any(row[column] for row in rows)]
    told = "Modelled: what the emulator, which has no GPU, expects. " if 5 in kept else ""
    return table([header[c] for c in kept], [[row[c] for c in kept] for row in rows], "measured", told + html.escape(record.origin()))


def why_not(step, record):
    """Why a step has no times in the ladder's cases."""
    rows = [row for case in record.cases for row in case["steps"] if row["version"] == step.version]
    if not rows:
        return "Not measured: the step is newer than the record."
    ran = sum(row["status"] == "pass" for row in rows)
    reasons = collections.Counter(row.get("reason", "") for row in rows if row["status"] != "pass")
    reason = f" ({reasons.most_common(1)[0][0]})" if reasons and reasons.most_common(1)[0][0] else ""
    return f"Not run in the ladder's cases{reason}; it ran in {ran} of the {len(record.cases)} recorded, which \"All steps\" lists."


# What a step's table of counters shows.
SHOWN_COUNTERS = ("requests", "sectors/request", "store-sectors/request", "reductions", "reduction-sectors/request", "atomics",
                  "shared-atomics", "wavefronts/load", "instructions", "issue")


def counters_block(chapter, step):
    """What Nsight Compute counted of the step, beside the nearest step before it that was counted on the same case."""
    record = load(f"{MEASURED}/chapter{chapter.number}_counters")
    if not record:
        return ""
    parts = []
    for case in dict.fromkeys(entry["case"] for entry in record["launches"] if entry["version"] == step.version):
        counted = {entry["version"] for entry in record["launches"] if entry["case"] == case}
        versions = [other.version for other in chapter.bases(step) if other.version in counted][:1] + [step.version]
        rows = [[queries.COUNTER_WORDS[what]]
                + [tables.counter_text(tables.counter_value(record, case, version, what), what) for version in versions] for what in SHOWN_COUNTERS]
        parts.append(table([html.escape(case), *versions], [row for row in rows if any(cell not in ("", "0") for cell in row[1:])], "counters"))
    if not parts:
        return ""
    told = html.escape(origin(record, f"{MEASURED}/chapter{chapter.number}_counters.json"))
    return f'<details class="counters"><summary>What the profiler counted</summary>{"".join(parts)}<p class="muted">{told}</p></details>'


def machine_code(chapter, step):
    """The recorded machine code of the step's kernels, its marked lines set off."""
    parts = []
    for of_what, (head, code) in listings.listings(chapter).items():
        if not of_what.startswith(f"{step.version}_"):
            continue
        name, _, told = " ".join(head.split()).partition(", ")
        lines = "".join(f'<span class="{"marked" if line.startswith(">") else "same"}">{html.escape(line)}</span>' for line in code)
        parts.append(f'<details class="machine"><summary>Machine code</summary><p>{html.escape(told)}</p><p class="muted"><code>'
                     f'{html.escape(name)}</code>, <code>{listings.file_of(chapter).relative_to(ROOT)}</code></p><pre class="diff" tabindex="0">{lines}'
                     "</pre></details>")
    return "".join(parts)


def full_table(chapter, record):
    """One row a step: its idea, where it ran, and its time in the ladder's cases."""
    cases = chapter.main_cases(record) if record else []
    header = ["step", "idea"] + (["cases run"] if record else []) + [html.escape(name) for name, _ in cases]
    rows = []
    for step in chapter.steps:
        link = f'<a href="chapter{chapter.number}-{step.version}.html">{step.title}</a>' if step.version in chapter.pages else step.title
        row = [link, html.escape(step.summary())]
        if record:
            ran = sum(1 for case in record.cases if of_step(case, step.version))
            row.append(f"{ran} of {len(record.cases)}")
        for _, case in cases:
            seconds = seconds_of(case, step.version)
            row.append(f"{time_text(seconds)} <br/>{share_text(case, seconds)}" if seconds else "-")
        rows.append(row)
    caption = html.escape(record.origin()) if record else "No times are recorded yet." if chapter.by_harness else ""
    return table(header, rows, "steps", caption)


def every_case(chapter, record):
    """One row a case, one column a step: the share of the copy's speed."""
    header = ["case", "moves", "copy"] + [step.version for step in chapter.steps]
    rows = []
    for case in record.cases:
        shares = {step.version: seconds_of(case, step.version) for step in chapter.steps}
        best = min((seconds for seconds in shares.values() if seconds), default=None)
        cells = []
        for step in chapter.steps:
            seconds = shares[step.version]
            words = f"{100 * case['copy_seconds'] / seconds:.0f}%" if seconds else "-"
            cells.append(f"<strong>{words}</strong>" if seconds and seconds == best else words)
        rows.append([html.escape(case["name"]), f"{case['bytes_moved'] / 1e6:,.1f} MB", time_text(case["copy_seconds"])] + cells)
    return ('<details class="every"><summary>Every case, share of the copy\'s speed; the fastest step of a case is bold'
            "</summary>" + table(header, rows, "cases", html.escape(record.origin())) + "</details>")


def exercises(chapter):
    if not chapter.exercises():
        return "This chapter has no exercises yet.\n"
    return (f"`make deps exercise{chapter.number}` lays these out and checks them; see [Exercises and classroom](#exercises).\n"
            + raw(exercise_boxes.listed(chapter)))


def clock_charts(chapter):
    """Chapter 7's chart: the record of a study of clocks, which has no ladder."""
    record = load(f"{MEASURED}/chapter{chapter.number}")
    return raw(figure(charts.clocks(record["cases"][0], "What each way to time reads"),
                      "The median of what each way reads of the same launch; the dashed line is what the kernel takes from a "
                      f"cold L2. {html.escape(origin(record, f'{MEASURED}/chapter{chapter.number}.json'))}."))


def modelled_beside_measured(record, modelled):
    pairs = charts.gains(record, modelled) if record and modelled else []
    return ["## Modelled against measured\n" + raw(figure(
        charts.modelled_and_measured(pairs, "Gain over v1, modelled and measured"),
        f"A point is a step in a case that both records have. Measured: {html.escape(record.origin())}. Modelled: "
        f"{html.escape(modelled.origin())}."))] if pairs else []
