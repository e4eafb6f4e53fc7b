"""Numbers over many cases at once: the comparison with PyTorch, the model's errors, how near a step is to the best."""

import statistics

from records import EMULATED, MEASURED, Problem, is_noise, is_yardstick, load, module, of_step, seconds_of


def model(number, what):
    """Of a chapter's modelled and measured times: pairs, pairs_right, median_factor, worst_factor, median_speedup_factor,
    cases, as scripts/compare_model.py counts them; right: how many pairs."""
    emulated, measured = load(f"{EMULATED}/chapter{number}"), load(f"{MEASURED}/chapter{number}")
    if not emulated or not measured:
        raise Problem(f"chapter {number} has not both modelled and measured times")
    compare = module("scripts/compare_model")
    rows, pairs = compare.compare_chapter(number, emulated, measured)
    summary = compare.summarize(rows, pairs)
    summary["right"] = sum(pair["right"] for pair in pairs)
    summary["cases"] = len({row["case"] for row in rows})
    summary["worst_speedup_factor"] = max(compare.speedup_errors(rows))
    if what not in summary:
        raise Problem(f"the model is summed up as {', '.join(summary)}, not {what}")
    return summary[what]


def peers(record, group, what):
    """Of the comparison with PyTorch, in its group "fixed" or "random": what tests/chapters/peers/results.py sums up, or the median
    of a ratio (`eager/ours`)."""
    if group not in ("fixed", "random"):
        raise Problem(f"the groups are fixed and random, not {group}")
    if "/" in what:
        top, bottom = what.split("/")
        return statistics.median(case[f"{top}_seconds"] / case[f"{bottom}_seconds"] for case in record["cases"]
                                 if case["group"] == group and case.get(f"{top}_seconds") and case.get(f"{bottom}_seconds"))
    summary = module("tests/chapters/peers/results").summarise([case for case in record["cases"] if case["group"] == group])
    if what not in summary:
        raise Problem(f"summed up are {', '.join(summary)}, not {what}")
    return summary[what]


def near(times, version, percent):
    """In how many cases the step is the fastest, or at most so many per cent slower than the fastest one."""
    found = 0
    for case in times.cases:
        seconds = [row["seconds"]["median"] for row in case["steps"]
                   if row["status"] == "pass" and row.get("seconds") and not is_yardstick(row)]
        own = seconds_of(case, version)
        found += bool(own and seconds and own <= (1 + percent / 100) * min(seconds))
    return found


def far(times, version):
    """[(case, the fastest step's version, its share of the copy, the step's share)] where the step is really slower."""
    found = []
    for case in times.cases:
        own = of_step(case, version)
        rows = [row for row in case["steps"] if row["status"] == "pass" and row.get("seconds") and not is_yardstick(row)]
        best = min(rows, key=lambda row: row["seconds"]["median"], default=None)
        if own and best and not is_noise(best["seconds"], own["seconds"]):
            found.append((case, best["version"], case["copy_seconds"] / best["seconds"]["median"],
                          case["copy_seconds"] / own["seconds"]["median"]))
    return found
