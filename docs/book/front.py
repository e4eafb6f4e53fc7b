"""What the general pages take from the tree: a line `[[book NAME]]` in docs/pages/*.md becomes one of these."""

import html
import re
import tomllib

import addresses
import charts
import exercise_boxes
import page
from chapters import chapters
from markdown import raw
from records import MEASURED, ROOT, Problem, devices, load, of_step, origin, seconds_of, share_text, time_text

SOURCE = re.compile(r"Source: (.*?\.)(?:\s*$|\s*\n\s*\n)", re.S | re.M)


FRONT = ("v1", "v4a", "v4b", "v4c", "v6", "v9")  # The steps of chapter 3 that tell its story.


def picture():
    """The front page's ladder: chapter 3's first case, and in one line what it tells."""
    chapter = next(chapter for chapter in chapters() if chapter.number == 3)
    record = chapter.times(MEASURED)
    _, case = chapter.main_cases(record)[0]
    steps = [chapter.kernel(version) for version in FRONT]
    drawing = charts.ladder(case, steps, f"Chapter 3, permute: {case['name']}")
    told = ", ".join(f"{100 * case['copy_seconds'] / seconds_of(case, step.version):.0f}% {step.name.replace('_', ' ')}" for step in steps)
    return raw(charts.figure(drawing, f"Half of the ladder of chapter 3: {told}. The line is a plain copy of as many bytes. The listing above "
                           "is of another run, so its shares differ a little. "
                           f"{html.escape(record.origin())}."))


def climb(chapter):
    """From which share of the copy's speed to which a chapter leads in its first main case; empty where it is not recorded."""
    record = chapter.times(MEASURED)
    if not record:
        return ""
    name, case = chapter.main_cases(record)[0]
    ran = [step for step in chapter.steps if of_step(case, step.version)]
    shares = [f"{100 * case['copy_seconds'] / seconds_of(case, step.version):.0f}%" for step in (ran[0], ran[-1])]
    return f'<span title="{html.escape(case["name"])}">{shares[0]} to {shares[1]}</span>'


def chapter_list():
    """One line a chapter: title, what it is about, steps, exercises, what it gains."""
    rows = []
    for chapter in chapters():
        about = html.escape(chapter.book.get("about", ""))
        rows.append([f'<a href="chapter{chapter.number}.html">{html.escape(chapter.title)}</a>', about, str(len(chapter.steps)),
                     str(len(chapter.exercises())), climb(chapter)])
    return raw(page.table(["chapter", "about", "steps", "exercises", "of a copy's speed, v1 to last"], rows, "chapters",
                          "Shares: of the first case of the chapter's chart, measured."))


def sources(text):
    """The sources that a file's comments name."""
    lines = [re.sub(r"^\s*//[/!]? ?", "", line) if re.match(r"\s*//", line) else "" for line in text.splitlines()]
    found = []
    for match in SOURCE.finditer("\n".join(lines)):
        found.append(" ".join(match.group(1).split()))
    return found


def linked(source, links):
    """A source as HTML, the words of it that an address is known for linked to that."""
    words = next((words for words in links if words in source), None)
    if not words:
        raise Problem(f"docs/pages/sources.toml has no address for the source {source!r}")
    before, after = source.replace("`", "").split(words, 1)
    return f'{html.escape(before)}<a href="{html.escape(links[words])}">{html.escape(words)}</a>{html.escape(after)}'


def references():
    """Every source that a file names, with the files that name it."""
    found = {}
    links = tomllib.loads((ROOT / "docs" / "pages" / "sources.toml").read_text(encoding="utf-8"))["links"]
    for top in ("chapters", "common"):
        for path in sorted((ROOT / top).rglob("*.?*h")) + sorted((ROOT / top).rglob("*.hpp")):
            for source in sources(path.read_text(encoding="utf-8")):
                files = found.setdefault(source, [])
                if str(path.relative_to(ROOT)) not in files:
                    files.append(str(path.relative_to(ROOT)))
    return raw("<ul>" + "".join(f"<li>{linked(source, links)}<br/><small>{', '.join(f'<code>{f}</code>' for f in files)}</small></li>"
                                for source, files in sorted(found.items())) + "</ul>")


def best(chapter, case):
    ran = [(seconds_of(case, step.version), step) for step in chapter.steps if of_step(case, step.version)]
    return min(ran, key=lambda pair: pair[0]) if ran else None


def device_pages():
    """What each device has of each chapter: the copy's speed, the last step's and the best step's share."""
    parts = []
    for device in devices():
        records = [(chapter, chapter.times(device)) for chapter in chapters()]
        records = [(chapter, record) for chapter, record in records if record]
        facts = records[0][1].record["device"]
        kind = "emulated: its times are modelled" if facts.get("emulated") else "measured"
        parts.append(f"## {facts['name']}, {kind} {{#device-{device}}}\n\n"
                     f"Compute capability {facts['compute_capability']}, {facts['multiprocessors']} multiprocessors, an L2 of "
                     f"{facts['l2_bytes'] / (1 << 20):.0f} MiB. Records: `docs/results/{device}/`.\n")
        for chapter, record in records:
            rows = []
            for case in record.cases:
                found = best(chapter, case)
                if not found:
                    continue
                last = chapter.dispatched
                seconds = seconds_of(case, last.version)
                rows.append([html.escape(case["name"]), time_text(case["copy_seconds"]), time_text(found[0]), found[1].title,
                             share_text(case, found[0]), share_text(case, seconds) if seconds else "-"])
            header = ["case", "copy", "fastest step", "", "of copy", f"{chapter.dispatched.title}, of copy"]
            parts.append(raw(f'<details class="device" data-device="{device}"><summary>{html.escape(chapter.title)}: {len(rows)} cases'
                             "</summary>" + page.table(header, rows, "devices", html.escape(record.origin())) + "</details>"))
    return "\n".join(parts)


def bars():
    """Whether the exercises' bars of speed held when they were tried on a GPU: as handed out, and with our step put back."""
    file = next((f"{name}/exercises" for name in devices() if load(f"{name}/exercises")), None)
    if not file:
        return "That has not been recorded yet for the exercises as they are: take the bars for a GPU as first guesses.\n"
    record = load(file)

    def told(verdict):
        share = f", {100 * verdict['share']:.0f}% of our speed" if "share" in verdict else ""
        status = "right, not timed" if verdict["status"] == "not timed" else verdict["status"]
        return html.escape(f"{status}{share}")

    rows = [[f"<code>{html.escape(row['exercise'])}</code>", f"{100 * row['bar']:.0f}%" if "bar" in row else "-",
             told(row["handed_out"]), told(row["solution"])] for row in record["exercises"]]
    return raw(page.table(["exercise", "bar", "as handed out", "with our step put back"], rows, "bars",
                          html.escape(origin(record, f"{file}.json"))))


def beside_triton():
    """The headers, PyTorch and versions in Triton, timed in one run."""
    file = "nvidia-h100/triton"
    record = load(file)
    rows = [[f"chapter {row['chapter']}: {html.escape(row['case'])}", row["dtype"], *(time_text(row[f"{name}_seconds"])
             for name in ("ours", "eager", "compiled", "triton"))] for row in record["cases"] if "error" not in row]
    return raw(page.table(["case", "type", "header", "eager", "compiled", "Triton"], rows, "triton",
                          html.escape(origin(record, f"{file}.json"))))


# Of the course's sessions: the chapter and the pages whose exercises belong to each, in order.
SESSIONS = {
    1: [(1, ("v1",))], 2: [(1, ("v2",))], 3: [(1, ("v3", "packs_in_flight"))], 4: [(2, ("v1", "v3", "v5"))], 5: [(2, ("v7", "v8"))],
    6: [(3, ("v1", "v2a", "v2b", "v3"))], 7: [(3, ("v4a", "v4b", "v4c"))], 8: [(3, ("v5", "v6", "wide_rows"))],
    9: [(4, ("v2", "v3", "v4", "v5"))], 10: [(4, ("v6a",))], 11: [(5, ("v1", "v2", "v4", "v7b", "v8b")), (6, ("v1", "v2", "v3", "v4"))],
    12: [(7, ("README", "v2"))],
}  # fmt: skip


def session_exercises():
    """{session: its exercises}, without the projects, which are homework."""
    of = {chapter.number: [item for item in chapter.exercises() if item["kind"] != "project"] for chapter in chapters()}
    return {session: [item for number, pages in parts for item in of[number] if exercise_boxes.page_of(item) in pages]
            for session, parts in SESSIONS.items()}


def sessions():
    """Which exercises belong to which session, and how long they take together."""
    rows = [[str(session), ", ".join(f"<code>{item['name']}</code> {item['minutes']}" for item in items), str(sum(item["minutes"] for item in items))]
            for session, items in session_exercises().items()]
    return raw(page.table(["session", "exercises, with their minutes", "minutes"], rows, "sessions", "From exercises.toml."))


def side_by_side(names):
    """The last step of each chapter on several GPUs, for the cases that all of them hold."""
    parts = []
    for chapter in chapters():
        records = [record for record in (chapter.times(name) for name in names) if record]
        if len(records) < 2:
            continue
        last, rows = chapter.dispatched.version, []
        for case in records[0].cases:
            found = [record.case(case["parameters"]) for record in records]
            if all(other and of_step(other, last) for other in found):
                rows.append([html.escape(case["name"])] + [f"{time_text(seconds_of(other, last))} <br/>{share_text(other, seconds_of(other, last))}"
                                                           for other in found])
        if rows:
            header = ["case"] + [html.escape(record.record["device"]["name"]) for record in records]
            parts.append(f"### {chapter.title}, {chapter.dispatched.title}\n" + raw(page.table(header, rows, "compare",
                         "Median, and the share of that device's own copy. " + html.escape("; ".join(r.origin() for r in records)))))
    return "## GPUs beside each other {#compare-devices}\n\n" + "\n".join(parts) if parts else ""


def comparison():
    """GPUs beside each other, where there are several; then measured beside modelled, case by case, for the last step and v1."""
    measured_on = [name for name in devices() if not name.startswith("emulated")]
    told = "One GPU has been measured so far, an H200. The emulator models the same card, so the model is compared with the card.\n"
    parts = [told if measured_on == [MEASURED] else side_by_side(measured_on)]
    for chapter in chapters():
        measured, modelled = chapter.times(MEASURED), chapter.modelled()
        if not measured or not modelled:
            parts.append(f"## {chapter.title} {{#compare-chapter{chapter.number}}}\n\nNothing to compare: "
                         + ("no measured times are recorded." if not measured else "no modelled times are recorded.") + "\n")
            continue
        pairs = charts.gains(measured, modelled)
        rows = []
        for case in measured.cases:
            other = modelled.case(case["parameters"])
            last = chapter.dispatched.version
            if other and all(seconds_of(c, v) for c in (case, other) for v in ("v1", last)):
                rows.append([html.escape(case["name"]), time_text(seconds_of(case, "v1")), time_text(seconds_of(other, "v1")),
                             time_text(seconds_of(case, last)), time_text(seconds_of(other, last)),
                             f"{seconds_of(case, 'v1') / seconds_of(case, last):.2f}x",
                             f"{seconds_of(other, 'v1') / seconds_of(other, last):.2f}x"])
        last = chapter.dispatched.version
        header = ["case", "v1, measured", "v1, modelled", f"{last}, measured", f"{last}, modelled", "gain, measured", "gain, modelled"]
        parts.append(f"## {chapter.title} {{#compare-chapter{chapter.number}}}\n")
        if pairs:
            parts.append(raw(charts.figure(charts.modelled_and_measured(pairs, f"{chapter.title}: gain over v1"),
                                         f"Measured: {html.escape(measured.origin())}. Modelled: {html.escape(modelled.origin())}.")))
        parts.append(raw(page.table(header, rows, "compare")) if rows else f"The emulator's record is older than {last}; a row needs both.\n")
    return "\n".join(parts)


def results():
    """A link to each of them."""
    lines = []
    for path in addresses.result_texts():
        title = re.match(r"# (.+)", path.read_text(encoding="utf-8")).group(1)
        lines.append(f"- [{title}](#result_{path.stem})")
    return "\n".join(lines) + "\n"


def commands():
    """What `make help` says, without this machine's own values; of chapters and exercises one line each."""
    lines = re.findall(r'echo "(make (?:[^"\\]|\\.)*)"', (ROOT / "Makefile").read_text(encoding="utf-8"))
    lines = [line.replace("$(chapter)", "chapterN").replace("$(exercise)", "exerciseN") for line in lines]
    rows = [re.split(r"  +", html.escape(line.replace("\\", "")), maxsplit=1) for line in lines]
    return raw(page.table(["command", "what it does"], [[f"<code>{command}</code>", told] for command, told in rows], "commands"))


PARTS = {"picture": picture, "chapters": chapter_list, "references": references, "devices": device_pages,
         "comparison": comparison, "results": results, "commands": commands, "bars": bars, "sessions": sessions, "triton": beside_triton}


def fill(text):
    """A general page with its parts from the tree."""
    return re.sub(r"^\[\[book ([\w-]+)\]\]$", lambda m: PARTS[m.group(1)](), text, flags=re.M)
