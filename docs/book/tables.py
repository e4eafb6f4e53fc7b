"""The texts' tables that are made from the records as a whole: between `table NAME` and `end`."""

import re
import statistics

import aggregates
import clocks
import lookup
import queries
from chapters import chapters
from queries import answer, case_named, chapter_of, record_of, split
from records import EMULATED, MEASURED, Problem, Times, devices, is_noise, load, module, of_step, seconds_of, speedup_text, time_text


def table(path, what):
    """A table of the text that is made from the records as a whole."""
    words = split(what)
    if words == ["cards"]:
        return cards_table()
    chapter = chapter_of(path, words)
    if words[0] in chapter.book.get("table", {}):
        return listed_table(path, chapter, chapter.book["table"][words[0]])
    if words[0] == "rules":
        return lookup.table(path, chapter, *words[1:])
    if words[0] == "steps":
        return steps_table(chapter, words[1:] or chapter.book["ladder"]["cases"])
    kinds = {"targets": targets_table, "slower": slower_table}
    if words[0] in kinds:
        record, file = record_of(chapter, words[1] if len(words) > 1 else None)
        return kinds[words[0]](chapter, Times(record, file))
    if words[0] == "below" and len(words) > 1:
        return below_table(chapter, Times(*record_of(chapter, None)), float(words[1].rstrip("%")))
    if words[0] in clocks.TABLES:
        record, _ = record_of(chapter, None)
        known = chapter.book["case"]
        return clocks.TABLES[words[0]](chapter, record, *(known.get(word, word) for word in words[1:]))
    named = {"peers": 1, "behind": 2, "random": 2}.get(words[0], 0)  # Which word names another record than the chapter's.
    if named:
        record, _ = record_of(chapter, words[named] if len(words) > named else None, "_peers")
        if words[0] == "peers":
            return peers_table(chapter, record)
        if words[0] == "behind":
            return behind_table(record, words[1])
        if words[1:] and words[1] == "dtype":
            return random_table(record)
    raise Problem(f"{path}: there is no table {what}")


def cards_table():
    """What v1 and the finished kernel reach on each card, on every chapter's first case that all have; and what a copy
    takes there."""
    cards = [name for name in devices() if name != EMULATED]
    short = [load(f"{card}/chapter1")["device"]["name"].split()[1] for card in cards]
    out = ["| of a copy | " + " | ".join(f"{what}, {name}" for what in ("v1", "finished") for name in short) + " |",
           "|---|" + "--:|" * (2 * len(cards))]
    for chapter in chapters():
        records = [chapter.times(card) for card in cards]
        if not all(records):
            continue
        cases = [[record.case(case["parameters"]) for record in records] for _, case in chapter.main_cases(chapter.times())]
        found = next((each for each in cases if all(case and of_step(case, chapter.dispatched.version) for case in each)), None)
        if not found:
            continue
        shares = [f"{case['copy_seconds'] / seconds_of(case, version):.0%}" for version in ("v1", chapter.dispatched.version) for case in found]
        out.append(f"| {chapter.number} {chapter.name.replace('_', ' ')} | " + " | ".join(shares) + " |")
    copies = [load(f"{card}/chapter3")["cases"] for card in cards]
    first = next(chapter for chapter in chapters() if chapter.number == 3).main_cases(Times({"cases": copies[0], "device": {}}, ""))[0][1]
    taken = [time_text(next(case["copy_seconds"] for case in cases if case["parameters"] == first["parameters"])) for cases in copies]
    return "\n".join([*out, f"| the copy of chapter 3 takes |{' |' * len(cards)} " + " | ".join(taken) + " |"]) + "\n"


def listed_table(path, chapter, table):
    """[table.NAME] in book.toml: `head`, and `rows` whose first entry is the row's name; the others are put in the places {0},
    {1} ... of each of `cells`, which is a query and behind " | " the form of its number. A cell without an answer is "-"."""
    out = ["| " + " | ".join(table["head"]) + " |", "|---|" + "--:|" * (len(table["head"]) - 1)]
    for name, *places in table["rows"]:
        cells = []
        for cell in table["cells"]:
            query, form = cell.format(*places).rsplit(" | ", 1)
            try:
                cells.append(answer(path, f"{chapter.number}: {query}", form).text)
            except Problem:
                cells.append("-")
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def behind_table(record, group):
    """The problems of a group in which PyTorch, eager or compiled, is faster: by 2% or more, with quartiles apart."""
    results = module("tests/chapters/peers/results")
    out = ["| case | type | ours, us | slower than eager by | than compiled by |", "|---|---|--:|--:|--:|"]
    for case in record["cases"]:
        if case["group"] != group or "error" in case:
            continue
        cells = [f"{100 * (case['ours_seconds'] / case[f'{other}_seconds'] - 1):.0f}%"
                 if case[f"{other}_seconds"] and results.slower(case["spread"]["ours"], case["spread"][other]) else ""
                 for other in ("eager", "compiled")]
        if any(cells):
            out.append(f"| {case['case']} | {case['dtype']} | {case['ours_seconds'] * 1e6:.2f} | {cells[0]} | {cells[1]} |")
    return "\n".join(out) + "\n"


def targets_table(chapter, times):
    """The chapter's aims beside what was measured: [[target]] in book.toml."""
    out = ["| case | copy | step | of copy | target | |", "|---|--:|--:|--:|--:|---|"]
    met = 0
    for target in chapter.book["target"]:
        case = times.case(target["case"])
        version = target.get("step", chapter.dispatched.version)
        seconds = seconds_of(case, version) if case else None
        if not seconds:
            out.append(f"| {target['name']} | | {version} | | {100 * target['share']:.0f}% | not measured |")
            continue
        against = target.get("against", "copy")
        share = seconds_of(case, against) / seconds
        missed = 100 * (target["share"] - share)
        verdict = "met" if missed <= 0 else "missed by less than 0.01" if missed < 0.01 else \
            f"missed by {missed:.2f}" if missed < 0.1 else f"missed by {missed:.1f}"
        met += missed <= 0
        out.append(f"| {target['name']} | {time_text(case['copy_seconds'])} | {version} {time_text(seconds)} | "
                   f"{100 * share:.1f}%{'' if against == 'copy' else ' of ' + against} | {100 * target['share']:.0f}% | {verdict} |")
    return "\n".join(out) + f"\n\n{met} of {len(chapter.book['target'])} are met.\n"


def peers_table(chapter, record):
    """[[peer]] in book.toml: rows of cases; how many times as fast as eager and compiled, in float and half."""
    out = ["| case | eager / ours, float | half | compiled / ours, float | half |", "|---|--:|--:|--:|--:|"]
    for row in chapter.book["peer"]:
        cells = []
        for other in ("eager", "compiled"):
            for dtype in ("float", "half"):
                values = [case[f"{other}_seconds"] / case["ours_seconds"] for case in record["cases"]
                          if case["group"] == "fixed" and case["dtype"] == dtype and case.get(f"{other}_seconds")
                          and any(re.fullmatch(pattern, case["case"]) for pattern in row["cases"])]
                low, high = (f"{min(values):.2f}", f"{max(values):.2f}") if values else ("-", "-")
                cells.append(low if low == high else f"{low} to {high}")
        out.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def random_table(record):
    """The random problems by element type; where plans were compared, too, those beside the rules."""
    results = module("tests/chapters/peers/results")
    cases = [case for case in record["cases"] if case["group"] == "random" and "error" not in case]
    planned = any(case.get("planned_seconds") for case in cases)
    header = ["type", "problems", "slower than eager", "within 5% of compiled", *(["planned, within 5%"] if planned else []),
              "median eager / ours", "compiled / ours", *(["compiled / planned"] if planned else [])]
    out = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]

    def median(own, top, bottom):
        ratios = [case[f"{top}_seconds"] / case[f"{bottom}_seconds"] for case in own if case[f"{top}_seconds"]]
        return f"{statistics.median(ratios):.2f}"

    for dtype in sorted({case["dtype"] for case in cases}):
        own = [case for case in cases if case["dtype"] == dtype]
        summary = results.summarise(own)
        cells = [dtype, len(own), summary["slower_than_eager"], summary["within_5_percent_of_compiled"],
                 *([summary["planned_within_5_percent_of_compiled"]] if planned else []), median(own, "eager", "ours"),
                 median(own, "compiled", "ours"), *([median(own, "compiled", "planned")] if planned else [])]
        out.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(out) + "\n"


def slower_table(chapter, times):
    """The cases in which another step is really faster than the last one."""
    last = chapter.dispatched.version
    out = [f"| case | fastest step | of copy | {last}, of copy |", "|---|---|--:|--:|"]
    out += [f"| {case['name']} | {version} | {100 * best:.1f}% | {100 * own:.1f}% |"
            for case, version, best, own in aggregates.far(times, last)]
    return "\n".join(out) + "\n"


def below_table(chapter, times, percent):
    """The cases in which the last step has less than so many per cent of a copy, the slowest first."""
    last = chapter.dispatched.version
    timed = [(case["copy_seconds"] / seconds_of(case, last), case) for case in times.cases if seconds_of(case, last)]
    out = [f"| case | {last} | of copy |", "|---|--:|--:|"]
    out += [f"| {case['name']} | {time_text(seconds_of(case, last))} | {100 * share:.1f}% |"
            for share, case in sorted(timed, key=lambda each: each[0]) if 100 * share < percent]
    return "\n".join(out) + "\n"


NOT_MEASURED = "*Not measured yet: no record has the step on this case.*\n"


def counter_value(record, case, version, what):
    """A counter of a step on a case; None where it was not counted or is a share of nothing."""
    try:
        return queries.counted_in(record, case, version, queries.COUNTERS[what])
    except (Problem, KeyError, ZeroDivisionError):
        return None


# What the emulator counts as the profiler does, and what it alone can count: divisions, a thread's each.
EMULATED_TOO = ("l1tex__t_requests", "l1tex__t_sectors", "l1tex__data_pipe_lsu_wavefronts_mem_shared", "smsp__inst_executed_op_",
                "warpbook__")


def emulated_value(emulated, parameters, version, what):
    """A counter of a step on a case as the emulator has it; None where it does not, or is not to be compared with the profiler's."""
    names = queries.COUNTERS[what] if isinstance(queries.COUNTERS[what], tuple) else (queries.COUNTERS[what],)
    case = emulated.case(parameters) if emulated else None
    row = of_step(case, version) if case else None
    if not row or not row.get("counters") or not all(name.startswith(EMULATED_TOO) for name in names):
        return None
    values = [row["counters"].get(name, 0) for name in names]
    return values[0] if len(values) == 1 else values[0] / values[1] if values[1] else None


def counter_text(value, what):
    """One counter for a table; empty where there is none."""
    if value is None:
        return ""
    if "pct" in queries.COUNTERS[what]:
        return f"{value:.0f}%"
    if "/" in what:
        return f"{value:.1f}"
    return f"{value / 1e6:.2f} M" if value >= 1e5 else f"{value:,.0f}"


def direction(before, after):
    """Whether a counter fell or rose by more than one in a hundred."""
    if before is None or after is None:
        return "new" if before is None and after else ""
    return "same" if abs(after - before) <= 0.01 * max(abs(before), abs(after)) else "\u25bc" if after < before else "\u25b2"


def measure_table(chapter, version, case_name, counters):
    """A step beside its base on one case: counters, time, and the share of a copy. Where the base does not take the case, its
    base stands there, and so on. A step without a base stands alone, or beside the one that `beside=` names. A counter that the
    profiler's record lacks is the emulator's, and says so; one that neither has is left out."""
    beside = [word.partition("=")[2] for word in counters if word.startswith("beside=")]
    counters = [word for word in counters if not word.startswith("beside=")]
    step, parameters = chapter.kernel(version), case_named(chapter, case_name)
    times, counted = chapter.times(), load(f"{MEASURED}/chapter{chapter.number}_counters")
    emulated = chapter.modelled()
    case = times.case(parameters) if times else None
    for what in counters:
        if what not in queries.COUNTERS:
            raise Problem(f"no counter is called {what}; docs/book/queries.py lists them")
    if not case or not of_step(case, version) or chapter.renamed(version):
        return NOT_MEASURED
    bases = [chapter.kernel(name) for name in beside] or chapter.bases(step)
    base = next((base for base in bases if of_step(case, base.version) and not chapter.renamed(base.version)), None)
    kernels = [base, step] if base else [step]

    def row(head, cells, verdict):
        return f"| {head} | " + " | ".join(cell or "-" for cell in cells) + (f" | {verdict} |" if base else " |")

    out = [row("", [kernel.version for kernel in kernels], ""), "|---" + "|--:" * len(kernels) + ("|---|" if base else "|")]
    for what in counters:
        values = [counter_value(counted, parameters, kernel.version, what) if counted else None for kernel in kernels]
        words = queries.COUNTER_WORDS[what]
        if all(value is None for value in values):
            values = [emulated_value(emulated, parameters, kernel.version, what) for kernel in kernels]
            words += " of threads (emulated)" if what.startswith("divisions") else " (emulated)"
        if any(value is not None for value in values):
            out.append(row(words, [counter_text(value, what) for value in values], direction(values[0], values[-1])))
    spreads = [of_step(case, kernel.version)["seconds"] for kernel in kernels]
    medians = [spread["median"] for spread in spreads]
    gain = speedup_text(medians[0], medians[-1], is_noise(spreads[0], spreads[-1]))
    out.append(row("time", map(time_text, medians), gain))
    out.append(row("of a copy", [f"{100 * case['copy_seconds'] / median:.0f}%" for median in medians], ""))
    return "\n".join(out).replace("  |", " |") + "\n"


def base_row(chapter, step, case):
    """The row of the step's base in a case, or of the base's base where that did not run there."""
    return next(filter(None, (of_step(case, base.version) for base in chapter.bases(step) if not chapter.renamed(base.version))), None)


def steps_table(chapter, names):
    """The ladder: each step's idea, the step that it is built on, and on each case its share of a copy and its gain over that
    step, or over the nearest below that takes the case; on one case alone its time, too. The dispatch has no base: what it gains
    is nobody's."""
    times = chapter.times()
    cases = [times.case(case_named(chapter, name)) if times else None for name in names]
    ladder = chapter.book.get("ladder", {})
    labels = dict(zip(ladder.get("cases", []), ladder.get("labels", [])))
    alone = len(names) == 1
    heads = " time | of a copy | gain |" if alone else "".join(f" {labels.get(name, name)} | gain |" for name in names)
    out = [f"| step | idea | built on |{heads}", "|---|---|---|" + "--:|" * heads.count("|")]
    for step in chapter.steps:
        link = f"[{step.version}](pages/{step.version}.md)" if step.version in chapter.pages else step.version
        cells = [link, step.idea.rstrip("."), step.base]
        gained = False
        for case in cases:
            row, before = (of_step(case, step.version), base_row(chapter, step, case)) \
                if case and not chapter.renamed(step.version) else (None, None)
            if not row:
                cells += ["-"] + [""] * (1 + alone)
                continue
            median = row["seconds"]["median"]
            gain = speedup_text(before["seconds"]["median"], median, is_noise(before["seconds"], row["seconds"])) if before else ""
            gained |= gain not in ("", "same") and before["seconds"]["median"] > median
            if before and before["version"] != step.base:  # Its base does not take the case.
                gain += f" over {before['version']}"
            cells += ([time_text(median)] if alone else []) + [f"{100 * case['copy_seconds'] / median:.0f}%", gain]
        if step.prepares and not gained:
            cells[1] += f" (prepares {step.prepares.split(':')[0]})"
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out).replace("  |", " |") + "\n"
