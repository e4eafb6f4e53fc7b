"""Chapter 7's record is of another kind than the others: ways to time one kernel, from C++ and from PyTorch, and operators beside
PyTorch's own. These are the numbers and tables that its text asks for; docs/pages/figures.md lists them."""

import statistics

from records import Problem

STUDIES = {"op": "warpbook_ops.add2(out, a, b)", "torch": "torch.add(a, b, out=out)"}
CALLS = {"op": "warpbook_ops.add2", "general": "torch.ops.warpbook_ops.add2", "torch": "torch.add(out=)", "plain": "a + b"}
BEFORE = {"torch.ops.warpbook_ops.add2": "ops.add2 (packet)"}  # In records of before add2 had a short way.
TYPES = {"float32": "float", "float16": "half", "bfloat16": "bfloat16"}


def samples(record, version, parameters, who=None):
    """A way's samples in seconds, in their order: from C++, or of one of the two functions called from Python."""
    if who:
        [study] = [s for s in record["pytorch"]["study"] if s["function"] == STUDIES[who] and s["case"] == parameters]
    else:
        [study] = [case for case in record["cases"] if case["parameters"] == parameters]
    found = [way["samples_seconds"] for way in study["steps"] if way["version"] == version and way.get("samples_seconds")]
    if not found:
        raise Problem(f"{version} has no samples for {parameters}")
    return found[0]


def way(record, words, parameters):
    """`way VERSION CASE [op|torch] [first|second|least|most]`: the median of a way's samples, or one of them, in seconds."""
    version, who = words[1], next((word for word in words[3:] if word in STUDIES), None)
    values = samples(record, version, parameters, who)
    pick = {"first": lambda: values[0], "second": lambda: values[1], "least": lambda: min(values), "most": lambda: max(values)}
    return next((pick[word]() for word in words[3:] if word in pick), None) or statistics.median(values)


def call(record, words):
    """`call op|general|torch|plain`: what a call costs the host, in seconds; with `less`, how much less than PyTorch's, with
    `low` or `high` the ends of the interval."""
    name = CALLS[words[1]]
    name = name if name in record["calls"] else BEFORE.get(name, name)
    if name not in record["calls"]:
        raise Problem(f"the record has no {name}")
    cost = record["calls"][name]
    if "less" not in words:
        return cost["median"]
    ends = {"low": "high", "high": "low"}  # Recorded is how much more.
    return -cost["more_than_theirs"][next((ends[word] for word in words[3:]), "median")]


SIZES = ["1 Mi floats", "64 Mi floats"]


def medians(record, version, cases):
    return [statistics.median(samples(record, version, parameters)) for parameters in cases]


def right(record, cases):
    """What the kernel takes from a cold L2: as v7b reads."""
    return medians(record, "v7b", cases)


def ways_table(chapter, record, *cases):
    """Every way: what it is made from, what its reading is made of, and how much of the kernel's time that is."""
    out = ["| way | what it reads | made from | " + " | ".join(f"{size} | share" for size in SIZES) + " |", "|---|---|---|" + "--:|" * 4]
    told = {step["version"]: step["measures"] for step in record["cases"][0]["steps"]}
    for step in chapter.steps:
        cells = [f"[{step.version}](pages/{step.version}.md) {step.name.replace('_', ' ')}", told[step.version], step.base]
        for seconds, kernel in zip(medians(record, step.version, cases), right(record, cases)):
            cells += [f"{seconds * 1e6:.1f} us", f"{seconds / kernel:.0%}"]
        out.append("| " + " | ".join(cells).replace("|  |", "| |") + " |")
    return "\n".join(out) + "\n"


def reads_table(chapter, record, version, *cases):
    """A way beside the one that it is made from, and the kernel's own time."""
    step = chapter.kernel(version)
    shown = [step.base] * bool(step.base) + [version]
    own = [] if version == "v7b" else ["the kernel"]
    out = ["| | " + " | ".join(shown + own) + " |", "|---|" + "--:|" * len(shown + own)]
    for number, size in enumerate(SIZES):
        read, kernel = [medians(record, other, cases)[number] for other in shown], right(record, cases)[number]
        out.append(f"| {size} | " + " | ".join(f"{seconds * 1e6:.1f} us" for seconds in read + [kernel] * len(own)) + " |")
        out.append("| of the kernel's time | " + " | ".join([f"{seconds / kernel:.0%}" for seconds in read] + [""] * len(own)) + " |")
    return "\n".join(line.replace("|  |", "| |") for line in out) + "\n"


def callers_table(chapter, record, parameters):
    """What each way reads of one launch: called from C++, and from Python."""
    out = ["| us | C++ | op | torch |", "|---|--:|--:|--:|"]
    for step in chapter.steps:
        cells = [statistics.median(samples(record, step.version, parameters, who)) for who in (None, *STUDIES)]
        out.append(f"| {step.version} {step.name.replace('_', ' ')} | " + " | ".join(f"{seconds * 1e6:.1f}" for seconds in cells) + " |")
    return "\n".join(out) + "\n"


def samples_table(_, record, parameters):
    """The samples of the host's four ways one by one, in their order."""
    versions = ["v1", "v2", "v3", "v4"]
    count = len(samples(record, versions[0], parameters))
    out = ["| us | " + " | ".join(str(number + 1) for number in range(count)) + " |", "|---|" + "--:|" * count]
    for version in versions:
        out.append(f"| {version} | " + " | ".join(f"{s * 1e6:.1f}" for s in samples(record, version, parameters)) + " |")
    return "\n".join(out) + "\n"


def operators_table(_, record):
    """Every operator beside PyTorch's: device times, and what a call costs the host."""
    out = ["| operator | shape | type | ours | eager | compiled | copy | call: ours | eager | compiled |",
           "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for row in record["pytorch"]["ops"]:
        cells = [row["op"], "x".join(map(str, row["shape"])), TYPES.get(row["dtype"], row["dtype"])]
        seconds = [row.get(f"{who}_seconds") for who in ("ours", "eager", "compiled", "copy")]
        seconds += [row["host_seconds"].get(who) for who in ("ours", "eager", "compiled")]
        cells += [f"{value * 1e6:.1f}" if value else "-" for value in seconds]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


TABLES = {"ways": ways_table, "reads": reads_table, "callers": callers_table, "samples": samples_table, "operators": operators_table}
