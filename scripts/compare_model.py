#!/usr/bin/env python3
"""Judges the emulator's model of time by what was measured, over all chapters that have both.

    scripts/compare_model.py             # prints the summary of docs/results/{emulated-h200,nvidia-h200}/chapterN.json
    scripts/compare_model.py --write     # also writes docs/results/emulator_model.md

Both files of a chapter are what `run_all --json` wrote: with --full --all-steps, which on the emulator leaves out
what would take long. Compared are the steps that ran on both sides. The model's constants come from tests/emulator/microbenchmarks, never from a
chapter.

    pairs     of two steps on one case, measured more than 5% apart: how many the model puts in the right order
    error     of a modelled time, its factor to the measured one: median and worst
    speedup   of a step over v1, modelled beside measured: the median error

Beside the chapters stand kernels as learners write them, in part such as the model was not fitted to: scripts/learners.py.
"""

import argparse
import itertools
import math
import pathlib
import statistics
import sys

import learners
import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results"
APART = 1.05
TARGETS = {"pairs": 0.95, "median": 1.20, "worst": 2.0}


def steps_of(case):
    """Seconds by version, of the steps that ran."""
    return {step["version"]: step["seconds"]["median"] for step in case["steps"]
            if step["status"] == "pass" and step.get("seconds")}


def compare_chapter(number, emulated, measured):
    """Rows (case, version, measured, modelled) and pairs (case, a, b, right) of a chapter."""
    rows, pairs = [], []
    gpu_cases = {case["parameters"]: case for case in measured["cases"]}
    for case in emulated["cases"]:
        other = gpu_cases.get(case["parameters"])
        if other is None:
            continue
        modelled, real = steps_of(case), steps_of(other)
        common = [version for version in real if version in modelled]
        limits = {step["version"]: step.get("limited_by", "") for step in case["steps"]}
        for version in common:
            rows.append({"chapter": number, "case": case["parameters"], "version": version,
                         "measured_seconds": real[version], "modelled_seconds": modelled[version],
                         "factor": modelled[version] / real[version],
                         "limited_by": limits.get(version) or ""})
        pairs += pairs_of(rows[len(rows) - len(common):])
    return rows, pairs


def off(row):
    """How many times too long or too short, at least 1."""
    return math.exp(abs(math.log(row["factor"])))


def pairs_of(rows):
    """Of rows of one case, the pairs that were measured more than 5% apart."""
    return [{"chapter": a["chapter"], "case": a["case"], "a": a["version"], "b": b["version"],
             "right": (a["measured_seconds"] < b["measured_seconds"]) == (a["modelled_seconds"] < b["modelled_seconds"])}
            for a, b in itertools.combinations(rows, 2)
            if max(a["measured_seconds"], b["measured_seconds"]) / min(a["measured_seconds"], b["measured_seconds"]) > APART]


def compare_learners():
    """Rows and pairs of the kernels that the model may be fitted to, and of those that it is judged on. Pairs are of the
    small sizes or of the large ones."""
    result = {}
    for title, fitted in (("learners' kernels, fitted", True), ("learners' kernels, judged", False)):
        rows = [row for row in learners.rows() if row["fitted"] == fitted]
        by_case = [[row for row in rows if row["case"] == case] for case in ("small", "large")]
        result[title] = rows, [pair for case in by_case for pair in pairs_of(case)]
    return result


def learners_page(result):
    lines = ["## Kernels as learners write them", "",
             "`tests/emulator/learners/learners.cu`, each on a small size and a large one, cold, on an H200. Ten kernels were drawn by",
             "lot before anything was measured: constants and rules were chosen in view of these and of the microbenchmarks. The",
             "model is judged on the others.", "",
             "| kernel | | size | measured us | modelled us | factor | modelled limit |", "|---|---|--:|--:|--:|--:|---|"]
    return lines + [f"| {r['version']} | {'fitted' if r['fitted'] else 'judged'} | {r['size']} | {microseconds(r['measured_seconds'])} | "
                    f"{microseconds(r['modelled_seconds'])} | {r['factor']:.2f} | {r['limited_by']} |"
                    for rows, _ in result.values() for r in rows] + [""]


def speedup_errors(rows):
    first = {(r["chapter"], r["case"]): r for r in rows if r["version"] == "v1"}
    errors = []
    for row in rows:
        v1 = first.get((row["chapter"], row["case"]))
        if v1 is not None and v1 is not row:
            errors.append(math.exp(abs(math.log(v1["factor"] / row["factor"]))))
    return errors


def summarize(rows, pairs):
    return {"steps": len(rows), "pairs": len(pairs), "pairs_right": sum(p["right"] for p in pairs) / max(1, len(pairs)),
            "median_factor": statistics.median(off(r) for r in rows), "worst_factor": max(off(r) for r in rows),
            "within_20_percent": sum(off(r) <= 1.2 for r in rows) / len(rows),
            "beyond_2": sum(off(r) > 2 for r in rows),
            "median_speedup_factor": statistics.median(speedup_errors(rows) or [1.0])}


def line(title, s):
    return (f"| {title} | {s['steps']} | {s['pairs_right']:.1%} of {s['pairs']} | {s['median_factor'] - 1:.0%} | "
            f"{s['within_20_percent']:.0%} | {s['worst_factor']:.2f}x | {s['beyond_2']} | "
            f"{s['median_speedup_factor'] - 1:.0%} |")


def microseconds(seconds):
    return f"{seconds * 1e6:,.1f}"


def short(text):
    return text.replace("shape=", "").replace("dtype=", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write docs/results/emulator_model.md")
    parser.add_argument("--emulated", default=RESULTS / "emulated-h200", type=pathlib.Path,
                        help="the folder of the emulator's files")
    arguments = parser.parse_args()

    rows, pairs, chapters = [], [], {}
    for path in sorted(arguments.emulated.glob("chapter*.json")):
        name = path.stem
        if not name.removeprefix("chapter").isdigit() or not (RESULTS / "nvidia-h200" / path.name).exists():
            continue
        number = int(name.removeprefix("chapter"))
        of_chapter = compare_chapter(number, whole_file.read_json(path),
                                     whole_file.read_json(RESULTS / "nvidia-h200" / path.name))
        if not of_chapter[0]:
            continue
        chapters[number] = summarize(*of_chapter)
        rows += of_chapter[0]
        pairs += of_chapter[1]
    if not rows:
        raise SystemExit("compare_model: no chapter has both a measured and an emulated file")
    total = summarize(rows, pairs)

    table = ["| | steps | pairs ordered right | median error | within 20% | worst | beyond 2x | median error of speedups |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]
    table += [line(f"chapter {number}", s) for number, s in sorted(chapters.items())]
    if len(chapters) > 1:
        table.append(line("all", total))
    kernels = compare_learners()
    table += [line(title, summarize(*of_kind)) for title, of_kind in kernels.items()]
    print("\n".join(table))
    if not arguments.write:
        return

    wrong = [p for p in pairs if not p["right"]]
    worst = sorted(rows, key=off, reverse=True)
    text = ["# Modelled time beside measured time", "",
            "Generated by `scripts/compare_model.py --write` from what `run_all --full --json` wrote on an H200",
            "(`docs/results/nvidia-h200/`) and `run_all --json` on the emulator (`docs/results/emulated-h200/`), whose times are all",
            "modelled. The model's constants come from `tests/emulator/microbenchmarks` (`docs/results/nvidia-h200/microbenchmarks.json`), none",
            "from a chapter; but which resources and which waits it has was decided with the chapters in view. Three things are",
            "choices that nobody measured: up to how many instructions a branch counts as a predicate (24), how soon the slowest",
            "block stops to count as waves become more, and how additions to halves share the card with those that wait. Where the",
            "two files name different commits, a kernel may have changed in between.", "",
            *table, "",
            f"Wanted: {TARGETS['pairs']:.0%} of the pairs of steps that were measured more than 5% apart in the right order, a "
            f"median error of at most {TARGETS['median'] - 1:.0%}, none beyond {TARGETS['worst']:.0f}x.", "",
            *learners_page(kernels),
            "## Farthest off", "", "| chapter, step | case | measured us | modelled us | factor | modelled limit |",
            "|---|---|--:|--:|--:|---|"]
    text += [f"| {r['chapter']} {r['version']} | {short(r['case'])} | {microseconds(r['measured_seconds'])} | "
             f"{microseconds(r['modelled_seconds'])} | {r['factor']:.2f} | {r['limited_by']} |" for r in worst[:40]]
    text += ["", f"## Pairs in the wrong order: {len(wrong)} of {len(pairs)}", "", "| chapter, pair | cases |", "|---|--:|"]
    by_pair = {}
    for p in wrong:
        by_pair.setdefault((p["chapter"], p["a"], p["b"]), []).append(p["case"])
    text += [f"| {c} {a}, {b} | {len(cases)} |" for (c, a, b), cases in sorted(by_pair.items(), key=lambda i: -len(i[1]))]
    text += ["", "## By step", "", "| chapter, step | cases | median factor | least | most |", "|---|--:|--:|--:|--:|"]
    by_step = {}
    for r in rows:
        by_step.setdefault((r["chapter"], r["version"]), []).append(r["factor"])
    text += [f"| {c} {v} | {len(f)} | {statistics.median(f):.2f} | {min(f):.2f} | {max(f):.2f} |"
             for (c, v), f in by_step.items()]
    whole_file.write(RESULTS / "emulator_model.md", "\n".join(text) + "\n")


if __name__ == "__main__":
    main()
