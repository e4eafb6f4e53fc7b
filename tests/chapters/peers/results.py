"""What peers.py writes: rows, their summary, the parts of a run merged."""

import json
import os
import statistics

GROUPS = ("fixed", "random")


def spread(values):
    """Median, quartiles and least of a list of samples, and how many they are."""
    p25, median, p75 = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "p25": p25, "p75": p75, "min": min(values), "samples": len(values)}


def slower(ours, theirs, tolerance=0.02):
    """The project's meaning of slower: the medians differ by the tolerance or more, and the quartiles do not overlap."""
    return ours["median"] >= theirs["median"] * (1 + tolerance) and ours["p25"] > theirs["p75"]


def within(ours, theirs, share=0.05):
    """Within a share of theirs: not slower, by the same margin, than times that are longer by the share."""
    return not slower(ours, {key: theirs[key] * (1 + share) for key in ("median", "p75")})


def summarise(rows):
    """What the chapter claims of these rows, counted."""
    measured = [r for r in rows if "error" not in r]
    compiled = [r for r in measured if r["compiled_seconds"]]
    planned = [r for r in measured if r.get("planned_seconds")]
    summary = {
        "cases": len(rows),
        "failed": len(rows) - len(measured),
        "slower_than_eager": sum(slower(r["spread"]["ours"], r["spread"]["eager"]) for r in measured),
        "compared_with_compiled": len(compiled),
        "slower_than_compiled": sum(slower(r["spread"]["ours"], r["spread"]["compiled"]) for r in compiled),
        "within_5_percent_of_compiled": sum(within(r["spread"]["ours"], r["spread"]["compiled"]) for r in compiled),
    }
    shares = [r["bound_seconds"] / r["ours_seconds"] for r in measured if r.get("bound_seconds")]
    if shares:
        summary["median_share_of_bound"] = statistics.median(shares)
    if not planned:
        return summary
    # "ours" is the call that looks at the shape alone; "planned" has been chosen by timing, as the compiler's kernel is.
    both = [r for r in planned if r["compiled_seconds"]]
    return summary | {
        "planned_slower_than_eager": sum(slower(r["spread"]["planned"], r["spread"]["eager"]) for r in planned),
        "planned_within_5_percent_of_compiled": sum(within(r["spread"]["planned"], r["spread"]["compiled"]) for r in both),
        "planned_otherwise": sum(r["planned_kernel"] is not None for r in planned),
        "median_planning_seconds": statistics.median(r["planning_seconds"] for r in planned),
    }


def summaries(rows):
    """One summary for each group of cases."""
    return {group: summarise([row for row in rows if row["group"] == group]) for group in GROUPS}


def print_summary(document):
    for group, s in summaries(document["cases"]).items():
        if s["cases"]:
            share = s["within_5_percent_of_compiled"] / max(1, s["compared_with_compiled"])
            print(
                f"{group}: {s['cases']} cases, {s['failed']} failed, {s['slower_than_eager']} slower than eager, "
                f"{s['within_5_percent_of_compiled']} of {s['compared_with_compiled']} ({share:.1%}) "
                f"within 5% of compiled, {s['slower_than_compiled']} slower"
            )
        if "median_share_of_bound" in s:
            print(f"{group}: {s['median_share_of_bound']:.0%} of the bound in the median")
        if "planned_otherwise" in s:
            share = s["planned_within_5_percent_of_compiled"] / max(1, s["compared_with_compiled"])
            print(
                f"{group}, planned: {s['planned_slower_than_eager']} slower than eager, "
                f"{s['planned_within_5_percent_of_compiled']} of {s['compared_with_compiled']} ({share:.1%}) within 5% of "
                f"compiled; {s['planned_otherwise']} planned otherwise than by rule, in "
                f"{1e3 * s['median_planning_seconds']:.0f} ms in the median"
            )


def rounded(value):
    """The value with five significant digits wherever it holds fractions: more than any time is known to."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def text_of(document):
    """A document as JSON, a line for each case."""
    head = json.dumps(rounded(document | {"cases": None}), separators=(",", ":"))
    lines = [json.dumps(rounded(case), separators=(",", ":")) for case in document["cases"]]
    return head.replace('"cases":null', '"cases":[\n' + ",\n".join(lines) + "\n]") + "\n"


def write_whole(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(text_of(document), encoding="utf-8")
    beside.replace(path)


def read_part(path):
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and document.keys() >= {"run", "cases", "left_out"}:
            return document
        raise ValueError("not written by peers.py")
    except ValueError as problem:  # No JSON, or no UTF-8.
        raise ValueError(f"{path}: cut short, or no part of a run ({problem})") from problem


def merge(output, parts):
    """Puts the parts of a run into one file, in the cases' order, and returns its content."""
    documents = [read_part(part) for part in parts]
    if any(document.get("chapter") != documents[0].get("chapter") for document in documents):
        raise ValueError("the parts differ in chapter")
    runs = [document["run"] for document in documents]
    for key in ("seed", "random", "commit", "sources", "driver", "torch"):
        if any(run.get(key) != runs[0].get(key) for run in runs):
            raise ValueError(f"the parts differ in {key}")
    rows = {(row["case"], row["dtype"]): row for document in documents for row in document["cases"]}
    left_out = {name for document in documents for name in document["left_out"]}
    left_out -= {f"{case} {dtype}" for case, dtype in rows}
    merged = documents[0] | {
        "run": runs[0] | {"part": "1/1"},
        "partial": bool(left_out),
        "cases": sorted(rows.values(), key=lambda row: row["number"]),
        "left_out": sorted(left_out),
    }
    merged["summary"] = summaries(merged["cases"])
    write_whole(output, merged)
    return merged
