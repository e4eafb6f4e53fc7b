"""Ranks a class: make leaderboard DIR=submissions OUT=leaderboard.html.

First come points; then counters and modelled time on the cases of real size, as shares of what our own steps need. At one commit, the
same submissions always give the same three files: the data are drawn by what was handed in, and no file has a date.
"""

import contextlib
import hashlib
import html
import json
import re

from book import ROOT
from desk import write_file
from grade import check_class, number, take
from feedback import shown
from judge import COUNTERS_BY_OURS, TIME_BY_OURS

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Leaderboard</title>
<style>
{colors}
body {{ margin: 2em auto; max-width: 860px; padding: 0 1em; background: var(--page-background-color); color: var(--page-foreground-color);
  font: 16px/1.5 var(--font-family); }}
h1 {{ color: var(--primary-color); font-size: 32px; margin: 0 0 8px; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ border: 1px solid var(--separator-color); padding: 4px 12px; text-align: right; white-space: nowrap; }}
th[scope=row], th:nth-child(2) {{ text-align: left; }}
th[scope=row] {{ font-weight: 600; overflow-wrap: anywhere; white-space: normal; }}
td.points {{ background: linear-gradient(to right, color-mix(in srgb, var(--bar-color) 25%, transparent) var(--share), transparent var(--share)) no-repeat padding-box; }}
.open {{ color: var(--limit-color); }}
p {{ color: var(--page-secondary-foreground-color); }}
</style>
</head>
<body>
<main>
<h1>Leaderboard</h1>
{notes}
<div class="scroll">
<table>
<thead><tr><th scope="col">rank</th><th scope="col">student</th><th scope="col">points</th><th scope="col">counters</th><th scope="col">modelled time</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
</main>
</body>
</html>
"""
MEANING = ("Points first, of {of}. Counters and modelled time are means over the exercises that are right, on cases of real size, "
           "by what our own steps need: 1 is as much as ours, less is better.")  # fmt: skip


def seed_of(tasks):
    """The same for the same submissions, and not to be known by who has only one of them."""
    digest = hashlib.sha256()
    for student, _, exercise in tasks:
        content = None
        with contextlib.suppress(OSError):
            content = take(student, exercise)[0]
        digest.update(repr((shown(student.name), exercise.key, content)).encode())
    return int.from_bytes(digest.digest()[:4], "big")


def mean(values):
    values = [v for v in values if v is not None]
    return round(sum(values) / len(values), 3) if values else None


def standing(student, rows):
    """A student's entry."""
    exercises = {
        r.exercise: {"verdict": r.verdict.status, "points": r.points if r.counts else None, "of": r.weight,
                     "counters": r.verdict.measured.get(COUNTERS_BY_OURS), "time": r.verdict.measured.get(TIME_BY_OURS)}
        for r in rows
    }  # fmt: skip
    return {
        "student": student, "points": round(sum(r.points for r in rows if r.counts), 6),
        "counters": mean(e["counters"] for e in exercises.values()), "time": mean(e["time"] for e in exercises.values()),
        "unchecked": sum(not r.counts for r in rows), "exercises": exercises,
    }  # fmt: skip


def ranked(rows):
    """The students' entries, the best first; who is equal shares a rank."""
    entries = [standing(s, [r for r in rows if r.student == s]) for s in dict.fromkeys(r.student for r in rows)]

    def merit(entry):
        return -entry["points"], *(float("inf") if entry[by] is None else entry[by] for by in ("counters", "time"))

    entries.sort(key=lambda e: (merit(e), e["student"]))
    for place, entry in enumerate(entries):
        tied = place > 0 and merit(entry) == merit(entries[place - 1])
        entry["rank"] = entries[place - 1]["rank"] if tied else place + 1
    return entries


def cells(entry):
    share = ("-" if entry[by] is None else f"{entry[by]:.3f}" for by in ("counters", "time"))
    return str(entry["rank"]), entry["student"], number(entry["points"]), *share


def notes(entries):
    open_ones = sum(e["unchecked"] for e in entries)
    return [f"Not complete: {open_ones} file{'s' * (open_ones > 1)} could not be checked."] if open_ones else []


def as_text(entries, of):
    rows = [("rank", "student", "points", "counters", "time"), *map(cells, entries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(f"{text:{'<' if i == 1 else '>'}{width}}" for i, (text, width) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join([*notes(entries), *lines, "", MEANING.format(of=number(of))]) + "\n"


def as_page(entries, of):
    def row(entry):
        rank, student, points, counters, time = cells(entry)
        share = f"{100 * entry['points'] / of:.1f}%" if of else "0%"
        return (f'<tr><td>{rank}</td><th scope="row">{html.escape(student)}</th><td class="points" style="--share: {share}">{points}</td>'
                f"<td>{counters}</td><td>{time}</td></tr>")  # fmt: skip

    colors = re.search(r"^:root \{.*?^\}", (ROOT / "docs" / "theme" / "slides.css").read_text(encoding="utf-8"), re.M | re.S).group()
    told = [f'<p class="open">{note}</p>' for note in notes(entries)] + [f"<p>{MEANING.format(of=number(of))}</p>"]
    return PAGE.format(colors=colors, notes="\n".join(told), rows="\n".join(map(row, entries)))


def leaderboard(submissions, out, seed=None, **options):
    """\\return as check_class. \\raises BookError, BuildError"""

    def report(rows, about, _):
        entries = ranked(rows)
        of = sum(r.weight for r in rows if r.student == rows[0].student)
        text = as_text(entries, of)
        told = {name: about[name] for name in ("seed", "commit", "device", "interrupted")}
        write_file(out, as_page(entries, of))
        write_file(out.with_suffix(".json"), json.dumps(told | {"of": of, "students": entries}, indent=1, ensure_ascii=False) + "\n")
        write_file(out.with_suffix(".txt"), text)
        print(text, end="")
        return f"written: {shown(out)}, {shown(out.with_suffix('.json').name)}, {shown(out.with_suffix('.txt').name)}"

    outputs = (out, out.with_suffix(".json"), out.with_suffix(".txt"))
    return check_class(submissions, outputs, "leaderboard.html", report, seed=seed_of if seed is None else seed, **options)
