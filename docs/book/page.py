"""A chapter's page: its README.md, and what the book adds from the tree and from what was recorded."""

import collections
import html
import re

import charts
import figures
import queries
import tables
import texts
from chapters import chapters
from charts import figure
from markdown import fence_indented, name_headings, near_pictures, raw, sections
from records import (EMULATED, MEASURED, RESULTS, ROOT, is_noise, load, of_step, origin, seconds_of, share_text, speedup_text,
                     time_text)

CHARTED_CASES = 4
OPEN_LINES = 60  # A difference of more lines is folded, as is code of more.
OPEN_HEIGHT = 660  # As is a picture of more pixels.

# A chapter whose kernels are not what it times.
KERNELS = """## The kernels of the exercises

One addition in four forms, from the article's to one by way of shared memory: what the exercises are made of. They are checked
as every kernel of the book is, and not timed here, since the chapter is about the clocks.
"""


def table(header, rows, classes, caption=""):
    """A table whose cells are HTML already; the first column is a row's head."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join("<tr>" + f'<th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
                   for row in rows)
    told = f"<caption>{caption}</caption>" if caption else ""
    return (f'<div class="scroll" tabindex="0" role="region" aria-label="table"><table class="book {classes}">{told}<thead><tr>'
            f"{head}</tr></thead><tbody>{body}</tbody></table></div>")


def picture_block(picture):
    """A recorded picture; a long one folded."""
    height = re.search(r'viewBox="0 0 \d+ (\d+)"', picture.path.read_text(encoding="utf-8"))
    shown = " open" if height and int(height.group(1)) <= OPEN_HEIGHT else ""
    return (f'<details class="map"{shown}><summary>What a warp touches</summary>'
            + figure(f'<img src="{picture.path.name}" loading="lazy" alt="{html.escape(picture.description)}"/>', picture.caption)
            + "</details>")


def pictures_block(chapter, step):
    return "".join(map(picture_block, figures.pictures(chapter, step)))


def gain_text(before, after):
    return speedup_text(before["median"], after["median"], is_noise(before, after))


def before(chapter, step):
    """The steps that a step is compared with, nearest first: what it is built on; in a chapter of one page those before it."""
    if not chapter.pages:
        return chapter.steps[chapter.steps.index(step) - 1::-1] if step != chapter.steps[0] else []
    return chapter.bases(step)


def previous_row(case, chapter, step):
    """The row of the nearest of these that ran in the case."""
    return next(filter(None, (of_step(case, other.version) for other in before(chapter, step))), None)


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
                     f"{first['seconds']['median'] / row['seconds']['median']:.2f}x" if first and previous else "", model])
    if not rows:
        return f'<p class="muted">{html.escape(why_not(step, record))}</p>'
    header = ["case", "median", "of copy", "over its base" if chapter.pages else "over the step before", "over v1", "modelled, over v1"]
    kept = [column for column in range(len(header)) if any(row[column] for row in rows)]
    return table([header[c] for c in kept], [[row[c] for c in kept] for row in rows], "measured", html.escape(record.origin()))


def why_not(step, record):
    """Why a step has no times in the ladder's cases."""
    rows = [row for case in record.cases for row in case["steps"] if row["version"] == step.version]
    if not rows:
        return "Not measured: the step is newer than the record."
    ran = sum(row["status"] == "pass" for row in rows)
    reasons = collections.Counter(row.get("reason", "") for row in rows if row["status"] != "pass")
    reason = f" ({reasons.most_common(1)[0][0]})" if reasons and reasons.most_common(1)[0][0] else ""
    return f"Not run in the ladder's cases{reason}; it ran in {ran} of the {len(record.cases)} recorded, which \"All steps\" lists."


def is_short(shown, step):
    """Whether a difference says more than the kernel itself."""
    changed = sum(line[:1] in "+-" for line in shown)
    return len(shown) <= OPEN_LINES and changed <= len(step.kernel() if step.has_snippet() else step.code())


def difference_block(step, previous):
    shown = step.difference(previous)
    added = sum(line.startswith("+") for line in shown)
    removed = sum(line.startswith("-") for line in shown)
    kinds = {"+": "ins", "-": "del", "@": "hunk"}
    lines = "".join(f'<span class="{kinds.get(line[:1], "same")}">{html.escape(line) or " "}</span>' for line in shown)
    opened = " open" if is_short(shown, step) else ""
    lines_added = f"{added} line{'s' * (added != 1)} added"
    return (f'<details class="difference"{opened}><summary>What differs from {previous.title}: {lines_added}, {removed} '
            f'removed</summary><pre class="diff" tabindex="0">{lines}</pre></details>')


# What a step's table of counters shows.
SHOWN_COUNTERS = ("requests", "sectors/request", "store-sectors/request", "reductions", "reduction-sectors/request", "atomics",
                  "shared-atomics", "wavefronts/load", "instructions", "issue")


def counters_block(chapter, step):
    """What Nsight Compute counted of the step, beside the nearest step before it that was counted on the same case."""
    record = load(f"{MEASURED}/chapter{chapter.number}_counters")
    if not record:
        return ""
    rows = []
    for case in dict.fromkeys(entry["case"] for entry in record["launches"] if entry["version"] == step.version):
        counted = {entry["version"] for entry in record["launches"] if entry["case"] == case}
        known = [other for other in before(chapter, step) if other.version in counted]
        for other in known[:1] + [step]:
            rows.append([f"{html.escape(case)}, {other.version}"]
                        + [tables.counter_text(tables.counter_value(record, case, other.version, what), what) for what in SHOWN_COUNTERS])
    if not rows:
        return ""
    header = ["case, step"] + [queries.COUNTER_WORDS[what] for what in SHOWN_COUNTERS]
    kept = [column for column in range(len(header)) if any(row[column] not in ("", "0") for row in rows)]
    return ('<details class="counters"><summary>What the profiler counted</summary>'
            + table([header[c] for c in kept], [[row[c] for c in kept] for row in rows], "counters",
                    html.escape(origin(record, f"{MEASURED}/chapter{chapter.number}_counters.json"))) + "</details>")


def machine_code(chapter, step):
    """The recorded machine code of the step's kernels, its marked lines set off."""
    path = RESULTS / MEASURED / "sass" / f"chapter{chapter.number}.txt"
    parts = []
    for listing in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.M)[1:] if path.exists() else []:
        of_what, listing = listing.split("\n", 1)
        if not of_what.startswith(f"{step.version}_"):
            continue
        head, code = listing.split("\n\n", 1)
        name, _, told = " ".join(head.split()).partition(", ")
        lines = "".join(f'<span class="{"marked" if line.startswith(">") else "same"}">{html.escape(line)}</span>'
                        for line in code.rstrip().splitlines())
        parts.append(f'<details class="machine"><summary>Machine code</summary><p>{html.escape(told)}</p><p class="muted"><code>'
                     f'{html.escape(name)}</code>, <code>{path.relative_to(ROOT)}</code></p><pre class="diff" tabindex="0">{lines}'
                     "</pre></details>")
    return "".join(parts)


def code_block(step, previous):
    """The step's kernel, from the file that is compiled; unfolded where the difference is not, and it is short."""
    lines = len(step.kernel() if step.has_snippet() else step.code())
    shown = lines <= OPEN_LINES and (previous is None or not is_short(step.difference(previous), step))
    out = [raw(f'<details class="code"{" open" if shown else ""}><summary>Code: <code>{step.file}</code></summary>')]
    out.append(f"\\snippet{{lineno}} {step.file} kernel\n" if step.has_snippet() else f"\\includelineno {step.file}\n")
    return "\n".join(out) + raw("</details>")


def step_extras(chapter, step, record, modelled):
    """What follows a step's text: figures, what was measured, the difference, the code."""
    parts = []
    parts.append(raw(pictures_block(chapter, step)))
    if record:
        parts.append(raw(measured_block(chapter, step, record, modelled)))
    elif chapter.by_harness:
        parts.append("\n*Not measured: no times of this chapter are recorded yet.*\n")
    at = chapter.steps.index(step)
    previous = chapter.steps[at - 1] if at > 0 else None
    if previous:
        parts.append(raw(difference_block(step, previous)))
    parts.append(code_block(step, previous))
    parts.append(raw(counters_block(chapter, step) + machine_code(chapter, step)))
    return "\n".join(parts)


def told_step(title, chapter):
    """The step that a heading such as "v4b padded tile" is about."""
    match = re.match(r"([av]\d+[a-z]?)\b(?! against)", title)
    return next((step for step in chapter.steps if match and step.version == match.group(1)), None)


def full_table(chapter, record):
    """One row a step: its idea, where it ran, and its time in the ladder's cases."""
    cases = chapter.main_cases(record) if record else []
    header = ["step" if chapter.by_harness else "kernel", "idea"] + (["cases run"] if record else []) + [html.escape(name) for name, _ in cases]
    rows = []
    for step in chapter.steps:
        place = f"chapter{chapter.number}-{step.version}"
        place = f"#{place}" if not chapter.pages else f"{place}.html" if step.version in chapter.pages else None
        link = f'<a href="{place}">{step.title}</a>' if place else step.title
        row = [link, html.escape(step.summary())]
        if record:
            ran = sum(1 for case in record.cases if of_step(case, step.version))
            row.append(f"{ran} of {len(record.cases)}")
        for _, case in cases:
            seconds = seconds_of(case, step.version)
            row.append(f"{time_text(seconds)}<br/>{share_text(case, seconds)}" if seconds else "-")
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
    items = chapter.exercises()
    if not items:
        return "This chapter has no exercises yet.\n"
    kinds = {"fill": "fill in", "write": "write", "bug": "find the bug"}
    out = [f"`make deps exercise{chapter.number}` lays these out and checks them; see [Exercises and classroom](#exercises).\n"]
    for item in items:
        task = " ".join(item["task"].split())
        out.append(f"- <b><code>{item['name']}</code></b> ({kinds.get(item['kind'], item['kind'])}, of {item['step']}). {task}")
    return "\n".join(out) + "\n"


def next_to_read(chapter):
    everything = chapters()
    at = everything.index(chapter)
    out = []
    for line in chapter.book.get("next", []):
        out.append(f"- {line}")
    if at + 1 < len(everything):
        following = everything[at + 1]
        out.append(f"- [{following.title}](#chapter{following.number})")
    out.append("- [How we time](#timing), [How we verify](#verifying), [Reading the counters](#counters)")
    return "\n".join(out) + "\n"


def navigation(chapter):
    everything = chapters()
    at = everything.index(chapter)
    links = []
    if at > 0:
        before = everything[at - 1]
        links.append(f'<a rel="prev" href="chapter{before.number}.html">&larr; {html.escape(before.title)}</a>')
    links.append('<a href="index.html">Warpbook</a>')
    if at + 1 < len(everything):
        following = everything[at + 1]
        links.append(f'<a rel="next" href="chapter{following.number}.html">{html.escape(following.title)} &rarr;</a>')
    return f'<nav class="chapters" aria-label="chapters">{"".join(links)}</nav>'


def ladder_charts(chapter, record):
    cases = chapter.main_cases(record)[:CHARTED_CASES]
    told = "; ".join(f"{name}: {case['name']}" for name, case in cases if name != case["name"])
    return figure(charts.ladders(cases, chapter.steps, f"{chapter.title}: each step's share of a copy's speed"),
                  "Each step's share of the speed of a plain copy that moves the same bytes, which is the dashed line."
                  + (f" {html.escape(told)}." if told else "") + f" {html.escape(record.origin())}.")


def clock_charts(chapter):
    """Chapter 7's chart: the record of a study of clocks, which has no ladder."""
    record = load(f"{MEASURED}/chapter{chapter.number}")
    if not record or not all("cold_seconds" in case for case in record["cases"]):
        return ""
    return raw(figure(charts.clocks(record["cases"], f"{chapter.title}: what each way to time reads"),
                      "What each way to time reads of the same launch, median; the dashed line is what the kernel takes from a "
                      f"cold L2. {html.escape(origin(record, f'{MEASURED}/chapter{chapter.number}.json'))}."))


def modelled_beside_measured(record, modelled):
    pairs = charts.gains(record, modelled) if record and modelled else []
    return ["## Modelled against measured\n" + raw(figure(
        charts.modelled_and_measured(pairs, "Gain over v1: modelled by the emulator, measured on the card"),
        f"A point is a step in a case that both records have. Measured: {html.escape(record.origin())}. Modelled: "
        f"{html.escape(modelled.origin())}."))] if pairs else []


def is_provenance(title):
    return title.startswith("Where the figures come from") or title == "Figures"


def compose(chapter):
    """The page's Markdown. What the README says of its records stands behind the story here, and steps without a section
    of their own stand behind the section "The steps"."""
    page = f"chapter{chapter.number}"
    record, modelled = chapter.times(MEASURED), chapter.modelled()
    text = texts.published(chapter.readme)
    parts, behind, seen, introduced = [], [], set(), False
    told = [told_step(title, chapter) for _, title, level, _ in sections(text) if level == 2]
    rest = [step for step in chapter.steps if step not in told]
    for heading, title, level, body in sections(text):
        if level == 2 and not introduced:
            introduced = True
            if record:
                parts.append(raw(ladder_charts(chapter, record)))
            elif not chapter.by_harness:
                parts.append(clock_charts(chapter))
        step = told_step(title, chapter) if level == 2 else None
        if step and step.version not in seen:
            seen.add(step.version)
            heading = f"## {title} {{#{page}-{step.version}}}"
            body += "\n" + step_extras(chapter, step, record, modelled)
        if level == 1:
            heading += "\n\n\\tableofcontents{HTML:2}\n\n"
        if level == 2 and title == "The steps" and rest:
            body = without_leads(body, rest)
        if level == 2 and is_provenance(title):
            behind.append(f"{heading}\n{body}")
        else:
            parts.append(f"{heading}\n{body}")
        if level == 2 and title == "The steps" and rest:
            parts += other_steps(chapter, rest, record, modelled)
            rest = []

    if rest:
        parts.append(KERNELS if not chapter.by_harness else "## Step by step\n" if not seen else "## The other steps\n")
        parts += other_steps(chapter, rest, record, modelled)
    if chapter.steps:
        parts.append(("## All steps\n" if chapter.by_harness else "") + raw(full_table(chapter, record)) + (raw(every_case(chapter, record)) if record else ""))
    parts += modelled_beside_measured(record, modelled)
    parts += behind
    parts.append("## Exercises\n" + exercises(chapter))
    parts.append("## What to read next\n" + next_to_read(chapter))
    parts.append(raw(navigation(chapter)))
    return name_headings(near_pictures(fence_indented("\n\n".join(parts))), page)


def without_leads(body, steps):
    """A text without the paragraphs that begin with one of the steps' names in bold: its story, which follows, tells that."""
    leads = tuple(f"**{step.title}.**" for step in steps)
    return "\n\n".join(part for part in body.split("\n\n") if not part.strip().startswith(leads))


def other_steps(chapter, steps, record, modelled):
    """Steps that the README tells together: each with its story from its file."""
    page = f"chapter{chapter.number}"
    return [f"### {step.title} {{#{page}-{step.version}}}\n\n{story_markdown(step)}\n\n"
            + step_extras(chapter, step, record, modelled) for step in steps]


def story_markdown(step):
    """A step's story from its file, without the title that the heading has."""
    lines = step.story().splitlines()
    first = lines[0].split(": ", 1)[-1] if lines else ""
    return "\n".join([first[:1].upper() + first[1:], *lines[1:]])

